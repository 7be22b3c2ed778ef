import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { agent, insides, nothingLeft, PARTS, proposed, shown, withReviews } from './reviewing';
import { disk, file, open, shownDiffs, until } from './world';

export function reviewSuite(): void {
  describe('a review', () => {
    withReviews();

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
      assert.equal(review.question.operation, 'create');
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
      assert.equal(review.changes.length, 2);
      await review.toggle(review.changes[0]!.id);
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
      await review.toggle(review.changes[0]!.id);
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
      assert.ok(await review.toggle(review.changes[1]!.id), 'a change below can still be dropped');
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
      assert.equal(review.question.file_path, two);
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
  });
}
