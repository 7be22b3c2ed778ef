import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Review } from '../src/review/edit';
import { agent, insides, PARTS, withReviews } from './reviewing';
import { disk, file, open, set, shownDiffs, until } from './world';

export function inTextSuite(): void {
  describe('a review in the text', () => {
    withReviews();
    before(() => set('review.open', 'text'));
    after(() => set('review.open', undefined));

    const waiting = (): Promise<Review> => until(() => {
      const [review] = insides.reviews.waiting;
      return review?.kind === 'edit' && insides.reviews.inText.has(review) ? review : undefined;
    }, 'a review is shown in the text');
    const insertedAt = (path: string) => insides.inserted.at(vscode.Uri.file(path)).map(({ thread }) => thread.range?.start.line);
    const lensesOf = async (path: string): Promise<string[]> =>
      (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', vscode.Uri.file(path)))
        .map(({ range, command }) => `${range.start.line} ${command?.title}`);
    const noneIsShown = (path: string) => until(() => insides.inserted.at(vscode.Uri.file(path)).length === 0, 'nothing of it is shown any more');

    it('of an open file opens no diff, and leaves document and keyboard as they were', async () => {
      const path = file(PARTS);
      const mine = await open(path);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 5\n', new_string: 'LINE 5\nLINE 5b\n' }, { old_string: 'line 20\n', new_string: 'line 20\nline 20b\n' }] });
      const review = await waiting();
      assert.deepEqual(insertedAt(path), [4, 19]);
      assert.deepEqual(shownDiffs(), []);
      assert.equal(vscode.window.activeTextEditor, mine);
      assert.ok(!mine.document.isDirty);
      assert.deepEqual(await lensesOf(path), [
        '4 $(check) Accept', '4 $(close) Reject', '4 Reject, because…', '20 $(check) Accept', '20 $(close) Reject', '20 Reject, because…',
        '4 $(check-all) Accept all 2', '4 $(clear-all) Reject all', '4 $(diff) Open the proposal'].sort((a, b) => parseInt(a) - parseInt(b)));
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      await noneIsShown(path);
      assert.deepEqual(await lensesOf(path), []);
    });

    it('opens no diff while a panel or a view has the keyboard, and is decided in an editor that may not be typed in', async () => {
      const path = file(PARTS);
      const mine = await open(path);
      await vscode.commands.executeCommand('workbench.action.files.setActiveEditorReadonlyInSession');
      try {
        for (const [n, focus] of ['workbench.actions.view.problems', 'fileops.changes.focus'].entries()) {
          await vscode.commands.executeCommand(focus);
          const session = await agent(path);
          const done = session.edit({ file_path: path, old_string: `line ${n + 5}\n`, new_string: `LINE ${n + 5}\n` });
          const review = await waiting();
          await insides.reviews.decide(review, 'accept');
          assert.equal((await done).status, 'success');
          assert.deepEqual(shownDiffs(), []);
          await until(() => mine.document.getText() === disk(path), 'the document shows it');
        }
        assert.equal(disk(path), PARTS.replace('line 5\n', 'LINE 5\n').replace('line 6\n', 'LINE 6\n'));
      } finally {
        await vscode.commands.executeCommand('workbench.action.closePanel');
        await open(path);
        await vscode.commands.executeCommand('workbench.action.files.resetActiveEditorReadonlyInSession');
      }
    });

    it('is decided change by change at the cursor; what was rejected is not written', async () => {
      const path = file(PARTS);
      const mine = await open(path);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 5\n', new_string: 'LINE 5\n' }, { old_string: 'line 20\n', new_string: 'LINE 20\n' }] });
      await waiting();
      mine.selection = new vscode.Selection(4, 2, 4, 2);
      await vscode.commands.executeCommand('fileops.review.rejectChange');
      await until(() => mine.selection.active.line === 19, 'the cursor is at the next change');
      assert.deepEqual(insertedAt(path), [19]);
      await vscode.commands.executeCommand('fileops.review.acceptChange');
      assert.equal((await done).status, 'success');
      assert.equal(disk(path), PARTS.replace('line 20\n', 'LINE 20\n'));
      await noneIsShown(path);
    });

    it('tells the agent in one line why parts of it were rejected; Escape in that box rejects nothing', async () => {
      const path = file(PARTS);
      await open(path);
      const session = await agent(path);
      const step = (n: number) => ({ old_string: `line ${n}\n`, new_string: `LINE ${n}\n` });
      const done = session.multiEdit({ file_path: path, edits: [step(5), step(12), step(20), step(27)] });
      const review = await waiting();
      const [first, second, third, last] = review.changes.map(({ id }) => id) as [string, string, string, string];
      const asked = vscode.commands.executeCommand('fileops.review.rejectChangeBecause', review.id, first);
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
        return Promise.race([asked.then(() => true), new Promise(resolve => setTimeout(() => resolve(false), 20))]);
      }, 'the box is closed');
      assert.ok(!review.isDecided(first));
      for (const [id, reason] of [[first, 'It is a constant.'], [second, 'It is a constant.'], [third, 'Later.'], [last, 'No.']] as const) {
        await review.judge(id, 'rejected', reason);
      }
      await review.judge(last, undefined); // put back: its reason does not count
      await vscode.commands.executeCommand('fileops.review.acceptChange', review.id, last);
      const { status, output } = await done;
      assert.equal(status, 'success', output);
      assert.match(output, /The user's reason: It is a constant\.; Later\.$/m);
      assert.equal(disk(path), PARTS.replace('line 27\n', 'LINE 27\n'));
    });

    it('follows what the person types beside it, and their text is kept', async () => {
      const path = file(PARTS);
      const mine = await open(path);
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'line 20\n', new_string: 'LINE 20\n' });
      const review = await waiting();
      await mine.edit(edit => edit.insert(new vscode.Position(2, 0), 'typed\ntyped\n'));
      assert.deepEqual(insides.reviews.inText.spotsOf(review).map(({ start, end }) => [start, end]), [[21, 22]]);
      mine.selection = new vscode.Selection(21, 0, 21, 0);
      await vscode.commands.executeCommand('fileops.review.acceptChange');
      assert.equal((await done).status, 'success');
      await until(() => mine.document.getText().includes('LINE 20'), 'the document has the edit');
      assert.ok(mine.document.getText().startsWith('line 1\nline 2\ntyped\ntyped\nline 3\n'));
      await mine.document.save();
    });

    it('is put back into the queue of decisions by its lens', async () => {
      const path = file(PARTS);
      await open(path);
      const session = await agent(path);
      const done = session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 5\n', new_string: 'LINE 5\n' }, { old_string: 'line 20\n', new_string: 'LINE 20\n' }] });
      const review = await waiting();
      const [first, second] = review.changes.map(({ id }) => id);
      await vscode.commands.executeCommand('fileops.review.acceptChange', review.id, first);
      assert.ok((await lensesOf(path)).includes('4 $(discard) Accepted: decide again'));
      await vscode.commands.executeCommand('fileops.review.putBack', review.id, first);
      assert.deepEqual(insertedAt(path), [4, 19]);
      await vscode.commands.executeCommand('fileops.review.rejectChange', review.id, first);
      await vscode.commands.executeCommand('fileops.review.acceptChange', review.id, second);
      assert.equal((await done).status, 'success');
      assert.equal(disk(path), PARTS.replace('line 20\n', 'LINE 20\n'));
    });

    it('of a file without a tab is a diff; a file that is opened then shows it, too', async () => {
      const path = file(PARTS);
      await open(file('mine\n'));
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'line 5\n', new_string: 'LINE 5\n' });
      await until(() => shownDiffs().length === 1, 'a diff');
      await open(path);
      const review = await waiting();
      assert.deepEqual(insertedAt(path), [4]);
      await insides.reviews.decide(review, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      await noneIsShown(path);
    });

    it('keeps the editable proposal in reach', async () => {
      const path = file(PARTS);
      await open(path);
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: 'line 5\n', new_string: 'LINE 5\n' });
      const review = await waiting();
      await vscode.commands.executeCommand('fileops.review.openProposal');
      await until(() => insides.panes.isShown(review.pane), 'the proposal is shown');
      const edit = new vscode.WorkspaceEdit();
      edit.insert(review.pane.after, new vscode.Position(0, 0), 'mine\n');
      await vscode.workspace.applyEdit(edit);
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      assert.equal(disk(path), `mine\n${PARTS.replace('line 5\n', 'LINE 5\n')}`);
    });
  });
}
