import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import { closeAll, disk, file, once, open, type Review, set, shownDiffs, until, world } from './world';

const PARTS = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`).join('\n') + '\n';
let nSessions = 0;

export function reviewSuite(): void {
  describe('a review', () => {
    let api: FileopsApi;
    let insides: Insides;
    before(async () => { ({ api, insides } = await world()); });
    beforeEach(async () => {
      await closeAll();
      assert.equal(insides.reviews.waiting.length, 0);
    });
    after(closeAll);

    /** An agent of its own that has read the file. */
    async function agent(path: string) {
      const session = api.session(`agent-${++nSessions}`);
      if (fs.existsSync(path)) await session.read({ file_path: path });
      return session;
    }
    const shown = (): Promise<Review> => until(() => {
      const [review] = insides.reviews.waiting;
      return review?.kind === 'edit' && insides.panes.isShown(review.pane) ? review : undefined;
    }, 'a review is shown');
    async function restartedWith(setting: string, value: unknown): Promise<void> {
      const stopped = once(api.onDidChangeState);
      await set(setting, value);
      await stopped;
      await until(() => api.state === 'running', 'it runs again');
    }
    const proposed = (review: Review): Thenable<vscode.TextDocument> => vscode.workspace.openTextDocument(review.pane.after);
    const nothingLeft = (): Promise<unknown> => until(() => shownDiffs().length === 0 && insides.panes.nDocuments === 0, 'no pane and no text is left');

    it('shows both sides, virtual, and leaves the keyboard where it was', async () => {
      const path = file('x = 3.14\ny = 2\n');
      const mine = await open(path);
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '3.14', new_string: 'math.pi' });
      const review = await shown();
      assert.equal(vscode.window.activeTextEditor, mine);
      assert.equal(disk(path), 'x = 3.14\ny = 2\n');
      assert.equal((await vscode.workspace.openTextDocument(review.pane.before)).getText(), 'x = 3.14\ny = 2\n');
      assert.equal((await proposed(review)).getText(), 'x = math.pi\ny = 2\n');
      assert.ok(shownDiffs().every(input => input.original.scheme !== 'file' && input.modified.scheme !== 'file'));
      assert.equal((await proposed(review)).languageId, 'python');
      await insides.reviews.decide(review, 'accept');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), 'x = math.pi\ny = 2\n');
      await nothingLeft();
      assert.ok(vscode.window.tabGroups.all.flatMap(g => g.tabs).length === 1, 'the own editor is still there');
    });

    it('of a whole text that an agent writes shows what it changes', async () => {
      const path = file('x = 1\ny = 2\n');
      const session = await agent(path);
      const done = session.write({ file_path: path, content: 'x = 1\ny = 3\n' });
      const review = await shown();
      assert.equal(review.changes.length, 1);
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(path), 'x = 1\ny = 3\n');
      await nothingLeft();
    });

    it('of a file changed in other lines shows those changes; so does the history', async () => {
      await restartedWith('freshness', 'relevant');
      try {
        const path = file(PARTS);
        const session = await agent(path);
        fs.writeFileSync(path, PARTS.replace('line 2\n', 'theirs\n').replace('line 28\n', 'theirs too\n'));
        const done = session.edit({ file_path: path, old_string: 'line 15\n', new_string: 'ours\n' });
        const review = await shown();
        assert.match(String(insides.reviewView.getTreeItem(review).description), /rebased over 2 changes by another program/);
        const lenses = await insides.reviewView.provideCodeLenses(await proposed(review));
        assert.ok(lenses.some(({ command }) => command?.title === '$(git-merge) Rebased over 2 changes by another program'));
        await vscode.commands.executeCommand('fileops.review.showRebased', review.id);
        const theirs = await until(() => shownDiffs().find(input => input.modified.scheme === 'fileops-view'), 'their changes are shown');
        const text = (await vscode.workspace.openTextDocument(theirs.modified)).getText();
        assert.ok(text.includes('theirs\n') && text.includes('theirs too\n') && !text.includes('ours\n'), text);
        await vscode.commands.executeCommand('fileops.closeDiffs');
        await insides.reviews.decide(review, 'accept');
        assert.equal((await done).status, 'success', (await done).output);
        assert.equal(disk(path), PARTS.replace('line 2\n', 'theirs\n').replace('line 28\n', 'theirs too\n').replace('line 15\n', 'ours\n'));
        const [entry] = await api.history({ file_path: path });
        assert.match(String(insides.history.getTreeItem(entry!).description), /rebased over 2 changes by another program/);
      } finally {
        await restartedWith('freshness', undefined);
      }
    });

    it('of a file that changes while pending warns that accepting will be refused, and shows the change', async () => {
      const path = file('a = 1\nb = 2\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'a = 1', new_string: 'a = 3' });
      const review = await shown();
      const { uri } = await proposed(review);
      const lenses = async () => (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20)).map(l => l.command!.title);
      const row = () => insides.reviewView.getTreeItem(review);
      assert.equal(row().contextValue, 'review');
      assert.doesNotMatch(String(row().description), /changed/);
      assert.equal(insides.reviewView.provideFileDecoration(uri), undefined);
      assert.ok((await lenses()).includes('$(check) Accept'));

      fs.writeFileSync(path, 'a = 1\nb = 22\n');
      await until(() => review.staleness, 'the review knows');
      assert.match(String(row().description), /^file changed/);
      assert.equal(row().contextValue, 'review.stale');
      assert.match(insides.reviewView.provideFileDecoration(uri)!.tooltip!, /changed on disk since session .* read it: accepting will be refused/);
      assert.match(insides.status.sentence, /accepting will be refused: demo\.py/);
      const titles = await lenses();
      assert.ok(titles.some(title => /accepting will be refused/.test(title)) && titles.includes('$(discard) Reject'), titles.join());
      assert.ok(!titles.includes('$(check) Accept'));

      await vscode.commands.executeCommand('fileops.review.showChanges', review.id);
      const changes = await until(() => shownDiffs().find(input => input.modified.scheme === 'fileops-view'), 'the changes are shown');
      assert.equal((await vscode.workspace.openTextDocument(changes.original)).getText(), 'a = 1\nb = 2\n');
      assert.equal((await vscode.workspace.openTextDocument(changes.modified)).getText(), 'a = 1\nb = 22\n');
      await vscode.commands.executeCommand('fileops.closeDiffs');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).error?.code, 'modified_externally');
      assert.equal(disk(path), 'a = 1\nb = 22\n');
      await vscode.commands.executeCommand('notifications.clearAll');
      await nothingLeft();
    });

    it('is called stale when another session writes its file; a review of another file is not', async () => {
      const path = file('a = 1\nb = 2\n');
      const [reader, writer] = [await agent(path), await agent(path)];
      const stale = once(api.onDidBecomeStale, event => event.session_id === reader.id);
      const done = writer.edit({ file_path: path, old_string: 'a = 1', new_string: 'a = 3' });
      const review = await shown();
      const other = await agent(path);
      await other.setApprovalMode('yolo');
      const mine = once(api.onDidBecomeStale, event => event.session_id === writer.id);
      const second = file('c\n');
      const third = await agent(second);
      const waiting = third.edit({ file_path: second, old_string: 'c', new_string: 'd' });
      const unrelated = await until(() => insides.reviews.waiting[1], 'another review waits');
      assert.equal((await other.edit({ file_path: path, old_string: 'b = 2', new_string: 'b = 3' })).status, 'success');
      await Promise.all([stale, mine]);
      assert.match(review.staleness!, /by session agent-/);
      assert.ok(unrelated.kind === 'edit' && unrelated.staleness === undefined);
      await insides.reviews.decide(review, 'reject');
      await insides.reviews.decide(unrelated, 'reject');
      assert.deepEqual([(await done).error?.code, (await waiting).error?.code], ['rejected', 'rejected']);
    });

    it('a key pressed after its review has ended decides no other one', async () => {
      const path = file('a = 1\n');
      const mine = await open(file('my own\n'));
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      assert.equal(vscode.window.activeTextEditor, mine);
      const { contributes } = vscode.extensions.getExtension('fileops.fileops')!.packageJSON as { contributes: { keybindings: { command: string; args?: unknown }[] } };
      const keys = contributes.keybindings.filter(({ command }) => /^fileops\.(review|command)\.(accept|always|reject|run)$/.test(command));
      assert.equal(keys.length, 6);
      for (const { command, args } of keys) await vscode.commands.executeCommand(command, args);
      assert.deepEqual(insides.reviews.waiting, [review]);
      await insides.reviews.decide(review, 'reject');
      assert.equal((await done).error?.code, 'rejected');
    });

    it('rejected: nothing is written', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      await insides.reviews.decide(await shown(), 'reject');
      assert.equal((await done).error?.code, 'rejected');
      assert.equal(disk(path), 'a = 1\n');
      await nothingLeft();
    });

    it('a new file is shown against nothing', async () => {
      const path = file('').replace('demo.py', 'new.py');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '', new_string: 'hello\n' });
      const review = await shown();
      assert.equal((await vscode.workspace.openTextDocument(review.pane.before)).getText(), '');
      assert.equal(review.params.operation, 'create');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      assert.equal(disk(path), 'hello\n');
    });

    it('single changes can be dropped and put back', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 2\n', new_string: 'LINE 2\n' }, { old_string: 'line 15\n', new_string: 'LINE 15\n' }, { old_string: 'line 28\n', new_string: 'LINE 28\n' }] });
      const review = await shown();
      const document = await proposed(review);
      const lenses = async () => (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 20))
        .filter(lens => lens.command!.command === 'fileops.review.toggleHunk');
      assert.deepEqual((await lenses()).map(lens => lens.range.start.line), [1, 14, 27]);

      const press = (lens: vscode.CodeLens) => vscode.commands.executeCommand(lens.command!.command, ...lens.command!.arguments!);
      await press((await lenses())[1]!);
      await until(() => !document.getText().includes('LINE 15'), 'the dropped change is gone from the proposal');
      await press((await lenses())[2]!);
      await press((await lenses())[2]!);
      assert.match((await lenses())[1]!.command!.title, /Put back change 2 of 3/);
      await insides.reviews.decide(review, 'accept');

      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), PARTS.replace('line 2\n', 'LINE 2\n').replace('line 28\n', 'LINE 28\n'));
      assert.equal(result.details.modified_by_user, true);
      await nothingLeft();
    });

    it('of two changes near each other one can be dropped', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 2\n', new_string: 'LINE 2\n' }, { old_string: 'line 4\n', new_string: 'LINE 4\n' }] });
      const review = await shown();
      assert.equal(review.params.hunks.length, 1);
      assert.equal(review.changes.length, 2);
      await review.toggle(review.changes[0]!);
      await insides.reviews.decide(review, 'accept');
      const result = await done;
      assert.equal(disk(path), PARTS.replace('line 4\n', 'LINE 4\n'));
      assert.equal(result.details.modified_by_user, true);
    });

    it('all changes dropped is a rejection', async () => {
      const path = file('a\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'a', new_string: 'b' });
      const review = await shown();
      await review.toggle(review.changes[0]!);
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).error?.code, 'rejected');
      assert.equal(disk(path), 'a\n');
    });

    it('the text that the user typed is written', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 2\n', new_string: 'LINE 2\n' }, { old_string: 'line 28\n', new_string: 'LINE 28\n' }] });
      const review = await shown();
      const document = await proposed(review);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(10, 0), 'typed by hand\n');
      await vscode.workspace.applyEdit(edit);
      assert.ok(review.wasTyped);
      assert.ok(await review.toggle(review.changes[1]!), 'a change below can still be dropped');
      await insides.reviews.decide(review, 'accept');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), PARTS.replace('line 2\n', 'LINE 2\n').replace('line 11\n', 'typed by hand\nline 11\n'));
      assert.equal(result.details.modified_by_user, true);
      await nothingLeft();
    });

    it('"always" ends the questions of that session', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const first = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      await insides.reviews.decide(await shown(), 'always');
      await first;
      const second = await session.edit({ file_path: path, old_string: '2', new_string: '3' });
      assert.equal(second.status, 'success', second.output);
      assert.equal(disk(path), 'a = 3\n');
    });

    it('"always" with a typed text writes that text and ends the questions', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const first = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      const edit = new vscode.WorkspaceEdit();
      edit.replace(review.pane.after, new vscode.Range(0, 4, 0, 5), '20');
      await proposed(review);
      await vscode.workspace.applyEdit(edit);
      await insides.reviews.decide(review, 'always');
      assert.equal((await first).status, 'success');
      assert.equal(disk(path), 'a = 20\n');
      assert.equal((await session.edit({ file_path: path, old_string: '20', new_string: '3' })).status, 'success');
    });

    it('several wait in order; the next one opens when one is decided', async () => {
      const [one, two] = [file('1\n', 'one.py'), file('2\n', 'two.py')];
      const [a, b] = [await agent(one), await agent(two)];
      const first = a.edit({ file_path: one, old_string: '1', new_string: 'I' });
      await shown();
      const second = b.edit({ file_path: two, old_string: '2', new_string: 'II' });
      await until(() => insides.reviews.waiting.length === 2, 'two wait');
      assert.equal(shownDiffs().length, 1);
      assert.match(insides.status.text, /2 to review/);
      await insides.reviews.decide(insides.reviews.waiting[0]!, 'accept');
      await first;
      const review = await shown();
      assert.equal(review.params.file_path, two);
      await insides.reviews.decide(review, 'reject');
      assert.equal((await second).error?.code, 'rejected');
      await nothingLeft();
      assert.doesNotMatch(insides.status.text, /review/);
    });

    it('the commands of title bar and keys act on the pane in use', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      await vscode.commands.executeCommand('fileops.review.focus');
      await until(() => vscode.window.activeTextEditor?.document.uri.toString() === review.pane.after.toString(), 'the proposed side has the keyboard');
      await vscode.commands.executeCommand('fileops.review.toggleHunk');
      await until(async () => (await proposed(review)).getText() === 'a = 1\n', 'dropped by key');
      await vscode.commands.executeCommand('fileops.review.toggleHunk');
      await until(async () => (await proposed(review)).getText() === 'a = 2\n', 'put back by key');
      await vscode.commands.executeCommand('fileops.review.accept', review.pane.after);
      assert.equal((await done).status, 'success');
    });

    it('closing the tab decides nothing; the review can be opened again', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      await vscode.commands.executeCommand('workbench.action.closeAllEditors');
      assert.equal(insides.reviews.waiting.length, 1);
      await insides.reviews.show(review, false);
      await shown();
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
    });

    it('ends when the agent withdraws the edit', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const cancel = new vscode.CancellationTokenSource();
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' }, cancel.token);
      await shown();
      cancel.cancel();
      await assert.rejects(Promise.resolve(done), { code: -32800 });
      await nothingLeft();
      assert.equal(insides.reviews.waiting.length, 0);
      assert.equal(disk(path), 'a = 1\n');
    });

    it('that ends while its pane is being opened leaves no pane', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const opened = once(vscode.window.tabGroups.onDidChangeTabs, event => event.opened.some(tab => tab.input instanceof vscode.TabInputTextDiff));
      const asked = once(insides.reviews.onDidChange);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      await asked;
      await insides.reviews.decide(insides.reviews.waiting[0]!, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      await opened;
      await nothingLeft();
    });

    it('ends when the daemon is restarted', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' }).then(r => r.status, () => 'no answer');
      await shown();
      await vscode.commands.executeCommand('fileops.restart');
      assert.notEqual(await done, 'success');
      await nothingLeft();
      assert.equal(disk(path), 'a = 1\n');
      await until(() => api.state === 'running', 'it runs again');
    });

    it('a text with other characters survives any files.encoding', async () => {
      const config = vscode.workspace.getConfiguration('files');
      await config.update('encoding', 'windows1252', vscode.ConfigurationTarget.Workspace);
      try {
        const path = file('näh → 😀\nb\n');
        const session = await agent(path);
        const done = session.edit({ file_path: path, old_string: 'b', new_string: 'ß' });
        const review = await shown();
        assert.equal((await proposed(review)).getText(), 'näh → 😀\nß\n');
        assert.ok(!review.wasTyped);
        await insides.reviews.decide(review, 'accept');
        await done;
        assert.equal(disk(path), 'näh → 😀\nß\n');
      } finally {
        await config.update('encoding', undefined, vscode.ConfigurationTarget.Workspace);
      }
    });

    it('CRLF and a missing final newline are not treated as typing', async () => {
      const path = file('a\r\nb\r\nc');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'b', new_string: 'B' });
      const review = await shown();
      await proposed(review);
      assert.ok(!review.wasTyped);
      await insides.reviews.decide(review, 'accept');
      await done;
      assert.equal(disk(path), 'a\r\nB\r\nc');
    });

    it('of a large file shows only what changes', async () => {
      const path = file('x'.repeat(99).concat('\n').repeat(12_000) + 'needle\n', 'large.txt');
      const session = api.session('large');
      await session.read({ file_path: path, offset: 12_001, limit: 1 });
      const done = session.edit({ file_path: path, old_string: 'needle', new_string: 'pin' });
      const review = await shown();
      assert.equal(review.params.original_text, null);
      assert.ok((await proposed(review)).getText().includes('pin'));
      assert.ok((await proposed(review)).lineCount < 20);
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      assert.ok(disk(path).endsWith('x\npin\n'));
    });

    it('is only announced if the user wants no pane', async () => {
      await set('review.open', 'never');
      try {
        const path = file('a = 1\n');
        const session = await agent(path);
        const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
        const review = await until(() => insides.reviews.waiting[0], 'it waits');
        assert.equal(shownDiffs().length, 0);
        await insides.reviews.decide(review, 'accept');
        assert.equal((await done).status, 'success');
      } finally {
        await set('review.open', undefined);
        await vscode.commands.executeCommand('notifications.clearAll');
      }
    });

    it('mode yolo needs no approval', async () => {
      await set('approval.mode', 'yolo');
      try {
        await until(() => api.state !== 'running', 'a restart').catch(() => undefined);
        await until(() => api.state === 'running', 'it runs again');
        const path = file('a = 1\n');
        const session = await agent(path);
        const result = await session.edit({ file_path: path, old_string: '1', new_string: '2' });
        assert.equal(result.status, 'success', result.output);
      } finally {
        const stopped = once(api.onDidChangeState);
        await set('approval.mode', undefined);
        await stopped;
        await until(() => api.state === 'running', 'it runs again');
      }
    });
  });
}
