import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import { agent, api, insides, nothingLeft, PARTS, proposed, restartedWith, shown, withReviews } from './reviewing';
import { disk, file, once, type Review, shownDiffs, until } from './world';

export function staleReviewSuite(): void {
  describe('a review', () => {
    withReviews();

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

    it('of a file that changes near it while pending says so and shows the change; accepted, it is asked again on the new text', async () => {
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
      assert.match(insides.reviewView.provideFileDecoration(uri)!.tooltip!, /changed on disk since agent-\d+ read it: what you accept is merged with it, or you are asked again$/);
      assert.match(insides.status.sentence, /Changed in the meantime: demo\.py\./);
      const titles = await lenses();
      assert.ok(titles.includes('$(warning) File changed in the meantime') && titles.includes('$(check) Accept'), titles.join());

      await vscode.commands.executeCommand('fileops.review.showChanges', review.id);
      const changes = await until(() => shownDiffs().find(input => input.modified.scheme === 'fileops-view'), 'the changes are shown');
      assert.equal((await vscode.workspace.openTextDocument(changes.original)).getText(), 'a = 1\nb = 2\n');
      assert.equal((await vscode.workspace.openTextDocument(changes.modified)).getText(), 'a = 1\nb = 22\n');
      await vscode.commands.executeCommand('fileops.closeDiffs');
      await insides.reviews.decide(review, 'accept');
      const again = await until(() => insides.reviews.waiting.find((one): one is Review => one.kind === 'edit' && one !== review), 'it is asked again');
      assert.deepEqual([again.id, again.question.revision, insides.reviews.waiting.length], [review.id, 2, 1]);
      assert.equal(disk(path), 'a = 1\nb = 22\n');
      await until(() => insides.panes.isShown(again.pane) && !insides.panes.isShown(review.pane), 'its pane takes the place of the other one');
      assert.equal((await proposed(again)).getText(), 'a = 3\nb = 22\n');
      assert.equal((await vscode.workspace.openTextDocument(again.pane.before)).getText(), 'a = 1\nb = 22\n');
      const newTitles = (await insides.reviewView.provideCodeLenses(await proposed(again))).map(l => l.command!.title);
      assert.ok(newTitles.some(title => /^\$\(history\) Decide again: the file changed in the meantime \(line \d\)$/.test(title)), newTitles.join());
      assert.match(String(insides.reviewView.getTreeItem(again).description), /^decide again/);
      await insides.reviews.decide(again, 'accept');
      assert.equal((await done).status, 'success', (await done).output);
      assert.equal(disk(path), 'a = 3\nb = 22\n');
      await vscode.commands.executeCommand('notifications.clearAll');
      await nothingLeft();
    });

    it('with freshness relevant, of a file that changes in other lines while pending, can be accepted and says so', async () => {
      await restartedWith('freshness', 'relevant');
      try {
        const path = file(PARTS);
        const session = await agent(path);
        const done = session.edit({ file_path: path, old_string: 'line 15\n', new_string: 'ours\n' });
        const review = await shown();
        fs.writeFileSync(path, PARTS.replace('line 2\n', 'theirs\n'));
        await until(() => review.staleness, 'the review knows');
        const { uri } = await proposed(review);
        const titles = (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 20)).map(l => l.command!.title);
        assert.ok(titles.includes('$(check) Accept') && titles.includes('$(warning) File changed in the meantime'), titles.join());
        assert.match(insides.reviewView.provideFileDecoration(uri)!.tooltip!, /what you accept is merged with it, or you are asked again$/);
        assert.match(insides.status.sentence, /Changed in the meantime: demo\.py\./);
        await insides.reviews.decide(review, 'accept');
        assert.equal((await done).status, 'success', (await done).output);
        assert.equal(disk(path), PARTS.replace('line 2\n', 'theirs\n').replace('line 15\n', 'ours\n'));
        await nothingLeft();
      } finally {
        await restartedWith('freshness', undefined);
      }
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
      assert.match((insides.reviewView.getTreeItem(review).tooltip as vscode.MarkdownString).value, /changed by agent-\d+ since agent-\d+ read it/);
      assert.ok(unrelated.kind === 'edit' && unrelated.staleness === undefined);
      await insides.reviews.decide(review, 'reject');
      await insides.reviews.decide(unrelated, 'reject');
      assert.deepEqual([(await done).error?.code, (await waiting).error?.code], ['rejected', 'rejected']);
    });
  });
}
