// node review.mjs floor|new OUT VSIX [IMAGES]: a person's afternoon with an agent, by mouse and keyboard, in the real
// workbench with the .vsix installed. The agent is another extension (agent/). With IMAGES the pictures for the
// documentation are put there, in a dark and a light theme. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import { ASKED_BESIDE, openShop, PRICES } from './shop.mjs';
import { play, say, until } from './workbench.mjs';

const STOCK = `def in_stock(item, shelf):
    return shelf.get(item, 0) > 0


def reserve(item, shelf):
    shelf[item] -= 1
    return shelf
`;

const SHELL = { 'fileops.bash': true, 'fileops.codeLens': true };

const { out, workbench, page, workspace, agent, edit, read, file, disk, person } = await openShop({
  files: { 'prices.py': PRICES, 'stock.py': STOCK, 'README.md': '# Shop\n' }, settings: ASKED_BESIDE, isCovered: true,
});

// --- the person -----------------------------------------------------------------------------------------------

const step = say;
const {
  reasonBox, tab, waiting, status, lens, row, titleButton, activity, focused, pressKeyOf, palette, setWorkspace, click, shoot, toast, toasts,
} = person;

/** The daemons that run for a folder: they are started in it. */
function daemonsIn(folder) {
  const works = pid => {
    try {
      return fs.readlinkSync(`/proc/${pid}/cwd`) === folder && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('-m\0fileops\0');
    } catch {
      return false; // it ended before
    }
  };
  return fs.readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && works(pid));
}

/** The lines that an agent sees: those of the editor, saved or not. */
const linesFor = async (session, basename) =>
  (await read(session, basename)).output.split('\n').flatMap(line => /^ *\d+→(.*)$/.exec(line)?.[1] ?? []);

/** That nothing was typed into a file that is open. */
async function assertUntouched(basename, text) {
  assert.deepEqual(await linesFor('witness', basename), text.trimEnd().split('\n'));
  assert.equal(disk(basename), text);
  await agent('witness', 'close');
}

/** Back to an earlier text, which the open editor follows; the agent knows it. */
async function restore(basename, text) {
  fs.writeFileSync(file(basename), text);
  await page.locator('.view-line', { hasText: text.trimEnd().split('\n').at(-3) }).first().waitFor();
  await until(async () => (await linesFor('invoice-bot', basename)).join('\n') === text.trimEnd(), 'it is read as it was');
}

/** Keeps processors busy until the returned function is called. */
function load() {
  const loops = Array.from({ length: os.cpus().length }, () => spawn(process.execPath, ['-e', 'for (;;) ;'], { stdio: 'ignore' }));
  return () => loops.forEach(loop => loop.kill('SIGKILL'));
}

