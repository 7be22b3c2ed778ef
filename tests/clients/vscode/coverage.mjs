// node coverage.mjs OUT...: the extension's coverage, from the raw V8 data of mocha.mjs and window.mjs runs, mapped
// to its sources. Prints the table, its last line is the share of lines: "lines 84.6".
// c8 reports functions as covered that were never called; monocart does not.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { EXTENSION } from './paths.mjs';

const runs = process.argv.slice(2).map(folder => path.resolve(folder));
const map = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'dist/extension.js.map'), 'utf8'));
const report = createRequire(EXTENSION + '/')('monocart-coverage-reports')({
  name: 'extension', outputDir: path.join(runs[0], 'coverage-report'), reports: ['console-details', 'json-summary', 'lcovonly'], logging: 'error',
  sourceFilter: source => /(^|\/)src\//.test(source) && !source.includes('node_modules'),
});
const source = fs.readFileSync(path.join(EXTENSION, 'dist/extension.js'), 'utf8'); // what was packed and run
// Unpacked by mocha.mjs or installed; VS Code's own extensions have a dist/extension.js too.
const isOurs = url => /\/(vsix\/extension|fileops\.fileops-[^/]+)\/dist\/extension\.js$/.test(url);
for (const folder of runs.map(run => path.join(run, 'coverage')).filter(folder => fs.existsSync(folder))) {
  for (const file of fs.readdirSync(folder).filter(name => name.endsWith('.json'))) {
    const { result } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
    const entries = result.filter(entry => isOurs(entry.url))
      .map(entry => ({ ...entry, url: 'file:///extension/dist/extension.js', source, sourceMap: map }));
    if (entries.length > 0) await report.add(entries);
  }
}
const { summary } = await report.generate();
console.log(`lines ${summary.lines.pct}`);
