import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { FileopsApi, FileopsSession } from '../src/api';
import type { Insides } from '../src/extension';
import { targetOfChange } from '../src/unkept/actions';
import { colorOf } from '../src/unkept/colors';
import { without } from '../src/unkept/view';
import { closeAll, disk, file, isShared, open, until, world } from './world';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('');
let nSessions = 0;

export function unkeptSuite(): void {
  describe('what agents changed and the user has not kept', () => {
    let api: FileopsApi;
    let insides: Insides;
    let session: FileopsSession;
    before(async function () {
      if (!isShared) return this.skip();
      ({ api, insides } = await world());
    });
    beforeEach(async () => {
      await closeAll();
      session = api.session(`writer-${++nSessions}`);
      await session.setApprovalMode('yolo');
    });
    afterEach(() => session.close());
    after(closeAll);

    const marks = (path: string) => insides.unkeptMarks.at(vscode.Uri.file(path)).map(({ start, end, change }) => [start, end, change.kind]);
    const run = (command: string, ...args: unknown[]) => vscode.commands.executeCommand(`fileops.${command}`, ...args);
    const lensesOf = async (path: string): Promise<string[]> =>
      (await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', vscode.Uri.file(path)))
        .map(({ range, command }) => `${range.start.line} ${command?.title}`);

    /** A file in which an agent has added, changed and removed lines, as it is open. */
    async function changed(): Promise<{ path: string; editor: vscode.TextEditor }> {
      const path = file(LINES);
      const editor = await open(path);
      await session.read({ file_path: path });
      const result = await session.multiEdit({ file_path: path, edits: [
        { old_string: 'line 3\n', new_string: 'LINE 3\n' }, { old_string: 'line 8\n', new_string: 'line 8\nline 8b\n' },
        { old_string: 'line 15\n', new_string: '' }] });
      assert.equal(result.status, 'success', result.output);
      await until(() => marks(path).length === 3, 'three marks');
      return { path, editor };
    }

    it('is marked in the text by what happened to the lines, and moves with typing', async () => {
      const { path, editor } = await changed();
      assert.deepEqual(marks(path), [[2, 3, 'changed'], [8, 9, 'added'], [15, 15, 'removed']]);
      assert.deepEqual(insides.marks.at(vscode.Uri.file(path)), [], 'no other marks');
      await editor.edit(edit => edit.insert(new vscode.Position(0, 0), 'typed\n'));
      await until(() => marks(path)[0]?.[0] === 3, 'the marks move');
      await editor.document.save();
      await until(() => marks(path).length === 3, 'what was typed is not marked');
      assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed']]);
    });

    it('is right after typing above, beside, inside and below it, and while another agent edits', async () => {
      const { path, editor } = await changed();
      const { document } = editor;
      const listed = () => insides.unkept.of(path);
      const isListed = () => listed()?.document_version === document.version;
      const typed = async (line: number, end: number, text: string) => {
        await editor.edit(edit => edit.replace(new vscode.Range(line, 0, end, 0), text));
        await until(isListed, `the text with ${JSON.stringify(text)} is listed`);
      };
      const inView = () => insides.unkept.all.files.find(({ file_path }) => file_path === path)?.changes.map(({ start_line }) => start_line);
      const [first, second, third] = listed()!.changes.map(({ change_id }) => change_id);
      const ids = () => listed()?.changes.map(({ change_id }) => change_id);

      await until(() => inView()?.length === 3, 'the view has them');
      let nShown = 0;
      const events = [insides.unkept.onDidChange, insides.unkeptMarks.onDidChangeCodeLenses].map(event => event(() => nShown++));
      await typed(10, 10, 'x');
      await typed(1, 1, 'y');
      for (const event of events) event.dispose();
      assert.deepEqual(marks(path), [[2, 3, 'changed'], [8, 9, 'added'], [15, 15, 'removed']]);
      assert.equal(nShown, 0, 'letters beside the changes change nothing that is shown');

      await typed(0, 0, 'above\n');
      assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed']]);
      assert.deepEqual([ids(), inView()], [[first, second, third], [4, 10, 17]]);
      const lenses = await lensesOf(path);
      assert.ok(lenses.includes('3 $(check) Keep') && lenses.includes('9 $(check) Keep'), lenses.join());
      await typed(18, 18, 'below\n');
      assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed']]);

      const edit = () => session.edit({ file_path: path, old_string: 'line 12\n', new_string: 'LINE 12\n' });
      await session.read({ file_path: path });
      assert.equal((await edit()).status, 'success');
      await until(() => marks(path).length === 4, 'the edit of the unsaved text is marked, too');
      assert.deepEqual(marks(path).map(([start]) => start), [3, 9, 13, 16]);

      await typed(3, 4, 'mine\n');
      assert.deepEqual(marks(path).map(([start]) => start), [9, 13, 16]);
      assert.ok(!ids()!.includes(first!), 'what a person wrote over it is no change of the agent');
      await until(() => inView()?.length === 3, 'the view leaves it out');
      await vscode.commands.executeCommand('undo');
      await until(() => marks(path).length === 4 && inView()?.length === 4, 'it is there again');
      assert.deepEqual(marks(path).map(([start]) => start), [3, 9, 13, 16]);
      await vscode.commands.executeCommand('redo');
      await until(() => marks(path).length === 3 && inView()?.length === 3, 'and gone again');
      assert.deepEqual(marks(path).map(([start]) => start), [9, 13, 16]);
    });

    it('is kept or undone change by change at the cursor', async () => {
      const { path, editor } = await changed();
      editor.selection = new vscode.Selection(2, 0, 2, 0);
      await run('keep.change');
      await until(() => marks(path).length === 2, 'it is not marked any more');
      await run('nextUnkept');
      assert.equal(editor.selection.active.line, 8);
      await run('undo.change');
      await until(() => marks(path).length === 1, 'it is undone');
      assert.equal(disk(path), LINES.replace('line 3\n', 'LINE 3\n').replace('line 15\n', ''));
      await until(() => editor.document.getText() === disk(path), 'the document shows it');
    });

    it('is undone with a reason by the same steps as a rejection: Escape, or a decision elsewhere, undoes nothing', async () => {
      const { path, editor } = await changed();
      editor.selection = new vscode.Selection(2, 0, 2, 0);
      const after = disk(path);
      const escaped = run('undo.because', 'change');
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
        return Promise.race([escaped.then(() => true), new Promise(resolve => setTimeout(() => resolve(false), 20))]);
      }, 'the box is closed');
      assert.equal(disk(path), after);

      const [first] = insides.unkept.of(path)!.changes;
      const asked = run('undo.because', targetOfChange(first!));
      await run('keep.change', targetOfChange(first!));
      assert.equal(await asked, undefined, 'nothing is left to undo: the box went away');
      assert.equal(disk(path), after);

      editor.selection = new vscode.Selection(8, 0, 8, 0);
      const undone = run('undo.because', 'change');
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem'); // the reason, left empty
        return disk(path) === after.replace('line 8b\n', '');
      }, 'it is undone');
      await undone;
    });

    it('is undone and kept in an editor that may not be typed in', async () => {
      const { path, editor } = await changed();
      await vscode.commands.executeCommand('workbench.action.files.setActiveEditorReadonlyInSession');
      try {
        editor.selection = new vscode.Selection(2, 0, 2, 0);
        await run('undo.change');
        await until(() => editor.document.getText() === disk(path) && editor.document.getText().startsWith(LINES.slice(0, 30)), 'the document shows that it is undone');
        await until(() => marks(path).length === 2, 'the others are left');
        await run('keep.file');
        await until(() => marks(path).length === 0, 'they are kept');
        assert.equal(disk(path), LINES.replace('line 8\n', 'line 8\nline 8b\n').replace('line 15\n', ''));
      } finally {
        await vscode.commands.executeCommand('workbench.action.files.resetActiveEditorReadonlyInSession');
      }
    });

    it('has Keep and Undo above each change and for the file', async () => {
      const { path } = await changed();
      const lenses = await lensesOf(path);
      assert.ok(lenses.includes('0 $(check-all) Keep all 3') && lenses.includes('0 $(discard) Undo all'), lenses.join());
      assert.equal(lenses.filter(lens => lens.endsWith('$(check) Keep')).length, 3);
      assert.equal(lenses.filter(lens => lens.endsWith('Undo, because…')).length, 3);
      await run('undo.file');
      await until(() => marks(path).length === 0, 'nothing is left');
      assert.equal(disk(path), LINES);
    });

    it('shows the lines that were removed on demand', async () => {
      const { path } = await changed();
      const shown = () => insides.inserted.at(vscode.Uri.file(path)).map(({ thread }) => thread.range?.start.line);
      await run('toggleRemovedLines');
      assert.deepEqual(shown(), [1, 14]);
      await run('toggleRemovedLines');
      assert.deepEqual(shown(), []);
    });

    it('leaves out what a person accepted in a review', async () => {
      const path = file(LINES);
      await open(path);
      await session.setApprovalMode('default');
      await session.read({ file_path: path });
      const done = session.edit({ file_path: path, old_string: 'line 3\n', new_string: 'LINE 3\n' });
      const review = await until(() => insides.reviews.waiting[0], 'a review');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await done).status, 'success');
      await session.setApprovalMode('yolo');
      await session.edit({ file_path: path, old_string: 'line 9\n', new_string: 'LINE 9\n' });
      await until(() => marks(path).length === 1, 'the other one is marked');
      assert.deepEqual(marks(path), [[8, 9, 'changed']]);
    });

    it('is undone as a whole, and redone', async () => {
      const { path } = await changed();
      const { change_ids } = insides.unkept.of(path)!.changes.reduce((all, { change_id }) => ({ change_ids: [...all.change_ids, change_id] }), { change_ids: [] as string[] });
      const after = disk(path);
      const { details } = await run('undo.file', { change_ids, what: 'them' }) as { details: { rewind_id: string } };
      await until(() => disk(path) === LINES, 'it is undone');
      await run('undo.restore', details.rewind_id);
      await until(() => disk(path) === after, 'it is there again');
      await until(() => marks(path).length === 3, 'it is to keep or undo again');
      await run('undo.file');
      await until(() => disk(path) === LINES, 'it is undone again');
      await run('redo');
      await until(() => disk(path) === after, 'the last undo is redone');
      await run('redo');
      assert.equal(disk(path), after, 'nothing is left to redo');
    });

    it('is undone once where two windows undo it at once; the other one reads that it is gone', async () => {
      const { path } = await changed();
      const target = { change_ids: insides.unkept.of(path)!.changes.map(({ change_id }) => change_id), what: 'them' };
      const undo = () => run('undo.file', target) as Thenable<{ status: string; error: { message: string } | null }>;
      const results = await Promise.all([undo(), undo()]);
      assert.deepEqual(results.map(({ status }) => status).sort(), ['error', 'success'], results.map(({ error }) => error?.message).join());
      assert.equal(disk(path), LINES);
      assert.equal((await insides.daemon.request('fileops/keep', { change_ids: target.change_ids })).n_changes, 0);
    });

    it('is restored to before a turn, after a preview', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      const turn = (title: string) => insides.daemon.request('fileops/beginTurn', { session_id: `writer-${nSessions}`, turn_id: title, title });
      await turn('the first');
      await session.edit({ file_path: path, old_string: 'line 3\n', new_string: 'LINE 3\n' });
      const { turn_id } = await turn('the second');
      await session.edit({ file_path: path, old_string: 'line 9\n', new_string: 'LINE 9\n' });
      await until(() => marks(path).length === 2, 'both are marked');
      const titles = insides.unkept.all.sessions.flatMap(({ turns }) => turns.map(({ title }) => title));
      await until(() => insides.unkept.all.sessions.some(({ turns }) => turns.some(({ title }) => title === 'the second')), `the turns have their titles: ${titles.join()}`);
      const restored = run('turns.restoreRow', { turn: { turn_id } });
      await until(async () => {
        await vscode.commands.executeCommand('notification.acceptPrimaryAction');
        return disk(path) === LINES.replace('line 3\n', 'LINE 3\n');
      }, 'the second turn is undone');
      await restored;
    });

    it('has one color in the text and in the list of agents', async () => {
      const { path } = await changed();
      const own = await until(() => insides.sessions.all.find(({ session_id }) => session_id === `writer-${nSessions}`), 'it is listed');
      const session_id = insides.unkept.of(path)!.changes[0]!.session_id!;
      const { color } = insides.sessions.getTreeItem(own).iconPath as vscode.ThemeIcon;
      assert.equal(color?.id, colorOf(session_id), session_id);
      assert.equal(own.full_name, session_id);
    });

    it('is shown as it comes while its agent is followed', async () => {
      const { path, editor } = await changed();
      await run('follow', { session_id: `writer-${nSessions}` }); // as the list of sessions names it
      await open(file('mine\n'));
      await session.edit({ file_path: path, old_string: 'line 18\n', new_string: 'LINE 18\n' });
      const active = () => vscode.window.visibleTextEditors.find(({ document }) => document === editor.document);
      await until(() => active()?.selection.active.line === 17, 'the change is shown');
      await run('follow');
    });

    it('is shown on one page of diffs, and nothing of it is left when that is closed', async () => {
      await changed();
      const n = insides.panes.nDocuments;
      await run('showSince');
      const tab = await until(() => vscode.window.tabGroups.all.flatMap(group => group.tabs).find(({ label }) => label.includes('since you last looked')), 'the page of diffs');
      assert.ok(insides.panes.nDocuments > n);
      await vscode.window.tabGroups.close(tab);
      await until(() => insides.panes.nDocuments === n, 'its texts are gone');
    });

    it('colors sessions as the other clients do, and knows the text before', () => {
      assert.deepEqual([colorOf('codex:19b2'), colorOf('claude-code:7f3a'), colorOf(null)], ['fileops.session2', 'fileops.session7', 'fileops.session1']);
      const change = { start_line: 2, end_line: 2, removed_text: 'B\nB2\n' };
      assert.equal(without('a\nb\nc\n', [change, { start_line: 4, end_line: 3, removed_text: 'd\n' }]), 'a\nB\nB2\nc\nd\n');
    });
  });
}
