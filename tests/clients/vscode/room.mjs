// The workbench of window.mjs: a repository with the files of FILEOPS_FILES (as JSON, name → text), and team/, of which
// roots.mjs and what follows it are played.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { openShop } from './shop.mjs';

export const CART = `def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total


def label(total):
    return f"{total:.2f}"
`;

export const shop = await openShop({
  files: { ...JSON.parse(process.env.FILEOPS_FILES), 'basket.py': CART },
  settings: {
    'files.autoSave': 'off',
    'fileops.encodings': [{ glob: '**/*.latin1', encoding: 'latin-1' }], 'files.associations': { '*.latin1': 'plaintext' },
    '[plaintext]': { 'files.encoding': 'iso88591' },
  },
  prepare: workspace => execFileSync('git', ['init', '-q'], { cwd: workspace }),
});
/** The first folder of the window with two. */
export const FRONT = path.join(shop.workspace, '../team/front');
