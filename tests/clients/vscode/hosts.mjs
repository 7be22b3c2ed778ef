// Played by window.mjs: agents from outside beside a person with unsaved text. Each part prints "READY {socket, path}"; the
// caller then starts the agent for that file. The first keeps its own tools, in the mode companion, and edits twice; the person
// sees both changes in the unsaved text, keeps one and undoes the other. The second has the tools of fileops-server, and is
// asked before each edit: it reads and edits once; the person finds it in the list of agents and decides its edit.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { CART, FRONT, shop } from './open.mjs';
import { say, until } from './workbench.mjs';

const { page, workspace, socket, run, closeEditors, person } = shop;
const { status, row, waiting, titleButton, proposal, namedInText, palette, click, toast, toasts, openFile, goToLine, pressKeyOf, setWorkspace, shoot } = person;
const HOST = 'Codex';
const QUIET = { 'files.autoSave': 'off' };
const line = text => page.locator('.editor-instance .view-line', { hasText: text });
const TYPED = 'RATE = 0.95  # not saved yet\n';

/** A file whose first line is typed and not saved, and an agent that is started for it. */
async function typedInto(file) {
  await openFile(path.relative(workspace, file));
  await line('def discount').first().click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type(TYPED);
  console.log(`READY ${JSON.stringify({ socket, path: file })}`);
  return () => fs.readFileSync(file, 'utf8');
}

export async function besideUnsavedText() {
  const disk = await typedInto(path.join(workspace, 'basket.py'));
  await line('total * RATE').first().waitFor();
  await line('EUR').first().waitFor();
  await status(/\b2 changes? in /).waitFor();
  assert.equal(disk(), CART, 'the edits are in the editor, beside the unsaved text');
  await page.keyboard.press('Control+Shift+G');
  await row(new RegExp(`${HOST} · `)).waitFor();
  await page.keyboard.press('Control+1');
  await goToLine(4);
  await until(() => namedInText(HOST), 'the line with the cursor names the agent');
  await shoot('companion', QUIET);
  await setWorkspace(QUIET);
  say(`what ${HOST} made by its own tools is beside the unsaved text, with its name`);

  await pressKeyOf('keep');
  await status(/\b1 changes? in /).waitFor();
  await goToLine(9);
  await pressKeyOf('undo');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  await page.keyboard.press('Control+S');
  const kept = `${TYPED}${CART.replace('total * 0.95', 'total * RATE')}`;
  await until(() => disk() === kept, 'one is kept, the other undone, and the person’s line is there');
  await closeEditors();
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

/** In the list of agents, which stays as it was when it was opened. */
const listed = agent => until(async () => {
  await page.keyboard.press('Escape');
  await palette('Agent Changes: Agents…');
  return agent.waitFor({ timeout: 4_000 }).then(() => true, () => false);
}, 'the agent is listed');

export async function askedBeforeItsEdit() {
  const file = path.join(FRONT, 'rates.py');
  fs.writeFileSync(file, CART);
  const disk = await typedInto(file);

  await waiting('rates.py').waitFor();
  await status('1 to review').waitFor();
  await proposal('RATE').first().waitFor();
  assert.match(await waiting('rates.py').first().textContent(), new RegExp(`edit by .*${HOST}`, 'i'));
  const agent = page.locator('.quick-input-list .monaco-list-row', { hasText: new RegExp(HOST, 'i') }); // also one from before, with edits
  const here = agent.filter({ hasText: /ask before each edit · 1 read · 0 edits/ });
  await listed(here);
  assert.doesNotMatch(await here.textContent(), /mcp-client/, 'one name for one program');
  await page.keyboard.press('Escape');
  assert.equal(disk(), CART);
  say(`the edit of ${HOST} waits with its name, and it is in the list of agents`);

  await click(waiting('rates.py').first(), titleButton('Accept')); // a group that is not in use hides its buttons
  await titleButton('Accept').click();
  await waiting('rates.py').waitFor({ state: 'detached' });
  await page.locator('.view-line', { hasText: 'total * RATE' }).first().waitFor();
  assert.equal(disk(), CART, 'an edit of unsaved text goes to the editor');
  await listed(agent.filter({ hasText: /1 edit/ }).first());
  await page.keyboard.press('Escape');
  say('accepted; it is in the editor, and counted');

  await run('notifications.clearAll');
  // The shared daemon's folder is open to others: the window says once that it has a private daemon.
  fs.chmodSync(path.dirname(socket), 0o755);
  const notice = toast(/private daemon, because the shared one could not be used/);
  await palette('Agent Changes: Restart');
  await notice.waitFor();
  assert.equal((await toasts()).length, 1, `told once: ${await toasts()}`);
  await isPrivate(true);
  await run('notifications.clearAll');
  await notice.waitFor({ state: 'detached' });
  await palette('Agent Changes: Restart');
  await isPrivate(true); // the second one runs
  assert.equal(await notice.count(), 0, 'said once');
  fs.chmodSync(path.dirname(socket), 0o700);
  await palette('Agent Changes: Restart');
  await isPrivate(false);
  say('without the shared daemon the window has a private one, and says so once');
}
