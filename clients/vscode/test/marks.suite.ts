import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { FileopsApi, FileopsSession } from '../src/api';
import type { Insides } from '../src/extension';
import { closeAll, disk, file, isShared, once, open, set, shownDiffs, until, world } from './world';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('');
let nSessions = 0;

export function marksSuite(): void {
  describe('marks in the real file', () => {
    let api: FileopsApi;
    let insides: Insides;
    let session: FileopsSession;
    before(async function () {
      if (isShared) return this.skip(); // there they are marked until they are kept: unkept.suite.ts
      ({ api, insides } = await world());
    });
    beforeEach(async () => {
      await closeAll();
      session = api.session(`marks-${++nSessions}`);
      await session.setApprovalMode('yolo');
    });
    afterEach(() => session.close());
    after(closeAll);

    const marks = (path: string) => insides.marks.at(vscode.Uri.file(path)).map(({ start, end }) => [start, end]);
    const type = async (path: string, line: number, text: string): Promise<void> => {
      const edit = new vscode.WorkspaceEdit();
      edit.insert(vscode.Uri.file(path), new vscode.Position(line, 0), text);
      await vscode.workspace.applyEdit(edit);
    };

    it('an open clean document follows the disk at once; cursor, folds and undo stay', async () => {
      const path = file(LINES);
      const editor = await open(path);
      editor.selection = new vscode.Selection(14, 3, 14, 3);
      await session.read({ file_path: path });
      const result = await session.edit({ file_path: path, old_string: 'line 3\n', new_string: 'LINE 3\nLINE 3b\n' });
      assert.equal(result.details.applied_to, 'disk');
      await until(() => editor.document.getText().includes('LINE 3b'), 'the document shows the edit');
      assert.ok(!editor.document.isDirty);
      assert.deepEqual([editor.selection.active.line, editor.selection.active.character], [15, 3]);
      assert.deepEqual(marks(path), [[2, 4]]);
    });

    it('are on the changed lines, move with typing and go when dismissed', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      await session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 3\n', new_string: 'LINE 3\nLINE 3b\n' }, { old_string: 'line 10\n', new_string: '' }] });
      await until(() => marks(path).length === 2, 'two marks');
      assert.deepEqual(marks(path), [[2, 4], [10, 10]]);
      await type(path, 0, 'typed\ntyped\n');
      assert.deepEqual(marks(path), [[4, 6], [12, 12]]);
      await vscode.commands.executeCommand('fileops.dismissMarks');
      assert.deepEqual(marks(path), []);
    });

    it('are where lines went away below others that were added', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      await session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 3\n', new_string: 'LINE 3\nLINE 3b\nLINE 3c\n' }, { old_string: 'line 10\n', new_string: '' }] });
      await until(() => marks(path).length === 2, 'two marks');
      assert.deepEqual(marks(path), [[2, 5], [11, 11]]);
    });

    it('are where lines went away in edits in a row, also at the end of the file', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      await session.edit({ file_path: path, old_string: 'line 20\n', new_string: '' });
      await session.edit({ file_path: path, old_string: 'line 10\n', new_string: '' });
      await session.edit({ file_path: path, old_string: 'line 11\n', new_string: 'LINE 11\n' });
      await until(() => marks(path).length === 3, 'three marks');
      assert.deepEqual(marks(path).sort(), [[18, 18], [9, 10], [9, 9]]);
    });

    it('of an edit are right after the next one has added lines directly above', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      await session.edit({ file_path: path, old_string: 'line 10\n', new_string: 'LINE 10\n' });
      await session.edit({ file_path: path, old_string: 'line 8\n', new_string: 'LINE 8\nLINE 8b\n' });
      await until(() => marks(path).length === 2, 'two marks');
      assert.deepEqual(marks(path).sort(), [[10, 11], [7, 9]]);
    });

    it('of two edits in a row are both right', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      await session.edit({ file_path: path, old_string: 'line 10\n', new_string: 'LINE 10\n' });
      await session.edit({ file_path: path, old_string: 'line 3\n', new_string: 'LINE 3\nLINE 3b\n' });
      await until(() => marks(path).length === 2, 'two marks');
      assert.deepEqual(marks(path).sort(), [[10, 11], [2, 4]]);
    });

    it('wait for a file that is opened later', async () => {
      const path = file(LINES);
      await session.read({ file_path: path });
      await session.edit({ file_path: path, old_string: 'line 5\n', new_string: 'LINE 5\n' });
      assert.deepEqual(marks(path), []);
      await open(path);
      assert.deepEqual(marks(path), [[4, 5]]);
    });

    it('an unsaved document is read and edited as it is, and stays unsaved', async () => {
      const path = file(LINES);
      const editor = await open(path);
      await type(path, 0, 'typed\n');
      const read = await session.read({ file_path: path });
      assert.equal(read.details.source, 'buffer');
      assert.match(read.output, /1→typed/);
      const result = await session.edit({ file_path: path, old_string: 'line 5\n', new_string: 'LINE 5\n' });
      assert.equal(result.status, 'success', result.output);
      assert.equal(result.details.applied_to, 'buffer');
      assert.ok(editor.document.isDirty);
      assert.ok(editor.document.getText().startsWith('typed\n') && editor.document.getText().includes('LINE 5'));
      assert.equal(disk(path), LINES);
      await until(() => marks(path).length === 1, 'a mark');
      assert.deepEqual(marks(path), [[5, 6]]);
    });

    it('the diff of an edit without a review is shown if configured, without taking the keyboard', async () => {
      await set('diffAfterEdit', true);
      try {
        const path = file(LINES);
        const mine = await open(path);
        await session.read({ file_path: path });
        await session.edit({ file_path: path, old_string: 'line 5\n', new_string: 'LINE 5\n' });
        const shown = await until(() => shownDiffs()[0], 'a diff');
        assert.equal(vscode.window.activeTextEditor, mine);
        assert.match((await vscode.workspace.openTextDocument(shown.modified)).getText(), /LINE 5/);
        assert.ok(shown.modified.scheme !== 'file' && shown.original.scheme !== 'file');
        await vscode.commands.executeCommand('fileops.closeDiffs');
        await until(() => shownDiffs().length === 0 && insides.panes.nDocuments === 0, 'nothing is left');

        // One that was reviewed has been seen.
        const asking = api.session('asking');
        await asking.read({ file_path: path });
        const done = asking.edit({ file_path: path, old_string: 'line 9\n', new_string: 'LINE 9\n' });
        await insides.reviews.decide(await until(() => insides.reviews.waiting[0], 'a review'), 'accept');
        const opened = vscode.window.tabGroups.onDidChangeTabs(event => event.opened.forEach(tab => tabs.push(tab.label)));
        const tabs: string[] = [];
        assert.equal((await done).status, 'success');
        await until(() => marks(path).length === 2, 'its lines are marked');
        await until(() => shownDiffs().length === 0 && insides.panes.nDocuments === 0, 'nothing is left');
        assert.deepEqual(tabs.filter(label => /agent's edit/.test(label)), []);
        opened.dispose();
      } finally {
        await set('diffAfterEdit', undefined);
      }
    });

    it('a preview marks nothing', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      const result = await session.edit({ file_path: path, old_string: 'line 5', new_string: 'LINE 5', dry_run: true });
      assert.equal(result.status, 'success');
      assert.deepEqual(marks(path), []);
      assert.equal(disk(path), LINES);
    });

    it('a file that changed since it was read is marked stale until it is read again', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      const stale = once(api.onDidBecomeStale, event => event.file_path === path);
      fs.appendFileSync(path, 'by another\n');
      const event = await stale;
      assert.equal(event.session_id, session.id);
      assert.match(insides.status.text, /\d stale/);
      assert.ok(insides.stale.files.some(f => f.file_path === path));
      assert.equal(insides.stale.provideFileDecoration(vscode.Uri.file(path))?.badge, '≠');
      const refused = await session.edit({ file_path: path, old_string: 'line 5', new_string: 'LINE 5' });
      assert.equal(refused.error?.code, 'modified_externally');
      await session.read({ file_path: path });
      await until(() => !insides.stale.files.some(f => f.file_path === path), 'the marker is gone');
      assert.equal(insides.stale.provideFileDecoration(vscode.Uri.file(path)), undefined);
    });

    it('typing into a file that an agent has read makes it stale, by the editor', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      const stale = once(api.onDidBecomeStale, event => event.file_path === path);
      await type(path, 0, 'typed\n');
      assert.equal((await stale).source, 'buffer');
      await session.close();
      await until(() => insides.stale.files.every(f => f.session_id !== session.id), 'a closed session has no stale files');
    });
  });
}
