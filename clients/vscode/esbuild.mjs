// One CommonJS file for the extension host; with --production also the licences of what is in it, with --test also what
// is loaded beside it: the mocha suite, and the measurements.
import * as esbuild from 'esbuild';
import fs from 'node:fs';
import { notices } from './scripts/notices.mjs';

const production = process.argv.includes('--production');
const outfile = 'dist/extension.js';
const common = {
  bundle: true, format: 'cjs', platform: 'node', target: 'node20', external: ['vscode'],
  sourcemap: production ? 'external' : 'linked', minify: production, logLevel: 'warning',
};
const { metafile } = await esbuild.build({ ...common, entryPoints: ['src/extension.ts'], outfile, metafile: true });
if (production) fs.writeFileSync('ThirdPartyNotices.txt', notices(Object.keys(metafile.outputs[outfile].inputs), '.'));
if (process.argv.includes('--test')) {
  await esbuild.build({ ...common, minify: false, sourcemap: 'inline', logLevel: 'error', entryPoints: ['test/index.ts', 'test/measure.ts', 'test/typing.ts'], outdir: 'dist-test' });
}
