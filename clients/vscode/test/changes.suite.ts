import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { FileopsApi, FileopsSession } from '../src/api';
import { BEFORE } from '../src/changes/before';
import type { Row, Target } from '../src/changes/targets';
import type { Insides } from '../src/extension';
import type { UnkeptParams } from '../src/protocol';
import { Walkthrough } from '../src/ui/walkthrough';
import { closeAll, disk, file, open, shownDiffs, typeInto, until, world } from './world';

const LINES = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('');
const EDITS: [Edit, ...Edit[]] = [
  { old_string: 'line 3\n', new_string: 'LINE 3\n' }, { old_string: 'line 8\n', new_string: 'line 8\nline 8b\n' },
  { old_string: 'line 15\n', new_string: '' },
];
interface Edit {
  old_string: string;
  new_string: string;
}
let nSessions = 0;

export function changesSuite(): void {
  describe('what agents changed and the user has not kept', () => {
    let api: FileopsApi;
    let insides: Insides;
    let session: FileopsSession;
    before(async () => { ({ api, insides } = await world()); });
    beforeEach(async () => {
      await closeAll();
      await vscode.commands.executeCommand('notifications.clearAll');
      await insides.daemon.request('fileops/keep', { all: true });
      session = api.session(`writer-${++nSessions}`);
      await session.setApprovalMode('yolo');
    });
    afterEach(() => session.close());
    after(closeAll);

    const marks = (path: string) => insides.before.at(vscode.Uri.file(path)).map(({ start, end, change }) => [start, end, change.kind]);
    const run = (command: string, ...args: unknown[]) => vscode.commands.executeCommand(`fileops.${command}`, ...args);
    const rows = () => insides.changes.groups.flatMap(({ resourceStates }) => resourceStates as Row[]);
    const rowOf = (path: string) => rows().find(({ resourceUri, target }) => resourceUri.fsPath === path && target);
    const textBefore = (path: string, group = '') => insides.before.provideTextDocumentContent(insides.before.of(vscode.Uri.file(path), group));
    const tabs = () => vscode.window.tabGroups.all.flatMap(group => group.tabs);
    const targetOf = (path: string): Target => ({ change_ids: insides.list.changesOf(path, '').map(({ change_id }) => change_id), what: 'them', nChanges: 1, nFiles: 1, agents: [] });

    /** A file in which an agent has added, changed and removed lines, as it is open. */
    async function changed(text: string | Uint8Array = LINES, edits = EDITS, name = 'demo.py'): Promise<{ path: string; editor: vscode.TextEditor }> {
      const path = file(text, name);
      const editor = await open(path);
      await session.read({ file_path: path });
      const result = await session.multiEdit({ file_path: path, edits });
      assert.equal(result.status, 'success', result.output);
      await until(() => marks(path).length === edits.length, 'all is marked');
      return { path, editor };
    }

    /** Files without a tab that an agent changes in one line. */
    async function several(n: number): Promise<string[]> {
      const paths = Array.from({ length: n }, (_, i) => file('a\nb\n', `f${i}.txt`));
      for (const path of paths) {
        await session.read({ file_path: path });
        await session.edit({ file_path: path, old_string: 'b', new_string: 'B' });
      }
      await until(() => paths.every(path => rowOf(path)), 'all are listed');
      return paths;
    }

    it('has the text before as what VS Code compares with, which moves with typing', async () => {
      const { path, editor } = await changed();
      const uri = vscode.Uri.file(path);
      assert.deepEqual(marks(path), [[2, 3, 'changed'], [8, 9, 'added'], [15, 15, 'removed']]);
      assert.equal(insides.before.provideOriginalResource(uri)?.scheme, BEFORE);
      assert.equal(await textBefore(path), LINES);
      await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), 'typed\n'));
      assert.equal(marks(path)[0]?.[0], 3, 'the marks move at once');
      assert.equal(await textBefore(path), `typed\n${LINES}`, 'what was typed is on both sides');
      await editor.document.save();
      await until(() => insides.list.of(path)?.document_version === editor.document.version, 'it is listed again');
      assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed']]);
      assert.equal(await textBefore(path), `typed\n${LINES}`);
      await run('keepFile');
      await until(() => insides.before.provideOriginalResource(uri) === undefined, 'then there is nothing to compare with');
    });

    it('never differs from the text before more than by the changes, at no moment of typing above', async () => {
      const { path, editor } = await changed();
      const shown = await vscode.workspace.openTextDocument(insides.before.of(vscode.Uri.file(path), ''));
      const wrong: string[] = [];
      const expected = () => editor.document.getText().replace('LINE 3\n', 'line 3\n').replace('line 8b\n', '').replace('line 14\n', 'line 14\nline 15\n');
      const check = () => void textBefore(path).then(text => text !== expected() && wrong.push(text));
      const listening = vscode.Disposable.from(vscode.workspace.onDidChangeTextDocument(check), insides.before.onDidPlace(check));
      for (let n = 0; n < 20; n++) await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), n % 4 === 3 ? '\n' : 'x'));
      await until(() => shown.getText() === `${editor.document.getText().split('line 1\n')[0]}${LINES}`, 'VS Code has the text before');
      await until(() => insides.list.of(path)?.document_version === editor.document.version, 'the daemon has followed');
      listening.dispose();
      assert.deepEqual(wrong, []);
      await editor.document.save();
    });

    it('is not asked about while lines beside the changes are typed in, and moves with them', async () => {
      const { path, editor } = await changed();
      const shown = await vscode.workspace.openTextDocument(insides.before.of(vscode.Uri.file(path), ''));
      const { list, daemon } = insides;
      let [nAsked, isReported] = [0, false];
      const listening = vscode.Disposable.from(
        daemon.on('fileops/didChangeUnkept')(({ typed }) => (isReported ||= !typed)), // of the agent's edit, which may come late
        daemon.onDidSend(({ method, params }) => {
          if (method !== 'fileops/unkept') return;
          if ((params as UnkeptParams).file_path === path) nAsked++;
          else isReported = true; // the list of all follows a little later
        }),
      );
      const isListed = () => list.of(path)?.document_version === editor.document.version;
      const pauseMs = list.besidePauseMs;
      list.besidePauseMs = 3_600_000;
      try {
        let text = LINES;
        do {
          list.refresh(path); // so what the reload by the agent's edit would ask later is asked now
          await list.settled;
          [nAsked, isReported] = [0, false];
          for (const typed of ['x', 'y', 'z']) {
            await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), typed));
            text = `${typed}${text}`;
            await until(() => shown.getText() === text, 'VS Code has the text before'); // which is a change of a document, too
          }
        } while (isReported);
        assert.equal(nAsked, 0);
        await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), '\n'));
        assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed']]);
        await session.read({ file_path: path });
        await session.edit({ file_path: path, old_string: 'line 20', new_string: 'LINE 20' });
        await until(() => marks(path).length === 4, 'what an agent does meanwhile is listed');
        assert.deepEqual(marks(path), [[3, 4, 'changed'], [9, 10, 'added'], [16, 16, 'removed'], [20, 21, 'changed']]);
        await typeInto(editor, edit => edit.insert(new vscode.Position(3, 4), ' mine'));
        await until(isListed, 'what is typed in a change is asked about');
        list.besidePauseMs = pauseMs;
        await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), 'x'));
        await until(isListed, 'it is asked about in the end');
      } finally {
        listening.dispose();
        list.besidePauseMs = pauseMs;
      }
      await editor.document.save();
    });

    it('of a turn has its text before also after typing inside a change, which gives that another name', async () => {
      const { path, editor } = await changed();
      const { groupId } = await until(() => rowOf(path), 'its row');
      const shown = await vscode.workspace.openTextDocument(insides.before.of(vscode.Uri.file(path), groupId));
      assert.equal(shown.getText(), LINES);
      const [old] = insides.list.changesOf(path, groupId);
      await typeInto(editor, edit => edit.insert(new vscode.Position(2, 4), ' mine'));
      await until(() => insides.list.of(path)?.document_version === editor.document.version, 'the daemon has followed');
      await until(() => insides.list.changesOf(path, groupId).length === 3 && insides.list.changesOf(path, groupId)[0]!.change_id !== old!.change_id, 'the turn has the new name');
      await until(() => shown.getText() === LINES.replace('line 3', 'line mine 3'), 'VS Code has the text before');
      await editor.document.save();
    });

    it('is listed by turn, each file with its size, and the count is of files', async () => {
      const { path } = await changed();
      const row = await until(() => rowOf(path), 'its row');
      assert.equal(row.target?.change_ids.length, 3);
      assert.match(String(row.decorations?.tooltip), /^3 changes of .+: \+2 −2$/);
      const group = insides.changes.groups.find(({ id }) => id === row.groupId)!;
      assert.match(group.label, /^.+ · \+\d+ −\d+ · \d\d:\d\d$/);
      await until(() => insides.changes.count === 0, 'git counts the file already');
      await run('keep', row);
      await until(() => insides.changes.groups.length === 0, 'with the last one the list goes away');
    });

    it('keeps the place of a row for a moment after it was decided, with its redo', async () => {
      const [first, second] = await several(2) as [string, string];
      const places = () => rows().map(({ resourceUri, contextValue }) => [resourceUri.fsPath, contextValue]);
      const [top, below] = places().map(([path]) => path) as [string, string];
      const { lingerMs } = insides.changes;
      insides.changes.lingerMs = 600_000; // for as long as this looks at it
      await run('undo', rowOf(top));
      await until(() => places()[0]?.[1] === 'undone', 'it is shown as undone');
      assert.deepEqual(places().map(([path]) => path), [top, below]);
      assert.equal(disk(top), 'a\nb\n');
      await run('redo', rows()[0]);
      await until(() => rowOf(top), 'it is to keep or undo again');
      assert.equal(disk(top), 'a\nB\n');
      insides.changes.giveUpPlaces();
      insides.changes.lingerMs = lingerMs;
      await run('keep', rowOf(top), [rowOf(first), rowOf(second)]);
      await until(() => insides.changes.groups.length === 0, 'the places are given up');
    });

    it('is kept or undone change by change at the cursor, and a keep can be taken back', async () => {
      const { path, editor } = await changed();
      editor.selection = new vscode.Selection(2, 0, 2, 0);
      await run('keep');
      await until(() => marks(path).length === 2, 'it is not listed any more');
      await insides.actions.undoKeep();
      await until(() => marks(path).length === 3, 'it is to keep or undo again');
      editor.selection = new vscode.Selection(8, 0, 8, 0);
      await run('undo');
      await until(() => marks(path).length === 2, 'it is undone');
      assert.equal(disk(path), LINES.replace('line 3\n', 'LINE 3\n').replace('line 15\n', ''));
      await until(() => editor.document.getText() === disk(path), 'the document shows it');
    });

    it('leaves cursor and view at their text when changes above and below are undone and redone, and what is typed then in its order', async () => {
      const text = Array.from({ length: 300 }, (_, i) => `line ${i + 1}\n`).join('');
      const { editor } = await changed(text, [
        { old_string: 'line 5\n', new_string: 'line 5\nnew\nnew\n' }, { old_string: 'line 250\n', new_string: 'LINE 250\n' }]);
      const at = (line: number) => editor.document.lineAt(line).text;
      const top = () => at(editor.visibleRanges[0]!.start.line);
      editor.selection = new vscode.Selection(150, 2, 150, 4);
      editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenter);
      await until(() => editor.visibleRanges[0]!.start.line > 100, 'the view is there');
      for (const turn of [1, 2]) await vscode.commands.executeCommand('setContext', 'test.caughtUp', turn);
      const before = { top: top(), cursor: at(150) };
      const isKept = async (shown: string, line: number): Promise<void> => {
        await until(() => editor.document.getText() === shown, 'the document shows it');
        await until(() => editor.selection.active.line === line, 'the cursor is at its text');
        for (const turn of [1, 2]) await vscode.commands.executeCommand('setContext', 'test.caughtUp', turn);
        assert.deepEqual({ top: top(), cursor: at(editor.selection.active.line) }, before);
        assert.deepEqual([editor.selection.start.character, editor.selection.end.character], [2, 4]);
      };
      const edited = editor.document.getText();
      await run('undoFile');
      await isKept(text, 148);
      await run('redo');
      await isKept(edited, 150);
      for (const letter of 'abc') await vscode.commands.executeCommand('type', { text: letter });
      await until(() => at(150) === 'liabc 149', 'it is typed'); // over what is selected
    });

    it('is decided by the buttons of the peek: each change that overlaps is meant', async () => {
      const { path } = await changed();
      const uri = vscode.Uri.file(path);
      const lines = (from: number, to: number) => ({ modifiedStartLineNumber: from, modifiedEndLineNumber: to });
      const all = [lines(3, 3), lines(9, 9), lines(15, 0)];
      await run('keep', uri, all, 2);
      await until(() => marks(path).length === 2, 'the removal is kept');
      assert.deepEqual(marks(path).map(([start]) => start), [2, 8]);
      await run('undo', uri, all, 0);
      await until(() => marks(path).length === 1, 'the change is undone');
      assert.equal(disk(path), LINES.replace('line 8\n', 'line 8\nline 8b\n').replace('line 15\n', ''));
    });

    it('undone in unsaved text leaves the disk alone, and the list follows', async () => {
      const { path, editor } = await changed();
      await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), 'unsaved\n'));
      const onDisk = disk(path);
      await until(() => insides.list.of(path)?.document_version === editor.document.version, 'the text is listed');
      await run('undoFile');
      await until(() => editor.document.getText() === `unsaved\n${LINES}`, 'it is undone in the text');
      assert.equal(disk(path), onDisk);
      assert.ok(editor.document.isDirty);
      await until(() => marks(path).length === 0, 'nothing is left');
    });

    it('reverted by the arrow in the margin leaves the list, and Ctrl+Z brings it back', async () => {
      const { path, editor } = await changed();
      await typeInto(editor, edit => edit.replace(new vscode.Range(2, 0, 3, 0), 'line 3\n'));
      await until(() => marks(path).length === 2, 'it is not listed');
      await vscode.commands.executeCommand('undo');
      await until(() => marks(path).length === 3, 'it is listed again');
      await editor.document.save();
    });

    it('is undone with a reason: Escape, or a decision elsewhere, undoes nothing', async () => {
      const { path, editor } = await changed();
      editor.selection = new vscode.Selection(2, 0, 2, 0);
      const after = disk(path);
      let isOver = false;
      void run('undoWithReason').then(() => (isOver = true));
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
        return isOver;
      }, 'the box is closed');
      assert.equal(disk(path), after);
      const asked = run('undoWithReason');
      await run('keep');
      await asked; // nothing is left to undo: the box went away
      assert.equal(disk(path), after);
      editor.selection = new vscode.Selection(8, 0, 8, 0);
      const undone = run('undoWithReason');
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
        await run('undo');
        await until(() => editor.document.getText() === disk(path) && editor.document.getText().startsWith(LINES.slice(0, 30)), 'the document shows that it is undone');
        await until(() => marks(path).length === 2, 'the others are left');
        await run('keepFile');
        await until(() => marks(path).length === 0, 'they are kept');
        assert.equal(disk(path), LINES.replace('line 8\n', 'line 8\nline 8b\n').replace('line 15\n', ''));
      } finally {
        await vscode.commands.executeCommand('workbench.action.files.resetActiveEditorReadonlyInSession');
      }
    });

    it('has a name, a hover and a lightbulb in the text', async () => {
      const { path } = await changed();
      const uri = vscode.Uri.file(path);
      const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, new vscode.Position(2, 0));
      const said = hovers.flatMap(({ contents }) => contents).map(content => (typeof content === 'string' ? content : content.value)).join('\n');
      assert.match(said, /\+1.*1,.*not.*kept.*yet/);
      assert.match(said, /line 3/);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', uri, new vscode.Range(2, 0, 2, 0));
      const titles = actions.map(({ title }) => title.replace(/ \(.*\)$/, ''));
      assert.deepEqual(titles.filter(title => /agent|Keep|Undo/.test(title)), ['Keep', 'Undo', 'Undo with a Reason…']);
    });

    it('has its author in a hover also once it is kept', async () => {
      const { path, editor } = await changed();
      const { label } = insides.before.at(vscode.Uri.file(path))[0]!.change;
      await run('keepFile');
      await until(() => marks(path).length === 0, 'it is kept');
      const said = async (line: number) => (await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', vscode.Uri.file(path), new vscode.Position(line, 0)))
        .flatMap(({ contents }) => contents).map(content => (typeof content === 'string' ? content : content.value).replaceAll('&nbsp;', ' ').replaceAll('\\', ''));
      assert.match((await said(2)).join('\n'), new RegExp(`^${label}, \\d\\d:\\d\\d$`));
      const { usedMs } = insides.authors;
      insides.authors.usedMs = 3_600_000;
      let [nAsked, isReported] = [0, false];
      const listening = vscode.Disposable.from(
        insides.daemon.onDidSend(({ method }) => method === 'fileops/blame' && nAsked++),
        insides.daemon.on('fileops/didChangeUnkept')(() => (isReported = true)), // of the keep, which may come late
      );
      do {
        [nAsked, isReported] = [0, false];
        for (const line of [3, 4, 5]) assert.deepEqual(await said(line), [], 'nobody has changed this line');
      } while (isReported);
      listening.dispose();
      assert.ok(nAsked <= 1, 'the daemon is asked once about a text');
      await typeInto(editor, edit => edit.insert(new vscode.Position(0, 0), 'typed\n'));
      assert.match((await said(3)).join('\n'), new RegExp(`^${label}, `), 'of the unsaved text');
      assert.deepEqual(await said(0), [], 'one’s own line');
      await insides.daemon.request('fileops/forgetRecord', { file_path: path });
      insides.authors.usedMs = 0; // 10 s later
      assert.deepEqual(await said(3), [], 'the record of the file is forgotten');
      insides.authors.usedMs = usedMs;
    });

    it('is ticked in the walkthrough also of a later window, once something was kept', async () => {
      const { path } = await changed();
      await run('keepFile');
      await until(() => marks(path).length === 0, 'it is kept');
      const { daemon, agents, actions, reviews, walkthrough } = insides;
      const later = new Walkthrough(daemon, agents, actions, reviews, walkthrough.state);
      later.dispose();
      assert.ok(later.reached.has('keep'), [...later.reached].join());
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
      const after = disk(path);
      await run('undoFile');
      await until(() => disk(path) === LINES, 'it is undone');
      await run('redo');
      await until(() => disk(path) === after, 'it is there again');
      await until(() => marks(path).length === 3, 'it is to keep or undo again');
      await run('redo');
      assert.equal(disk(path), after, 'nothing is left to redo');
    });

    it('is undone once where two windows undo it at once; the other one reads that it is gone', async () => {
      const { path } = await changed();
      const target = targetOf(path);
      await Promise.all([insides.actions.undo(target), insides.actions.undo(target)]);
      assert.equal(disk(path), LINES);
      assert.equal((await insides.daemon.request('fileops/keep', { change_ids: [...target.change_ids] })).n_changes, 0);
    });

    it('is shown as a diff of a file; the next file follows a decided one, and with the last the tab closes', async () => {
      const paths = await several(2);
      const shown = () => shownDiffs().filter(({ original }) => original.scheme === BEFORE).map(({ modified }) => modified.fsPath);
      await run('nextFile');
      const [first] = await until(() => (shown().length === 1 ? shown() : undefined), 'the first is shown') as [string];
      await run('keepFile');
      const [second] = await until(() => (shown().length === 1 && shown()[0] !== first ? shown() : undefined), 'the second takes its place') as [string];
      assert.deepEqual([first, second].sort(), [...paths].sort());
      await run('undoFile');
      await until(() => tabs().length === 0, 'nothing is left to be shown');
      assert.deepEqual([disk(first), disk(second)], ['a\nB\n', 'a\nb\n']);
    });

    it('is shown on one page, which takes up a new file, is decided there and closes', async () => {
      const paths = await several(2);
      const page = () => tabs().find(({ label }) => label.startsWith('Agent Changes'));
      await run('openAll');
      await until(() => page()?.label === 'Agent Changes (2 files)' || page()?.label === 'Agent Changes', 'the page');
      paths.push(...await several(1));
      await until(() => page() && /Agent Changes( \(3 files\))?$/.test(page()!.label) && tabs().length === 1, 'the page has the third file');
      await run('undoAll');
      for (const path of paths) await until(() => disk(path) === 'a\nb\n', 'it is undone');
      await until(() => tabs().length === 0, 'the page is closed');
    });

    it('of a created file: undone, its tabs are closed; of a deleted one: the text before is shown', async () => {
      const made = file('').replace('demo.py', 'made.py');
      await session.edit({ file_path: made, old_string: '', new_string: 'made\n' });
      await until(() => rowOf(made), 'it is listed');
      assert.equal(await textBefore(made), '');
      await open(made);
      await until(() => insides.before.at(vscode.Uri.file(made)).length > 0, 'it is marked');
      await run('undoFile');
      await until(() => !fs.existsSync(made) && tabs().length === 0, 'it is gone with its tab');

      const gone = file('gone\n', 'gone.py');
      await session.read({ file_path: gone });
      const result = await api.request('fileops/applyPatch', { patch: `*** Begin Patch\n*** Delete File: ${gone}\n*** End Patch\n`, session_id: session.id! });
      assert.equal(result.status, 'success', result.output);
      const row = await until(() => rowOf(gone), 'it is listed');
      await run('open', row);
      const tab = await until(() => tabs().find(({ input }) => input instanceof vscode.TabInputText && input.uri.scheme === BEFORE), 'the text before');
      assert.equal((await vscode.workspace.openTextDocument((tab.input as vscode.TabInputText).uri)).getText(), 'gone\n');
      await run('undoFile');
      await until(() => fs.existsSync(gone) && disk(gone) === 'gone\n', 'it is there again');
      await until(() => tabs().length === 0, 'the tab is closed');
    });

    it('of a renamed file is one row, with its old name, and undone to that with its turn', async () => {
      const old = file(LINES, 'old.py');
      const made = path.join(path.dirname(old), 'renamed.py');
      await session.read({ file_path: old });
      const patch = `*** Begin Patch\n*** Update File: ${old}\n*** Move to: ${made}\n@@\n-line 5\n+LINE 5\n*** End Patch\n`;
      assert.equal((await api.request('fileops/applyPatch', { patch, session_id: session.id! })).status, 'success');
      const row = await until(() => rowOf(made), 'it is listed');
      assert.match(String(row.decorations?.tooltip), /^1 change of .+: moved from .*old\.py, \+1 −1$/);
      assert.match(insides.changes.groups.find(({ id }) => id === row.groupId)!.label, / · \+1 −1 · /);
      const listed = (await insides.history.entries()).filter(({ path: changed }) => changed === made || changed === old);
      assert.deepEqual(listed.map(entry => [entry.path, entry.edited]), [[made, { added: 1, removed: 1 }]]);
      assert.deepEqual(rows().filter(({ target }) => target).map(({ resourceUri }) => path.basename(resourceUri.fsPath)), ['renamed.py']);
      await open(made);
      assert.equal(await textBefore(made), LINES, 'what it was under its old name');
      assert.deepEqual([insides.list.all.n_changes, insides.list.all.n_files, row.target?.nChanges], [1, 1, 1], 'a rename with its edits is one');
      assert.deepEqual(row.target?.change_ids, insides.list.decidedWith(made, '').map(({ change_id }) => change_id));
      await run('undo', insides.changes.groups.find(({ id }) => id === row.groupId));
      await until(() => fs.existsSync(old) && !fs.existsSync(made), 'it has its old name');
      assert.equal(disk(old), LINES);
      await until(() => tabs().length === 0, 'the tab of the new name is closed');
    });

    it('of a renamed file is undone to its old name from within its text', async () => {
      const old = file(LINES, 'old name.py');
      const made = path.join(path.dirname(old), 'new name.py');
      await session.read({ file_path: old });
      const patch = `*** Begin Patch\n*** Update File: ${old}\n*** Move to: ${made}\n@@\n-line 5\n+LINE 5\n*** End Patch\n`;
      assert.equal((await api.request('fileops/applyPatch', { patch, session_id: session.id! })).status, 'success');
      const editor = await open(made);
      await until(() => marks(made).length > 0, 'it is marked');
      editor.selection = new vscode.Selection(3, 0, 3, 0);
      await run('undo');
      await until(() => fs.existsSync(old) && !fs.existsSync(made), 'it has its old name');
      assert.equal(disk(old), LINES);
      await until(() => insides.list.all.n_changes === 0, 'nothing is left to decide');
    });

    it('of the executable bit has no size', async () => {
      const path = file(LINES, 'run.sh');
      await session.read({ file_path: path });
      const patch = `diff --git a/${path} b/${path}\nold mode 100644\nnew mode 100755\n`;
      assert.equal((await api.request('fileops/applyPatch', { patch, session_id: session.id! })).status, 'success');
      const row = await until(() => rowOf(path), 'it is listed');
      assert.match(String(row.decorations?.tooltip), /^1 change of .+: executable bit$/);
      const entry = (await insides.history.entries()).find(({ path: changed }) => changed === path);
      assert.match(insides.history.itemOf(entry!).description!, /^executable bit · /);
    });

    it('is the same in a file with CRLF and a byte order mark, byte for byte', async () => {
      const bytes = Buffer.from(`\ufeff${LINES.replaceAll('\n', '\r\n')}`);
      const { path, editor } = await changed(bytes);
      assert.equal((await textBefore(path)).replaceAll('\r\n', '\n'), LINES);
      editor.selection = new vscode.Selection(8, 0, 8, 0);
      await run('undo');
      await until(() => marks(path).length === 2, 'one is undone');
      await run('undoFile');
      await until(() => fs.readFileSync(path).equals(bytes), 'the file is as it was');
    });

    it('is the same in a file of one line of 400 KB', async () => {
      const long = `x = "${'y'.repeat(400_000)}"`;
      const path = file(`${long}\nend\n`, 'min.js');
      await open(path);
      await session.read({ file_path: path, offset: 2, limit: 1 });
      const result = await session.edit({ file_path: path, old_string: 'end', new_string: 'END' });
      assert.equal(result.status, 'success', result.output);
      await until(() => marks(path).length === 1, 'it is marked');
      assert.equal(await textBefore(path), `${long}\nend\n`);
      await run('undoFile');
      await until(() => disk(path) === `${long}\nend\n`, 'it is undone');
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
      const labels = () => insides.changes.groups.slice(1).map(({ label }) => label.split(' · ')[2]);
      await until(() => labels().includes('the first') && labels().includes('the second'), 'each turn is a group with its title');
      assert.equal(labels()[0], 'the second', 'the newest is the first');
      const second = insides.changes.groups.find(({ label }) => label.includes('the second'))!;
      assert.match(second.label, / · \+1 −1 · /);
      assert.equal(await textBefore(path, second.id), LINES.replace('line 3\n', 'LINE 3\n'), 'the diff of a turn lacks its changes only');
      const { turns } = await insides.daemon.request('fileops/turns', {});
      await insides.turns.preview(turns.find(one => one.turn_id === turn_id)!);
      await until(() => insides.turns.isPreviewInFront, 'its page is in front');
      assert.equal(disk(path), LINES.replace('line 3\n', 'LINE 3\n').replace('line 9\n', 'LINE 9\n'), 'nothing is undone yet');
      await run('undoAll'); // the button in the title of the page
      await until(() => disk(path) === LINES.replace('line 3\n', 'LINE 3\n'), 'the second turn is undone');
      await until(() => !insides.turns.isPreviewInFront, 'the page is closed');
    });

    for (const [name, encode] of [
      ['UTF-8', (text: string) => Buffer.from(text)], ['UTF-8 with CRLF', (text: string) => Buffer.from(text.replaceAll('\n', '\r\n'))],
      ['UTF-8 with a byte order mark', (text: string) => Buffer.from(`\ufeff${text}`)],
      ['UTF-16', (text: string) => Buffer.from(`\ufeff${text.replaceAll('\n', '\r\n')}`, 'utf16le')],
    ] as const) {
      it(`of a file in ${name} is shown in the whole file before it is undone`, async () => {
        const path = file(encode(LINES), 'encoded.py');
        await session.read({ file_path: path });
        const { turn_id } = await insides.daemon.request('fileops/beginTurn', { session_id: `writer-${nSessions}`, turn_id: name, title: name });
        await session.multiEdit({ file_path: path, edits: [{ old_string: 'line 1\n', new_string: 'LINE 1\n' }, { old_string: 'line 18\n', new_string: 'LINE 18\n' }] });
        await until(() => insides.list.changesOf(path, '').length === 2, 'both are listed');
        const { turns } = await insides.daemon.request('fileops/turns', {});
        await insides.turns.preview(turns.find(one => one.turn_id === turn_id)!);
        const texts = () => vscode.workspace.textDocuments.filter(({ uri }) => uri.scheme === 'fileops-view' && uri.path.endsWith('encoded.py')).map(document => document.getText().replaceAll('\r\n', '\n'));
        await until(() => texts().length === 2, 'both sides are shown');
        assert.deepEqual(texts().sort(), [LINES.replace('line 1\n', 'LINE 1\n').replace('line 18\n', 'LINE 18\n'), LINES].sort());
        await run('undoAll'); // the button in the title of the page
        await until(() => fs.readFileSync(path).equals(encode(LINES)), 'it is as it was');
        await until(() => !insides.turns.isPreviewInFront, 'the page is closed');
      });
    }

    it('is restored to before a turn but for what is kept', async () => {
      const path = file(LINES);
      await open(path);
      await session.read({ file_path: path });
      const { turn_id } = await insides.daemon.request('fileops/beginTurn', { session_id: `writer-${nSessions}`, turn_id: 'in part', title: 'in part' });
      await session.multiEdit({ file_path: path, edits: [{ old_string: 'line 3\n', new_string: 'LINE 3\n' }, { old_string: 'line 9\n', new_string: 'LINE 9\n' }] });
      await until(() => marks(path).length === 2, 'both are marked');
      const [first] = insides.list.changesOf(path, '');
      await insides.daemon.request('fileops/keep', { change_ids: [first!.change_id] });
      const { turns } = await insides.daemon.request('fileops/turns', {});
      const shown = insides.turns.preview(turns.find(one => one.turn_id === turn_id)!);
      await until(async () => {
        await vscode.commands.executeCommand('workbench.action.acceptSelectedQuickOpenItem'); // only what is not kept
        return insides.turns.isPreviewInFront;
      }, 'its page is in front');
      await shown;
      await run('undoAll');
      await until(() => disk(path) === LINES.replace('line 3\n', 'LINE 3\n'), 'the other change is undone');
    });

    it('the switch is set for all agents of the project, and shown', async () => {
      for (const ask of ['never', 'each_edit'] as const) {
        await insides.daemon.request('fileops/setAsk', { ask });
        await until(() => insides.ask.now === ask, 'it is shown');
      }
    });

    it('is shown as it comes while its agent is followed', async () => {
      const { path, editor } = await changed();
      insides.agents.follow(`writer-${nSessions}`); // as the list of sessions names it
      await open(file('mine\n'));
      await session.edit({ file_path: path, old_string: 'line 18\n', new_string: 'LINE 18\n' });
      const active = () => vscode.window.visibleTextEditors.find(({ document }) => document === editor.document);
      await until(() => active()?.selection.active.line === 17, 'the change is shown');
      insides.agents.follow(undefined);
    });
  });
}
