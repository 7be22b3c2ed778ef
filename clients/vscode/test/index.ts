/** Loaded by the extension host (extensionTestsPath): runs mocha in it. */
import * as assert from 'node:assert/strict';
import Mocha from 'mocha';
import * as vscode from 'vscode';
import { commandSuite } from './command.suite';
import { daemonSuite } from './daemon.suite';
import { decidedSuite } from './decided.suite';
import { hunksSuite } from './hunks.suite';
import { keysSuite } from './keys.suite';
import { notebooksSuite } from './notebooks.suite';
import { panesSuite } from './panes.suite';
import { problemsSuite } from './problems.suite';
import { reviewSuite } from './review.suite';
import { reviewEndSuite } from './reviewEnd.suite';
import { historySuite } from './history.suite';
import { setSuite } from './set.suite';
import { sharedSuite } from './shared.suite';
import { changesSuite } from './changes.suite';
import { makeFolders } from './world';

const SUITES = {
  hunks: hunksSuite, panes: panesSuite, review: reviewSuite, reviewEnd: reviewEndSuite, decided: decidedSuite, set: setSuite, command: commandSuite,
  changes: changesSuite, keys: keysSuite, history: historySuite, shared: sharedSuite, problems: problemsSuite, notebooks: notebooksSuite, daemon: daemonSuite,
};

/** A runner that cannot be red shows nothing: one that asks for it has to report this failure, and no other. */
function failingSuite(): void {
  describe('a suite', () => {
    it('with a failure is red', () => assert.equal('red', 'green'));
  });
}

export async function run(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.closeSidebar'); // else each file that is opened is looked up in the Explorer
  await makeFolders();
  const report = process.env.MOCHA_JSON;
  const mocha = new Mocha({
    ui: 'bdd', grep: process.env.FILEOPS_GREP ?? '', timeout: 600_000, color: false, forbidOnly: true,
    ...(report ? { reporter: 'json', reporterOptions: { output: report } } : { reporter: 'spec' }),
  });
  mocha.suite.emit('pre-require', globalThis as unknown as Mocha.MochaGlobals, '', mocha);
  const wanted = process.env.FILEOPS_SUITES?.split(',');
  for (const [name, register] of Object.entries(SUITES)) if (!wanted || wanted.includes(name)) register();
  if (process.env.FILEOPS_FAILING) failingSuite();
  await new Promise<void>((resolve, reject) => {
    const runner = mocha.run(nFailures => (nFailures > 0 ? reject(new Error(`${nFailures} tests failed`)) : resolve()));
    // The report comes at the end: what a run that hangs was doing is in the log alone.
    runner.on('test', test => console.log(`begins: ${test.fullTitle()}`));
    runner.on('fail', (test, error: Error) => console.log(`FAILED: ${test.fullTitle()}: ${error.message}`));
  });
}
