/**
 * What agents changed and the user has not kept yet, in the text: the lines are marked in the color of their session, each
 * change has Keep and Undo above it, the lines that it removed are shown on demand. Nothing of it is in the document.
 */
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import type { UndonePlace, UnkeptChange, UnkeptFile } from '../protocol';
import { isAt, neighbour } from '../review/spots';
import type { InsertedLines, Shown } from '../ui/inserted';
import { inOneLine } from '../ui/labels';
import { followTyping, needsDrawing, type Span } from '../ui/spans';
import { changedWords } from '../ui/words';
import { counted, targetOfChange, targetOfFile } from './actions';
import { colorOf } from './colors';
import type { UnkeptList } from './list';

interface Mark extends Span {
  change: UnkeptChange;
}

interface Undone extends Span {
  place: UndonePlace;
}

interface Marked {
  file: UnkeptFile;
  marks: Mark[];
  undone: Undone[];
}

/** Above a line, 0-based. */
interface Lens extends vscode.Command {
  line: number;
}

type Kind = UnkeptChange['kind'];

const MAX_LENSES = 100; // VS Code moves each with every letter. Of more changes the first have lenses; marks, keys and hovers are for all

export class UnkeptMarks implements vscode.Disposable, vscode.CodeLensProvider, vscode.HoverProvider {
  readonly #marked = new Map<string, Marked>();
  readonly #types = new Map<string, vscode.TextEditorDecorationType>();
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly #disposables: vscode.Disposable[];
  /** Documents in which the removed lines are shown. */
  readonly #withRemoved = new Set<string>();
  /** By editor and type of decoration, what was drawn, where the editor has moved it to. */
  readonly #drawn = new WeakMap<vscode.TextEditor, Map<string, Span[]>>();
  #lensed = '';

