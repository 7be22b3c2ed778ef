import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { agent, api, insides, nothingLeft, PARTS, proposed, shown, withReviews } from './reviewing';
import { disk, file, type Review, until } from './world';

/** An agent's patch of four files that waits: two changes, one in a file that is moved too, a deletion, a new file. */
async function patched() {
  const edited = file(PARTS);
  const folder = path.dirname(edited);
  const [moved, gone, made] = ['moved.txt', 'gone.txt', 'made.txt'].map(name => path.join(folder, `${path.basename(edited)}-${name}`)) as [string, string, string];
  fs.writeFileSync(moved, PARTS);
  fs.writeFileSync(gone, 'gone\n');
  const session = await agent(edited);
  for (const one of [moved, gone]) await session.read({ file_path: one });
  const patch = [
    '*** Begin Patch',
    `*** Update File: ${edited}`, '@@', '-line 3', '+agent 3', '@@', '-line 20', '+agent 20',
    `*** Update File: ${moved}`, `*** Move to: ${moved}.new`, '@@', '-line 5', '+agent 5',
    `*** Delete File: ${gone}`,
    `*** Add File: ${made}`, '+made',
    '*** End Patch', '',
  ].join('\n');
  const done = api.request('fileops/applyPatch', { patch, session_id: session.id! });
  await shown();
  return { done, edited, moved, gone, made };
}

const text = (changes: Record<number, string>): string => PARTS.split('\n').map((line, i) => changes[i + 1] ?? line).join('\n');

const reviewOf = (filePath: string): Review =>
  insides.reviews.waiting.find((one): one is Review => one.kind === 'edit' && one.question.file_path === filePath)!;

/** As the arrow in the margin does: without the change of line 20. */
async function leaveOut(review: Review): Promise<void> {
  const document = await proposed(review);
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(19, 0, 20, 0), 'line 20\n');
  await vscode.workspace.applyEdit(edit);
}

export function setSuite(): void {
  describe('a change set', () => {
    withReviews();
    afterEach(() => vscode.commands.executeCommand('notifications.clearAll'));

    it('is written when the last of its files is decided', async () => {
      const { done, edited, moved, gone, made } = await patched();
      const { set } = reviewOf(edited);
      assert.ok(set);
      assert.deepEqual(set.parts.map(part => [part.file_path, part.operation]),
        [[edited, 'modify'], [moved, 'rename'], [gone, 'delete'], [made, 'create']]);
      const first = reviewOf(edited);
      await leaveOut(first);
      void insides.reviews.accept([first]);
      await until(() => set.nLeft === 3 && insides.panes.isShown(reviewOf(moved).pane), 'the next file is shown');
      void insides.reviews.decide(reviewOf(gone), 'accept');
      await until(() => set.nLeft === 2, 'two are left');
      void insides.reviews.decide(reviewOf(gone), 'reject', 'Keep it.'); // decided again
      void insides.reviews.decide(reviewOf(made), 'accept');
      await until(() => set.nLeft === 1, 'one is left');
      assert.equal(disk(edited), PARTS);
      await insides.reviews.decide(reviewOf(moved), 'accept');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.match(result.output, /The user's reason: Keep it\.$/m);
      assert.deepEqual((result.details as { dropped: string[] }).dropped, [gone]);
      assert.equal(disk(edited), text({ 3: 'agent 3' }));
      assert.equal(disk(`${moved}.new`), text({ 5: 'agent 5' }));
      assert.deepEqual([moved, gone, made].map(fs.existsSync), [false, true, true]);
      await nothingLeft();
    });

    it('is accepted by one command, and taken back by one undo', async () => {
      const { done, edited, moved, gone, made } = await patched();
      await vscode.commands.executeCommand('fileops.acceptAll');
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      assert.deepEqual([edited, moved, `${moved}.new`, gone, made].map(fs.existsSync), [true, false, true, false, true]);
      const { set_id } = result.details as { set_id: string };
      const undone = await api.request('fileops/undo', { set_id, approved: true });
      assert.equal(undone.status, 'success', undone.output);
      assert.deepEqual([edited, moved, `${moved}.new`, gone, made].map(fs.existsSync), [true, true, false, true, false]);
      assert.equal(disk(edited), PARTS);
      await nothingLeft();
    });

    it('that is rejected as a whole changes nothing, also where a file was accepted before', async () => {
      const { done, edited, moved, gone, made } = await patched();
      void insides.reviews.decide(reviewOf(edited), 'accept');
      await until(() => reviewOf(edited).set!.nLeft === 3, 'one is decided');
      void vscode.commands.executeCommand('fileops.rejectAll');
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem'); // the reason, left empty
        return insides.reviews.waiting.length === 0;
      }, 'it is decided');
      assert.equal((await done).error?.code, 'rejected');
      assert.equal(disk(edited), PARTS);
      assert.deepEqual([moved, gone, made].map(fs.existsSync), [true, true, false]);
      await nothingLeft();
    });

    it('that is decided elsewhere is gone with all its files', async () => {
      const { done, edited } = await patched();
      void insides.reviews.decide(reviewOf(edited), 'reject');
      await until(() => reviewOf(edited).set!.nLeft === 3, 'one is decided');
      await api.request('fileops/decideReview', { review_id: reviewOf(edited).set!.id, outcome: 'accept' });
      const result = await done;
      assert.equal(result.status, 'success', result.output);
      await until(() => insides.reviews.waiting.length === 0, 'nothing waits');
      assert.equal(disk(edited), text({ 3: 'agent 3', 20: 'agent 20' }));
      await nothingLeft();
    });

    it('whose file changed near it is asked about anew, with what was dropped', async () => {
      const { done, edited } = await patched();
      const first = reviewOf(edited);
      await leaveOut(first);
      fs.writeFileSync(edited, text({ 2: 'theirs' }));
      void vscode.commands.executeCommand('fileops.acceptAll');
      await until(() => {
        const review = reviewOf(edited);
        return review !== first && review.question.previous ? review : undefined;
      }, 'it is open again');
      assert.equal(disk(edited), text({ 2: 'theirs' }));
      await until(() => insides.reviews.waiting.every(one => one.kind === 'edit' && !one.isDeciding), 'all are to be decided');
      await vscode.commands.executeCommand('fileops.acceptAll');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(edited), text({ 2: 'theirs', 3: 'agent 3' }));
      await nothingLeft();
    });
  });
}
