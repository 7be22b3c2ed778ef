// Played by window.mjs: what agents wrote is kept or undone beside git's own source control, by keyboard and by VS Code's own
// buttons, in the real workbench: bars, peek, diffs, and in "new" a commit, a branch, a daemon that hangs and one that is killed.
import assert from 'node:assert/strict';
import { hasEditor, statusOf } from './daemon.mjs';
import { agentOutside } from './outside.mjs';
import { ENCODING, git, shop, TAX, USERS } from './open.mjs';
import { say, until } from './workbench.mjs';

const { page, workspace, socket, agent, run, closeEditors, disk, person } = shop;
const { namedInText, status, row, focused, tab, palette, pressKeyOf, openFile, goToLine, reasonBox, setWorkspace, shoot, notice } = person;
const QUIET = { 'files.autoSave': 'off', 'git.enabled': true };
let claude;
let painter;

const list = page.locator('.scm-view');
const button = (where, label) => where.locator(`a[aria-label^="${label}"]`).first();
/** VS Code's own bars, which are git's too. */
const bars = () => page.locator('.editor-instance .dirty-diff-glyph').count();

async function write(writer, basename, ...edits) {
  await writer.call('Read', basename);
  const { text, isError } = await writer.call('MultiEdit', basename, { edits: edits.map(([old_string, new_string]) => ({ old_string, new_string })) });
  assert.ok(!isError, text);
}

const clear = () => run('notifications.clearAll');
/** The list of notifications has it, where it stays: a toast goes after a while. A list without any closes by itself. */
const told = text => until(async () => {
  await run('notifications.showList');
  return notice(text).waitFor({ timeout: 4_000 }).then(() => true, () => false);
}, `the person is told: ${text}`);

/** Two agents change three files; the list is beside git's. */
async function listBesideGit() {
  await openFile('prices.py');
  await write(claude, 'prices.py',
    ['    for item in basket:\n', '    for item in basket:\n        if item.count < 0:\n            raise ValueError("a count is negative")\n'],
    ['total * 0.95', 'total * Decimal("0.9")']);
  await write(painter, 'users.py', ['def user_3(name):\n', 'def user_3(name):\n    """The third."""\n']);
  await write(painter, 'lib/tax.py', ['RATE = 1', 'RATE = Decimal("1.07")']);
  await status(/\b4 changes? in /).waitFor();
  await page.keyboard.press('Control+Shift+G');
  await row('Agent Changes').waitFor();
  await row(/Claude Code · /).waitFor();
  await row(/painter · /).waitFor();
  assert.equal(await list.locator('.monaco-list-row', { hasText: 'prices.py' }).count(), 2, "git's row and ours");
  await openFile('prices.py');
  await goToLine(11);
  await until(async () => await bars() >= 3, 'the bars of VS Code');
  await until(() => namedInText('Claude Code'), 'the line with the cursor names the agent');
  await shoot('changes', QUIET);
  await setWorkspace(QUIET);
  say('the list is beside that of git, the bars are VS Code’s, the line names the agent');
}

/** Ours is the younger provider: the peek begins with it, and its icons keep and undo one change. */
async function oneChangeByThePeek() {
  const peek = page.locator('.peekview-widget');
  const openPeek = async () => {
    await page.keyboard.press('Escape'); // one that is open
    await peek.waitFor({ state: 'detached' });
    await goToLine(11);
    await page.keyboard.press('Alt+F3');
    await peek.waitFor();
  };
  await openPeek();
  await until(async () => /Agent Changes/.test(await peek.innerText()), 'the peek is of our provider');
  await button(peek, 'Undo').waitFor();
  await shoot('peek', QUIET, openPeek);
  await setWorkspace(QUIET);
  await peek.waitFor();
  const before = disk('prices.py');
  await button(peek, 'Keep').click();
  await status(/\b3 changes? in /).waitFor();
  assert.equal(disk('prices.py'), before);
  await page.keyboard.press('Escape');
  say('one change is kept by an icon of the peek');
}

