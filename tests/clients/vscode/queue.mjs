// node queue.mjs floor|new OUT VSIX: a queue of reviews is decided by keyboard alone, in the real workbench. Several
// agents edit one file and another one; after each decision the next review has the keyboard. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ASKED_BESIDE, openShop } from './shop.mjs';
import { play, say, until } from './workbench.mjs';

const LINES = Array.from({ length: 40 }, (_, i) => `value_${i} = ${i}\n`).join('');
const { out, workbench, page, workspace, agent, edit, read, person } = await openShop({ files: { 'one.py': LINES, 'two.py': LINES }, settings: ASKED_BESIDE });
const { waiting, status, lens, focused, palette, pressKeyOf, reasonBox } = person;

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
  await until(async () => /one\.py/.test(await focused()), 'the editor has the keyboard');
  assert.equal(await page.locator('.tab.dirty').count(), 0);
}

async function story() {
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the agents have their daemon');
  await page.locator('.explorer-folders-view').getByText('one.py').dblclick();
  await page.locator('.view-line', { hasText: 'value_0' }).first().waitFor();
  let round = 0;
  for (const files of [['one.py', 'one.py', 'one.py'], ['one.py', 'two.py', 'two.py', 'one.py']]) {
    for (const delay of [0, 10, 30]) {
      fs.writeFileSync(path.join(workspace, 'one.py'), LINES);
      fs.writeFileSync(path.join(workspace, 'two.py'), LINES);
      await page.locator('.view-line', { hasText: 'value_0' }).first().click();
      const calls = await propose(++round, files);
      await lens('Accept').waitFor();
      await pressKeyOf('review.focus');
      await until(async () => /waits/.test(await focused()), 'the first review has the keyboard');
      let isDecided = false;
      const decided = Promise.all(calls).then(results => (isDecided = true, results));
      await until(async () => {
        await pressKeyOf('review.reject'); // may be too early for the next review: then it does nothing
        if (await reasonBox.isVisible()) await page.keyboard.press('Enter');
        await new Promise(resolve => setTimeout(resolve, delay));
        return isDecided;
      }, 'all are decided by the one key', 20_000);
      assert.ok((await decided).every(result => result.error?.code === 'rejected'));
      await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');
      await keyboardIsBack();
      say(`${files.length} reviews decided by keyboard, a key every ${delay} ms`);
    }
  }

  // One agent, whose next edit follows the answer to the last one: its review comes while the last one is closed.
  for (const delay of [0, 10, 30]) {
    fs.writeFileSync(path.join(workspace, 'one.py'), LINES);
    await page.locator('.view-line', { hasText: 'value_0' }).first().click();
    const session = `worker-${delay}`;
    await read(session, 'one.py');
    const results = [];
    const work = (async () => {
      for (let n = 0; n < 5; n++) results.push(await edit(session, 'one.py', `value_${4 * n} = `, `value_${4 * n} =  `));
    })();
    for (let n = 0; n < 5; n++) {
      await until(async () => {
        await pressKeyOf(/waits/.test(await focused()) ? 'review.accept' : 'review.focus');
        await new Promise(resolve => setTimeout(resolve, delay));
        return results.length > n;
      }, `edit ${n + 1} of one agent is accepted`, 10_000);
    }
    await work;
    assert.deepEqual(results.map(result => result.status), Array(5).fill('success'));
    await until(async () => await waiting('one.py').count() === 0, 'all reviews are gone');
    await keyboardIsBack();
    say(`5 reviews of one agent decided by keyboard, a key every ${delay} ms`);
  }

  const files = ['one.py', 'two.py', 'two.py', 'one.py'];
  for (const basename of files) fs.writeFileSync(path.join(workspace, basename), LINES);
  const disk = basename => fs.readFileSync(path.join(workspace, basename), 'utf8');
  const proposed = basename => files.reduce((text, name, n) => name === basename ? text.replace(`value_${4 * n} = `, `value_${4 * n} =  `) : text, LINES);
  await page.locator('.view-line', { hasText: 'value_0' }).first().click();
  let calls = await propose(++round, files);
  await palette('Fileops Review: Reject All Edits That Wait');
  await reasonBox.waitFor();
  await page.keyboard.press('Escape');
  await reasonBox.waitFor({ state: 'hidden' });
  await status('4 to review').waitFor();
  await palette('Fileops Review: Reject All Edits That Wait');
  await reasonBox.waitFor();
  await page.keyboard.type('one blank will do');
  await page.keyboard.press('Enter');
  for (const { error } of await Promise.all(calls)) {
    assert.equal(error?.code, 'rejected');
    assert.match(error.message, /one blank will do/);
  }
  for (const basename of files) assert.equal(disk(basename), LINES);
  await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');

  calls = await propose(++round, files);
  await palette('Fileops Review: Accept All Edits That Wait');
  assert.deepEqual((await Promise.all(calls)).map(result => result.status), files.map(() => 'success'));
  for (const basename of files) assert.equal(disk(basename), proposed(basename));
  await until(async () => await waiting('(one|two).py').count() === 0, 'all reviews are gone');
  await keyboardIsBack();
  say('all that waits is rejected with one reason, and accepted, by one command; Escape decided nothing');
}

await play(workbench, out, story);
