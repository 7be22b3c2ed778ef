// node codex.mjs floor|new OUT VSIX [IMAGES]: an agent from outside, attached to the same daemon as the editor. Prints
// "READY {workspace, socket}"; the caller then starts the agent there, which reads prices.py and edits it once. The
// person reads unsaved text with it, finds it in the list of agents and decides its edit. FILEOPS_AGENT: its host.
// With IMAGES the pictures for the documentation are put there. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { statusOf } from './daemon.mjs';
import { personAt } from './person.mjs';
import { openWorkbench, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix, images] = process.argv.slice(2);
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
  out, vsix: path.resolve(vsix), isShared: true, files: { 'prices.py': PRICES },
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'fileops.review.open': 'beside', 'fileops.agentsApproval': 'default', 'files.autoSave': 'off' },
});
const { page, workspace, socket } = workbench;
page.setDefaultTimeout(90_000); // an agent's program starts in between
const { tab, waiting, status, lens, row, titleButton, activity, palette, setWorkspace, click, shoot, toast, toasts } = personAt(workbench, images);
const disk = () => fs.readFileSync(path.join(workspace, 'prices.py'), 'utf8');

async function story() {
  await setWorkspace({ 'workbench.colorTheme': 'Default Dark Modern', 'files.autoSave': 'off' });
  await page.locator('.explorer-folders-view').getByText('prices.py').dblclick();
  await page.locator('.view-line', { hasText: 'def discount' }).click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('RATE = 0.95  # not saved yet\n');
  await status(/fileops/).waitFor();
  await until(() => statusOf(socket).running, 'the editor has started the shared daemon');
  await activity('Fileops').click();
  console.log(`READY ${JSON.stringify({ workspace, socket })}`);

  await row(new RegExp(host, 'i')).first().waitFor();
  await waiting('prices.py').waitFor();
  await status('1 to review').waitFor();
  await lens('Accept').waitFor();
  assert.match(await waiting('prices.py').first().textContent(), new RegExp(`edit by .*${host}`, 'i'));
  await row(/ask before each edit · 1 read/).first().waitFor();
  assert.equal(disk(), PRICES);
  await shoot('agents', { 'files.autoSave': 'off' });
  say(`the edit of ${host} waits with its name, and it is in the list of agents`);

  await click(waiting('prices.py').first(), titleButton('Accept')); // a group that is not in use hides its buttons
  await titleButton('Accept').click();
  await waiting('prices.py').waitFor({ state: 'detached' });
  await page.locator('.view-line', { hasText: 'total * RATE' }).first().waitFor();
  assert.equal(disk(), PRICES, 'an edit of unsaved text goes to the editor');
  await row(/1 edit/).first().waitFor();
  await page.locator('.cdr[class*="ced-"]').first().waitFor();
  await tab('prices.py').first().waitFor();
  say('accepted; it is in the editor, marked and counted');

  // The shared daemon's folder is open to others: the window says once that it has a private daemon.
  fs.chmodSync(path.dirname(socket), 0o755);
  const notice = toast(/private daemon, because the shared one could not be used/);
  await palette('Fileops: Restart Daemon');
  await notice.waitFor();
  assert.equal((await toasts()).length, 1, `told once: ${await toasts()}`);
  await page.locator('.pane-body', { hasText: /This window has a private daemon: / }).first().waitFor();
  await palette('Notifications: Clear All Notifications');
  await notice.waitFor({ state: 'detached' });
  await palette('Fileops: Restart Daemon');
  await page.locator('.view-line', { hasText: 'def discount' }).click();
  await palette('Fileops: Read Current File Through the Daemon');
  await tab('prices.py.txt').waitFor(); // the second one runs
  assert.equal(await notice.count(), 0, 'said once');
  fs.chmodSync(path.dirname(socket), 0o700);
  await palette('Fileops: Restart Daemon');
  await page.locator('.pane-body', { hasText: /This window has a private daemon: / }).first().waitFor({ state: 'detached' });
  say('without the shared daemon the window has a private one, and says so once');
}

await play(workbench, out, story);
