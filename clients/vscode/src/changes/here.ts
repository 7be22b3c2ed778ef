/**
 * Agents' changes in the ordinary editor, beside VS Code's own bars: their lines have a background and a mark in the
 * ruler, the line with the cursor names the agent, and a hover shows what was there before. None of it is in the
 * document.
 */
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import { AS_TEXT, inCells, inOneLine, isNotebook } from '../ui/labels';
import { followTyping, needsDrawing, type Span } from '../ui/spans';
import type { Before, Mark } from './before';
import { ownFile } from './cells';

/**
 * With more changes, none of them is marked in the ruler: it would be one bar, which VS Code computes anew at each key
 * (5 ms with 1,000). Its own marks of the same changes are there in any case.
 */
const MAX_IN_RULER = 100;

const HIGHLIGHTED = { isWholeLine: true, backgroundColor: new vscode.ThemeColor('fileops.unkeptLineBackground') };

export class ChangesHere implements vscode.Disposable, vscode.HoverProvider, vscode.CodeActionProvider {
  readonly #lines = vscode.window.createTextEditorDecorationType({
    ...HIGHLIGHTED, overviewRulerColor: new vscode.ThemeColor('fileops.unkeptRuler'), overviewRulerLane: vscode.OverviewRulerLane.Right,
  });
  readonly #manyLines = vscode.window.createTextEditorDecorationType(HIGHLIGHTED);
  readonly #name = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 3em' },
  });
  readonly #moved = new vscode.EventEmitter<void>();
  /** `summary` may have changed. */
  readonly onDidMove = this.#moved.event;
  #told: string | undefined;
  readonly #disposables: vscode.Disposable[];
  /** For each editor, the drawn lines, where the editor has moved them. */
  readonly #drawn = new WeakMap<vscode.TextEditor, Span[]>();
  readonly #named = new WeakMap<vscode.TextEditor, string>();
  #isHere = false;
  #paths: string[] = [];

  constructor(readonly before: Before) {
    const files = { scheme: 'file' };
    this.#disposables = [
      this.#lines, this.#manyLines, this.#name, this.#moved,
      vscode.languages.registerHoverProvider(files, this),
      vscode.languages.registerCodeActionsProvider(files, this, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] }),
      before.onDidPlace(() => this.#draw()),
      before.onDidType(event => this.#follow(event)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#tellContext()),
      before.list.onDidChange(filePath => filePath === undefined && this.#tellPaths()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#draw()),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
        this.#nameIn(textEditor);
        this.#tellSummary();
      }),
    ];
  }

  /** Those at the cursor. */
  get atCursor(): readonly Mark[] {
    const editor = vscode.window.activeTextEditor;
    return editor ? this.#at(editor.document.uri, editor.selection.active.line).slice(0, 1) : [];
  }

  /** Whose change the cursor is at, and how many the file has: "Claude Code 2: 2 of 7". Undefined without any. */
  get summary(): string | undefined {
    const editor = vscode.window.activeTextEditor;
    const marks = editor ? this.before.at(editor.document.uri) : [];
    const [mark] = this.atCursor;
    if (mark) return `${inOneLine(mark.change.label)}: ${marks.indexOf(mark) + 1} of ${marks.length}`;
    return marks.length > 0 ? `${marks.length} here` : undefined;
  }

  isMarked(uri: vscode.Uri, line: number): boolean {
    return this.#at(uri, line).length > 0;
  }

  #tellSummary(): void {
    const { summary } = this;
    if (summary === this.#told) return;
    this.#told = summary;
    this.#moved.fire();
  }

  /** A change that only removed lines is at the lines before and after it. */
  #at(uri: vscode.Uri, line: number): readonly Mark[] {
    return this.before.at(uri).filter(({ start, end }) => (start === end ? line === start || line === start - 1 : start <= line && line < end));
  }

  #follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const isDue = needsDrawing(this.before.at(document.uri), contentChanges, document);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document !== document) continue;
      if (isDue) { // what was drawn on replaced lines is gone, as when a file is loaded again
        this.#drawn.delete(editor);
        this.#named.delete(editor);
      } else followTyping(this.#drawn.get(editor) ?? [], contentChanges);
    }
    if (isDue) queueMicrotask(() => this.#draw()); // once the marks have moved
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { uri, lineCount } = editor.document;
      if (uri.scheme !== 'file') continue;
      const spans = isInDiff(editor) ? [] : this.before.at(uri).filter(({ start, end }) => end > start).map(({ start, end }) => ({ start, end }));
      if (!isDeepStrictEqual(spans, this.#drawn.get(editor) ?? [])) {
        const ranges = spans.map(({ start, end }) => new vscode.Range(Math.min(start, lineCount - 1), 0, Math.min(end, lineCount) - 1, 0));
        const isInRuler = ranges.length <= MAX_IN_RULER;
        editor.setDecorations(this.#lines, isInRuler ? ranges : []);
        editor.setDecorations(this.#manyLines, isInRuler ? [] : ranges);
      }
      this.#drawn.set(editor, spans);
      this.#nameIn(editor);
    }
    this.#tellSummary();
    this.#tellContext();
  }

  #nameIn(editor: vscode.TextEditor): void {
    if (editor.document.uri.scheme !== 'file') return;
    const { line } = editor.selection.active;
    const [mark] = editor === vscode.window.activeTextEditor ? this.#at(editor.document.uri, line) : [];
    const name = mark ? `${line} ${inOneLine(mark.change.label)}` : '';
    if (this.#named.get(editor) === name) return;
    this.#named.set(editor, name);
    editor.setDecorations(this.#name, mark ? [{
      range: editor.document.lineAt(line).range, renderOptions: { after: { contentText: inOneLine(mark.change.label) } },
    }] : []);
  }

  /** For the buttons in the title of each editor, focused or not. */
  #tellPaths(): void {
    const paths = this.before.list.filesOf('').flatMap(filePath => (isNotebook(filePath) ? [filePath, `${filePath}${AS_TEXT}`] : [filePath])).map(shown => vscode.Uri.file(shown).path);
    if (isDeepStrictEqual(paths, this.#paths)) return;
    this.#paths = paths;
    void vscode.commands.executeCommand('setContext', 'fileops.unkeptPaths', paths);
  }

  #tellContext(): void {
    const uri = activeFile();
    const isHere = uri !== undefined && this.before.list.changesOf(uri.fsPath, '').length > 0;
    if (isHere === this.#isHere) return;
    this.#isHere = isHere;
    void vscode.commands.executeCommand('setContext', 'fileops.unkeptHere', isHere);
  }

  provideHover({ uri, languageId }: vscode.TextDocument, { line }: vscode.Position): vscode.Hover | undefined {
    const [mark] = this.#at(uri, line);
    if (!mark) return undefined;
    const { label, added, removed, removed_text } = mark.change;
    const text = new vscode.MarkdownString();
    text.appendText(`${inOneLine(label)}: +${added} −${removed}${inCells([mark.change])}, not kept yet`);
    if (removed_text !== '') text.appendCodeblock(removed_text, languageId);
    return new vscode.Hover(text);
  }

  provideCodeActions({ uri }: vscode.TextDocument, { start: { line } }: vscode.Range): vscode.CodeAction[] {
    const [mark] = this.#at(uri, line);
    if (!mark) return [];
    return [['keep', 'Keep'], ['undo', 'Undo'], ['undoWithReason', 'Undo with a Reason…']].map(([command, title]) => {
      const action = new vscode.CodeAction(`${title} (${inOneLine(mark.change.label)})`, vscode.CodeActionKind.QuickFix);
      action.command = { command: `fileops.${command}`, title: action.title };
      return action;
    });
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** In the editor of several diffs, an editor has no column; in that of one diff, its column shows that diff. */
function isInDiff({ viewColumn, document }: vscode.TextEditor): boolean {
  const input = vscode.window.tabGroups.all.find(group => group.viewColumn === viewColumn)?.activeTab?.input;
  return viewColumn === undefined || (input instanceof vscode.TabInputTextDiff && input.modified.toString() === document.uri.toString());
}

/** The file that the person is looking at, even as the right side of a diff. */
export function activeFile(): vscode.Uri | undefined {
  const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
  const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri
    : vscode.window.activeTextEditor?.document.uri;
  return ownFile(uri) ?? (uri?.scheme === 'file' ? uri : undefined); // our documents show a deleted file, or cells
}
