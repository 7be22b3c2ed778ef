// node hosts.mjs floor|new OUT VSIX [IMAGES]: agents from outside, one after another, beside a person with unsaved text. Prints
// "READY {workspace, socket, file}" for each; the caller then starts it there. Those of FILEOPS_AGENTS keep their own tools,
// in the mode companion: each edits a file of its own (FILEOPS_FILES) twice; the person sees both changes in the unsaved text,
// keeps one and undoes the other. The last one, FILEOPS_ASKED, has the tools of fileops-server, and is asked before each edit:
// it reads rates.py and edits it once; the person finds it in the list of agents and decides its edit.
// With IMAGES the pictures for the documentation are put there. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { hasEditor } from './daemon.mjs';
import { personAt } from './person.mjs';
import { openWorkbench, PATIENCE_MS, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix, images] = process.argv.slice(2);
const agents = process.env.FILEOPS_AGENTS.split(',');
const host = process.env.FILEOPS_ASKED;
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

/** Of the last one. */
const RATES = `def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total
`;

const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), files: { ...Object.fromEntries(names.map(basename => [basename, PRICES])), 'rates.py': RATES },
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off' },
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(PATIENCE_MS); // an agent's program starts in between
const { status, row, waiting, titleButton, proposal, namedInText, palette, askBeforeEachEdit, click, toast, toasts, openFile, goToLine, pressKeyOf, setWorkspace, shoot } = personAt(workbench, images);
const QUIET = { 'files.autoSave': 'off' };
const line = text => page.locator('.editor-instance .view-line', { hasText: text });
const disk = basename => fs.readFileSync(path.join(workspace, basename), 'utf8');

async function besideUnsavedText(agent, basename) {
  await openFile(basename);
  await line('def discount').first().click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  console.log(`READY ${JSON.stringify({ workspace, socket, file: basename })}`);

  await line('total * RATE').first().waitFor();
  await line('EUR').first().waitFor();
  await status(/\b2 changes? in /).waitFor();
  assert.equal(disk(basename), PRICES, 'the edits are in the editor, beside the unsaved text');
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
  await until(() => disk(basename) === kept, 'one is kept, the other undone, and the person’s line is there');
  await palette('View: Close All Editors');
  say('one change is kept, the other undone');
}

/** What the status item says of the daemon. */
async function isPrivate(expected) {
  await until(async () => {
    await page.locator('.view-line').first().hover();
    await status(/✓|fileops/).first().hover();
    const text = await page.locator('.monaco-hover', { hasText: 'found by:' }).innerText({ timeout: 3_000 }).catch(() => '');
    return text !== '' && /private\sdaemon/.test(text) === expected; // blanks are no-break spaces there
  }, `the daemon is ${expected ? 'private' : 'shared'}`);
}

async function askedBeforeItsEdit() {
  await askBeforeEachEdit();
  await openFile('rates.py');
  await line('def discount').first().click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  console.log(`READY ${JSON.stringify({ workspace, socket, file: 'rates.py' })}`);

  await waiting('rates.py').waitFor();
  await status('1 to review').waitFor();
  await proposal('RATE').first().waitFor();
  assert.match(await waiting('rates.py').first().textContent(), new RegExp(`edit by .*${host}`, 'i'));
  await palette('Agent Changes: Agents…');
  const agent = page.locator('.quick-input-list .monaco-list-row', { hasText: new RegExp(host, 'i') }); // also one from before, with edits
  const here = agent.filter({ hasText: /ask before each edit · 1 read · 0 edits/ });
  await here.waitFor();
  assert.doesNotMatch(await here.textContent(), /mcp-client/, 'one name for one program');
  await page.keyboard.press('Escape');
  assert.equal(disk('rates.py'), RATES);
  say(`the edit of ${host} waits with its name, and it is in the list of agents`);

  await click(waiting('rates.py').first(), titleButton('Accept')); // a group that is not in use hides its buttons
  await titleButton('Accept').click();
  await waiting('rates.py').waitFor({ state: 'detached' });
  await page.locator('.view-line', { hasText: 'total * RATE' }).first().waitFor();
  assert.equal(disk('rates.py'), RATES, 'an edit of unsaved text goes to the editor');
  await palette('Agent Changes: Agents…');
  await agent.filter({ hasText: /1 edit/ }).first().waitFor();
  await page.keyboard.press('Escape');
  say('accepted; it is in the editor, and counted');

  await palette('Notifications: Clear All Notifications');
  // The shared daemon's folder is open to others: the window says once that it has a private daemon.
  fs.chmodSync(path.dirname(socket), 0o755);
  const notice = toast(/private daemon, because the shared one could not be used/);
  await palette('Agent Changes: Restart');
  await notice.waitFor();
  assert.equal((await toasts()).length, 1, `told once: ${await toasts()}`);
  await isPrivate(true);
  await palette('Notifications: Clear All Notifications');
  await notice.waitFor({ state: 'detached' });
  await palette('Agent Changes: Restart');
  await isPrivate(true); // the second one runs
  assert.equal(await notice.count(), 0, 'said once');
  fs.chmodSync(path.dirname(socket), 0o700);
  await palette('Agent Changes: Restart');
  await isPrivate(false);
  say('without the shared daemon the window has a private one, and says so once');
}

async function story() {
  await setWorkspace({ ...QUIET, 'workbench.colorTheme': 'Default Dark Modern' });
  await status(/fileops/).waitFor();
  await until(() => hasEditor(socket), 'the editor has started the shared daemon');
  for (const [n, agent] of agents.entries()) await besideUnsavedText(agent, names[n]);
  await askedBeforeItsEdit();
}

await play(workbench, out, story);
