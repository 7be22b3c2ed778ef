// The workbench in which changes.mjs and waiting.mjs are played, one after the other.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { openShop, PRICES } from './shop.mjs';

export const git = (folder, ...args) => execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { encoding: 'utf8' });

export const USERS = Array.from({ length: 20 }, (_, n) => `def user_${n}(name):\n    return name + "${n}"\n\n`).join('\n');
export const TAX = 'RATE = 1\n\n\ndef tax(x):\n    return x * RATE\n';
export const LINES = Array.from({ length: 40 }, (_, i) => `value_${i} = ${i}\n`).join('');
export const TEN = Array.from({ length: 10 }, (_, n) => `part_${n}.py`);

export const shop = await openShop({
  files: { 'prices.py': PRICES, 'users.py': USERS, 'lib/tax.py': TAX, 'one.py': LINES, 'two.py': LINES, ...Object.fromEntries(TEN.map(name => [name, LINES])) },
  settings: {
    'git.enabled': true, 'git.openRepositoryInParentFolders': 'never', 'files.autoSave': 'off', 'fileops.bash': true,
  },
  prepare: folder => {
    fs.writeFileSync(`${folder}/.gitignore`, '.vscode\n');
    git(folder, 'init', '-q', '-b', 'main');
    git(folder, 'add', '.');
    git(folder, 'commit', '-qm', 'first');
    fs.writeFileSync(`${folder}/prices.py`, PRICES.replace('What a basket costs', 'What the basket costs')); // the person's own change
  },
  isCovered: true,
});
