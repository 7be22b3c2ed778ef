// node first.mjs floor|new OUT VSIX: the first use of a package, with no setting at all, in the whole editor, where no
// fileops-server is anywhere: it sets up its own. The person connects Claude Code from the menu. Then it prints
// "READY {workspace, socket, home}"; the caller starts it there, and it edits one.py by its own tools. The edit is listed and
// undone, and the walkthrough's steps are ticked.
//   FILEOPS_BARE_PYTHON   one that has no fileops-server
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { agentsAt } from './agents.mjs';
import { HERE } from './paths.mjs';
import { personAt } from './person.mjs';
import { PATIENCE_MS, freePort, openWorkbench, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix] = process.argv.slice(2);
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
const home = path.join(out, 'home');
const bin = path.join(home, 'bin');
fs.mkdirSync(bin, { recursive: true });
fs.symlinkSync(process.env.FILEOPS_BARE_PYTHON, path.join(bin, 'python3'));
fs.writeFileSync(path.join(home, '.profile'), `PATH=${bin}:/usr/bin:/bin\n`); // VS Code asks the login shell
const agentPort = await freePort();
const workbench = await openWorkbench(name, {
  out, isWhole: true, install: path.resolve(vsix), preinstall: [path.join(HERE, 'agent')], files: { 'one.py': 'a = 1\n' },
  env: { FILEOPS_AGENT_PORT: String(agentPort), PATH: `${bin}:/usr/bin:/bin`, HOME: home },
});
const { page, workspace, socket } = workbench;
const { focused, status, tab, palette, row, toast } = personAt(workbench);
const { agent } = agentsAt(agentPort, workspace);

async function story() {
  page.setDefaultTimeout(PATIENCE_MS);
  await status(/fileops/).waitFor();
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the daemon runs');
  await status(/fileops/).hover();
  const tooltip = page.locator('.monaco-hover', { hasText: 'found by:' });
  await tooltip.waitFor();
  assert.match((await tooltip.innerText()).replace(/\s+/g, ' '), /found by: the bundled server on python3/);

  await palette('Agent Changes: Agents…');
  const pick = label => page.locator('.quick-input-list .monaco-list-row', { hasText: label });
  await pick('Claude Code').click();
  const dialog = page.locator('.monaco-dialog-box', { hasText: 'Connect Claude Code?' });
  assert.match(await dialog.innerText(), /mcp config claude --remove takes that back/);
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
  await toast('Claude Code is connected. Start it again.').waitFor();
  const [program] = JSON.stringify(JSON.parse(fs.readFileSync(path.join(workspace, '.claude/settings.local.json'), 'utf8'))).match(/[^ "]*fileops-server(?= mcp hook)/);
  assert.ok(path.isAbsolute(program) && fs.existsSync(program), `a shell of the agent finds ${program}`);
  assert.match(program, /\/globalStorage\/fileops\.fileops\//, 'in a folder of its own');
  say('Claude Code is connected');
  console.log(`READY ${JSON.stringify({ workspace, socket, home })}`);

  await status(/\b1 changes? in /).waitFor();
  await page.keyboard.press('Control+Shift+G');
  await row(/Claude Code · /).waitFor();
  await palette('Agent Changes: Next File');
  await tab('one.py (Agent Changes)').waitFor();
  await palette('Agent Changes: Undo File');
  await until(() => fs.readFileSync(path.join(workspace, 'one.py'), 'utf8') === 'a = 1\n', 'it is undone');
  say('what it edits is listed and undone');

  await palette('Welcome: Open Walkthrough');
  const walkthrough = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Get Started with Agent Changes' });
  await page.locator('.quick-input-widget input').first().fill('Agent Changes');
  await walkthrough.click();
  const step = title => page.locator('.getting-started-step', { hasText: title });
  await step('The daemon runs').locator('.codicon.complete').waitFor();
  await step('Connect an agent').locator('.codicon.complete').waitFor();
  await step('Keep or undo').locator('.codicon.complete').waitFor();
  assert.equal(await step('Accept or reject').locator('.codicon.complete').count(), 0);

  const written = agent('bot', 'write', { file_path: path.join(workspace, '.env'), content: 'A=1\n' }); // a protected file
  await status(/to review/).waitFor();
  await palette('Agent Changes: Next File');
  await until(async () => /waits for you/.test(await focused()), 'the review is in front');
  await palette('Agent Changes: Accept');
  assert.equal((await written).status, 'success');
  await tab('Welcome').click();
  await step('Accept or reject').locator('.codicon.complete').waitFor();
  say('the walkthrough ticks what is done');
}

await play(workbench, out, story);
