// node mocha.mjs floor|new OUT VSIX: the extension's mocha suites inside the real extension host, against the
// unpacked .vsix (what ships, not the tree). Exit code 0 only if tests ran and all of them passed.
//   FILEOPS_PYTHON        the Python that has fileops-server installed
//   FILEOPS_SUITES        of test/index.ts, instead of all; FILEOPS_GREP: of their tests, those with this in their names
//   FILEOPS_FAILING       one more test, which fails: it has to be the only one that is reported as failed
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { EXTENSION, HERE } from './paths.mjs';
import { openWorkbench, say, VISIBLE } from './workbench.mjs';

const [name, outGiven, vsix] = process.argv.slice(2);
const out = path.resolve(outGiven);
const RUN_MS = 1_740_000; // of a hang, on any machine; the runner waits for 1,800 s
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });

const unpacked = path.join(out, 'vsix');
const done = spawnSync(process.env.FILEOPS_PYTHON, ['-m', 'zipfile', '-e', path.resolve(vsix), unpacked], { encoding: 'utf8' });
if (done.status !== 0) throw new Error(done.stderr);
const extension = path.join(unpacked, 'extension');
const report = path.join(out, 'mocha.json');
// No save but those of the tests: VS Code in a browser saves after a second by itself, and while it does, refuses to save.
const settings = { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off', 'fileops.ask': 'each_edit' };
const failing = process.env.FILEOPS_FAILING ? ['a suite with a failure is red'] : [];
const workbench = await openWorkbench(name, {
  out, preinstall: [path.join(HERE, 'stub-python')],
  testDriver: { extension, tests: path.join(EXTENSION, 'dist-test/index') },
  settings,
  env: { MOCHA_JSON: report, ...(name === 'new' ? { NODE_V8_COVERAGE: path.join(out, 'coverage') } : {}) },
});
let exitCode;
try {
  exitCode = await Promise.race([workbench.finished, new Promise(resolve => setTimeout(() => resolve('timeout'), RUN_MS))]);
  if ((exitCode === 0) !== (failing.length === 0)) {
    await workbench.page.screenshot({ path: path.join(out, 'end.png'), style: VISIBLE });
    console.log(workbench.evidence());
  }
} finally {
  await workbench.close();
}

const result = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : undefined;
const failures = result?.failures ?? [];
for (const failure of failures) console.log(`FAILED ${failure.fullTitle}\n  ${failure.err.message?.slice(0, 800)}\n${failure.err.stack?.split('\n').slice(1, 6).join('\n')}`);
for (const skipped of result?.pending ?? []) console.log(`skipped ${skipped.fullTitle}`);
const { passes = 0, duration = 0 } = result?.stats ?? {};
say(`exit ${exitCode}; ${passes} passed, ${failures.length} failed in ${(duration / 1000).toFixed(1)} s`);
const isAsExpected = (exitCode === 0) === (failing.length === 0) && String(failures.map(({ fullTitle }) => fullTitle)) === String(failing);
process.exit(passes > 0 && isAsExpected ? 0 : 1);
