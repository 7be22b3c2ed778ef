// The workbench of window.mjs: a repository, with the files of FILEOPS_FILES (as JSON, name → text) beside those of the stories;
// and team/, of which roots.mjs and what follows it are played.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { openShop, PRICES } from './shop.mjs';

export const git = (folder, ...args) => execFileSync('git', ['-C', folder, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { encoding: 'utf8' });

export const USERS = Array.from({ length: 20 }, (_, n) => `def user_${n}(name):\n    return name + "${n}"\n\n`).join('\n');
export const TAX = 'RATE = 1\n\n\ndef tax(x):\n    return x * RATE\n';
export const LINES = Array.from({ length: 40 }, (_, i) => `value_${i} = ${i}\n`).join('');
export const CART = `def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total


def label(total):
    return f"{total:.2f}"
`;
/** Of an agent that may start the daemon, which has to fit the window. */
export const ENCODING = ['--encoding', '**/*.latin1=latin-1'];
export const CLOSED = Array.from({ length: 6 }, (_, n) => `part_${n}.py`);

export const shop = await openShop({
  files: { ...JSON.parse(process.env.FILEOPS_FILES ?? '{}'), 'basket.py': CART, 'prices.py': PRICES, 'users.py': USERS, 'lib/tax.py': TAX, 'one.py': LINES, 'two.py': LINES, ...Object.fromEntries(CLOSED.map(name => [name, LINES])) },
  settings: {
    'git.openRepositoryInParentFolders': 'never', 'files.autoSave': 'off', 'fileops.bash': true,
    'fileops.encodings': [{ glob: '**/*.latin1', encoding: 'latin-1' }], 'files.associations': { '*.latin1': 'plaintext' },
    '[plaintext]': { 'files.encoding': 'iso88591' },
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
/** The first folder of the window with two. */
export const FRONT = path.join(shop.workspace, '../team/front');
