/**
 * Files as they would be without agents' changes that nobody has kept yet: what the editor compares with for its bars,
 * its peek and its diffs. The places follow typing at once; the daemon's list corrects them a little later.
 */
import * as vscode from 'vscode';
import type { UnkeptChange } from '../protocol';
import { followTyping, isBeside, type Span } from '../ui/spans';
import type { UnkeptList } from './list';

/** The path is the file's. The query is the turn whose changes are left out; without one, all changes are. */
export const BEFORE = 'fileops-before';

/** The scheme of a notebook's cell, with the path of the notebook. */
export const OF_CELL = 'vscode-notebook-cell';

/**
 * How long after the last key the text before is reported as changed. All of it is sent then, so not at each key; but
 * it is there before VS Code compares, which is 200 ms after the last key. A longer text waits in proportion to its
 * square, 2 s with 20,000 lines, which VS Code compares in 0.1 s: else each short pause of the typing costs that work
 * twice, and the next key waits for it. What is typed may have a bar until then.
 */
const PAUSE_MS = 120;
const SHORT_TEXT = 5_000; // lines
const LONGEST_MS = 5_000;

/** Where a change is in a document now. */
export interface Mark extends Span {
  change: UnkeptChange;
}

export class Before implements vscode.Disposable, vscode.TextDocumentContentProvider, vscode.QuickDiffProvider {
  /** Of open documents, by their addresses. */
  readonly #marks = new Map<string, Mark[]>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #placed = new vscode.EventEmitter<vscode.Uri>();
  /** The marks of a document have changed, or the daemon has corrected their places. */
  readonly onDidPlace = this.#placed.event;
  readonly #typed = new vscode.EventEmitter<vscode.TextDocumentChangeEvent>();
  /** In a document with marks, before they move for it. */
  readonly onDidType = this.#typed.event;
  readonly #pauses = new Map<string, NodeJS.Timeout>();
  readonly #disposables: vscode.Disposable[];

