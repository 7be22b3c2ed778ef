import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Corrector, FileopsApi } from '../src/api';
import type { CommandReview } from '../src/review/command';
import type { Insides } from '../src/extension';
import { closeAll, disk, file, open, set, until, world } from './world';

let nSessions = 0;

export function commandSuite(): void {
  describe('with commands switched on', () => {
    let api: FileopsApi;
    let insides: Insides;

    async function restartWith(value: true | undefined): Promise<void> {
      await set('bash', value);
      await vscode.commands.executeCommand('fileops.restart');
      await until(() => api.state === 'running', 'it runs again');
    }

    before(async () => {
      ({ api, insides } = await world());
      await restartWith(true);
    });
    beforeEach(async () => {
      await closeAll();
      assert.equal(insides.reviews.waiting.length, 0);
    });
    after(async () => {
      await closeAll();
      await restartWith(undefined);
    });

    const agent = () => api.session(`shell-${++nSessions}`);
    const waiting = (): Promise<CommandReview> => until(() => {
      const [review] = insides.reviews.waiting;
      return review?.kind === 'command' && insides.panes.isVisible(review.pane) ? review : undefined;
    }, 'a command is shown');
    const nothingLeft = (): Promise<unknown> => until(
      () => insides.reviews.waiting.length === 0 && insides.panes.nDocuments === 0
        && vscode.window.tabGroups.all.flatMap(g => g.tabs).every(t => !(t.input instanceof vscode.TabInputText && t.input.uri.scheme === 'fileops-review')),
      'no pane and no text is left');

    describe('a command', () => {
      it('is shown whole, with where and why, and leaves the keyboard where it was', async () => {
        const mine = await open(file('x\n'));
        const made = file('').replace('demo.py', 'made');
        const cwd = path.dirname(made);
        const done = agent().bash({ command: 'echo one >> made &&\n  pwd', cwd, description: 'Make it\r\nrm -rf /' });
        const review = await waiting();
        assert.equal(vscode.window.activeTextEditor, mine);
        const document = await vscode.workspace.openTextDocument(review.pane.after);
        assert.equal(document.languageId, 'fileops-command');
        assert.equal(document.getText(), [
          `# shell-${nSessions} wants to run this command.`, `# in   ${cwd}`, '# why  Make it', '#      rm -rf /', '', 'echo one >> made &&', '  pwd', '',
        ].join('\n'));
        assert.equal(vscode.workspace.getConfiguration('editor', document).get('wordWrap'), 'on');
        assert.ok(!fs.existsSync(made));
        await insides.reviews.decide(review, 'accept');
        const result = await done;
        assert.equal(result.output, `${cwd}\n`);
        assert.equal(result.details.exit_code, 0);
        assert.equal(disk(made), 'one\n');
        await nothingLeft();
      });

      it('rejected: does not run', async () => {
        const kept = file('a\n');
        const done = agent().bash({ command: `rm ${kept}` });
        const review = await waiting();
        assert.match((await vscode.workspace.openTextDocument(review.pane.after)).getText(), /why {2}the agent does not say/);
        await insides.reviews.decide(review, 'reject');
        assert.equal((await done).error?.code, 'rejected');
        assert.equal(disk(kept), 'a\n');
        await nothingLeft();
      });

      it('"always" holds for the same command in the same session', async () => {
        const session = agent();
        const first = session.bash({ command: 'true' });
        await insides.reviews.decide(await waiting(), 'always');
        assert.equal((await first).status, 'success');
        assert.equal((await session.bash({ command: 'true' })).status, 'success');
        for (const [who, command] of [[session, 'true  '], [agent(), 'true']] as const) {
          const other = who.bash({ command });
          await insides.reviews.decide(await waiting(), 'reject');
          assert.equal((await other).error?.code, 'rejected');
        }
      });

      it('has a link to be asked no more about it, and a row in the list', async () => {
        const done = agent().bash({ command: 'echo $(date)\ntrue' });
        const review = await waiting();
        const { uri } = await vscode.workspace.openTextDocument(review.pane.after); // its tab may be there before its text
        const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri);
        assert.deepEqual(lenses.map(lens => lens.command!.title), ['$(check-all) Accept, and do not ask again about this command']);
        const [row] = await until(() => insides.changes.groups[0]?.resourceStates, 'its row');
        assert.deepEqual([row!.decorations?.tooltip, row!.contextValue], ['Run echo $(date) …', 'command']);
        assert.match(insides.status.text, /1 to review/);
        const [always] = lenses;
        await insides.reviews.show(review, true);
        await until(() => insides.reviews.current === review, 'it has the keyboard');
        await vscode.commands.executeCommand(always!.command!.command);
        assert.equal((await done).status, 'success');
      });

      it('waits in one queue with edits; what was not on the screen is shown, not run', async () => {
        const edited = file('1\n');
        const session = agent();
        await session.read({ file_path: edited });
        const edit = session.edit({ file_path: edited, old_string: '1', new_string: 'I' });
        await until(() => insides.reviews.waiting.length === 1 && insides.panes.isVisible(insides.reviews.waiting[0]!.pane), 'the edit is shown');
        const command = session.bash({ command: `rm ${edited}` });
        const review = await until(() => insides.reviews.waiting[1], 'the command waits');
        assert.equal(insides.panes.isShown(review.pane), false);
        await insides.reviews.accept([review]);
        await waitingSecond();
        assert.equal(disk(edited), '1\n');
        await insides.reviews.reject([review]);
        assert.equal((await command).error?.code, 'rejected');
        await insides.reviews.accept(insides.reviews.waiting);
        assert.equal((await edit).status, 'success');
        assert.equal(disk(edited), 'I\n');
        await nothingLeft();

        function waitingSecond(): Promise<unknown> {
          return until(() => insides.panes.isVisible(review.pane) && insides.reviews.waiting.length === 2, 'it is shown, and waits still');
        }
      });

      it('ends when the agent withdraws it', async () => {
        const kept = file('a\n');
        const cancel = new vscode.CancellationTokenSource();
        const done = agent().bash({ command: `rm ${kept}` }, cancel.token);
        await waiting();
        cancel.cancel();
        await assert.rejects(Promise.resolve(done), { code: -32800 });
        await nothingLeft();
        assert.equal(disk(kept), 'a\n');
      });

      it('ends when the daemon is restarted', async () => {
        const kept = file('a\n');
        const done = agent().bash({ command: `rm ${kept}` }).then(r => r.status, () => 'no answer');
        await waiting();
        await vscode.commands.executeCommand('fileops.restart');
        assert.notEqual(await done, 'success');
        await nothingLeft();
        assert.equal(disk(kept), 'a\n');
        await until(() => api.state === 'running', 'it runs again');
      });
    });

    describe('a corrector', () => {
      const right = { old_string: 'cheese = 1', new_string: 'cheese = 3' };
      const never: Corrector = () => new Promise(() => undefined);

      async function misquote(session: ReturnType<typeof agent>) {
        const path = file('cheese = 1\nbread = 2\n');
        await session.setApprovalMode('yolo');
        await session.read({ file_path: path });
        const result = await session.edit({ file_path: path, old_string: 'chees = 1', new_string: 'chees = 3' });
        return { result, path };
      }

      it('is asked for a correction, and its proposal is written', async () => {
        const session = agent();
        const asked: unknown[] = [];
        const off = session.correctWith(async question => {
          asked.push([question.old_string, question.session_id, question.edit_index, question.suggested_place?.start_line]);
          return right;
        });
        const { result, path } = await misquote(session);
        assert.equal(result.status, 'success', result.output);
        assert.equal(result.details.match, 'client');
        assert.deepEqual(asked, [['chees = 1', session.id, 0, 1]]);
        assert.equal(disk(path), 'cheese = 3\nbread = 2\n');
        off.dispose();
        assert.equal((await misquote(session)).result.error?.code, 'no_match');
      });

      it('of the session precedes the one for all, and ends with the session', async () => {
        const ofAll = api.correctWith(() => right);
        const session = agent();
        session.correctWith(() => undefined);
        assert.equal((await misquote(session)).result.error?.code, 'no_match');
        assert.equal((await misquote(agent())).result.status, 'success');
        await session.close();
        assert.equal((await misquote(session)).result.status, 'success');
        ofAll.dispose();
      });

      it('that fails or answers wrongly is harmless', async () => {
        const session = agent();
        for (const corrector of [
          () => { throw new Error('no model today'); },
          () => Promise.reject(new Error('nor tomorrow')),
          () => ({ old_string: 'not in it', new_string: 'x' }),
        ] satisfies Corrector[]) {
          const off = session.correctWith(corrector);
          const { result, path } = await misquote(session);
          assert.equal(result.error?.code, 'no_match');
          assert.equal(disk(path), 'cheese = 1\nbread = 2\n');
          off.dispose();
        }
      });

      it('is cancelled with its edit', async () => {
        const session = agent();
        const told = new Promise<void>(resolve => {
          const off = session.correctWith((question, token) => {
            token.onCancellationRequested(() => { off.dispose(); resolve(); });
            cancel.cancel();
            return never(question, token);
          });
        });
        const cancel = new vscode.CancellationTokenSource();
        const path = file('cheese = 1\n');
        await session.read({ file_path: path });
        const done = session.edit({ file_path: path, old_string: 'chees = 1', new_string: 'x' }, cancel.token);
        await assert.rejects(Promise.resolve(done), { code: -32800 });
        await told;
      });
    });
  });
}
