import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import { closeAll, disk, file, shownDiffs, until, world } from './world';
import type { EditDetails, ReadDetails, ToolResult } from '../src/protocol';

const STREAM = { name: 'stdout', output_type: 'stream', text: ['42\n'] };

function notebook(minor = 5): string {
  const code = (id: string, source: string, outputs: object[] = []) =>
    ({ cell_type: 'code', execution_count: null, ...(minor >= 5 ? { id } : {}), metadata: {}, outputs, source: source.split(/(?<=\n)/) });
  const intro = { cell_type: 'markdown', ...(minor >= 5 ? { id: 'intro' } : {}), metadata: {}, source: ['# Title'] };
  const cells = [intro, code('c1', 'x = 1\nprint(x)', [STREAM]), code('c2', 'y = 2')];
  return `${JSON.stringify({ cells, metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: minor }, null, 1)}\n`;
}

export function notebooksSuite(): void {
  describe('notebooks with unsaved cells', () => {
    let api: FileopsApi;
    const request = <D>(method: string, params: object) =>
      insides.daemon.request(method as never, params as never) as Promise<ToolResult<D>>;
    let insides: Awaited<ReturnType<typeof world>>['insides'];
    before(async () => {
      ({ api, insides } = await world());
      assert.equal(api.state, 'running');
      await insides.daemon.request('fileops/setApprovalMode', { mode: 'yolo' });
    });
    beforeEach(closeAll);
    after(async () => {
      await insides.daemon.request('fileops/setApprovalMode', { mode: 'default' });
      await closeAll();
    });

    async function opened(path: string): Promise<vscode.NotebookDocument> {
      const document = await vscode.workspace.openNotebookDocument(vscode.Uri.file(path));
      await vscode.window.showNotebookDocument(document);
      return document;
    }

    /** As a person who types in a cell. */
    async function type(cell: vscode.NotebookCell, text: string): Promise<void> {
      const change = new vscode.WorkspaceEdit();
      change.insert(cell.document.uri, new vscode.Position(0, 0), text);
      assert.ok(await vscode.workspace.applyEdit(change));
    }

    const read = (path: string) => request<ReadDetails>('fileops/read', { file_path: path });
    const edit = (path: string, ...cells: object[]) => request<EditDetails>('fileops/editNotebook', { file_path: path, cells });
    const texts = (document: vscode.NotebookDocument) => document.getCells().map(cell => cell.document.getText());

    it('are read with what is typed, and edited in the editor, while the file stays', async () => {
      const path = file(notebook(), 'study.ipynb');
      const before = disk(path);
      const document = await opened(path);
      await type(document.cellAt(1), '# typed\n');
      const seen = await until(async () => {
        const answer = await read(path);
        return answer.output.includes('# typed') ? answer : undefined;
      }, 'the daemon knows what is typed');
      assert.match(seen.output, /unsaved in an editor; outputs as last saved/);
      const sources = await edit(path,
        { kind: 'edit', cell_id: 'c1', old_string: 'x = 1', new_string: 'x = 10' },
        { kind: 'source', cell_id: 'c2', source: 'y = 3' });
      assert.equal(sources.details.applied_to, 'buffer', sources.output);
      assert.deepEqual(texts(document), ['# Title', '# typed\nx = 10\nprint(x)', 'y = 3']);
      const moved = await edit(path,
        { kind: 'insert', cell_type: 'code', source: 'new', after: 'c2' },
        { kind: 'move', cell_id: 'c1', before: 'intro' },
        { kind: 'delete', cell_id: 'c2' });
      assert.equal(moved.details.applied_to, 'buffer', moved.output);
      assert.deepEqual(texts(document), ['# typed\nx = 10\nprint(x)', '# Title', 'new']);
      assert.equal(document.cellAt(0).outputs.length, 1);
      assert.equal(disk(path), before);
      await document.save();
      const saved = JSON.parse(disk(path)) as { cells: { id: string; source: string[]; outputs?: object[] }[] };
      assert.deepEqual(saved.cells.map(cell => cell.source.join('')), ['# typed\nx = 10\nprint(x)', '# Title', 'new']);
      assert.deepEqual(saved.cells.slice(0, 2).map(cell => cell.id), ['c1', 'intro']);
      assert.equal(saved.cells[2]!.id, (moved.details as unknown as { cells: { cell_id: string }[] }).cells[0]!.cell_id);
      assert.deepEqual(saved.cells[0]!.outputs, [STREAM]);
    });

    it('are compared as texts of cells in a diff, in which all of the file can be kept', async () => {
      const path = file(notebook(), 'marked.ipynb');
      const [agent, uri] = [api.session('of-cells'), vscode.Uri.file(path)];
      await agent.setApprovalMode('yolo');
      await agent.read({ file_path: path });
      const session = { session_id: 'of-cells', file_path: path };
      const edited = await request<EditDetails>('fileops/editNotebook', { ...session, cells: [{ kind: 'edit', cell_id: 'c1', old_string: 'x = 1', new_string: 'x = 10' }] });
      assert.equal(edited.status, 'success', edited.output);
      const [change] = await until(() => (insides.list.changesOf(path, '').length > 0 ? insides.list.changesOf(path, '') : undefined), 'the edit is listed');
      assert.deepEqual(change!.cell_ids, ['c1']);
      const sides = insides.cells.of(uri, '');
      const [before, after] = await Promise.all(sides.map(side => insides.cells.provideTextDocumentContent(side)));
      assert.equal(before, '# %% intro · markdown\n# Title\n\n# %% c1 · code · 1 output\nx = 1\nprint(x)\n\n# %% c2 · code\ny = 2\n\n');
      assert.equal(after, before!.replace('x = 1', 'x = 10'));
      await vscode.commands.executeCommand('fileops.open', { resourceUri: uri, groupId: '' });
      const shown = await until(() => shownDiffs()[0], 'the diff');
      assert.deepEqual([String(shown.original), String(shown.modified)], sides.map(String));
      await vscode.commands.executeCommand('fileops.keepFile');
      await until(() => insides.list.changesOf(path, '').length === 0, 'all of the file was kept');
      agent.close();
    });

    it('wait for a person as texts of cells, which can be typed in', async () => {
      const path = file(notebook(), 'proposed.ipynb');
      const agent = api.session('proposer');
      await agent.setApprovalMode('default');
      await agent.read({ file_path: path });
      const asked = request<EditDetails>('fileops/editNotebook', { session_id: 'proposer', file_path: path, cells: [
        { kind: 'edit', cell_id: 'c1', old_string: 'x = 1', new_string: 'x = 10' }, { kind: 'source', cell_id: 'c2', source: 'y = 3' },
      ] });
      const review = await until(() => insides.reviews.edits[0], 'it waits');
      await insides.reviews.show(review, true);
      assert.equal(review.proposed, '# %% intro · markdown\n# Title\n\n# %% c1 · code · 1 output\nx = 10\nprint(x)\n\n# %% c2 · code\ny = 3\n\n');
      assert.ok(await review.use(review.proposed.replace('y = 3', 'y = 2')), 'c2 is left as it was');
      assert.deepEqual(review.leftOut.map(({ cell_id }) => cell_id), ['c2']);
      assert.ok(await review.use(review.proposed.replace('y = 2', 'y = 4')), 'and then written by the person');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await asked).details.modified_by_user, true);
      const written = JSON.parse(disk(path)) as { cells: { source: string[]; outputs?: object[] }[] };
      assert.deepEqual(written.cells.map(({ source }) => source.join('')), ['# Title', 'x = 10\nprint(x)', 'y = 4']);
      assert.deepEqual(written.cells[1]!.outputs, [STREAM]);
      agent.close();
    });

    it('get removed cells back with their outputs by an undo', async () => {
      const path = file(notebook(), 'undone.ipynb');
      const document = await opened(path);
      await type(document.cellAt(0), 'typed ');
      await until(async () => (await read(path)).output.includes('typed '), 'the daemon knows what is typed');
      const removed = await edit(path, { kind: 'delete', cell_id: 'c1' });
      assert.deepEqual(texts(document), ['typed # Title', 'y = 2'], removed.output);
      const undone = await request('fileops/undo', { edit_id: removed.details.edit_id });
      assert.equal(undone.error, null, undone.output);
      assert.deepEqual(texts(document), ['typed # Title', 'x = 1\nprint(x)', 'y = 2']);
      assert.equal(document.cellAt(1).outputs.length, 1);
    });

    it('of a format without ids keep their outputs', async () => {
      const path = file(notebook(2), 'old.ipynb');
      const document = await opened(path);
      await type(document.cellAt(0), 'typed ');
      await until(async () => (await read(path)).output.includes('typed '), 'the daemon knows what is typed');
      const moved = await edit(path,
        { kind: 'move', cell_id: 'cell-1', after: 'cell-2' }, { kind: 'insert', cell_type: 'raw', source: 'new', before: 'cell-0' });
      assert.equal(moved.details.applied_to, 'buffer', moved.output);
      assert.deepEqual(texts(document), ['new', 'typed # Title', 'y = 2', 'x = 1\nprint(x)']);
      assert.deepEqual(document.getCells().map(cell => cell.outputs.length), [0, 0, 0, 1]);
      await document.save();
      const saved = JSON.parse(disk(path)) as { cells: { cell_type: string; outputs?: object[] }[] };
      assert.deepEqual(saved.cells.map(cell => cell.cell_type), ['raw', 'markdown', 'code', 'code']);
      assert.deepEqual(saved.cells[3]!.outputs, [STREAM]);
    });
  });
}
