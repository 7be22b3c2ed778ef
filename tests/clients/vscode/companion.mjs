// node companion.mjs floor|new OUT VSIX [IMAGES]: an agent that keeps its own tools, in the mode companion, beside a
// person with unsaved text. Prints "READY {workspace, socket}"; the caller then starts the agent there, which edits
// prices.py twice. The person sees both changes in the unsaved text, keeps one and undoes the other. With IMAGES the
// pictures for the documentation are put there. FILEOPS_AGENT: its name. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { statusOf } from './daemon.mjs';
import { personAt } from './person.mjs';
import { openWorkbench, PATIENCE_MS, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix, images] = process.argv.slice(2);
const agent = process.env.FILEOPS_AGENT;
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });

const PRICES = `def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total


def label(total):
    return f"{total:.2f}"
`;

const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), files: { 'prices.py': PRICES },
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off' },
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(PATIENCE_MS); // an agent's program starts in between
const { status, row, namedInText, goToLine, pressKeyOf, setWorkspace, shoot } = personAt(workbench, images);
const QUIET = { 'files.autoSave': 'off' };
const line = text => page.locator('.editor-instance .view-line', { hasText: text });
const disk = () => fs.readFileSync(path.join(workspace, 'prices.py'), 'utf8');

async function story() {
  await setWorkspace({ ...QUIET, 'workbench.colorTheme': 'Default Dark Modern' });
  await page.locator('.explorer-folders-view').getByText('prices.py').dblclick();
  await line('def discount').first().click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  await status(/fileops/).waitFor();
  await until(() => statusOf(socket).running, 'the editor has started the shared daemon');
  console.log(`READY ${JSON.stringify({ workspace, socket })}`);

  await line('total * RATE').first().waitFor();
  await line('EUR').first().waitFor();
  await status(/\b2 changes? in /).waitFor();
  assert.equal(disk(), PRICES, 'the edits are in the editor, beside the unsaved text');
  await page.keyboard.press('Control+Shift+G');
  await row(new RegExp(`${agent} · `)).waitFor();
  await page.keyboard.press('Control+1');
  await goToLine(4);
  await until(() => namedInText(agent), 'the line with the cursor names the agent');
  await shoot('companion', QUIET);
  await setWorkspace(QUIET);
  say(`what ${agent} made by its own tools is beside the unsaved text, with its name`);

  await pressKeyOf('keep');
  await status(/\b1 changes? in /).waitFor();
  await goToLine(9);
  await pressKeyOf('undo');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+S');
  const kept = `RATE = 0.95  # not saved yet\n${PRICES.replace('total * 0.95', 'total * RATE')}`;
  await until(() => disk() === kept, 'one is kept, the other undone, and the person’s line is there');
  say('one change is kept, the other undone');
}

await play(workbench, out, story);
