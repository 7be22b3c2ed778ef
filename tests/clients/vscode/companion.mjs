// node companion.mjs floor|new OUT VSIX [IMAGES]: agents that keep their own tools, in the mode companion, one after
// another beside a person with unsaved text, each in a file of its own. Prints "READY {workspace, socket, file}" for each;
// the caller then starts it there, and it edits the file twice. The person sees both changes in the unsaved text, keeps one
// and undoes the other. With IMAGES the pictures for the documentation are put there. FILEOPS_AGENTS: their names, and
// FILEOPS_FILES: those of their files. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isRunning } from './daemon.mjs';
import { personAt } from './person.mjs';
import { openWorkbench, PATIENCE_MS, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix, images] = process.argv.slice(2);
const agents = process.env.FILEOPS_AGENTS.split(',');
const names = process.env.FILEOPS_FILES.split(',');
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
  out, vsix: path.resolve(vsix), files: Object.fromEntries(names.map(basename => [basename, PRICES])),
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off' },
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(PATIENCE_MS); // an agent's program starts in between
const { status, row, namedInText, palette, openFile, goToLine, pressKeyOf, setWorkspace, shoot } = personAt(workbench, images);
const QUIET = { 'files.autoSave': 'off' };
const line = text => page.locator('.editor-instance .view-line', { hasText: text });

async function besideUnsavedText(agent, basename) {
  const disk = () => fs.readFileSync(path.join(workspace, basename), 'utf8');
  await openFile(basename);
  await line('def discount').first().click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  console.log(`READY ${JSON.stringify({ workspace, socket, file: basename })}`);

  await line('total * RATE').first().waitFor();
  await line('EUR').first().waitFor();
  await status(/\b2 changes? in /).waitFor();
  assert.equal(disk(), PRICES, 'the edits are in the editor, beside the unsaved text');
  await page.keyboard.press('Control+Shift+G');
  await row(new RegExp(`${agent} · `)).waitFor();
  await page.keyboard.press('Control+1');
  await goToLine(4);
  await until(() => namedInText(agent), 'the line with the cursor names the agent');
  if (agent === agents.at(-1)) await shoot('companion', QUIET);
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
  await palette('View: Close All Editors');
  say('one change is kept, the other undone');
}

async function story() {
  await setWorkspace({ ...QUIET, 'workbench.colorTheme': 'Default Dark Modern' });
  await status(/fileops/).waitFor();
  await until(() => isRunning(socket), 'the editor has started the shared daemon');
  for (const [n, agent] of agents.entries()) await besideUnsavedText(agent, names[n]);
}

await play(workbench, out, story);
