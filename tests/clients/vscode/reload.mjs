// Played by window.mjs: only a person's act decides. A review of an agent outside of the window lives on while the window is
// reloaded, while its extension host is killed, and once it is closed; after a decision in another editor, and after the end
// of the daemon, what was typed is shown.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { statusOf } from './daemon.mjs';
import { acceptElsewhere, agentOutside } from './outside.mjs';
import { ENCODING, FRONT, shop } from './open.mjs';
import { WINDOW as TEAM } from './roots.mjs';
import { say, until } from './workbench.mjs';

const N = 30;
const text = (changes = {}) => Array.from({ length: N }, (_, i) => `${changes[i + 1] ?? `line ${i + 1}`}\n`).join('');
const { page, socket, run, closeEditors, person } = shop;
const { waiting, status, reasonBox, tab, toast, palette } = person;
const press = async label => { await person.waiting('one.txt').first().click(); await person.titleButton(label).click(); };
const file = path.join(FRONT, 'one.txt');
const disk = () => fs.readFileSync(file, 'utf8');
let agent;

/** By the arrow in the margin that is nearest to the change. */
async function leaveOut(old, proposed) {
  const arrows = page.locator('.monaco-diff-editor a[aria-label^="Revert"]');
  await arrows.last().waitFor(); // all come at once, after the text
  const { y } = await proposal(page, proposed).boundingBox();
  const boxes = await Promise.all((await arrows.all()).map(arrow => arrow.boundingBox()));
  const distances = boxes.map(box => Math.abs(box.y - y));
  await arrows.nth(distances.indexOf(Math.min(...distances))).click();
  await proposal(page, old).waitFor();
}

const isLeftOut = async proposed => {
  await proposal(page, 'line 10').waitFor();
  assert.equal(await proposal(page, proposed).count(), 0);
};

const proposal = (where, part) => where.locator('.modified-in-monaco-diff-editor .view-line', { hasText: part });

/** The extension hosts of this workbench: children of its server. */
function extensionHosts() {
  return fs.readdirSync('/proc').filter(pid => {
    try {
      return /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=extensionHost')
        && fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`FILEOPS_SOCKET=${socket}`);
    } catch {
      return false; // it ended before
    }
  });
}

/** Whether the window has stored a text for its next run. */
const isKept = part => page.evaluate(async wanted => {
  const done = request => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  for (const { name } of await indexedDB.databases()) {
    if (!name.startsWith('vscode-web-state-db')) continue;
    const database = await done(indexedDB.open(name));
    const values = await done(database.transaction('ItemTable').objectStore('ItemTable').getAll());
    database.close();
    if (values.some(value => String(value).includes(wanted))) return true;
  }
  return false;
}, part);

/** The review is there, once, and can be worked with; it has no decision. */
async function isShownAgain(call, bytes) {
  await waiting('one.txt').waitFor();
  await status('1 to review').waitFor();
  await until(async () => await waiting('one.txt').count() === 1, 'one tab waits');
  assert.equal(call.state.isAnswered, false);
  assert.equal(disk(), bytes);
}