  constructor(readonly list: UnkeptList) {
    this.#disposables = [
      this.#changed, this.#placed, this.#typed,
      vscode.workspace.registerTextDocumentContentProvider(BEFORE, this),
      list.onDidLoad(filePath => this.#load(filePath)),
      vscode.workspace.onDidOpenTextDocument(document => this.#place(document, false)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#marks.delete(uri.toString())),
      vscode.workspace.onDidChangeTextDocument(event => this.#follow(event)),
    ];
  }

  /** For the editor's bars. Undefined for a file without such changes. */
  provideOriginalResource(uri: vscode.Uri): vscode.Uri | undefined {
    return uri.scheme === 'file' && this.list.changesOf(uri.fsPath, '').length > 0 ? this.of(uri, '') : undefined;
  }

  /** groupId: a turn; empty: all. */
  of(uri: vscode.Uri, groupId: string): vscode.Uri {
    return uri.with({ scheme: BEFORE, query: groupId });
  }

  /** The marks of an open document now. */
  at(uri: vscode.Uri): readonly Mark[] {
    return this.#marks.get(uri.toString()) ?? [];
  }

  /** Those that overlap lines [start, end). One that only removed lines is at the lines around it. */
  within(uri: vscode.Uri, start: number, end: number): readonly Mark[] {
    return this.at(uri).filter(mark => (mark.start === mark.end || start === end
      ? mark.start <= end && start <= mark.end : mark.start < end && start < mark.end));
  }

  async provideTextDocumentContent(own: vscode.Uri): Promise<string> {
    const uri = fileOf(own);
    const file = this.list.of(uri.fsPath);
    const changes = new Set(this.list.changesOf(uri.fsPath, own.query).map(({ change_id }) => change_id));
    if (file?.operation === 'delete') return without('', marksIn(file.changes).filter(({ change }) => changes.has(change.change_id)));
    const old = file?.moved_from != null && changes.size > 0 ? this.list.of(file.moved_from) : undefined;
    if (old?.operation === 'delete') return without('', marksIn(old.changes)); // under its old name, else all would be new
    if (!file && !await isThere(uri)) return ''; // an undo deleted it
    const document = await vscode.workspace.openTextDocument(uri);
    if (file && !this.#marks.has(uri.toString())) await this.list.settled;
    const marks = this.#marks.get(uri.toString()) ?? marksIn(file?.changes ?? []);
    return without(document.getText(), own.query === '' ? marks : marks.filter(({ change }) => changes.has(change.change_id)));
  }

  #load(filePath: string | undefined): void {
    for (const document of vscode.workspace.textDocuments) {
      if (filePath === undefined || document.uri.fsPath === filePath) this.#place(document, filePath === undefined);
    }
    // If the file does not exist, no document reports that its text before has changed.
    for (const { uri } of vscode.workspace.textDocuments) {
      if (uri.scheme === BEFORE && this.list.of(uri.fsPath)?.operation === 'delete') this.#changed.fire(uri);
    }
  }

  /**
   * The places belong to one version of the document. For another version, the daemon is asked again.
   * isListed: the turns may have changed too, and with them the text before each.
   */
  #place(document: vscode.TextDocument, isListed: boolean): void {
    const { uri, version } = document;
    if (uri.scheme !== 'file') return;
    const file = this.list.of(uri.fsPath);
    if (!file) {
      if (this.#marks.delete(uri.toString())) this.#tell(uri);
    } else if (file.document_version === version) {
      const [old, marks] = [this.#marks.get(uri.toString()), marksIn(file.changes)];
      this.#marks.set(uri.toString(), marks);
      if (isListed || !old || !areSame(old, marks)) this.#tell(uri); // else they had followed what was typed
    } else {
      this.list.refreshLater(document);
    }
  }

  #follow(event: vscode.TextDocumentChangeEvent): void {
    const { document: { uri }, contentChanges, reason } = event;
    if (!(uri.scheme === 'file' || uri.scheme === OF_CELL) || contentChanges.length === 0 || !this.list.of(uri.fsPath)) return;
    const marks = this.#marks.get(uri.toString());
    this.list.refreshLater(event.document, marks !== undefined && reason === undefined && isBeside(marks, contentChanges));
    if (!marks) return;
    this.#typed.fire(event);
    followTyping(marks, contentChanges);
    clearTimeout(this.#pauses.get(uri.toString()));
    const pauseMs = Math.min(LONGEST_MS, PAUSE_MS * Math.max(1, event.document.lineCount / SHORT_TEXT) ** 2);
    this.#pauses.set(uri.toString(), setTimeout(() => this.#tellText(uri), pauseMs));
  }

  #tell(uri: vscode.Uri): void {
    this.#tellText(uri);
    this.#placed.fire(uri);
  }

  #tellText(uri: vscode.Uri): void {
    clearTimeout(this.#pauses.get(uri.toString()));
    this.#pauses.delete(uri.toString());
    for (const document of vscode.workspace.textDocuments) {
      if (document.uri.scheme === BEFORE && fileOf(document.uri).toString() === uri.toString()) this.#changed.fire(document.uri);
    }
  }

  dispose(): void {
    for (const pause of this.#pauses.values()) clearTimeout(pause);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** The file whose text before this is. */
export const fileOf = (own: vscode.Uri): vscode.Uri => own.with({ scheme: 'file', query: '' });

export async function isThere(uri: vscode.Uri): Promise<boolean> {
  return vscode.workspace.fs.stat(uri).then(() => true, () => false);
}

/** Its lines here are 1-based and inclusive, as on the wire. A change of a whole file has none. */
const marksIn = (changes: readonly UnkeptChange[]): Mark[] =>
  changes.filter(({ kind }) => kind !== 'file').map(change => ({ change, start: change.start_line - 1, end: change.end_line }));

/** Whether the same changes are at the same lines. An id names the lines and what was there before. */
const areSame = (some: readonly Mark[], others: readonly Mark[]): boolean => some.length === others.length
  && some.every(({ change: { change_id }, start, end }, n) => change_id === others[n]!.change.change_id && start === others[n]!.start && end === others[n]!.end);

/** A text with the lines from before some of its changes, which are in order. Pure. */
export function without(now: string, marks: readonly (Span & { change: Pick<UnkeptChange, 'removed_text'> })[]): string {
  const out: string[] = [];
  let [line, offset] = [0, 0];
  const startOf = (wanted: number): number => {
    for (; line < wanted && offset < now.length; line++) offset = now.indexOf('\n', offset) + 1 || now.length;
    return offset;
  };
  for (const { start, end, change } of marks) {
    const from = offset;
    out.push(now.slice(from, startOf(start)), change.removed_text);
    startOf(end);
  }
  return out.join('') + now.slice(offset);
}
