// node scripts/package.mjs [PLATFORM]: the .vsix, from sources to file. PLATFORM as in bundle.mjs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const here = path.resolve(import.meta.dirname, '..');
const platform = process.argv[2];
const node = (script, ...args) => execFileSync(process.execPath, [script, ...args], { cwd: here, stdio: 'inherit' });

fs.rmSync(path.join(here, 'dist'), { recursive: true, force: true });
fs.copyFileSync(path.join(here, '../../LICENSE'), path.join(here, 'LICENSE.txt'));
node('node_modules/typescript/bin/tsc', '--noEmit');
node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.types.json');
node('esbuild.mjs', '--production');
node('scripts/bundle.mjs', ...(platform ? [platform] : []));
node('node_modules/@vscode/vsce/vsce', 'package', '--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links',
  '-o', 'fileops.vsix', ...(platform ? ['--target', platform] : []));
