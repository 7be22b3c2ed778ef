// Played by window.mjs: what waits for the person is decided by keyboard alone, in the real workbench: a queue, and in "new"
// files without a tab (it prints how long they take), changes left out, typed text, commands.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { CLOSED, LINES, shop } from './open.mjs';
import { PRICES } from './shop.mjs';
import { say, until } from './workbench.mjs';

const { page, workspace, agent, run, closeEditors, edit, read, file, disk, person } = shop;
const { namedInText, waiting, status, row, proposal, tab, focused, palette, pressKeyOf, openFile, reasonBox, setWorkspace, shoot, toast } = person;
const QUIET = { 'files.autoSave': 'off', 'git.enabled': false };

/** Agents whose edits wait: one for each name of a file, each of another line. */
async function propose(round, basenames) {
  const calls = [];
  for (const [n, basename] of basenames.entries()) {
    const session = `bot-${round}-${n}`;
    await read(session, basename);
    calls.push(edit(session, basename, `value_${4 * n} = `, `value_${4 * n} =  `));
    await status(`${n + 1} to review`).waitFor();
  }
  return calls;
}

/** The user's editor has the keyboard again, and nothing was typed into it. */
async function keyboardIsBack() {
  await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');
  await until(async () => /one\.py/.test(await focused()), 'the editor has the keyboard');
  assert.equal(await page.locator('.tab.dirty').count(), 0);
}

const inReview = async () => /waits/.test(await focused());

const hasTextFocus = () => page.evaluate(() => Boolean(document.activeElement?.closest('.monaco-diff-editor')));

/** Another review than those before has the keyboard. Returns its id. */
const nextInReview = (before = []) => until(async () => {
  const review = await agent(null, 'inReview');
  return review && !before.includes(review) && await inReview() && await hasTextFocus() ? review : undefined;
}, 'the next review has the keyboard');

async function aQueueByOneKey() {
  const files = ['one.py', 'two.py', 'two.py', 'one.py'];
  const calls = await propose('queue', files);
  await pressKeyOf('nextFile');
  const decided = [];
  while (decided.length < files.length) {
    decided.push(await nextInReview(decided));
    await pressKeyOf('reject'); // once: then one box is that of this review, and stays until Enter
    await reasonBox.locator('input:focus').waitFor();
    await page.keyboard.press('Enter');
  }
  assert.ok((await Promise.all(calls)).every(result => result.error?.code === 'rejected'));
  await keyboardIsBack();
  say(`${files.length} reviews decided by keyboard`);
}

/** One agent, whose next edit follows the answer to the last one: its review comes while the last one is closed. */
async function oneAgentAfterAnother() {
  fs.writeFileSync(file('one.py'), LINES);
  await page.locator('.view-line', { hasText: 'value_0' }).first().click();
  await read('worker', 'one.py');
  const results = [];
  const work = (async () => {
    for (let n = 0; n < 5; n++) results.push(await edit('worker', 'one.py', `value_${4 * n} = `, `value_${4 * n} =  `));
  })();
  for (let n = 0; n < 5; n++) {
    await until(async () => {
      await pressKeyOf(await inReview() ? 'accept' : 'nextFile');
      return results.length > n;
    }, `edit ${n + 1} of one agent is accepted`);
  }
  await work;
  assert.deepEqual(results.map(result => result.status), Array(5).fill('success'));
  await keyboardIsBack();
  say('5 reviews of one agent decided by keyboard');
}

/** Files without a tab: to the first one, and each accepted by one key. */
async function filesWithoutATab() {
  const calls = [];
  for (const [n, basename] of CLOSED.entries()) {
    await read(`closed-${n}`, basename);
    calls.push(edit(`closed-${n}`, basename, 'value_7 = 7', `value_7 = ${100 + n}`));
  }
  await status(`${CLOSED.length} to review`).waitFor();
  await page.locator('.view-line', { hasText: 'value_0' }).first().click();
  const began = Date.now();
  let nAnswered = 0;
  for (const call of calls) void call.then(() => nAnswered++);
  await pressKeyOf('nextFile');
  await until(async () => {
    if (await inReview()) await pressKeyOf('accept');
    return nAnswered === CLOSED.length;
  }, 'all are accepted');
  const took = Date.now() - began;
  assert.deepEqual((await Promise.all(calls)).map(({ status: state }) => state), CLOSED.map(() => 'success'));
  for (const [n, basename] of CLOSED.entries()) assert.equal(disk(basename), LINES.replace('value_7 = 7', `value_7 = ${100 + n}`));
  await keyboardIsBack();
  say(`${CLOSED.length} waiting files of closed tabs decided in ${(took / 1000).toFixed(1)} s by keys`);
}

async function allAtOnce() {
  const files = ['one.py', 'two.py', 'one.py'];
  for (const basename of files) fs.writeFileSync(file(basename), LINES);
  const proposed = basename => files.reduce((text, name, n) => name === basename ? text.replace(`value_${4 * n} = `, `value_${4 * n} =  `) : text, LINES);
  await page.locator('.view-line', { hasText: 'value_0' }).first().click();
  let calls = await propose('all', files);
  await palette('Agent Changes: Reject All');
  await reasonBox.waitFor();
  await page.keyboard.press('Escape');
  await reasonBox.waitFor({ state: 'hidden' });
  await status('3 to review').waitFor();
  await palette('Agent Changes: Reject All');
  await reasonBox.waitFor();
  await page.keyboard.type('one blank will do');
  await page.keyboard.press('Enter');
  for (const { error } of await Promise.all(calls)) {
    assert.equal(error?.code, 'rejected');
    assert.match(error.message, /one blank will do/);
  }
  for (const basename of files) assert.equal(disk(basename), LINES);
  await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');
  await openFile('one.py');

  calls = await propose('again', files);
  await palette('Agent Changes: Accept All');
  assert.deepEqual((await Promise.all(calls)).map(result => result.status), files.map(() => 'success'));
  for (const basename of files) assert.equal(disk(basename), proposed(basename));
  await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');
  say('all that waits is rejected with one reason, and accepted, by one command; Escape decided nothing');
}