export async function onlyAPersonDecides() {
  await closeEditors();
  await run('notifications.clearAll');
  await page.locator('.tabs-container .tab').waitFor({ state: 'detached' });
  fs.writeFileSync(file, text());
  fs.writeFileSync(path.join(FRONT, '../team.code-workspace'), JSON.stringify({ ...TEAM, settings: { ...TEAM.settings, 'files.autoSave': 'afterDelay' } })); // as VS Code in a browser does
  agent = await agentOutside(socket, FRONT, 'painter', ENCODING);
  await agent.call('Read', 'one.txt');
  const step = n => ({ old_string: `line ${n}\n`, new_string: `agent ${n}\n` });
  let call = agent.call('MultiEdit', 'one.txt', { edits: [step(2), step(10), step(18), step(26)] });
  await waiting('one.txt').waitFor();
  await waiting('one.txt').click();
  await leaveOut('line 10', 'agent 10');
  await proposal(page, 'agent 18').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' typed');
  await proposal(page, 'agent 18 typed').waitFor();
  await until(() => isKept('agent 18 typed'), 'what is typed is kept');
  say('a review waits, a change is dropped and something typed');

  await page.reload();
  await page.waitForSelector('.monaco-workbench');
  await isShownAgain(call, text());
  await isLeftOut('agent 10');
  await proposal(page, 'agent 18 typed').waitFor();
  say('the window was reloaded: nothing is decided, and what was done is there');

  const hosts = extensionHosts();
  assert.ok(hosts.length > 0);
  const editors = () => (statusOf(socket).connections ?? []).filter(({ role }) => role === 'editor').map(({ name }) => name);
  const attached = editors();
  for (const pid of hosts) process.kill(Number(pid), 'SIGKILL');
  await until(() => extensionHosts().some(pid => !hosts.includes(pid)), 'the editor starts another extension host');
  await until(() => editors().some(name => !attached.includes(name)), 'its extension is attached'); // a host that is starting outlives its window
  await isShownAgain(call, text());
  await isLeftOut('agent 10');
  await proposal(page, 'agent 18 typed').waitFor();
  say('the extension host was killed: nothing is decided, and what was done is there');

  fs.writeFileSync(file, text({ 1: 'theirs' }));
  await press('Accept');
  await toast('was not carried out, because the file changed in the meantime').waitFor();
  await proposal(page, 'theirs').waitFor();
  await proposal(page, 'agent 18 typed').waitFor();
  await until(async () => await waiting('one.txt').count() === 1, 'the tab of the old text is closed');
  assert.equal(disk(), text({ 1: 'theirs' }));
  await press('Accept');
  assert.equal((await call).isError, false, (await call).text);
  const written = text({ 1: 'theirs', 2: 'agent 2', 18: 'agent 18 typed', 26: 'agent 26' });
  assert.equal(disk(), written);
  await waiting('one.txt').waitFor({ state: 'detached' });
  say('accepted on a changed file: the dropped change did not come back, and the typed text is written');

  await agent.call('Read', 'one.txt');
  call = agent.call('Edit', 'one.txt', step(5));
  await press('Reject');
  await reasonBox.waitFor();
  await page.keyboard.press('Escape');
  await reasonBox.waitFor({ state: 'hidden' });
  await isShownAgain(call, written);
  await press('Reject');
  await reasonBox.waitFor();
  await page.keyboard.type('line 5 is a constant.');
  await page.keyboard.press('Enter');
  assert.match((await call).text, /rejected: line 5 is a constant\. Nothing was written\./);
  await waiting('one.txt').waitFor({ state: 'detached' });
  say('a reason reaches the agent; Escape decided nothing');

  call = agent.call('Edit', 'one.txt', step(6));
  await waiting('one.txt').waitFor();
  await acceptElsewhere(socket, FRONT);
  assert.equal((await call).isError, false, (await call).text);
  await page.locator('.statusbar-item', { hasText: /one\.txt: accepted in another-editor/ }).waitFor();
  await waiting('one.txt').waitFor({ state: 'detached' });
  say('another editor decided, and the window said so');

  call = agent.call('Edit', 'one.txt', step(7));
  await waiting('one.txt').waitFor();
  await proposal(page, 'agent 7').click();
  await page.keyboard.press('End');
  const itsHosts = extensionHosts();
  itsHosts.forEach(pid => process.kill(Number(pid), 'SIGSTOP')); // busy with something else: it learns of both at once
  await page.keyboard.type(' typed here');
  await proposal(page, 'agent 7 typed here').waitFor();
  await acceptElsewhere(socket, FRONT);
  assert.equal((await call).isError, false, (await call).text);
  itsHosts.forEach(pid => process.kill(Number(pid), 'SIGCONT'));
  await toast(/review of one\.txt has ended: accepted in /).getByRole('button', { name: 'Show What You Typed' }).click();
  await tab('one.txt: what you typed').waitFor();
  await proposal(page, 'agent 7 typed here').waitFor();
  await palette('View: Close All Editors');
  say('what was typed in the window, while another editor decided, is shown');

  call = agent.call('Edit', 'one.txt', step(8));
  call.catch(() => undefined); // of a daemon that has ended
  await waiting('one.txt').waitFor();
  await proposal(page, 'agent 8').click();
  await page.keyboard.press('End');
  await page.keyboard.type(' typed here');
  await until(() => isKept('agent 8 typed here'), 'what is typed is kept');
  process.kill(statusOf(socket).pid, 'SIGKILL');
  await toast(/review of one\.txt has ended/).getByRole('button', { name: 'Show What You Typed' }).click();
  await proposal(page, 'agent 8 typed here').waitFor();
  await waiting('one.txt').waitFor({ state: 'detached' });
  assert.ok(disk().includes('line 8\n'), disk());
  say('the daemon was killed: what was typed is shown');

  await until(() => editors().length === 1, 'the window is attached to the next daemon');
  await agent.call('Read', 'one.txt');
  const before = disk();
  call = agent.call('Edit', 'one.txt', step(9));
  await waiting('one.txt').waitFor();
  await page.goto('about:blank');
  await until(() => extensionHosts().length === 0, 'the window is gone');
  assert.equal(call.state.isAnswered, false);
  assert.equal(disk(), before);
  await acceptElsewhere(socket, FRONT);
  assert.equal((await call).isError, false, (await call).text);
  assert.equal(disk(), before.replace('line 9\n', 'agent 9\n'));
  say('the window was closed: nothing was decided, and another editor could');
}

export const endPainter = () => agent?.end();