async function story() {
  await setWorkspace({ 'workbench.colorTheme': 'Default Dark Modern' });
  await status(/fileops/).waitFor();
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the agent has its daemon');
  await page.locator('.explorer-folders-view').getByText('prices.py').dblclick();
  await page.locator('.view-line', { hasText: 'What a basket costs' }).waitFor();
  step('the extension runs, a file is open');

  // By hand, without an agent: read, and preview an edit.
  await palette('Fileops: Read Current File Through the Daemon');
  await tab('prices.py.txt').waitFor();
  await page.locator('.view-line', { hasText: '1→' }).first().waitFor();
  await palette('Fileops: Preview an Edit of the Current File');
  for (const [prompt, answer] of [['Text to replace', '0.19'], ['What to put in place', '0.21']]) {
    await page.locator('.quick-input-widget', { hasText: prompt }).waitFor();
    await page.locator('.quick-input-widget input').first().fill(answer);
    await page.keyboard.press('Enter');
  }
  await tab('prices.py: preview of an edit').waitFor();
  assert.equal(disk('prices.py'), PRICES);
  await palette('Fileops: Close All Fileops Diffs');
  await tab('prices.py: preview of an edit').waitFor({ state: 'detached' });
  await status(/fileops/).click();
  await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Restart Daemon' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('.view-line', { hasText: 'What a basket costs' }).click();
  step('read and previewed by hand');

  // See, and decide by mouse.
  await read('invoice-bot', 'prices.py');
  let call = agent('invoice-bot', 'multiEdit', { file_path: file('prices.py'), edits: [
    { old_string: '    total = 0\n    for item in basket:\n        total += item.price * item.count\n    return total\n', new_string: '    return sum(item.total for item in basket)\n' },
    { old_string: 'total * 0.95', new_string: 'total * Decimal("0.95")' },
    { old_string: '    return round(amount + amount * VAT, 2)\n', new_string: '    return round(amount * (1 + VAT), 2)\n' }] });
  await waiting('prices.py').waitFor();
  await status('1 to review').waitFor();
  await lens('Accept').waitFor();
  assert.match(await focused(), /prices\.py/);
  assert.doesNotMatch(await focused(), /waits/, 'the keyboard stays where it was');
  await shoot('review');
  const nChanges = await lens(/Drop change/).count();
  assert.equal(nChanges, 3, 'changes can be decided one by one');
  await lens(`Drop change ${nChanges} of ${nChanges}`).click();
  await lens(`Put back change ${nChanges} of ${nChanges}`).waitFor();
  await titleButton('Accept').click();
  let result = await call;
  assert.equal(result.status, 'success', result.output);
  assert.equal(result.details.modified_by_user, true);
  assert.ok(disk('prices.py').includes('sum(item.total') && disk('prices.py').includes('round(amount + amount'));
  await waiting('prices.py').waitFor({ state: 'detached' });
  step('one change dropped by mouse, the rest accepted by mouse');

  // The marks in the real file, which has followed the disk.
  await page.locator('.view-line', { hasText: 'sum(item.total' }).waitFor();
  await page.locator('.cdr[class*="ced-"]').first().waitFor();
  await shoot('marks');
  await palette('Fileops: Dismiss Marks in This File');
  step('changed lines are marked, and dismissed');

  // By keyboard alone: go there, type, accept.
  await page.locator('.view-line', { hasText: 'def gross' }).click();
  call = edit('invoice-bot', 'prices.py', 'VAT = Decimal("0.19")', 'VAT = Decimal("0.20")');
  await waiting('prices.py').waitFor();
  await lens('Accept').waitFor();
  await page.keyboard.press('Control+Alt+Enter');
  await until(async () => /waits/.test(await focused()), 'the review has the keyboard');
  await page.keyboard.press('End');
  await page.keyboard.type('  # since 2026');
  await pressKeyOf('review.accept');
  result = await call;
  assert.equal(result.status, 'success', result.output);
  assert.equal(result.details.modified_by_user, true);
  assert.ok(disk('prices.py').includes('VAT = Decimal("0.20")  # since 2026\n'), disk('prices.py'));
  await waiting('prices.py').waitFor({ state: 'detached' });
  step('proposal typed into and accepted by keyboard');

  // A change dropped and the edit rejected by keyboard.
  const before = disk('prices.py');
  call = edit('invoice-bot', 'prices.py', 'total * Decimal("0.95")', 'total * Decimal("0.5")');
  await waiting('prices.py').waitFor();
  await lens('Accept').waitFor();
  await page.keyboard.press('Control+Alt+Enter');
  await until(async () => /waits/.test(await focused()), 'the review has the keyboard');
  await page.keyboard.press('Alt+Enter');
  await lens('Put back change').waitFor();
  await page.keyboard.press('Alt+Enter');
  await lens('Drop change').waitFor();
  await pressKeyOf('review.reject');
  await reasonBox.waitFor();
  await page.keyboard.press('Enter'); // without a reason
  result = await call;
  assert.equal(result.error.code, 'rejected');
  assert.equal(disk('prices.py'), before);
  await waiting('prices.py').waitFor({ state: 'detached' });
  step('rejected by keyboard');

  // Several at once, listed; decided in the list.
  await read('stock-bot', 'stock.py');
  const first = edit('invoice-bot', 'prices.py', 'def gross(', 'def total(');
  await waiting('prices.py').waitFor();
  const second = edit('stock-bot', 'stock.py', '> 0', '>= 1');
  await status('2 to review').waitFor();
  await activity('Fileops').click();
  await row('stock.py').waitFor();
  await row('prices.py').first().waitFor();
  await lens('Accept').waitFor();
  await shoot('queue');
  await row('stock.py').first().hover();
  await row('stock.py').first().locator('a[aria-label^="Reject"]').click();
  await reasonBox.waitFor();
  await page.keyboard.type('one is too few');
  await page.keyboard.press('Enter');
  assert.match((await second).output, /rejected: one is too few Nothing was written/);
  assert.equal((await second).error.code, 'rejected');
  await row('prices.py').first().hover();
  await row('prices.py').first().locator('a[aria-label^="Accept"]').first().click();
  assert.equal((await first).status, 'success');
  await waiting('prices.py').waitFor({ state: 'detached' });
  step('two waiting reviews decided in the list');

  // The agent takes its edit back while the person thinks.
  call = edit('stock-bot', 'stock.py', '> 0', '>= 1');
  await waiting('stock.py').waitFor();
  call.cancel();
  await waiting('stock.py').waitFor({ state: 'detached' });
  assert.equal(disk('stock.py'), STOCK);
  step('the agent took an edit back; its review is gone');

  // History: look at an edit, take it back.
  await row(/^invoice-bot\s*3 edits/).waitFor();
  await until(async () => await row('prices.py').count() === 3, 'the three edits are listed');
  const last = row('prices.py').first();
  await click(last, tab("prices.py: agent's edit"));
  await page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: 'def total(' }).waitFor();
  await palette('Fileops: Dismiss All Marks');
  await shoot('history');
  await last.hover();
  await click(last.locator('a[aria-label^="Undo This Edit"]'), row('You')); // at once: it is the person who asks
  await until(() => disk('prices.py').includes('def gross('), 'the edit is undone');
  assert.equal(await waiting('prices.py').count(), 0);
  await palette('Fileops: Close All Fileops Diffs');
  await tab("prices.py: agent's edit").waitFor({ state: 'detached' });
  step('an edit shown and undone from the history');

  // Another program writes: the agent's knowledge is stale, and that is to be seen.
  await activity('Explorer').click();
  await page.locator('.explorer-folders-view').getByText('stock.py').dblclick();
  await page.locator('.view-line', { hasText: 'def in_stock' }).waitFor();
  await status('≠ 1 stale').waitFor(); // the agent whose edit was undone knows an older text
  await read('invoice-bot', 'prices.py');
  await status('stale').waitFor({ state: 'detached' });
  await read('stock-bot', 'stock.py');
  fs.writeFileSync(file('stock.py'), STOCK.replace('-= 1', '-= 1  # may go below zero'));
  await status('≠ 1 stale').waitFor();
  await page.locator('.view-line', { hasText: 'may go below zero' }).waitFor();
  await shoot('stale');
  assert.equal((await edit('stock-bot', 'stock.py', '> 0', '>= 1')).error.code, 'modified_externally');
  await read('stock-bot', 'stock.py');
  await status('stale').waitFor({ state: 'detached' });
  step('a stale file is marked until it is read again');

  // Keys that come too early, or when no review waits, leave the person's file as it is.
  await page.locator('.explorer-folders-view').getByText('prices.py').dblclick();
  await page.locator('.view-line', { hasText: 'def gross' }).click();
  await read('invoice-bot', 'prices.py');
  for (const command of ['review.accept', 'review.always', 'review.reject', 'command.run', 'command.always', 'command.reject']) {
    await pressKeyOf(command);
    await assertUntouched('prices.py', before);
  }
  for (const [n, delay] of [0, 0, 10, 10, 30, 30].entries()) {
    await page.locator('.view-line', { hasText: 'def gross' }).click();
    const standing = disk('prices.py');
    call = edit('invoice-bot', 'prices.py', `def gross(${'_'.repeat(n)}`, `def gross(${'_'.repeat(n + 1)}`);
    await waiting('prices.py').waitFor();
    const lighten = load();
    try {
      await pressKeyOf('review.focus');
      await new Promise(resolve => setTimeout(resolve, delay));
      await pressKeyOf('review.accept'); // may be too early: then it has done nothing, and is pressed again
      await until(async () => {
        if (disk('prices.py') !== standing) return true;
        if (/waits/.test(await focused())) await pressKeyOf('review.accept');
        return false;
      }, 'accepted');
      result = await call;
      assert.equal(result.status, 'success', result.output);
      await waiting('prices.py').waitFor({ state: 'detached' });
    } finally {
      lighten();
    }
    await assertUntouched('prices.py', standing.replace('def gross(', 'def gross(_'));
  }
  await restore('prices.py', before);
  step('keys typed too quickly have harmed nothing');

  // The person types into the file while a review of it waits: it says so, and they decide on the text as it is then.
  call = edit('invoice-bot', 'prices.py', 'total * Decimal("0.95")', 'total * Decimal("0.9")');
  await waiting('prices.py').waitFor();
  await lens('Accept').waitFor();
  await page.locator('.view-line', { hasText: 'if customer.is_regular' }).first().click();
  await page.keyboard.press('End');
  await page.keyboard.type('  # mine');
  await lens('File changed in the meantime').waitFor();
  await waiting('prices.py').locator('[class*="itemBadge"]').first().waitFor();
  await palette('Fileops Review: Accept');
  await lens('Decide again: the file changed in the meantime').waitFor();
  await toast('was not carried out, because the file changed in the meantime').waitFor();
  await page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: '# mine' }).waitFor();
  await shoot('reopened');
  await palette('Fileops Review: Accept');
  result = await call;
  assert.equal(result.status, 'success', result.output);
  const mine = before.replace('if customer.is_regular:', 'if customer.is_regular:  # mine').replace('total * Decimal("0.95")', 'total * Decimal("0.9")');
  await until(() => disk('prices.py') === mine, 'what the person typed is saved, and the edit with it'); // the web saves by itself
  await palette('Notifications: Clear All Notifications');
  await palette('Fileops: Dismiss All Marks');
  await restore('prices.py', before);
  await page.locator('.explorer-folders-view').getByText('stock.py').dblclick();
  await page.locator('.view-line', { hasText: 'def in_stock' }).waitFor();
  step('a review whose file changed says so, and is decided on the new text');

  // A shell command, where the person has allowed agents to ask for some: by keyboard.
  await activity('Fileops').click();
  await setWorkspace({ 'workbench.colorTheme': 'Default Dark Modern', ...SHELL });
  await until(async () => (await agent(null, 'tools').catch(() => [])).length === 4, 'the daemon runs anew, with bash');
  const commandTab = tab('shop-bot: command waits for you');
  call = agent('shop-bot', 'bash', { command: 'python -m pytest -q tests/test_prices.py &&\n  echo done >> log.txt # ' + 'and on and on '.repeat(12), description: 'See whether the prices still add up' });
  await commandTab.waitFor();
  await status('1 to review').waitFor();
  await lens('Run once').waitFor();
  assert.doesNotMatch(await focused(), /waits/, 'the keyboard stays where it was');
  await row('python -m pytest').waitFor();
  await shoot('command', SHELL);
  await page.keyboard.press('Control+Alt+Enter');
  await until(async () => /command waits/.test(await focused()), 'the command has the keyboard');
  await pressKeyOf('command.reject');
  assert.equal((await call).error.code, 'rejected');
  await commandTab.waitFor({ state: 'detached' });
  assert.ok(!fs.existsSync(file('log.txt')));
  call = agent('shop-bot', 'bash', { command: 'echo done >> log.txt' });
  await commandTab.waitFor();
  await lens('Run once').click();
  assert.equal((await call).status, 'success');
  assert.equal(disk('log.txt'), 'done\n');
  await commandTab.waitFor({ state: 'detached' });
  fs.rmSync(file('log.txt'));
  step('a command rejected by keyboard, another one run by mouse');

  // Links above an agent's edits, which follow the edits.
  await agent('shop-bot', 'setApprovalMode', 'yolo');
  await read('shop-bot', 'stock.py');
  await edit('shop-bot', 'stock.py', '> 0', '>= 1');
  await lens('agent edit: undo').waitFor();
  await agent('shop-bot', 'undoAll');
  await lens('agent edit: undo').waitFor({ state: 'detached' });
  await palette('Fileops: Dismiss All Marks');
  await setWorkspace({ 'workbench.colorTheme': 'Default Dark Modern' });
  await until(async () => (await agent(null, 'tools').catch(() => [])).length === 3, 'the daemon runs anew, without bash');
  step('a link above an edit went with the edit');

  // The daemon is killed while a review waits: the user is notified, the agent is answered, and it runs again.
  await read('stock-bot', 'stock.py');
  call = edit('stock-bot', 'stock.py', '> 0', '>= 1');
  await waiting('stock.py').waitFor();
  const [killed] = daemonsIn(workspace);
  await agent('stock-bot', 'read', { file_path: file('stock.py') }, Number(killed)); // written to a pipe that is closed
  assert.equal((await call).error.code, 'connection_lost');
  await waiting('stock.py').waitFor({ state: 'detached' });
  await toast(/ended unexpectedly.*The review of stock\.py ended with it/).waitFor();
  assert.equal((await toasts()).length, 1, `told once: ${await toasts()}`);
  await until(() => daemonsIn(workspace).some(pid => pid !== killed), 'another daemon runs');

  // The editor is closed while a review waits: nothing is written.
  await read('stock-bot', 'stock.py');
  call = edit('stock-bot', 'stock.py', '> 0', '>= 1');
  await waiting('stock.py').waitFor();
  const standing = disk('stock.py');
  const listed = fs.readdirSync(workspace).sort();
  assert.equal(daemonsIn(workspace).length, 1);
  await page.goto('about:blank'); // A page that is closed has half a second to notify the server; on a loaded machine that is too short.
  await until(() => daemonsIn(workspace).length === 0, 'the daemon has ended');
  assert.equal(disk('stock.py'), standing);
  assert.deepEqual(fs.readdirSync(workspace).sort(), listed);
  assert.deepEqual(listed, ['.vscode', 'README.md', 'prices.py', 'stock.py']);
  step('the editor closed with a review waiting; nothing was written and nothing is left');
}

await play(workbench, out, story);
