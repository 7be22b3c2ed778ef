// node lists.mjs floor|new OUT VSIX FILES: how VS Code counts and lists what agents wrote. FILES: as JSON, name → text, of a
// repository. Prints "READY {workspace, socket}"; then each line "CHANGES FILES" of its input is compared with the status
// bar, the title of the menu and the rows of Source Control, once the status bar has come to it, and answered with "SAME".
// At the end of the input it goes on with roots.mjs.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { hasEditor } from './daemon.mjs';
import { personAt } from './person.mjs';
import { severalFolders } from './roots.mjs';
import { PATIENCE_MS, openWorkbench, play, until } from './workbench.mjs';

const [name, outGiven, vsix, files] = process.argv.slice(2);
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });
const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), files: JSON.parse(files),
  settings: {
    'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off',
    'fileops.encodings': [{ glob: '**/*.latin1', encoding: 'latin-1' }], 'files.associations': { '*.latin1': 'plaintext' },
    '[plaintext]': { 'files.encoding': 'iso88591' },
  },
  prepare: workspace => execFileSync('git', ['init', '-q'], { cwd: workspace }),
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(PATIENCE_MS);
const person = personAt(workbench);
const { status, row } = person;

async function story() {
  await status(/fileops/).waitFor();
  await until(() => hasEditor(socket), 'the editor has started the shared daemon');
  await page.keyboard.press('Control+Shift+G');
  console.log(`READY ${JSON.stringify({ workspace, socket })}`);
  const menu = page.locator('.quick-input-widget');
  for await (const line of createInterface(process.stdin)) {
    const [nChanges, nFiles] = line.split(' ').map(Number);
    const all = `${nChanges} change${nChanges === 1 ? '' : 's'} in ${nFiles} file${nFiles === 1 ? '' : 's'}`;
    await status(new RegExp(`(^|· |\\s)${all}$`)).click();
    await menu.locator('.quick-input-title', { hasText: `Agent Changes: ${all} to keep or undo.` }).waitFor(); // the widget is that of the last menu
    await page.keyboard.press('Escape');
    await menu.waitFor({ state: 'hidden' });
    const listed = () => row(/\.txt/).locator('.label-name').allInnerTexts();
    await until(async () => new Set(await listed()).size === nFiles, `${nFiles} files are listed`); // what was decided stays for a moment
    console.log('SAME');
  }
  await severalFolders(workbench, person);
}

await play(workbench, out, story);
