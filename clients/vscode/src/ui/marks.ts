/**
 * The lines that agents changed, marked in the real files until dismissed. Receives edits; asks the daemon nothing.
 *
 * The answer to an edit comes before the editor has reloaded the file. So a mark waits until the document holds
 * the lines that it is about (where lines went away, those around them), and from then on moves with what is typed.
 */
import * as vscode from 'vscode';
import type { Hunk } from '../protocol';
import { afterEdit, type TouchedLines, touchedLines } from '../review/touched';
import { followTyping, needsDrawing } from './spans';

/** Lines [start, end) of a file, 0-based; start = end marks the place where lines went away. */
interface Mark extends TouchedLines {
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

  /** nameOf: of a session, for people. */
  constructor(context: vscode.ExtensionContext, readonly nameOf: (sessionId: string) => string) {
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

  /** An edit was applied: mark its lines. One that is marked already stays as it is. */
  add(filePath: string, hunks: readonly Hunk[], editId: string, sessionId: string): void {
    const uri = vscode.Uri.file(filePath);
    if (this.#marks.get(uri.toString())?.some(mark => mark.editId === editId)) return;
    const marks = this.#marks.get(uri.toString()) ?? [];
    const placed = marks.filter(mark => mark.isPlaced); // they move with the document
    const waiting = afterEdit(marks.filter(mark => !mark.isPlaced), hunks);
    const added = touchedLines(hunks).map(lines => ({ ...lines, editId, sessionId, isPlaced: false }));
    this.#marks.set(uri.toString(), [...placed, ...waiting, ...added]);
    const document = vscode.workspace.textDocuments.find(d => d.uri.toString() === uri.toString());
    if (document) this.#settle(document);
    this.#changed.fire();
  }

  /** Edits were undone. */
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

  /** The marks in an open document now. */
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
    const placed = marks.filter(mark => mark.isPlaced);
    const isDue = needsDrawing(placed, contentChanges, document);
    followTyping(placed, contentChanges);
    if (this.#place(marks, document) || isDue) this.#drawAll();
  }

  #settle(document: vscode.TextDocument): void {
    if (this.#place(this.#marks.get(document.uri.toString()) ?? [], document)) this.#drawAll();
  }

  /** Places the waiting marks whose lines the document now holds. Whether there were any. */
  #place(marks: readonly Mark[], document: vscode.TextDocument): boolean {
    const shown = marks.filter(mark => !mark.isPlaced && isShown(mark, document));
    for (const mark of shown) mark.isPlaced = true;
    return shown.length > 0;
  }

  #drawAll(): void {
    const isOn = vscode.workspace.getConfiguration('fileops').get('marks', true);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const marks = isOn ? (this.#marks.get(editor.document.uri.toString()) ?? []).filter(m => m.isPlaced) : [];
      const drawn = marks.map(mark => ({ mark, option: { range: lines(mark, editor.document), hoverMessage: hover(mark, this.nameOf(mark.sessionId)) } }));
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

/** Whether the document holds what the edit wrote. */
function isShown({ start, lines, around }: Mark, document: vscode.TextDocument): boolean {
  const line = (i: number): string | undefined => (i >= 0 && i < document.lineCount ? document.lineAt(i).text : undefined);
  if (!around) return start <= document.lineCount && lines.every((text, i) => line(start + i) === text);
  const [before, after = ''] = around; // behind a final line end there is an empty line
  return line(start - 1) === before && (line(start) ?? '') === after;
}

function lines({ start, end }: Mark, document: vscode.TextDocument): vscode.Range {
  const last = Math.max(document.lineCount - 1, 0);
  return new vscode.Range(Math.min(start, last), 0, Math.min(Math.max(end - 1, start), last), 0);
}

function hover(mark: Mark, agent: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString(undefined, true);
  text.isTrusted = { enabledCommands: ['fileops.history.show', 'fileops.history.undo', 'fileops.dismissMarks'] };
  const link = (command: string): string => `command:${command}?${encodeURIComponent(JSON.stringify([mark.editId]))}`;
  text.appendText(`Changed by ${agent}.`);
  text.appendMarkdown(`\n\n[$(diff) Show diff](${link('fileops.history.show')}) · [$(discard) Undo](${link('fileops.history.undo')}) · [$(close) Dismiss marks](command:fileops.dismissMarks)`);
  return text;
}
