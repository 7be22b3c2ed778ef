// node coverage.mjs OUT...: the extension's coverage, from the raw V8 data of mocha.mjs runs, mapped to its sources.
// c8 reports functions as covered that were never called; monocart does not.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXTENSION } from './paths.mjs';

const runs = process.argv.slice(2).map(folder => path.resolve(folder));
const map = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'dist/extension.js.map'), 'utf8'));
const report = createRequire(EXTENSION + '/')('monocart-coverage-reports')({
  name: 'extension', outputDir: path.join(runs[0], 'coverage-report'), reports: ['console-details', 'json-summary', 'lcovonly'], logging: 'error',
  sourceFilter: source => /(^|\/)src\//.test(source) && !source.includes('node_modules'),
});
for (const run of runs) {
  const bundle = path.join(run, 'vsix/extension/dist/extension.js'); // VS Code's own extensions have a dist/extension.js too
  const source = fs.readFileSync(bundle, 'utf8');
  const folder = path.join(run, 'coverage');
  for (const file of fs.readdirSync(folder).filter(name => name.endsWith('.json'))) {
    const { result } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
    const entries = result.filter(entry => entry.url === pathToFileURL(bundle).href)
      .map(entry => ({ ...entry, url: 'file:///extension/dist/extension.js', source, sourceMap: map }));
    if (entries.length > 0) await report.add(entries);
  }
}
await report.generate();