/** A letter and a line above move the bars, and change none: looked at every 15 ms. */
async function typingAbove() {
  await openFile('users.py');
  await goToLine(1);
  await until(async () => await bars() === 1, 'one bar');
  const seen = page.evaluate(async () => {
    const counts = [];
    for (let n = 0; n < 200; n++) {
      counts.push(document.querySelectorAll('.editor-instance .dirty-diff-glyph').length);
      await new Promise(resolve => setTimeout(resolve, 15));
    }
    return counts;
  });
  await page.keyboard.type('# one\n# two\n', { delay: 40 });
  const counts = await seen;
  // git's own bar of what is typed may come; that of the agent's change never goes.
  assert.ok(counts.every(n => n >= 1), counts.join());
  for (let n = 0; n < 12; n++) await page.keyboard.press('Control+Z');
  await page.keyboard.press('Control+S');
  await until(() => disk('users.py').startsWith('def user_0'), 'nothing of it is left');
  await status(/\b3 changes? in /).waitFor();
  say('typing above a change: its bar never went');
}

/** By keys: this change, this file, the next one, all; unsaved text stays unsaved. */
async function byKeys() {
  await openFile('prices.py');
  await goToLine(19);
  await pressKeyOf('undo');
  await status(/\b2 changes? in /).waitFor();
  await page.locator('.view-line', { hasText: 'total * 0.95' }).first().waitFor();
  await until(() => disk('prices.py').includes('total * 0.95'), 'it is undone');
  await palette('Agent Changes: Redo the Last Undo');
  await status(/\b3 changes? in /).waitFor();
  await until(() => disk('prices.py').includes('Decimal("0.9")'), 'it is there again');
  await page.locator('.view-line', { hasText: 'Decimal("0.9")' }).first().waitFor(); // loading it moves the cursor
  await goToLine(19);
  await until(() => namedInText('Claude Code'), 'the change is at the cursor');
  await palette('Agent Changes: Undo with a Reason…');
  await reasonBox.waitFor();
  await page.keyboard.type('Regular customers get 5 percent.');
  await page.keyboard.press('Enter');
  await status(/\b2 changes? in /).waitFor();
  const { notices } = await claude.call('Read', 'prices.py');
  assert.match(notices.join(' '), /Regular customers get 5 percent\./);
  await pressKeyOf('nextFile');
  await until(async () => /Agent Changes/.test(await focused()), 'a diff has the keyboard');
  const [first, second] = /tax/.test(await focused()) ? ['tax.py', 'users.py'] : ['users.py', 'tax.py'];
  await pressKeyOf('keepFile');
  await tab(`${second} (Agent Changes)`).waitFor();
  assert.equal(await tab(`${first} (Agent Changes)`).count(), 0);
  await until(async () => (await focused()).includes(second), 'the next file has the keyboard');
  await pressKeyOf('undoFile');
  await tab('(Agent Changes)').waitFor({ state: 'detached' });
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  await row('Agent Changes').waitFor({ state: 'detached' }); // the list goes with the last change
  assert.ok(second === 'tax.py' ? disk('lib/tax.py') === TAX : disk('users.py') === USERS);
  await clear();
  say('a change, a file and the next file by keys; with the last one the list goes');
}

