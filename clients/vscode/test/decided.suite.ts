import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { Review as Question } from '../src/protocol';
import { agent, api, insides, nothingLeft, proposed, shown, withReviews } from './reviewing';
import { closeViews, disk, file, once, type Review, shownDiffs, until } from './world';

const LINES = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`);
const text = (changes: Record<number, string>): string => LINES.map((line, i) => changes[i + 1] ?? line).join('\n') + '\n';

export function decidedSuite(): void {
  describe('a decision', () => {
    withReviews();
    afterEach(() => vscode.commands.executeCommand('notifications.clearAll'));

    /** Four changes, each decidable. */
    async function fourChanges(path: string) {
      const session = await agent(path);
      const step = (n: number) => ({ old_string: `line ${n}\n`, new_string: `agent ${n}\n` });
      // Its own token: else a slow edit shows a toast, whose "Cancel" these tests might press.
      const done = session.multiEdit({ file_path: path, edits: [step(2), step(10), step(18), step(26)], workDoneToken: 'tests' });
      const review = await shown();
      assert.equal(review.question.changes.length, 4);
      return { done, review };
    }

    /** As the arrow in the margin does. */
    async function leaveOut(review: Review, n: number): Promise<void> {
      const document = await proposed(review);
      const at = document.getText().split('\n').indexOf(`agent ${n}`);
      const edit = new vscode.WorkspaceEdit();
      edit.replace(document.uri, new vscode.Range(at, 0, at + 1, 0), `line ${n}\n`);
      await vscode.workspace.applyEdit(edit);
    }

    async function typeInto(review: Review, at: vscode.Position, typed: string): Promise<void> {
      const { uri } = await proposed(review);
      const edit = new vscode.WorkspaceEdit();
      edit.insert(uri, at, typed);
      await vscode.workspace.applyEdit(edit);
    }

    const reopened = (old: Review): Promise<Review> => until(
      () => insides.reviews.waiting.find((one): one is Review => one.kind === 'edit' && one.id === old.id && one !== old), 'it is open again');

    it('with a dropped change and typed text holds after the file changed near it: both are in the new proposal', async () => {
      const path = file(text({}));
      const { done, review } = await fourChanges(path);
      await leaveOut(review, 10);
      await typeInto(review, new vscode.Position(21, 0), 'typed by hand\n');
      fs.writeFileSync(path, text({ 1: 'theirs' }));
      await insides.reviews.decide(review, 'accept');
      const again = await reopened(review);
      const wanted = text({ 1: 'theirs', 2: 'agent 2', 18: 'agent 18', 22: 'typed by hand\nline 22', 26: 'agent 26' });
      assert.equal(disk(path), text({ 1: 'theirs' }));
      assert.equal(again.proposed, wanted);
      await insides.reviews.decide(again, 'accept');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(path), wanted);
      await nothingLeft();
    });

    it('with a change left out holds after the file changed near another: it is left out again', async () => {
      const path = file(text({}));
      const { done, review } = await fourChanges(path);
      await leaveOut(review, 10);
      fs.writeFileSync(path, text({ 1: 'theirs' }));
      await insides.reviews.decide(review, 'accept');
      const again = await reopened(review);
      await until(() => again.proposed === text({ 1: 'theirs', 2: 'agent 2', 18: 'agent 18', 26: 'agent 26' }), 'the new proposal is without it, too');
      await insides.reviews.decide(again, 'accept');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(path), text({ 1: 'theirs', 2: 'agent 2', 18: 'agent 18', 26: 'agent 26' }));
      await nothingLeft();
    });

    it('holds without a question where the file changed elsewhere', async () => {
      const path = file(text({}));
      const { done, review } = await fourChanges(path);
      await leaveOut(review, 10);
      fs.writeFileSync(path, text({ 14: 'theirs' }));
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(path), text({ 2: 'agent 2', 14: 'theirs', 18: 'agent 18', 26: 'agent 26' }));
      await nothingLeft();
    });

    it('of somebody else, after which the file has to be looked at again, leaves what was typed here', async () => {
      const path = file(text({}));
      const { done, review } = await fourChanges(path);
      await typeInto(review, new vscode.Position(21, 0), 'typed by hand\n');
      const typed = review.proposed;
      fs.writeFileSync(path, text({ 1: 'theirs' }));
      const answer = await api.request('fileops/decideReview', { review_id: review.id, outcome: 'accept' });
      assert.equal(answer.reason, 'reopened');
      const again = await reopened(review);
      await until(() => again.earlier === typed, 'what was typed is kept');
      assert.ok(again.proposed.includes('theirs') && !again.proposed.includes('typed by hand'), again.proposed);
      await until(async () => {
        await vscode.commands.executeCommand('notifications.focusLastToast');
        await vscode.commands.executeCommand('notification.acceptPrimaryAction'); // "Show What You Typed"
        return shownDiffs().some(({ modified }) => modified.scheme === 'fileops-view');
      }, 'what was typed is offered');
      for (const input of shownDiffs()) if (input.modified.scheme === 'fileops-view') assert.equal((await vscode.workspace.openTextDocument(input.modified)).getText(), typed);
      await closeViews();
      const late = await api.request('fileops/decideReview', { review_id: review.id, outcome: 'reject', revision: 1 });
      assert.equal(late.reason, 'review_changed');
      await insides.reviews.decide(again, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      assert.equal(disk(path), text({ 1: 'theirs' }));
      await nothingLeft();
    });

    it('of somebody else closes the pane here', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      const answer = await api.request('fileops/decideReview', { review_id: review.id, outcome: 'reject', reason: 'use a constant' });
      assert.deepEqual([answer.state, answer.outcome, answer.reason], ['decided', 'reject', null]);
      assert.match((await done).output, /use a constant/);
      await nothingLeft();
      assert.equal(insides.reviews.waiting.length, 0);
      await insides.reviews.decide(review, 'accept'); // too late: it is not in the list any more
      assert.equal(disk(path), 'a = 1\n');
    });

    it('that comes a moment after another one changes nothing', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      const first = api.request('fileops/decideReview', { review_id: review.id, outcome: 'reject' });
      const second = insides.reviews.decide(review, 'accept');
      assert.deepEqual([(await first).reason, (await done).error?.code], [null, 'rejected']);
      await second;
      await nothingLeft();
      assert.equal(disk(path), 'a = 1\n');
    });

    it('no has a reason, which the agent reads; none if it is left empty; Escape decides nothing', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      const rejecting = insides.reviews.reject([review]);
      let isAsked = true;
      void rejecting.then(() => (isAsked = false));
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.closeQuickOpen'); // again, until the box was there
        return !isAsked;
      }, 'the box is closed');
      assert.deepEqual(insides.reviews.waiting, [review]);
      await insides.reviews.decide(review, 'reject', 'use a\nconstant');
      assert.match((await done).output, /The proposed edit was rejected: use a\nconstant\. Nothing was written\./);
      const second = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      await insides.reviews.decide(await shown(), 'reject', '');
      assert.match((await second).output, /Do not retry the same edit/);
      await nothingLeft();
    });

    it('that is on its way is not asked about again', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      const pid = insides.daemon.server!.pid!;
      process.kill(pid, 'SIGSTOP');
      let sending: Promise<void>;
      try {
        sending = insides.reviews.decide(review, 'reject');
        await until(() => review.isSent, 'it is sent');
        await insides.reviews.reject([review]); // at once: no box for the reason
      } finally {
        process.kill(pid, 'SIGCONT');
      }
      await sending;
      assert.equal((await done).error?.code, 'rejected');
      await nothingLeft();
    });

    it('that cannot be written says so; the accepted text can be shown', async () => {
      const path = file('a = 1\n', 'gone.py');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const review = await shown();
      fs.rmSync(path);
      await insides.reviews.decide(review, 'accept');
      const again = await reopened(review);
      assert.deepEqual([again.question.changes.length, again.question.previous?.reason], [0, 'deleted']);
      assert.equal(again.earlier, 'a = 2\n');
      await insides.reviews.decide(again, 'accept');
      assert.deepEqual(insides.reviews.waiting, [again], 'there is nothing to accept');
      await insides.reviews.decide(again, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      await nothingLeft();
    });

    it('is shown how long it may take, in its last minute', async () => {
      const path = file('a = 1\n');
      const session = await agent(path);
      const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      const real = await shown();
      assert.ok(real.secondsLeft > 60, 'the whole time is known');
      const question: Question = { ...real.question, review_id: 'r-late', expires_at: Date.now() / 1000 + 40 };
      insides.reviews.update({ opened: [question], closed: [] });
      const review = insides.reviews.waiting[1] as Review;
      const { secondsLeft } = review;
      const said = Number(/2 to review · (\d\d?) s left/.exec(insides.status.text)?.[1]);
      assert.ok(said <= 40 && said >= secondsLeft, insides.status.text);
      await once(insides.reviews.onDidChange);
      await until(() => review.secondsLeft! < secondsLeft!, 'it is counted down');
      insides.reviews.update({ opened: [], closed: [{ review_id: 'r-late', state: 'timed_out', outcome: null, by: null }] });
      await insides.reviews.decide(real, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      await nothingLeft();
    });
  });
}
