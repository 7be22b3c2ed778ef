/**
 * Notebooks with agents' changes: as texts of their cells, before and now, which diff editors compare instead of JSON;
 * and the changed lines in the cells of an open notebook. The daemon makes the texts, and says which lines they are.
 */
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import type { CellTextsResult } from '../protocol';
import type { Daemon } from '../daemon/daemon';
import { AS_TEXT, isNotebook } from '../ui/labels';
import { BEFORE, type Before, fileOf, isThere, OF_CELL } from './before';

/** The path is the notebook's with `AS_TEXT`, the query as of `BEFORE`, the fragment `before` or `after`. */
export const CELLS = 'fileops-cells';

/** The file whose text before, or cells, a document of ours shows. */
export function ownFile(uri: vscode.Uri | undefined): vscode.Uri | undefined {
  if (uri?.scheme === BEFORE) return fileOf(uri);
  return uri?.scheme === CELLS ? uri.with({ scheme: 'file', path: uri.path.slice(0, -AS_TEXT.length), query: '', fragment: '' }) : undefined;
}

export class Cells implements vscode.Disposable, vscode.TextDocumentContentProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #lines = vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: new vscode.ThemeColor('fileops.unkeptLineBackground') });
  readonly #drawn = new WeakMap<vscode.TextEditor, Span[]>();
  readonly #disposables: vscode.Disposable[];
  #turn: Promise<void> = Promise.resolve();

  constructor(readonly before: Before, readonly daemon: Daemon) {
    this.#disposables = [
      this.#changed, this.#lines,
      vscode.workspace.registerTextDocumentContentProvider(CELLS, this),
      before.list.onDidLoad(filePath => this.#update(filePath)),
      before.onDidPlace(({ fsPath }) => this.#update(fsPath)),
      vscode.workspace.onDidChangeTextDocument(({ document: { uri } }) => {
        if (uri.scheme === 'file' && isNotebook(uri.fsPath)) this.#update(uri.fsPath);
      }),
      vscode.workspace.onDidSaveNotebookDocument(() => this.#draw()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ];
  }

  /** Whether the daemon makes such texts, which an older one does not. */
  get areServed(): boolean {
    return this.daemon.can('fileops/cellTexts');
  }

  /** Both sides of a diff. groupId: a turn; empty: all. */
  of(uri: vscode.Uri, groupId: string): [before: vscode.Uri, after: vscode.Uri] {
    const own = uri.with({ scheme: CELLS, path: `${uri.path}${AS_TEXT}`, query: groupId });
    return [own.with({ fragment: 'before' }), own.with({ fragment: 'after' })];
  }

  async provideTextDocumentContent(own: vscode.Uri): Promise<string> {
    const side = own.fragment === 'before' ? 'before' : 'after';
    const { texts, shown } = await this.#shown(ownFile(own)!, own.query);
    return shown.not_cells ? texts[side] : shown[side];
  }

  async #shown(uri: vscode.Uri, groupId: string): Promise<{ texts: { before: string; after: string }; shown: CellTextsResult }> {
    const before = await this.before.provideTextDocumentContent(this.before.of(uri, groupId));
    const after = await isThere(uri) ? (await vscode.workspace.openTextDocument(uri)).getText() : '';
    const texts = { before, after };
    return { texts, shown: await this.daemon.request('fileops/cellTexts', { file_path: uri.fsPath, ...texts }) };
  }

  #update(filePath: string | undefined): void {
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === CELLS && (filePath === undefined || ownFile(uri)!.fsPath === filePath)) this.#changed.fire(uri);
    }
    this.#draw();
  }

  /** Resolves once everything that was asked for is drawn. */
  get settled(): Promise<void> {
    return this.#turn;
  }

  /** The lines of each cell that agents have changed. While a notebook has unsaved cells, they stay where they are. */
  #draw(): void {
    this.#turn = this.#turn.then(async () => {
      for (const { notebook } of vscode.window.visibleNotebookEditors) if (!notebook.isDirty) await this.#drawIn(notebook);
    }).catch((error: unknown) => this.daemon.log.warn(`Changes of cells are not marked: ${String(error)}`));
  }

  async #drawIn(notebook: vscode.NotebookDocument): Promise<void> {
    const { uri } = notebook;
    const isChanged = uri.scheme === 'file' && this.areServed && this.before.list.changesOf(uri.fsPath, '').length > 0;
    const spans = isChanged ? spansOf((await this.#shown(uri, '')).shown) : new Map<string, Span[]>();
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== OF_CELL) continue;
      const cell = notebook.getCells().find(({ document }) => document.uri.toString() === editor.document.uri.toString());
      if (!cell) continue;
      const now = spans.get(nameOf(cell)) ?? spans.get(placeOf(cell)) ?? [];
      if (isDeepStrictEqual(now, this.#drawn.get(editor) ?? [])) continue;
      editor.setDecorations(this.#lines, now.map(([start, end]) => new vscode.Range(start, 0, end, 0)));
      this.#drawn.set(editor, now);
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Lines from the first one to the last one, 0-based. */
type Span = [first: number, last: number];

/** The id of the cell in the file, as VS Code knows it; else its place. */
function nameOf(cell: vscode.NotebookCell): string {
  return typeof cell.metadata.id === 'string' ? cell.metadata.id : placeOf(cell);
}

/** The name of a cell that has no id, or shares its id with another cell. */
const placeOf = ({ index }: vscode.NotebookCell): string => `cell-${index}`;

/** By cells, the lines that were added or changed. Pure. */
export function spansOf({ cells }: Pick<CellTextsResult, 'cells'>): Map<string, Span[]> {
  const spans = new Map<string, Span[]>();
  for (const { cell_id, hunks } of cells) {
    const found = spans.get(cell_id) ?? [];
    for (const { new_start, lines } of hunks) {
      let line = new_start - 1;
      for (const { kind } of lines) {
        const last = found.at(-1);
        if (kind === '+' && last?.[1] === line - 1) last[1] = line;
        else if (kind === '+') found.push([line, line]);
        if (kind !== '-') line++;
      }
    }
    if (found.length > 0) spans.set(cell_id, found);
  }
  return spans;
}
