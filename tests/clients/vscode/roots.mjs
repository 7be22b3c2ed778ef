// node roots.mjs floor|new OUT VSIX: a window with two folders, one of them a work tree of git, beside a third folder that
// is not of the window. Lists, "all" and what is undone are of the window's folders. Environment as in mocha.mjs.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { agentOutside } from './outside.mjs';
import { personAt } from './person.mjs';
import { PATIENCE_MS, openWorkbench, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix] = process.argv.slice(2);
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });
const FILES = { 'front/shop.py': 'a = 1\n', 'back/shop.py': 'b = 1\n', 'other/shop.py': 'c = 1\n' };
const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), opens: 'team.code-workspace',
  files: { ...FILES, 'team.code-workspace': JSON.stringify({ folders: [{ path: 'front' }, { path: 'back' }] }) },
  settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'git.enabled': true, 'git.openRepositoryInParentFolders': 'never' },
  prepare: folder => {
    const git = (...args) => execFileSync('git', ['-C', `${folder}/front`, '-c', 'user.name=t', '-c', 'user.email=t@t', ...args]);
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'first');
  },
});
const { page, workspace, socket } = workbench;
const { status, row, palette } = personAt(workbench);
const disk = file => fs.readFileSync(path.join(workspace, file), 'utf8');
const agents = [];

/** What the terminal lists as not kept in a folder. */
const listedAt = folder => JSON.parse(execFileSync(process.env.FILEOPS_PYTHON, ['-P', '-m', 'fileops', 'changes', '--json', '--socket', socket],
  { cwd: path.join(workspace, folder), encoding: 'utf8' }));

async function write(folder, host) {
  const agent = await agentOutside(socket, path.join(workspace, folder), host);
  agents.push(agent);
  await agent.call('Read', 'shop.py');
  const before = disk(`${folder}/shop.py`).trim();
  const { text, isError } = await agent.call('Edit', 'shop.py', { old_string: before, new_string: before.replace('1', '2') });
  assert.ok(!isError, text);
}

async function story() {
  page.setDefaultTimeout(PATIENCE_MS);
  await status(/fileops/i).waitFor();
  await until(() => fs.existsSync(socket), 'the daemon runs');
  await write('front', 'Claude Code');
  await write('back', 'painter');
  await write('other', 'stranger');
  await status(/\b2 changes? in /).waitFor();
  await page.keyboard.press('Control+Shift+G');
  await row(/Claude Code · /).waitFor();
  await row(/painter · /).waitFor();
  assert.equal(await row(/stranger/).count(), 0, 'what is in another folder is not of this window');
  say('the changes of both folders are listed, and no others');

  await palette('Agent Changes: Undo All');
  await page.locator('.monaco-dialog-box', { hasText: 'Claude Code' }).waitFor();
  await page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Undo 2 changes' }).click();
  await until(() => disk('front/shop.py') === FILES['front/shop.py'] && disk('back/shop.py') === FILES['back/shop.py'], 'both are undone');
  assert.equal(disk('other/shop.py'), 'c = 2\n');
  await palette('Agent Changes: Redo the Last Undo');
  await until(() => disk('front/shop.py') === 'a = 2\n' && disk('back/shop.py') === 'b = 2\n', 'both are there again');
  await status(/\b2 changes? in /).waitFor();
  say('all means the folders of the window, after a question with names; one redo brings both back');

  await palette('Agent Changes: Keep All');
  await page.locator('.monaco-dialog-box .monaco-button', { hasText: 'Keep 2 changes' }).click();
  await until(async () => await row(/painter · /).count() === 0, 'nothing is listed');
  assert.match(JSON.stringify(listedAt('other')), /other\/shop\.py/);
  assert.doesNotMatch(JSON.stringify(listedAt('front')), /shop\.py/);
  say('what is in the other folder is still to be kept or undone');
}

await play(workbench, out, story, () => agents.forEach(agent => agent.end()));
