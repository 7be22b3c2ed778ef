/**
 * What stays visible in the real files: the lines that agents changed, until dismissed, and that a file is no
 * longer as an agent read it. Owns both kinds of mark; knows the daemon only by its events.
 *
 * The answer to an edit comes before the editor has reloaded the file. So a mark waits until the document holds
 * the lines that it is about, and from then on moves with what is typed.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { touchedLines } from './hunks';
import type { DidBecomeStaleParams, Hunk } from './protocol';

/** Lines [start, end) of a file, 0-based; start = end marks the place where lines went away. */
interface Mark {
  start: number;
  end: number;
  lines: string[];
  editId: string;
  sessionId: string;
  isPlaced: boolean;
}

export interface MarkedLines {
  start: number;
  end: number;
  editId: string;
}

export class Marks implements vscode.Disposable {
  readonly #marks = new Map<string, Mark[]>();
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #lineType: vscode.TextEditorDecorationType;
  readonly #removalType: vscode.TextEditorDecorationType;
  readonly #disposables: vscode.Disposable[];

  constructor(context: vscode.ExtensionContext) {
    const ruler = new vscode.ThemeColor('fileops.changedLineRuler');
    const common = {
      overviewRulerColor: ruler, overviewRulerLane: vscode.OverviewRulerLane.Left,
      gutterIconPath: context.asAbsolutePath('media/mark.svg'), gutterIconSize: 'contain',
    } satisfies vscode.DecorationRenderOptions;
    this.#lineType = vscode.window.createTextEditorDecorationType({
      ...common, isWholeLine: true, backgroundColor: new vscode.ThemeColor('fileops.changedLineBackground'),
    });
    this.#removalType = vscode.window.createTextEditorDecorationType({
      ...common, isWholeLine: true, borderColor: ruler, borderStyle: 'dashed', borderWidth: '1px 0 0 0',
    });
    this.#disposables = [
      this.#lineType, this.#removalType, this.#changed,
      vscode.workspace.onDidChangeTextDocument(event => this.#follow(event)),
      vscode.workspace.onDidOpenTextDocument(document => this.#settle(document)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#drawAll()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#tellContext()),
      vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('fileops.marks') && this.#drawAll()),
      vscode.commands.registerCommand('fileops.dismissMarks', (uri?: vscode.Uri) => {
        const target = uri ?? vscode.window.activeTextEditor?.document.uri;
        if (target) this.dismiss(target);
      }),
      vscode.commands.registerCommand('fileops.dismissAllMarks', () => this.dismissAll()),
    ];
  }

  /** An edit was applied: mark its lines. */
  add(filePath: string, hunks: readonly Hunk[], editId: string, sessionId: string): void {
    const uri = vscode.Uri.file(filePath);
    const touched = touchedLines(hunks);
    const marks = this.#marks.get(uri.toString()) ?? [];
    // Those that the document does not show yet are in the lines of the text before this edit.
    for (const hunk of [...hunks].reverse()) {
      const first = hunk.old_lines === 0 ? hunk.old_start : hunk.old_start - 1;
      for (const mark of marks) if (!mark.isPlaced) shift(mark, first, first + hunk.old_lines, hunk.new_lines);
    }
    marks.push(...touched.map(t => ({ ...t, editId, sessionId, isPlaced: false })));
    this.#marks.set(uri.toString(), marks);
    const document = vscode.workspace.textDocuments.find(d => d.uri.toString() === uri.toString());
    if (document) this.#settle(document);
    this.#changed.fire();
  }

  /** Edits were taken back. */
  remove(editIds: readonly string[]): void {
    for (const [key, marks] of this.#marks) this.#keep(key, marks.filter(mark => !editIds.includes(mark.editId)));
    this.#drawAll();
    this.#changed.fire();
  }

  dismiss(uri: vscode.Uri): void {
    this.#marks.delete(uri.toString());
    this.#drawAll();
    this.#changed.fire();
  }

  dismissAll(): void {
    this.#marks.clear();
    this.#drawAll();
    this.#changed.fire();
  }

  /** The marks that stand in an open document now. */
  at(uri: vscode.Uri): MarkedLines[] {
    return (this.#marks.get(uri.toString()) ?? []).filter(m => m.isPlaced).map(({ start, end, editId }) => ({ start, end, editId }));
  }

  #keep(key: string, marks: Mark[]): void {
    if (marks.length > 0) this.#marks.set(key, marks);
    else this.#marks.delete(key);
  }

  #follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const marks = this.#marks.get(document.uri.toString());
    if (!marks || contentChanges.length === 0) return;
    for (const { range, text } of contentChanges) {
      const added = text.split('\n').length - 1;
      for (const mark of marks) if (mark.isPlaced) followTyping(mark, range, added);
    }
    this.#settle(document);
  }

  /** Places the waiting marks whose lines the document now holds. */
  #settle(document: vscode.TextDocument): void {
    const marks = this.#marks.get(document.uri.toString());
    if (!marks) return;
    for (const mark of marks) {
      mark.isPlaced ||= mark.end <= document.lineCount && mark.start <= document.lineCount
        && mark.lines.every((line, i) => document.lineAt(mark.start + i).text === line);
    }
    this.#drawAll();
  }

  #drawAll(): void {
    const isOn = vscode.workspace.getConfiguration('fileops').get('marks', true);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const marks = isOn ? (this.#marks.get(editor.document.uri.toString()) ?? []).filter(m => m.isPlaced) : [];
      const drawn = marks.map(mark => ({ mark, option: { range: lines(mark, editor.document), hoverMessage: hover(mark) } }));
      editor.setDecorations(this.#lineType, drawn.filter(d => d.mark.end > d.mark.start).map(d => d.option));
      editor.setDecorations(this.#removalType, drawn.filter(d => d.mark.end === d.mark.start).map(d => d.option));
    }
    this.#tellContext();
  }

  #tellContext(): void {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    void vscode.commands.executeCommand('setContext', 'fileops.marked', uri !== undefined && this.#marks.has(uri));
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Moves lines for a replacement of whole lines [start, end) by n others. */
function shift(mark: { start: number; end: number }, start: number, end: number, n: number): void {
  const by = n - (end - start);
  if (mark.start >= end) {
    mark.start += by;
    mark.end += by;
  } else if (mark.end > start) {
    mark.end = Math.max(mark.end + by, mark.start);
  }
}

/** Moves a mark for a replacement of `range` by a text with `added` line ends. */
function followTyping(mark: Mark, range: vscode.Range, added: number): void {
  const by = added - (range.end.line - range.start.line);
  const isAbove = range.end.line < mark.start || (range.end.line === mark.start && range.end.character === 0);
  if (isAbove) {
    mark.start += by;
    mark.end += by;
  } else if (range.start.line < mark.end) {
    mark.end = Math.max(mark.end + by, mark.start);
  }
}

function lines({ start, end }: Mark, document: vscode.TextDocument): vscode.Range {
  const last = Math.max(document.lineCount - 1, 0);
  return new vscode.Range(Math.min(start, last), 0, Math.min(Math.max(end - 1, start), last), 0);
}

function hover(mark: Mark): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: ['fileops.history.show', 'fileops.history.undo', 'fileops.dismissMarks'] };
  const link = (command: string): string => `command:${command}?${encodeURIComponent(JSON.stringify([mark.editId]))}`;
  text.appendText(`Changed by an agent (session ${mark.sessionId}).`);
  text.appendMarkdown(`\n\n[$(diff) Show diff](${link('fileops.history.show')}) · [$(discard) Undo](${link('fileops.history.undo')}) · [$(close) Dismiss marks](command:fileops.dismissMarks)`);
  return text;
}

