import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import { McpAgent } from './mcpAgent';
import { closeAll, file, open, set, typeInto, until, world } from './world';

/** Finds each BAD of Markdown documents, a moment after the text has changed, and reports that there is none, too. */
function checker(): vscode.Disposable {
  const collection = vscode.languages.createDiagnosticCollection('scripted');
  const check = (document: vscode.TextDocument): void => {
    if (document.languageId !== 'markdown') return;
    const { version } = document;
    setTimeout(() => {
      if (document.version !== version || document.isClosed) return;
      const found = [...document.getText().matchAll(/BAD/g)].map(({ index }) => {
        const problem = new vscode.Diagnostic(
          new vscode.Range(document.positionAt(index), document.positionAt(index + 3)), 'a bad word', vscode.DiagnosticSeverity.Warning);
        problem.source = 'scripted';
        problem.code = { value: 'B1', target: vscode.Uri.parse('https://example.org/B1') };
        return problem;
      });
      collection.set(document.uri, found);
    }, 100); // longer than updates are gathered for: an earlier one would count as of the text before
  };
  vscode.workspace.textDocuments.forEach(check);
  return vscode.Disposable.from(
    collection, vscode.workspace.onDidOpenTextDocument(check), vscode.workspace.onDidChangeTextDocument(({ document }) => check(document)));
}

export function problemsSuite(): void {
  describe('the problems that this window shows', () => {
    let api: FileopsApi;
    let insides: Insides;
    let agent: McpAgent;
    let checks: vscode.Disposable;
    let asked: Insides['problems']['ask'];
    let nSettled = 0; // answers to the daemon
    const { token } = new vscode.CancellationTokenSource();
    before(async () => {
      ({ api, insides } = await world());
      await set('ask', 'never');
      checks = checker();
      asked = insides.problems.ask.bind(insides.problems);
      insides.problems.ask = async (...question) => {
        const answer = await asked(...question);
        if (answer.state === 'settled') nSettled++;
        return answer;
      };
      const server = await api.mcpServer();
      agent = await McpAgent.start({ ...server, args: [...server.args, '--diagnostics-wait-s', '30'] }, 'mender');
    });
    beforeEach(closeAll);
    after(async () => {
      checks.dispose();
      insides.problems.ask = asked;
      await agent.end();
      await set('ask', undefined);
      await closeAll();
    });

    const ask = (uri: vscode.Uri, sha256: string | null, wait_s: number) =>
      asked({ file_path: uri.fsPath, uri: uri.toString(), sha256, wait_s }, token);

    /** As an agent that takes its time: the window has told the daemon the problems of what the agent reads. */
    async function edit(path: string, old_string: string, new_string: string): Promise<string> {
      await until(async () => (await ask(vscode.Uri.file(path), null, 30)).state === 'settled', 'the problems are known');
      await api.tools(); // the daemon knows what is open
      const nBefore = nSettled;
      await agent.call('Read', { file_path: path });
      await until(() => nSettled > nBefore, 'the daemon is told');
      const answer = await agent.call('Edit', { file_path: path, old_string, new_string });
      assert.ok(!answer.isError, answer.text);
      return answer.more.join('\n');
    }

    it('are in the answer to an edit: what it introduced, what it resolved', async () => {
      const path = file('é = BAD\r\none\r\n', 'problems.md');
      await open(path);
      assert.match(await edit(path, 'one', 'é BAD'), /It introduced 1 problem \(.+\):\nproblems\.md:2:3: warning B1: a bad word$/);
      assert.match(await edit(path, 'é BAD', 'two'), /No new problems in problems\.md \(.+\)\. It resolved 1 problem\./);
    });

    it('are of unsaved text, too', async () => {
      const path = file('one\ntwo\n', 'unsaved.md');
      const editor = await open(path);
      await typeInto(editor, change => change.insert(new vscode.Position(0, 0), 'BAD '));
      await api.tools();
      assert.match(await edit(path, 'two', 'BAD'), /It introduced 1 problem .+:\nunsaved\.md:2:1: /);
    });

    it('are not said of another text, nor where nothing has checked the document', async () => {
      const { document } = await open(file('BAD\n', 'other.md'));
      const present = await until(async () => {
        const answer = await ask(document.uri, null, 30);
        return answer.state === 'settled' ? answer : undefined; // unavailable until it is checked for the first time
      }, 'the problems are known');
      assert.equal(present.diagnostics?.length, 1);
      assert.deepEqual(await ask(document.uri, '0'.repeat(64), 1), { state: 'pending' });
      const unchecked = file('BAD\n', 'unchecked.txt');
      await open(unchecked);
      assert.deepEqual(await ask(vscode.Uri.file(unchecked), null, 30), { state: 'unavailable' });
      await agent.call('Read', { file_path: unchecked });
      const answer = await agent.call('Edit', { file_path: unchecked, old_string: 'BAD', new_string: 'good' });
      assert.doesNotMatch(answer.more.join(), /problem/i);
    });
  });
}