  constructor(readonly list: UnkeptList, readonly inserted: InsertedLines) {
    this.#disposables = [
      this.#lenses,
      list.onDidLoad(filePath => this.#update(filePath)),
      vscode.languages.registerCodeLensProvider({ scheme: 'file' }, this),
      vscode.languages.registerHoverProvider({ scheme: 'file' }, this),
      vscode.workspace.onDidChangeTextDocument(event => this.#follow(event)),
      vscode.workspace.onDidOpenTextDocument(({ uri }) => this.#updateOne(uri)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#marked.delete(uri.toString())),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#tellContext()),
      vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('fileops.marks') && this.#draw()),
      vscode.commands.registerCommand('fileops.toggleRemovedLines', () => this.#toggleRemoved()),
      vscode.commands.registerCommand('fileops.nextUnkept', () => this.#go(true)),
      vscode.commands.registerCommand('fileops.previousUnkept', () => this.#go(false)),
    ];
  }

  /** The marks of an open document now. */
  at(uri: vscode.Uri): readonly Mark[] {
    return this.#marked.get(uri.toString())?.marks ?? [];
  }

  /** Where the cursor is; undefined where no change is. */
  atCursor(): UnkeptChange | undefined {
    const editor = vscode.window.activeTextEditor;
    const mark = editor && this.at(editor.document.uri).find(one => isAt(one, editor.selection.active.line));
    return mark && whereItIs(mark);
  }

  #update(filePath: string | undefined): void {
    if (filePath !== undefined) return this.#updateOne(vscode.Uri.file(filePath));
    for (const { uri } of vscode.workspace.textDocuments) if (uri.scheme === 'file') this.#place(uri);
    this.#refresh();
  }

  #updateOne(uri: vscode.Uri): void {
    this.#place(uri);
    this.#refresh();
  }

  /** The places are of one version of the document. Of another one they are not drawn: the daemon is asked again. */
  #place(uri: vscode.Uri): void {
    const file = this.list.of(uri.fsPath);
    const document = vscode.workspace.textDocuments.find(one => one.uri.toString() === uri.toString() && !one.isClosed);
    if (!file || !document) {
      this.#marked.delete(uri.toString());
    } else if (file.document_version === document.version) {
      const marks = file.changes.filter(({ kind }) => kind !== 'file').map(change => ({ change, ...spanOf(change) }));
      this.#marked.set(uri.toString(), { file, marks, undone: file.undone.map(place => ({ place, ...spanOf(place) })) });
    } else {
      this.list.refreshLater(document);
    }
  }

  #refresh(): void {
    this.#draw();
    const lensed = JSON.stringify([...this.#marked].map(([uri, marked]) => [uri, lensesIn(marked)]));
    if (lensed === this.#lensed) return;
    this.#lensed = lensed;
    this.#lenses.fire();
  }

  #follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const marked = this.#marked.get(document.uri.toString());
    if (!marked) return;
    const isDue = needsDrawing(marked.marks, contentChanges, document);
    followTyping([...marked.marks, ...marked.undone], contentChanges);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document !== document) continue;
      if (isDue) this.#drawn.delete(editor);
      else followTyping([...this.#drawn.get(editor)?.values() ?? []].flat(), contentChanges);
    }
    if (isDue) this.#draw();
  }

  #draw(): void {
    const isOn = vscode.workspace.getConfiguration('fileops').get('marks', true);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const spans = new Map<string, Span[]>([...this.#types.keys()].map(name => [name, []]));
      for (const { change, start, end } of isOn ? this.at(editor.document.uri) : []) {
        const name = `${colorOf(change.session_id)} ${change.kind}`;
        const there = spans.get(name) ?? [];
        there.push({ start, end });
        spans.set(name, there);
      }
      const drawn = this.#drawn.get(editor);
      for (const [name, there] of spans) {
        if (!isDeepStrictEqual(there, drawn?.get(name))) editor.setDecorations(this.#type(name), there.map(span => rangeOf(span, editor.document)));
      }
      this.#drawn.set(editor, spans);
      this.#showRemoved(editor.document.uri);
    }
    this.#tellContext();
  }

  #type(name: string): vscode.TextEditorDecorationType {
    const known = this.#types.get(name);
    if (known) return known;
    const [color, kind] = name.split(' ') as [string, Kind];
    const own = new vscode.ThemeColor(color);
    const made = vscode.window.createTextEditorDecorationType({
      isWholeLine: true, overviewRulerColor: own, overviewRulerLane: vscode.OverviewRulerLane.Left, borderColor: own,
      ...(kind === 'removed' ? { borderStyle: 'dashed', borderWidth: '1px 0 0 0' } : {
        borderStyle: 'solid', borderWidth: '0 0 0 3px',
        backgroundColor: new vscode.ThemeColor(kind === 'added' ? 'diffEditor.insertedLineBackground' : 'fileops.unkeptLineBackground'),
      }),
    });
    this.#types.set(name, made);
    return made;
  }

  #tellContext(): void {
    const uri = vscode.window.activeTextEditor?.document.uri;
    void vscode.commands.executeCommand('setContext', 'fileops.unkeptHere', uri !== undefined && this.at(uri).length > 0);
  }

  #go(isNext: boolean): void {
    const editor = vscode.window.activeTextEditor;
    const mark = editor && neighbour(this.at(editor.document.uri), editor.selection.active.line, isNext);
    if (!mark) return void vscode.window.setStatusBarMessage('Nothing to keep or undo in this file', 5000);
    const line = Math.min(mark.start, editor.document.lineCount - 1);
    editor.selection = new vscode.Selection(line, 0, line, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  #toggleRemoved(): void {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (!uri) return;
    if (!this.#withRemoved.delete(uri.toString())) this.#withRemoved.add(uri.toString());
    this.#showRemoved(uri);
  }

  #showRemoved(uri: vscode.Uri): void {
    const isShown = this.#withRemoved.has(uri.toString());
    const shown = isShown ? this.at(uri).filter(({ change }) => change.removed_text !== '').map(({ change, start }): Shown => ({
      key: change.change_id, afterLine: start - 1, kind: 'removed', lines: changedWords(change.removed_text, '').before,
      title: 'Lines that were removed', author: inOneLine(change.label), context: 'unkept',
    })) : [];
    this.inserted.show('unkept', uri, shown);
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const marked = this.#marked.get(document.uri.toString());
    return (marked ? lensesIn(marked) : []).map(({ line, ...command }) => {
      const at = Math.min(Math.max(line, 0), document.lineCount - 1);
      return new vscode.CodeLens(new vscode.Range(at, 0, at, 0), command);
    });
  }

  provideHover({ uri, languageId }: vscode.TextDocument, { line }: vscode.Position): vscode.Hover | undefined {
    const mark = this.at(uri).find(one => isAt(one, line));
    if (!mark) return undefined;
    const change = whereItIs(mark);
    const text = new vscode.MarkdownString(undefined, true);
    text.isTrusted = { enabledCommands: ['fileops.keep.change', 'fileops.undo.change', 'fileops.undo.because'] };
    const link = (command: string): string => `command:fileops.${command}?${encodeURIComponent(JSON.stringify([targetOfChange(change)]))}`;
    text.appendText(`${inOneLine(change.label)} changed this: ${change.added} added, ${change.removed} removed. Not kept yet.`);
    text.appendMarkdown(`\n\n[$(check) Keep](${link('keep.change')}) · [$(discard) Undo](${link('undo.change')}) · [Undo, because…](${link('undo.because')})\n\n`);
    if (change.removed_text !== '') text.appendCodeblock(change.removed_text, languageId);
    return new vscode.Hover(text);
  }

  /** "3 changes to keep or undo", for the status bar. */
  get sentence(): string {
    const { n_changes, n_files } = this.list.all;
    return `${counted(n_changes)} in ${n_files} ${n_files === 1 ? 'file' : 'files'} to keep or undo`;
  }

  dispose(): void {
    for (const type of this.#types.values()) type.dispose();
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Its lines here are 1-based and inclusive, as on the wire. */
const spanOf = ({ start_line, end_line }: { start_line: number; end_line: number }): Span => ({ start: start_line - 1, end: end_line });

/** The change in the lines where it is after typing. */
const whereItIs = ({ change, start, end }: Mark): UnkeptChange => ({ ...change, start_line: start + 1, end_line: end });

function lensesIn({ file, marks, undone }: Marked): Lens[] {
  const lens = (line: number, command: string, title: string, tooltip: string, ...args: unknown[]): Lens =>
    ({ line, command: `fileops.${command}`, title, tooltip, arguments: args });
  const ofFile = targetOfFile(file.file_path, file.changes);
  const whole = file.changes.length > 1 ? [
    lens(0, 'keep.file', `$(check-all) Keep all ${file.changes.length}`, `Keep ${ofFile.what}`, ofFile),
    lens(0, 'undo.file', '$(discard) Undo all', `Undo ${ofFile.what}`, ofFile),
  ] : [];
  return [...whole, ...marks.slice(0, MAX_LENSES).flatMap(mark => {
    const target = targetOfChange(whereItIs(mark));
    return [
      lens(mark.start, 'keep.change', '$(check) Keep', `Keep ${target.what}`, target),
      lens(mark.start, 'undo.change', '$(discard) Undo', `Undo ${target.what}`, target),
      lens(mark.start, 'undo.because', 'Undo, because…', `Undo ${target.what}, and say why: the agent reads it`, target),
      lens(mark.start, 'changes.focus', inOneLine(mark.change.label), 'Show all changes of agents'),
    ];
  }), ...undone.map(({ place: { removed_text, label, rewind_id }, start }) => {
    // What the person has undone stays visible until the session's next turn.
    const title = `Undone, of ${inOneLine(label)}: ${inOneLine(removed_text) || 'removed lines'}`;
    return rewind_id === null ? lens(start, 'changes.focus', title, removed_text)
      : lens(start, 'undo.restore', `$(redo) ${title}`, `Redo it:\n${removed_text}`, rewind_id);
  })];
}

function rangeOf({ start, end }: Span, { lineCount }: vscode.TextDocument): vscode.Range {
  const last = Math.max(lineCount - 1, 0);
  return new vscode.Range(Math.min(start, last), 0, Math.min(Math.max(end - 1, start), last), 0);
}
