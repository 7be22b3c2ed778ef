import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import { closeAll, closeViews, disk, file, open, shownDiffs, typeInto, until, world } from './world';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('');
let nSessions = 0;

export function historySuite(): void {
  describe('history and undo', () => {
    let api: FileopsApi;
    let insides: Insides;
    before(async () => { ({ api, insides } = await world()); });
    beforeEach(closeAll);
    after(closeAll);

    async function edited() {
      const path = file(LINES);
      const session = api.session(`history-${++nSessions}`);
      await session.setApprovalMode('yolo');
      await session.read({ file_path: path });
      const edit = async (from: string, to: string) => {
        const result = await session.edit({ file_path: path, old_string: from, new_string: to });
        assert.equal(result.status, 'success', result.output);
        return result.details.edit_id!;
      };
      return { path, session, edit };
    }

    it('lists the edits of a session with their diffs', async () => {
      const { path, session, edit } = await edited();
      const ids = [await edit('line 3\n', 'LINE 3\n'), await edit('line 9\n', 'LINE 9\n')];
      const entries = await api.history({ session_id: session.id! });
      assert.deepEqual(entries.map(e => e.edit_id).sort(), [...ids].sort());
      assert.ok(entries.every(e => e.undoable && e.file_path === path));
      assert.ok(entries.some(e => e.diff.includes('+LINE 9')));
    });

    const entryOf = async (path: string, id: string) => (await api.request('fileops/log', { file_path: path })).entries.find(({ edit_id }) => edit_id === id)!;

    it('shows the diff of an edit, and nothing of it is left when it is closed', async () => {
      const { path, edit } = await edited();
      await insides.history.show(await entryOf(path, await edit('line 3\n', 'LINE 3\n')));
      const [shown] = shownDiffs();
      assert.equal((await vscode.workspace.openTextDocument(shown!.original)).getText(), LINES);
      assert.equal((await vscode.workspace.openTextDocument(shown!.modified)).getText(), LINES.replace('line 3\n', 'LINE 3\n'));
      await closeViews();
      await until(() => insides.panes.nDocuments === 0, 'no text is left');
      assert.equal(shownDiffs().length, 0);
    });

    it('is a pick, of which a choice shows a diff', async () => {
      const { edit } = await edited();
      await edit('line 3\n', 'LINE 3\n');
      await vscode.commands.executeCommand('fileops.showHistory');
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem');
        return shownDiffs().length === 1;
      }, 'the diff of the newest edit');
      assert.match((await vscode.workspace.openTextDocument(shownDiffs()[0]!.modified)).getText(), /LINE 3/);
      await closeViews();
    });

    it('undoes one edit and keeps later typing', async () => {
      const { path, edit } = await edited();
      const editor = await open(path);
      const id = await edit('line 3\n', 'LINE 3\n');
      await until(() => editor.document.getText().includes('LINE 3'), 'the document shows the edit');
      await typeInto(editor, builder => builder.insert(new vscode.Position(10, 0), 'typed since\n'));
      assert.ok(await editor.document.save());
      await unasked(insides.history.undoEntry(await entryOf(path, id)));
      assert.equal(disk(path), LINES.replace('line 11\n', 'typed since\nline 11\n'));
    });

    it('undoes all edits of a session', async () => {
      const { path, session, edit } = await edited();
      await edit('line 3\n', 'LINE 3\n');
      await edit('LINE 3\n', 'Line three\n');
      await edit('line 9\n', 'LINE 9\n');
      const result = await decideWhileWaiting(session.undoAll());
      assert.equal(result.status, 'success', result.output);
      assert.equal(disk(path), LINES);
    });

    it("an agent's own undo is reviewed", async () => {
      const { path, session, edit } = await edited();
      const id = await edit('line 3\n', 'LINE 3\n');
      await session.setApprovalMode('default');
      const done = session.undoAll();
      const review = await until(() => insides.reviews.waiting[0], 'a review');
      await insides.reviews.decide(review, 'reject');
      assert.equal((await done).error?.code, 'rejected');
      assert.ok(disk(path).includes('LINE 3') && id);
    });

    it('an undo can be undone', async () => {
      const { path, edit } = await edited();
      const id = await edit('line 3\n', 'LINE 3\n');
      const first = await decideWhileWaiting(api.undo({ edit_id: id }));
      assert.deepEqual(first.details.undone, [id]);
      assert.equal(disk(path), LINES);
      const second = await decideWhileWaiting(api.undo({ edit_id: first.details.edit_id! }));
      assert.equal(second.status, 'success', second.output);
      assert.ok(disk(path).includes('LINE 3'));
    });

    it('refuses and changes nothing if the text was typed over', async () => {
      const { path, edit } = await edited();
      const editor = await open(path);
      const id = await edit('line 3\n', 'LINE 3\n');
      await until(() => editor.document.getText().includes('LINE 3'), 'the document shows the edit');
      await typeInto(editor, builder => builder.replace(new vscode.Range(2, 0, 2, 6), 'quite another'));
      assert.ok(await editor.document.save());
      const before = disk(path);
      const result = await decideWhileWaiting(api.undo({ edit_id: id }));
      assert.equal(result.error?.code, 'undo_conflict');
      assert.equal(disk(path), before);
    });

    /** What a person asks for is done at once: no review on the way. */
    async function unasked<T>(done: PromiseLike<T>): Promise<T> {
      const asked: string[] = [];
      const listening = insides.reviews.onDidChange(() => {
        const [review] = insides.reviews.waiting;
        if (!review) return;
        asked.push(review.title);
        void insides.reviews.decide(review, 'reject');
      });
      try {
        return await done;
      } finally {
        listening.dispose();
        assert.deepEqual(asked, []);
      }
    }

    /** An undo is an edit: in the default mode an agent's waits for a review too. */
    async function decideWhileWaiting<T>(done: PromiseLike<T>): Promise<T> {
      const listening = insides.reviews.onDidChange(() => {
        const [review] = insides.reviews.waiting;
        if (review) void insides.reviews.decide(review, 'accept');
      });
      try {
        return await done;
      } finally {
        listening.dispose();
      }
    }
  });
}
