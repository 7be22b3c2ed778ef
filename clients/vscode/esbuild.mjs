// One CommonJS file for the extension host; with --test also the mocha suite that is loaded beside it.
import * as esbuild from 'esbuild';

const production = process.argv.includes('--production');
const common = {
  bundle: true, format: 'cjs', platform: 'node', target: 'node20', external: ['vscode'],
  sourcemap: production ? 'external' : 'linked', minify: production, logLevel: 'warning',
};
await esbuild.build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.js' });
if (process.argv.includes('--test')) {
  await esbuild.build({ ...common, minify: false, sourcemap: 'inline', logLevel: 'error', entryPoints: ['test/index.ts'], outfile: 'dist-test/index.js' });
}