/** The margin's arrow undoes in the unsaved text; Ctrl+Z brings it back, listed. All on one page. */
async function diffsOfVsCode() {
  await write(claude, 'prices.py', ['    return round(amount + amount * VAT, 2)', '    return round(amount * (1 + VAT), 2)'], ['    total = 0', '    total = Decimal(0)']);
  await write(painter, 'users.py', ['def user_9(name):\n', 'def user_9(name):\n    """The ninth."""\n']);
  await status(/\b3 changes? in /).waitFor();
  await palette('Agent Changes: Open All Changes');
  await tab('Agent Changes').waitFor();
  await page.locator('.multiDiffEntry', { hasText: 'users.py' }).waitFor();
  await write(painter, 'lib/tax.py', ['return x * RATE', 'return round(x * RATE, 2)']);
  await page.locator('.multiDiffEntry', { hasText: 'tax.py' }).waitFor(); // opened again with the new file
  const inPage = page.locator('.multiDiffEntry .modified-in-monaco-diff-editor .view-line', { hasText: 'The ninth' });
  await inPage.click();
  await until(() => namedInText('painter'), 'the page names the agent at the cursor');
  const action = verb => page.locator('.action-widget', { hasText: `${verb} (painter` });
  await until(async () => { // the page may be opened once more, which takes the keyboard
    await inPage.click();
    await page.keyboard.press('Control+.');
    return action('Keep').waitFor({ timeout: 10_000 }).then(() => true, () => false);
  }, 'the actions are listed');
  for (const verb of ['Undo', 'Undo with a Reason…']) await action(verb).waitFor();
  await page.keyboard.press('Escape');
  await shoot('all-changes', QUIET);
  await setWorkspace(QUIET);
  await inPage.click();
  await pressKeyOf('undo');
  await until(() => !disk('users.py').includes('The ninth'), 'a change of the page is undone by its key');
  await palette('Agent Changes: Redo the Last Undo');
  await until(() => disk('users.py').includes('The ninth'), 'and is back');
  await closeEditors();
  await page.keyboard.press('Control+Shift+G');
  await until(async () => { // again, as the rows move while the list is drawn
    const turn = Number(await row(/Claude Code · /).getAttribute('data-index')); // its file is below it, and not git's
    const its = list.locator(`.monaco-list-row[data-index="${turn + 1}"]`, { hasText: 'prices.py' });
    if (await its.count() === 0) return false;
    await its.click({ timeout: 4_000 }).catch(() => undefined);
    return tab('prices.py (Agent Changes)').waitFor({ timeout: 4_000 }).then(() => true, () => false);
  }, 'the diff of the turn’s file');
  await page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: '(1 + VAT)' }).click();
  const before = disk('prices.py');
  const arrows = page.locator('.monaco-diff-editor a[aria-label^="Revert"]');
  await arrows.last().click();
  await page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: 'amount + amount' }).waitFor();
  await status(/\b3 changes? in /).waitFor();
  assert.equal(disk('prices.py'), before, 'the text is not saved');
  await page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: 'amount + amount' }).click();
  await page.keyboard.press('Control+Z');
  await status(/\b4 changes? in /).waitFor();
  await page.keyboard.press('Control+S');
  say('the arrow in the margin undoes one change, and Ctrl+Z lists it again');
}

/** Git takes everything away and brings it back: that is nobody's work. */
async function gitInTheMiddle() {
  await closeEditors();
  git(workspace, 'stash', '-q');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  git(workspace, 'stash', 'pop', '-q');
  await status(/\b4 changes? in /).waitFor();
  await list.locator('.monaco-list-row', { hasText: /painter · / }).waitFor();
  say('stashed and back: the same is to keep or undo, of the same agents');
  await palette('Agent Changes: Keep All');
  await page.locator('.monaco-dialog-box', { hasText: /Keep 4 changes in 3 files of / }).waitFor(); // of two agents: it asks
  await page.keyboard.press('Enter');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  await clear();
  await write(painter, 'users.py', ['def user_5(name):\n', 'def user_5(name):\n    """The fifth."""\n']);
  await status(/\b1 changes? in /).waitFor();
  git(workspace, 'commit', '-qm', 'second', 'users.py');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  git(workspace, 'stash', '-q');
  git(workspace, 'switch', '-q', '-c', 'other', 'HEAD~1');
  git(workspace, 'switch', '-q', 'main');
  git(workspace, 'stash', 'pop', '-q');
  await openFile('users.py');
  await page.locator('.view-line', { hasText: 'The fifth.' }).first().waitFor();
  assert.equal(await status(/\d changes? in \d/).count(), 0);
  say('what is committed counts as kept, also after another branch and back');
}

