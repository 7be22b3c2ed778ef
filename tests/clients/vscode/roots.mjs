// Played by window.mjs: a window with two folders, one of them a work tree of git, beside a third folder that is not of the
// window. Lists, "all" and what is undone are of the window's folders. At the end a file in ISO 8859-1.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { agentOutside } from './outside.mjs';
import { shop } from './open.mjs';
import { say, until } from './workbench.mjs';

const FILES = { 'front/shop.py': 'a = 1\n', 'back/shop.py': 'b = 1\n', 'other/shop.py': 'c = 1\n' };
const OPENS_MS = 20_000; // after which it is opened again
const LATIN = 'gr\u00fc\u00dfe\nline 2\nline 3\nline 4\n';
export const WINDOW = { folders: [{ path: 'front' }, { path: 'back' }], settings: { 'git.enabled': true, 'git.openRepositoryInParentFolders': 'never' } };

export async function severalFolders() {
  const { page, workspace, socket, open, agent, person } = shop;
  const { status, row, palette, openFile, askBeforeEachEdit, waiting, titleButton } = person;
  const team = path.join(workspace, '../team');
  for (const [name, text] of Object.entries({ ...FILES, 'team.code-workspace': JSON.stringify(WINDOW) })) {
    fs.mkdirSync(path.dirname(path.join(team, name)), { recursive: true });
    fs.writeFileSync(path.join(team, name), text);
  }
  fs.writeFileSync(path.join(team, 'front/greet.latin1'), Buffer.from(LATIN, 'latin1'));
  const git = (...args) => execFileSync('git', ['-C', `${team}/front`, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'first');
  const disk = file => fs.readFileSync(path.join(team, file), 'utf8');
  /** What the terminal lists as not kept in a folder. */
  const listedAt = folder => JSON.parse(execFileSync(process.env.FILEOPS_PYTHON, ['-P', '-m', 'fileops', 'changes', '--json', '--socket', socket],
    { cwd: path.join(team, folder), encoding: 'utf8' }));

  const agents = [];
  async function write(folder, host) {
    const agent = await agentOutside(socket, path.join(team, folder), host);
    agents.push(agent);
    await agent.call('Read', 'shop.py');
    const before = disk(`${folder}/shop.py`).trim();
    const { text, isError } = await agent.call('Edit', 'shop.py', { old_string: before, new_string: before.replace('1', '2') });
    assert.ok(!isError, text);
    return agent;
  }

  const hasFolders = () => agent(null, 'nFolders').then(n => n === WINDOW.folders.length, () => false);
  await until(async () => { // VS Code opens one sometimes without its folders, and then knows them the next time
    await open(path.join(team, 'team.code-workspace'));
    return until(hasFolders, 'the window has its folders', OPENS_MS).catch(() => false);
  }, 'a window with the folders');
  await status(/fileops/i).waitFor();
  const mason = await write('front', 'mason');
  await write('back', 'sculptor');
  await write('other', 'stranger');
  await status(/\b2 changes? in /).waitFor();
  await page.keyboard.press('Control+Shift+G');
  await row(/mason · /).waitFor();
  await row(/sculptor · /).waitFor();
  assert.equal(await row(/stranger/).count(), 0, 'what is in another folder is not of this window');
  say('the changes of both folders are listed, and no others');

  await palette('Agent Changes: Undo All');
  await page.locator('.monaco-dialog-box', { hasText: 'mason' }).waitFor();
  await page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Undo 2 changes' }).click();
  await until(() => disk('front/shop.py') === FILES['front/shop.py'] && disk('back/shop.py') === FILES['back/shop.py'], 'both are undone');
  assert.equal(disk('other/shop.py'), 'c = 2\n');
  await palette('Agent Changes: Redo the Last Undo');
  await until(() => disk('front/shop.py') === 'a = 2\n' && disk('back/shop.py') === 'b = 2\n', 'both are there again');
  await status(/\b2 changes? in /).waitFor();
  say('all means the folders of the window, after a question with names; one redo brings both back');

  await palette('Agent Changes: Keep All');
  await page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Keep 2 changes' }).click();
  await until(async () => await row(/sculptor · /).count() === 0, 'nothing is listed');
  assert.match(JSON.stringify(listedAt('other')), /other\/shop\.py/);
  assert.doesNotMatch(JSON.stringify(listedAt('front')), /shop\.py/);
  say('what is in the other folder is still to be kept or undone');

  const isThere = text => fs.readFileSync(path.join(team, 'front/greet.latin1')).equals(Buffer.from(text, 'latin1'));
  const spell = n => mason.call('Edit', 'greet.latin1', { old_string: `line ${n}`, new_string: `l\u00edne ${n}` });
  await openFile('../team/front/greet.latin1');
  await mason.call('Read', 'greet.latin1');
  assert.equal((await spell(4)).isError, false);
  await until(() => isThere(LATIN.replace('line 4', 'l\u00edne 4')), 'it is written');
  await status(/\b1 changes? in /).waitFor();
  await palette('Agent Changes: Undo File');
  await until(() => isThere(LATIN), 'it is undone');
  await askBeforeEachEdit();
  await mason.call('Read', 'greet.latin1');
  const call = spell(3);
  await waiting('greet.latin1').first().click();
  await titleButton('Accept').click();
  assert.equal((await call).isError, false, (await call).text);
  await until(() => isThere(LATIN.replace('line 3', 'l\u00edne 3')), 'it is written');
  say('a file in ISO 8859-1 is undone and accepted byte for byte');
  for (const agent of agents) agent.end();
}
