// node first.mjs floor|new OUT VSIX found|bundled: the first use of a package, with no setting at all. "found": a
// fileops-server is where pipx puts it; "bundled": none is anywhere, and the package sets up its own. An edit is then listed and undone.
//   FILEOPS_PYTHON        the Python that has fileops-server installed
//   FILEOPS_BARE_PYTHON   one that has not
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { agentsAt } from './agents.mjs';
import { HERE } from './paths.mjs';
import { personAt } from './person.mjs';
import { PATIENCE_MS, freePort, openWorkbench, play, say, until } from './workbench.mjs';

const [name, outGiven, vsix, expected] = process.argv.slice(2);
const out = path.resolve(outGiven);
fs.rmSync(out, { recursive: true, force: true });
const home = path.join(out, 'home');
const [bin, local] = [path.join(home, 'bin'), path.join(home, '.local/bin')];
fs.mkdirSync(bin, { recursive: true });
fs.mkdirSync(local, { recursive: true });
fs.symlinkSync(process.env.FILEOPS_BARE_PYTHON, path.join(bin, 'python3'));
fs.writeFileSync(path.join(home, '.profile'), `PATH=${bin}:/usr/bin:/bin\n`); // VS Code asks the login shell
if (expected === 'found') {
  fs.writeFileSync(path.join(local, 'fileops-server'), `#!/bin/sh\nexec "${process.env.FILEOPS_PYTHON}" -P -m fileops "$@"\n`, { mode: 0o755 });
}
const agentPort = await freePort();
const workbench = await openWorkbench(name, {
  out, vsix: path.resolve(vsix), preinstall: [path.join(HERE, 'agent')], files: { 'one.py': 'a = 1\n' },
  env: { FILEOPS_AGENT_PORT: String(agentPort), PATH: `${bin}:/usr/bin:/bin`, HOME: home },
});
const { page, workspace } = workbench;
const { status, tab, palette } = personAt(workbench);
const { agent, edit, read } = agentsAt(agentPort, workspace);

async function story() {
  page.setDefaultTimeout(PATIENCE_MS);
  await status(/fileops/).waitFor();
  await until(() => agent(null, 'state').then(state => state === 'running', () => false), 'the daemon runs', 180_000);
  await status(/fileops/).hover();
  const tooltip = page.locator('.monaco-hover', { hasText: 'found by:' });
  await tooltip.waitFor();
  assert.match((await tooltip.innerText()).replace(/\s+/g, ' '), expected === 'found' ? /found by: fileops-server in ~\/.local\/bin/ : /found by: the bundled server on python3/);
  await read('bot', 'one.py');
  assert.equal((await edit('bot', 'one.py', 'a = 1', 'a = 2')).status, 'success'); // at once, and listed
  await status(/\b1 changes? in /).waitFor();
  await palette('Agent Changes: Next File');
  await tab('one.py (Agent Changes)').waitFor();
  await palette('Agent Changes: Undo File');
  await until(() => fs.readFileSync(path.join(workspace, 'one.py'), 'utf8') === 'a = 1\n', 'it is undone');
  say(`the package works: ${expected}`);

  await palette('Welcome: Open Walkthrough');
  const walkthrough = page.locator('.quick-input-list .monaco-list-row', { hasText: 'Get Started with Agent Changes' });
  await page.locator('.quick-input-widget input').first().fill('Agent Changes');
  await walkthrough.click();
  const step = title => page.locator('.getting-started-step', { hasText: title });
  await step('The daemon runs').locator('.codicon.complete').waitFor();
  await step('Connect an agent').waitFor();
  assert.equal(await step('Accept or reject').locator('.codicon.complete').count(), 0);
  say('the walkthrough ticks what is done');
}

await play(workbench, out, story);
