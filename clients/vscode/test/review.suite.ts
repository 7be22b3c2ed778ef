import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { agent, insides, nothingLeft, PARTS, proposed, shown, withReviews } from './reviewing';
import { disk, file, open, type Review, shownDiffs, until } from './world';

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
      assert.equal(review.question.changes.length, 1);
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
      const { contributes } = vscode.extensions.getExtension('fileops.fileops')!.packageJSON as { contributes: { keybindings: { command: string }[] } };
      const keys = contributes.keybindings.filter(({ command }) => /^fileops\.(accept|reject)ByKey$/.test(command));
      assert.equal(keys.length, 2);
      for (const { command } of keys) await vscode.commands.executeCommand(command);
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

    /** As the arrow in the margin does: the old lines take the place of the new ones. */
    async function leaveOut(review: Review, line: string): Promise<void> {
      const document = await proposed(review);
      const at = document.getText().split('\n').indexOf(line.toUpperCase());
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, new vscode.Range(at, 0, at + 1, 0), `${line}\n`);
      await vscode.workspace.applyEdit(edit);
    }
    const upper = (line: string) => ({ old_string: `${line}\n`, new_string: `${line.toUpperCase()}\n` });

    it('a change that the arrow in the margin leaves out is not written, and the agent reads so', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [upper('line 2'), upper('line 4'), upper('line 28')] });
      const review = await shown();
      await leaveOut(review, 'line 4');
      assert.equal(review.leftOut.length, 1);
      await insides.reviews.decide(review, 'accept');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), PARTS.replace('line 2\n', 'LINE 2\n').replace('line 28\n', 'LINE 28\n'));
      assert.equal(result.details.modified_by_user, true);
      await nothingLeft();
    });

    it('from which all changes are left out is rejected', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [upper('line 2')] });
      const review = await shown();
      await leaveOut(review, 'line 2');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).error?.code, 'rejected');
      assert.equal(disk(path), PARTS);
    });

    it('the text that the user typed is written, without what they left out', async () => {
      const path = file(PARTS);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [upper('line 2'), upper('line 28')] });
      const review = await shown();
      const document = await proposed(review);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(10, 0), 'typed by hand\n');
      await vscode.workspace.applyEdit(edit);
      await leaveOut(review, 'line 28');
      assert.ok(review.wasTyped);
      await insides.reviews.decide(review, 'accept');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), PARTS.replace('line 2\n', 'LINE 2\n').replace('line 11\n', 'typed by hand\nline 11\n'));
      assert.equal(result.details.modified_by_user, true);
      await nothingLeft();
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

    it('Next File and Accept act on the pane in use', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      await vscode.commands.executeCommand('fileops.nextFile');
      await until(() => vscode.window.activeTextEditor?.document.uri.toString() === review.pane.after.toString(), 'the proposed side has the keyboard');
      await vscode.commands.executeCommand('fileops.accept');
      assert.equal((await done).status, 'success');
      await nothingLeft();
    });

    it('all on one page: what was typed is written, and the page closes', async () => {
      const [one, two] = [file('1\n', 'one.py'), file('2\n', 'two.py')];
      const edits = await Promise.all([[one, '1', 'I'], [two, '2', 'II']].map(async ([path, old_string, new_string]) => {
        const session = await agent(path!);
        return { done: session.edit({ file_path: path!, old_string: old_string!, new_string: new_string! }) };
      }));
      await until(() => insides.reviews.waiting.length === 2, 'two wait');
      const tab = () => vscode.window.tabGroups.all.flatMap(group => group.tabs).find(({ label }) => label.startsWith('Waiting for You'));
      await vscode.commands.executeCommand('fileops.openAll');
      await until(tab, 'the page is open');
      const [first] = insides.reviews.edits;
      const document = await proposed(first!);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(document.uri, new vscode.Position(0, 0), 'typed\n');
      await vscode.workspace.applyEdit(edit);
      await vscode.commands.executeCommand('fileops.acceptAll');
      for (const { done } of edits) assert.equal((await done).status, 'success');
      const text = first!.question.file_path === one ? ['typed\nI\n', 'II\n'] : ['I\n', 'typed\nII\n'];
      assert.deepEqual([disk(one), disk(two)], text);
      await until(() => tab() === undefined, 'the page is closed');
      await nothingLeft();
    });
  });
}
