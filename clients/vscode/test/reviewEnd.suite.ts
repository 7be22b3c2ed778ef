import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { agent, api, insides, nothingLeft, proposed, shown, withReviews } from './reviewing';
import { disk, file, once, set, shownDiffs, until } from './world';

export function reviewEndSuite(): void {
  describe('a review', () => {
    withReviews();

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
      const asked = once(insides.reviews.onDidChange, () => insides.reviews.waiting.length > 0);
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
      assert.equal(review.question.original_text, null);
      assert.ok((await proposed(review)).getText().includes('pin'));
      assert.ok((await proposed(review)).lineCount < 20);
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      assert.ok(disk(path).endsWith('x\npin\n'));
    });

    it('is only announced if the user wants no pane', async () => {
      await set('openReviews', 'never');
      try {
        const path = file('a = 1\n');
        const session = await agent(path);
        const done = session.edit({ file_path: path, old_string: '1', new_string: '2' });
        const review = await until(() => insides.reviews.waiting[0], 'it waits');
        assert.equal(shownDiffs().length, 0);
        await insides.reviews.decide(review, 'accept');
        assert.equal((await done).status, 'success');
      } finally {
        await set('openReviews', undefined);
        await vscode.commands.executeCommand('notifications.clearAll');
      }
    });
  });
}
