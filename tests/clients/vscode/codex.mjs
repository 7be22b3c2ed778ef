// node codex.mjs floor|new OUT VSIX: an agent from outside, attached to the same daemon as the editor. Prints
// "READY {workspace, socket}"; the caller then starts the agent there, which reads prices.py and edits it once. The
// person reads unsaved text with it, finds it in the list of agents and decides its edit. FILEOPS_AGENT: its host.
// Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isRunning } from './daemon.mjs';
import { personAt } from './person.mjs';
import { openWorkbench, PATIENCE_MS, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix] = process.argv.slice(2);
const host = process.env.FILEOPS_AGENT;
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });

const PRICES = `def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total
`;

const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), files: { 'prices.py': PRICES },
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'fileops.ask': 'each_edit', 'files.autoSave': 'off' },
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(PATIENCE_MS); // an agent's program starts in between
const { waiting, status, titleButton, proposal, palette, setWorkspace, click, toast, toasts } = personAt(workbench);
const disk = () => fs.readFileSync(path.join(workspace, 'prices.py'), 'utf8');

/** What the status item says of the daemon. */
async function isPrivate(expected) {
  await until(async () => {
    await page.locator('.view-line').first().hover();
    await status(/✓|fileops/).first().hover();
    const text = await page.locator('.monaco-hover', { hasText: 'found by:' }).innerText({ timeout: 3_000 }).catch(() => '');
    return text !== '' && /private\sdaemon/.test(text) === expected; // blanks are no-break spaces there
  }, `the daemon is ${expected ? 'private' : 'shared'}`);
}

async function story() {
  await setWorkspace({ 'workbench.colorTheme': 'Default Dark Modern', 'files.autoSave': 'off' });
  await page.locator('.explorer-folders-view').getByText('prices.py').dblclick();
  await page.locator('.view-line', { hasText: 'def discount' }).click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  await status(/fileops/).waitFor();
  await until(() => isRunning(socket), 'the editor has started the shared daemon');
  console.log(`READY ${JSON.stringify({ workspace, socket })}`);

  await waiting('prices.py').waitFor();
  await status('1 to review').waitFor();
  await proposal('RATE').first().waitFor();
  assert.match(await waiting('prices.py').first().textContent(), new RegExp(`edit by .*${host}`, 'i'));
  await palette('Agent Changes: Agents…');
  const agent = page.locator('.quick-input-list .monaco-list-row', { hasText: new RegExp(host, 'i') });
  await agent.filter({ hasText: /ask before each edit · 1 read/ }).first().waitFor();
  assert.doesNotMatch(await agent.first().textContent(), /mcp-client/, 'one name for one program');
  await page.keyboard.press('Escape');
  assert.equal(disk(), PRICES);
  say(`the edit of ${host} waits with its name, and it is in the list of agents`);

  await click(waiting('prices.py').first(), titleButton('Accept')); // a group that is not in use hides its buttons
  await titleButton('Accept').click();
  await waiting('prices.py').waitFor({ state: 'detached' });
  await page.locator('.view-line', { hasText: 'total * RATE' }).first().waitFor();
  assert.equal(disk(), PRICES, 'an edit of unsaved text goes to the editor');
  await palette('Agent Changes: Agents…');
  await agent.filter({ hasText: /1 edit/ }).first().waitFor();
  await page.keyboard.press('Escape');
  say('accepted; it is in the editor, and counted');

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

await play(workbench, out, story);
