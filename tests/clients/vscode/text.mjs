// node text.mjs floor|new OUT VSIX [IMAGES]: a person decides in the text itself, by keyboard alone, in the real workbench.
// The agent is another extension (agent/). With IMAGES the pictures for the documentation are put there, in a dark and a
// light theme. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { statusOf } from './daemon.mjs';
import { agentOutside } from './outside.mjs';
import { personAt } from './person.mjs';
import { openShop, PRICES } from './shop.mjs';
import { play, say, until } from './workbench.mjs';

const { out, workbench, page, workspace, socket, agent, read, file, disk: textOf, person } = await openShop({
  isShared: true, files: { 'prices.py': PRICES, 'README.md': '# Shop\n' }, settings: { 'files.autoSave': 'off' },
});
const { status, lens, row, focused, pressKeyOf, palette, reasonBox, shoot, setWorkspace, toast, waiting } = person;
const THEME = { 'workbench.colorTheme': 'Default Dark Modern', 'files.autoSave': 'off' };
const disk = () => textOf('prices.py');
const inserted = text => page.locator('.review-widget', { hasText: text });

/** Opens a file by keys. */
async function openFile(basename) {
  await page.keyboard.press('Control+P');
  const box = page.locator('.quick-input-widget input').first();
  await box.fill(basename);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: basename }).first().waitFor();
  await page.keyboard.press('Enter');
  await until(async () => (await focused()).includes(basename), 'the file has the keyboard');
  await until(async () => (await agent(null, 'visible')).includes(file(basename)), 'the extensions know that it is visible');
}

async function goToLine(line) {
  await page.keyboard.press('Control+G');
  await page.locator('.quick-input-widget input').first().fill(`:${line}`);
  await page.keyboard.press('Enter');
  await until(async () => (await focused()).includes('prices.py'), 'the file has the keyboard');
}

const EDITS = [
  { old_string: '        return total * 0.95\n', new_string: '        return total * (1 - customer.rate)\n' },
  { old_string: '    amount = discount(net(basket), customer)\n', new_string: '    if not basket:\n        return 0\n    amount = discount(net(basket), customer)\n' },
];