// --- stale files ----------------------------------------------------------------------------------------------

/** A badge on the file, a note behind its first line and an entry in the status item, until it is read again. */
export class StaleFiles implements vscode.Disposable, vscode.FileDecorationProvider {
  readonly #stale = new Map<string, Map<string, DidBecomeStaleParams>>(); // file → session → what happened
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #badges = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChange = this.#changed.event;
  readonly onDidChangeFileDecorations = this.#badges.event;
  readonly #note = vscode.window.createTextEditorDecorationType({
    after: { margin: '0 0 0 3em', color: new vscode.ThemeColor('fileops.staleForeground'), fontStyle: 'italic' },
  });
  readonly #disposables: vscode.Disposable[];

  constructor() {
    this.#disposables = [
      this.#note, this.#changed, this.#badges,
      vscode.window.registerFileDecorationProvider(this),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ];
  }

  get files(): DidBecomeStaleParams[] {
    return [...this.#stale.values()].flatMap(sessions => [...sessions.values()]);
  }

  add(event: DidBecomeStaleParams): void {
    const key = vscode.Uri.file(event.file_path).toString();
    const sessions = this.#stale.get(key) ?? new Map<string, DidBecomeStaleParams>();
    this.#stale.set(key, sessions.set(event.session_id, event));
    this.#update([key]);
  }

  /** The session has read or written the file: it knows it again. */
  clear(filePath: string, sessionId: string): void {
    const key = vscode.Uri.file(filePath).toString();
    const sessions = this.#stale.get(key);
    if (!sessions?.delete(sessionId)) return;
    if (sessions.size === 0) this.#stale.delete(key);
    this.#update([key]);
  }

  clearSession(sessionId: string): void {
    for (const event of this.files) if (event.session_id === sessionId) this.clear(event.file_path, sessionId);
  }

  clearAll(): void {
    const keys = [...this.#stale.keys()];
    this.#stale.clear();
    this.#update(keys);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const sessions = this.#stale.get(uri.toString());
    if (!sessions) return undefined;
    return new vscode.FileDecoration('≠', [...sessions.values()].map(sentence).join('\n'), new vscode.ThemeColor('fileops.staleForeground'));
  }

  #update(keys: string[]): void {
    this.#badges.fire(keys.map(key => vscode.Uri.parse(key)));
    this.#draw();
    this.#changed.fire();
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const sessions = this.#stale.get(editor.document.uri.toString());
      const end = editor.document.lineAt(0).range.end;
      editor.setDecorations(this.#note, sessions
        ? [{ range: new vscode.Range(end, end), renderOptions: { after: { contentText: `≠ ${[...sessions.values()].map(sentence).join('; ')}` } } }]
        : []);
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const VERBS = { modified: 'changed', deleted: 'deleted', replaced: 'replaced' } as const;

/** "changed on disk since session a read it" */
export function sentence({ reason, source, session_id }: DidBecomeStaleParams): string {
  const where = source === 'buffer' ? ' in the editor' : source.startsWith('session:') ? ` by session ${source.slice(8)}` : ' on disk';
  return `${VERBS[reason] ?? reason}${where} since session ${session_id} read it`;
}

export const staleName = (event: DidBecomeStaleParams): string => `${path.basename(event.file_path)}: ${sentence(event)}`;