/**
 * The daemon hangs while the same change is undone twice, as by two windows: the person reads so, and when it continues
 * the change is undone once, and they read that the second time there was nothing.
 */
async function undoTwiceWithoutAnAnswer() {
  await openFile('prices.py');
  const before = disk('prices.py');
  await write(painter, 'prices.py', ['VAT = Decimal("0.19")', 'VAT = Decimal("0.20")']);
  await status(/\b1 changes? in /).waitFor();
  await clear();
  const { pid } = statusOf(socket);
  process.kill(pid, 'SIGSTOP');
  try {
    await palette('Agent Changes: Undo All');
    await told('has not answered about the undo of');
    await palette('Agent Changes: Undo All');
    await agent(null, 'caughtUp'); // it is sent
    assert.notEqual(disk('prices.py'), before, 'nothing is undone yet');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(() => disk('prices.py') === before, 'it is undone');
  for (const text of ['undone: 1 change', 'nothing was undone']) await told(text);
  assert.equal(disk('prices.py'), before);
  await clear();
  say('a daemon that hung was named; of two undos of a change, one did, and the other said so');
}

/** The daemon is killed before it has kept one change and undone another: nothing is decided, and both can be later. */
async function keepAndUndoOfADaemonThatIsKilled() {
  const before = disk('prices.py');
  await write(painter, 'prices.py', ['VAT = Decimal("0.19")', 'VAT = Decimal("0.20")'], ['def discount(', 'def reduced(']);
  const edited = disk('prices.py');
  await status(/\b2 changes? in /).waitFor();
  await clear();
  await openFile('prices.py');
  const lineOf = text => edited.split('\n').findIndex(line => line.includes(text)) + 1;
  const { pid } = statusOf(socket);
  process.kill(pid, 'SIGSTOP');
  try {
    await goToLine(lineOf('0.20'));
    await pressKeyOf('keep');
    await run('notifications.showList');
    await notice('has not answered about keeping the change of painter in line 5').waitFor(); // so it has begun there
    await goToLine(lineOf('def reduced'));
    await pressKeyOf('undo');
    await notice('has not answered about the undo of the change of painter').waitFor();
  } finally {
    process.kill(pid, 'SIGKILL');
  }
  await notice('there was no answer about the change of painter in line 5').waitFor();
  await clear();
  await until(() => ![undefined, pid].includes(statusOf(socket).pid), 'another daemon runs');
  await status(/\b2 changes? in /).waitFor();
  assert.equal(disk('prices.py'), edited);
  await openFile('prices.py');
  await goToLine(lineOf('0.20'));
  await pressKeyOf('keep');
  await status(/\b1 changes? in /).waitFor();
  await goToLine(lineOf('def reduced'));
  await pressKeyOf('undo');
  await status(/\d changes? in \d/).waitFor({ state: 'detached' });
  await until(() => disk('prices.py') === before.replace('"0.19"', '"0.20"'), 'one is kept and the other undone');
  say('a daemon that was killed while it kept and undid had done neither; another one did');
}

export async function changes() {
  await setWorkspace(QUIET);
  await status(/fileops/).waitFor();
  await until(() => hasEditor(socket), 'the window is attached');
  await status(/\bmain\b/).waitFor(); // git's list is there, so ours is the younger one
  claude = await agentOutside(socket, workspace, 'Claude Code', ENCODING);
  painter = await agentOutside(socket, workspace, 'painter', ENCODING);
  await listBesideGit();
  await oneChangeByThePeek();
  const isFloor = process.argv[2] === 'floor';
  if (!isFloor) await typingAbove();
  await byKeys();
  if (isFloor) return; // which has shown the list, the peek, the bars, the diffs and the keys
  await diffsOfVsCode();
  await gitInTheMiddle();
  await undoTwiceWithoutAnAnswer();
  await keepAndUndoOfADaemonThatIsKilled();
}

export const endAgents = () => [claude, painter].forEach(one => one?.end());
