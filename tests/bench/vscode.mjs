// node vscode.mjs floor|new OUT VSIX [BEFORE_VSIX]: what the extension costs with 200 reviews that wait and with 1,000
// changes that are not kept, in the real extension host with a shared daemon. With BEFORE_VSIX both are measured, one
// after the other, and their ratio is printed. Environment as in tests/clients/vscode/mocha.mjs, after a build with --test.
// vscode_keys.mjs measures what a key costs.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { EXTENSION } from '../clients/vscode/paths.mjs';
import { openWorkbench } from '../clients/vscode/workbench.mjs';

const PARTS = [['page', 'TaskDuration'], ['script', 'ScriptDuration'], ['layout', 'LayoutDuration'], ['style', 'RecalcStyleDuration']];
const [name, outGiven, ...packages] = process.argv.slice(2);

/** The figures of one package: name → [{wall, cpu}], in milliseconds. */
async function measured(vsix, out) {
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  const unpacked = path.join(out, 'vsix');
  const done = spawnSync(process.env.FILEOPS_PYTHON, ['-m', 'zipfile', '-e', path.resolve(vsix), unpacked], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
  const report = path.join(out, 'measured.json');
  let workbench, session;
  const server = http.createServer(async (_, answer) => {
    const { metrics } = await session.send('Performance.getMetrics');
    answer.end(JSON.stringify(Object.fromEntries(PARTS.map(([part, metric]) => [part, 1000 * metrics.find(({ name }) => name === metric).value]))));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  workbench = await openWorkbench(name, {
    isSeen: true,
    out, env: { MEASURED_JSON: report, FILEOPS_PAGE: `http://127.0.0.1:${server.address().port}` },
    testDriver: { extension: path.join(unpacked, 'extension'), tests: path.join(EXTENSION, 'dist-test/measure') },
    settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off', 'fileops.ask': 'each_edit' },
  });
  session = await workbench.page.context().newCDPSession(workbench.page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  try {
    const exitCode = await workbench.finished;
    if (exitCode !== 0) throw new Error(`the measurement ended with ${exitCode}: see ${path.join(out, 'tests.log')}`);
  } finally {
    await workbench.close();
    server.close();
  }
  return JSON.parse(fs.readFileSync(report, 'utf8'));
}

const KINDS = { wall: '', cpu: 'processor of the extension host ', page: 'processor of the page ', script: 'of that scripts ', layout: 'layout ', style: 'styles ' };
const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const of = (costs, kind) => median(costs.map(cost => cost[kind]));
const ms = value => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

const results = [];
for (const [n, vsix] of packages.entries()) results.push(await measured(vsix, path.join(path.resolve(outGiven), String(n))));
const [now, before] = results;
for (const [what, costs] of Object.entries(now)) {
  const figures = Object.entries(KINDS).map(([kind, label]) => {
    const was = before && of(before[what], kind);
    return `${label}${ms(of(costs, kind))}${before ? ` (before: ${ms(was)}, ${(was / of(costs, kind)).toFixed(1)} times)` : ''}`;
  });
  console.log(`${what}: ${figures.join('; ')}`);
}
process.exit(0);