/** In the list and in a pane: a change left out by the arrow in the margin, and text typed into the proposal. */
async function aProposal() {
  await openFile('prices.py');
  await read('Claude Code', 'prices.py');
  if (process.argv[5]) await run('workbench.action.closeAllGroups'); // with the window for itself it is side by side
  const call = agent('Claude Code', 'multiEdit', { file_path: file('prices.py'), edits: [
    { old_string: '    for item in basket:\n', new_string: '    for item in basket:\n        if item.count < 0:\n            raise ValueError("a count is negative")\n' },
    { old_string: 'total * 0.95', new_string: 'total * Decimal("0.9")' },
    { old_string: 'round(amount + amount * VAT, 2)', new_string: 'round(amount * (1 + VAT), 2)' }] });
  await waiting('prices.py').waitFor();
  await page.keyboard.press('Control+Shift+G');
  await row('Waiting for You · Claude Code').waitFor();
  await proposal('a count is negative').waitFor();
  await status(/Claude Code: 1 to review · \d+ min left/).waitFor();
  await until(() => namedInText('Claude Code · '), 'the first change names the agent');
  await shoot('waiting', QUIET);
  await setWorkspace(QUIET);
  await page.locator('.monaco-diff-editor a[aria-label^="Revert"]').first().click();
  await proposal('a count is negative').waitFor({ state: 'detached' });
  await proposal('Decimal("0.9")').click();
  await page.keyboard.press('End');
  await page.keyboard.type('  # see #12');
  await nextInReview();
  await pressKeyOf('accept');
  const result = await call;
  assert.equal(result.status, 'success', result.output);
  assert.equal(result.details.modified_by_user, true);
  const written = disk('prices.py');
  assert.ok(written.includes('Decimal("0.9")  # see #12') && !written.includes('is negative') && written.includes('(1 + VAT)'), written);
  await waiting('prices.py').waitFor({ state: 'detached' });
  say('a change was left out by the arrow in the margin, text was typed, and the agent reads what was written');

  const taken = edit('Claude Code', 'prices.py', 'def gross(', 'def total(');
  await waiting('prices.py').waitFor();
  taken.cancel();
  await waiting('prices.py').waitFor({ state: 'detached' });
  await status('to review').waitFor({ state: 'detached' });
  say('the agent took an edit back; its review is gone');
}

/** The person types into the file while a review of it waits: they decide on the text as it is then. */
async function aFileThatChanges() {
  await openFile('prices.py');
  await read('Claude Code', 'prices.py');
  const call = edit('Claude Code', 'prices.py', 'total * Decimal("0.9")', 'total * Decimal("0.8")');
  await waiting('prices.py').waitFor();
  await page.locator('.view-line', { hasText: 'if customer.is_regular' }).first().click();
  await page.keyboard.press('End');
  await page.keyboard.type('  # mine');
  await pressKeyOf('nextFile');
  await nextInReview();
  await pressKeyOf('accept');
  await toast('was not carried out, because the file changed in the meantime').waitFor();
  await proposal('# mine').waitFor();
  await nextInReview();
  await pressKeyOf('accept');
  assert.equal((await call).status, 'success', (await call).output);
  await page.locator('.view-line', { hasText: 'Decimal("0.8")' }).first().waitFor();
  assert.ok(await page.locator('.view-line', { hasText: '# mine' }).count() > 0);
  await waiting('prices.py').waitFor({ state: 'detached' });
  await openFile('prices.py');
  await page.keyboard.press('Control+S');
  await until(() => disk('prices.py').includes('# mine') && disk('prices.py').includes('Decimal("0.8")'), 'both are saved');
  await run('notifications.clearAll');
  say('a review whose file changed is decided on the new text');
}

/** How it is decided is tested in the extension host. */
async function aCommand() {
  if (process.argv[5]) await run('notifications.clearAll'); // none in the picture
  const commandTab = tab('shop-bot: command waits for you');
  const call = agent('shop-bot', 'bash', { command: 'python -m pytest -q tests/test_prices.py &&\n  echo done >> log.txt', description: 'See whether the prices still add up' });
  await commandTab.waitFor();
  await status('1 to review').waitFor();
  assert.doesNotMatch(await focused(), /waits/, 'the keyboard stays where it was');
  await shoot('command', QUIET);
  call.cancel();
  await commandTab.waitFor({ state: 'detached' });
  assert.ok(!fs.existsSync(path.join(workspace, 'log.txt')));
  say('a command waited, and was taken back');
}

export async function waitingEdits() {
  await closeEditors();
  fs.writeFileSync(file('prices.py'), PRICES);
  await setWorkspace(QUIET);
  await agent(null, 'ask', { when: 'each_edit' });
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the agents have their daemon');
  await openFile('one.py');
  await aQueueByOneKey();
  if (process.argv[2] === 'floor') return; // which has shown a review, its keys and the box for a reason
  await oneAgentAfterAnother();
  await filesWithoutATab();
  await allAtOnce();
  await aProposal();
  await aFileThatChanges();
  await aCommand();
}
