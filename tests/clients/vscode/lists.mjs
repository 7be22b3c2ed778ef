// Played by window.mjs: how VS Code counts and lists what agents wrote. Prints "READY {workspace, socket}"; then each line
// "CHANGES FILES" of its input is compared with the status bar, the title of the menu and the rows of Source Control, once the
// status bar has come to it, and answered with "SAME". At the end of the input all is kept.
import { createInterface } from 'node:readline';
import { hasEditor } from './daemon.mjs';
import { shop } from './open.mjs';
import { until } from './workbench.mjs';

const { page, workspace, socket, person } = shop;
const { status, row } = person;

export async function countedAlike() {
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
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
}