async function decideBeforeTheWrite() {
  await openFile('prices.py');
  await read('helper', 'prices.py');
  const done = agent('helper', 'multiEdit', { file_path: file('prices.py'), edits: EDITS });
  await status('1 to review').waitFor();
  await inserted('customer.rate').waitFor();
  await lens('Accept all 2').waitFor();
  assert.equal(await waiting('prices.py').count(), 0, 'no diff is opened');
  await until(async () => (await focused()).includes('prices.py'), 'the file has the keyboard');
  await shoot('text', { 'files.autoSave': 'off' });
  await setWorkspace(THEME);

  await goToLine(1); // the person types on beside it
  await page.keyboard.type('# Prices are net.\n');
  await pressKeyOf('review.nextChange');
  await pressKeyOf('review.acceptChange');
  await inserted('customer.rate').waitFor({ state: 'detached' });
  await pressKeyOf('review.rejectChangeBecause'); // the cursor is at the next change
  await reasonBox.waitFor();
  await page.keyboard.type('A basket is never empty.');
  await page.keyboard.press('Enter');
  const result = await done;
  assert.equal(result.status, 'success', result.output);
  assert.match(result.output, /The user's reason: A basket is never empty\./);
  await inserted('if not basket').waitFor({ state: 'detached' });
  await page.locator('.view-line', { hasText: 'customer.rate' }).waitFor();
  await page.keyboard.press('Control+S');
  await until(() => disk() === `# Prices are net.\n${PRICES.replace(EDITS[0].old_string, EDITS[0].new_string)}`, 'only what was accepted is written, beside what was typed');
  say('an edit was decided change by change, in the text, by keys, and the agent reads why a part was rejected');
}

async function rejectWithAReason() {
  await read('helper', 'prices.py');
  const done = agent('helper', 'edit', { file_path: file('prices.py'), old_string: 'round(amount + amount * VAT, 2)', new_string: 'amount * (1 + VAT)' });
  await inserted('(1 + VAT)').waitFor();
  await pressKeyOf('review.reject');
  await reasonBox.waitFor();
  await page.keyboard.type('Keep the rounding.');
  await page.keyboard.press('Enter');
  const { error, output } = await done;
  assert.equal(error?.code, 'rejected');
  assert.match(output, /Keep the rounding\./);
  await inserted('(1 + VAT)').waitFor({ state: 'detached' });
  say('an edit was rejected with a reason');
}

/** An agent outside of the editor edits without being asked: its changes are marked, and kept or undone afterwards. */
async function keepOrUndoAfterwards() {
  await palette('Fileops: Dismiss All Marks'); // of what was accepted before
  fs.writeFileSync(file('prices.py'), PRICES);
  const painter = await agentOutside(socket, workspace, 'painter');
  try {
    await painter.call('Read', 'prices.py');
    const edits = [...EDITS, { old_string: '    return round(amount + amount * VAT, 2)\n', new_string: '    return amount * (1 + VAT)\n' }];
    const { text, isError } = await painter.call('MultiEdit', 'prices.py', { edits });
    assert.ok(!isError, text);
    await toast("agents’ edits are written at once").waitFor(); // explained once
    await page.keyboard.press('Escape');
    await status('3 to keep or undo').waitFor();
    await lens('Keep all 3').waitFor();
    await palette('Fileops: Focus on Changes View');
    await row('painter').first().waitFor();
    await row('prices.py').first().waitFor();
    await palette('Notifications: Clear All Notifications');
    await page.keyboard.press('Control+1');
    await until(async () => (await focused()).includes('prices.py'), 'the file has the keyboard');
    await goToLine(17);
    await shoot('unkept', { 'files.autoSave': 'off' });
    await setWorkspace(THEME);

    await page.reload(); // nothing of it is lost
    await page.waitForSelector('.monaco-workbench');
    await lens('Keep all 3').waitFor();
    await page.keyboard.press('Control+1');
    await until(async () => (await focused()).includes('prices.py'), 'the file has the keyboard');
    await goToLine(1);
    await pressKeyOf('nextUnkept');
    await pressKeyOf('keep.change');
    await status('2 to keep or undo').waitFor();
    await pressKeyOf('nextUnkept');
    await pressKeyOf('toggleRemovedLines');
    await pressKeyOf('undo.because');
    await reasonBox.waitFor();
    await page.keyboard.type('An empty basket costs nothing.');
    await page.keyboard.press('Enter');
    await status('1 to keep or undo').waitFor();
    await page.locator('.view-line', { hasText: 'if not basket' }).waitFor({ state: 'detached' });
    await lens('Undone').waitFor(); // it stays visible until the agent's next turn
    await pressKeyOf('nextUnkept');
    await page.locator('.review-widget', { hasText: 'amount + amount * VAT' }).waitFor();
    await shoot('undone', { 'files.autoSave': 'off' });
    await setWorkspace(THEME);
    await palette('Fileops: Undo All Changes of Agents');
    await until(() => disk() === PRICES.replace(EDITS[0].old_string, EDITS[0].new_string), 'what was kept is there, and nothing else');
    const { notices } = await painter.call('Read', 'prices.py');
    assert.match(notices.join(' '), /Their reason: An empty basket costs nothing\./);
    say('an edit that was written at once was kept and undone in parts, by keys, after a reload');
    if (process.argv[2] === 'floor') return; // the rest is the same in every editor, and takes about 20 seconds
    await undoInTwoWindowsWithoutAnAnswer(painter);
    await keepAndUndoOfADaemonThatIsKilled(painter);
  } finally {
    painter.end();
  }
}

/**
 * The daemon hangs while two windows undo the same change: the person reads so, and when it continues the change is
 * undone once, which the other window reads.
 */
async function undoInTwoWindowsWithoutAnAnswer(painter) {
  const before = disk();
  const late = await (await page.context().browser().newContext({ viewport: { width: 1600, height: 900 } })).newPage();
  late.setDefaultTimeout(60_000);
  await late.goto(page.url());
  const other = personAt({ page: late, workspace });
  const { text, isError } = await painter.call('Edit', 'prices.py', { old_string: 'VAT = Decimal("0.19")', new_string: 'VAT = Decimal("0.20")' });
  assert.ok(!isError, text);
  await Promise.all([status, other.status].map(shown => shown('1 to keep or undo').waitFor()));
  await palette('Notifications: Clear All Notifications');
  await palette('View: Focus Problems'); // a panel has the keyboard
  const { pid } = statusOf(socket);
  process.kill(pid, 'SIGSTOP');
  try {
    await palette('Fileops: Undo All Changes of Agents');
    await other.palette('Fileops: Undo All Changes of Agents');
    await Promise.all([toast, other.toast].map(shown => shown('has not answered about the undo of 1 change yet').waitFor()));
    assert.notEqual(disk(), before, 'nothing is undone yet');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(() => disk() === before, 'it is undone');
  const counted = async text => await toast(text).count() + await other.toast(text).count();
  await until(async () => await counted('undone: 1 change') === 1 && await counted('nothing was undone') === 1, 'one window undid it, and the other says that it is gone');
  assert.equal(disk(), before);
  assert.equal(await waiting('prices.py').count(), 0, 'no diff was opened');
  await late.context().close();
  say('a daemon that hung was named; of two windows that undid a change, one did, and the other said so');
}

/** The daemon is killed before it has kept one change and undone another: nothing is decided, and both can be later. */
async function keepAndUndoOfADaemonThatIsKilled(painter) {
  const before = disk();
  const edits = [
    { old_string: 'VAT = Decimal("0.19")', new_string: 'VAT = Decimal("0.20")' },
    { old_string: '    total = 0\n', new_string: '    total = Decimal(0)\n' },
  ];
  await painter.call('Read', 'prices.py');
  const { text, isError } = await painter.call('MultiEdit', 'prices.py', { edits });
  assert.ok(!isError, text);
  const edited = disk();
  await status('2 to keep or undo').waitFor();
  await palette('Notifications: Clear All Notifications');
  await page.keyboard.press('Control+1');
  await until(async () => (await focused()).includes('prices.py'), 'the file has the keyboard');
  const { pid } = statusOf(socket);
  const decide = async (command, line) => {
    await goToLine(line);
    await status(`Ln ${line}, Col 1`).waitFor();
    await pressKeyOf(command);
  };
  process.kill(pid, 'SIGSTOP');
  try {
    await decide('keep.change', 5);
    await decide('undo.change', 9);
    await toast('has not answered about keeping the change of painter in line 5').waitFor();
    await toast('has not answered about the undo of the change of painter in line 9').waitFor();
  } finally {
    process.kill(pid, 'SIGKILL');
  }
  await palette('Notifications: Show Notifications'); // of many in a second, VS Code shows the first three at once
  const notice = text => page.locator('.notifications-center .notification-list-item-message', { hasText: text });
  await notice('there was no answer about the change of painter in line 5').waitFor();
  await notice('there was no answer about the change of painter in line 9').waitFor();
  await palette('Notifications: Clear All Notifications');
  await until(() => ![undefined, pid].includes(statusOf(socket).pid), 'another daemon runs');
  await status('2 to keep or undo').waitFor();
  await goToLine(1);
  await lens('Keep all 2').waitFor();
  assert.equal(disk(), edited);
  await decide('keep.change', 5);
  await status('1 to keep or undo').waitFor();
  await decide('undo.change', 9);
  await status(/\d to keep or undo/).waitFor({ state: 'detached' });
  await until(() => disk() === before.replace(edits[0].old_string, edits[0].new_string), 'one is kept and the other undone');
  say('a daemon that was killed while it kept and undid had done neither; another one did');
}

async function story() {
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the agents have their daemon');
  await setWorkspace(THEME);
  await decideBeforeTheWrite();
  await rejectWithAReason();
  await keepOrUndoAfterwards();
}

await play(workbench, out, story);
