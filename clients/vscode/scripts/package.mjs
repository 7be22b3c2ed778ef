// node scripts/package.mjs [PLATFORM | --slim] [--unchecked]: from sources to packages. PLATFORM as in bundle.mjs. --unchecked:
// the types of the sources are checked elsewhere.
//   fileops.vsix        with the wheels of fileops-server, unless --slim is given
//   fileops-slim.vsix   without them, for those who have installed fileops-server: what a release consists of
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const here = path.resolve(import.meta.dirname, '..');
const isSlim = process.argv[2] === '--slim';
const platform = isSlim ? undefined : process.argv[2];
const node = (script, ...args) => execFileSync(process.execPath, [script, ...args], { cwd: here, stdio: 'inherit' });

fs.rmSync(path.join(here, 'dist'), { recursive: true, force: true });
fs.copyFileSync(path.join(here, '../../LICENSE'), path.join(here, 'LICENSE.txt'));
for (const name of ['vscode-changes', 'vscode-waiting'].flatMap(picture => [`${picture}-dark.png`, `${picture}-light.png`])) {
  fs.copyFileSync(path.join(here, '../../docs/images', name), path.join(here, 'media/walkthrough', name)); // the guide's
}
if (!process.argv.includes('--unchecked')) node('node_modules/typescript/bin/tsc', '--noEmit');
node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json');
node('esbuild.mjs', '--production');
const vsce = ['node_modules/@vscode/vsce/vsce', 'package', '--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links'];
if (!isSlim) {
  node('scripts/bundle.mjs', ...(platform ? [platform] : []));
  node(...vsce, '-o', 'fileops.vsix', ...(platform ? ['--target', platform] : []));
}

// The same for all platforms, for those who have installed fileops-server: less than 1 MB.
const withWheels = fs.readFileSync(path.join(here, '.vscodeignore'), 'utf8');
const ignored = path.join(here, '.vscodeignore-slim');
try {
  fs.writeFileSync(ignored, withWheels.replace(/^!bundled.*\n/m, ''));
  node(...vsce, '-o', 'fileops-slim.vsix', '--ignoreFile', '.vscodeignore-slim');
} finally {
  fs.rmSync(ignored, { force: true });
}
