/**
 * Keeps the person's cursor and view where they are when a file is loaded again, after an undo, a redo, an accepted edit
 * or an agent's own: VS Code loads it as one replacement of everything between its first and its last difference, and
 * moves what is in there to its end.
 */
import * as vscode from 'vscode';

export class PlacesKept implements vscode.Disposable {
  /** The lines of each file on the screen as they were when it was last like the file. */
  readonly #lines = new WeakMap<vscode.TextDocument, readonly string[]>();
  readonly #listening: vscode.Disposable;

  constructor() {
    this.#listening = vscode.Disposable.from(
      vscode.window.onDidChangeVisibleTextEditors(editors => editors.forEach(({ document }) => this.#remember(document))),
      vscode.workspace.onDidSaveTextDocument(document => this.#remember(document)),
      vscode.workspace.onDidChangeTextDocument(event => this.#follow(event)),
    );
    for (const { document } of vscode.window.visibleTextEditors) this.#remember(document);
  }

  #remember(document: vscode.TextDocument): void {
    if (document.uri.scheme === 'file' && !document.isDirty) this.#lines.set(document, linesIn(document));
  }

  /** A change that leaves the document without unsaved text, and is no undo or redo of the editor, is a load. */
  #follow({ document, contentChanges: [change, ...others], reason }: vscode.TextDocumentChangeEvent): void {
    if (!change) return;
    const before = this.#lines.get(document);
    this.#lines.delete(document);
    this.#remember(document);
    if (!before || document.isDirty || reason !== undefined) return;
    if (others.length > 0) return; // by an extension, which has replaced no more than it means
    const { range: { start, end }, text } = change;
    const lineOf = lineAfter(before.slice(start.line, end.line + 1), linesIn(document).slice(start.line, start.line + text.split('\n').length));
    const isReplaced = ({ line }: vscode.Position): boolean => start.line <= line && line <= end.line;
    const moved = (at: vscode.Position): vscode.Position => (isReplaced(at) ? new vscode.Position(start.line + lineOf(at.line - start.line), at.character) : at);
    for (const editor of vscode.window.visibleTextEditors.filter(one => one.document === document)) {
      // They are as before the load: VS Code tells how it has moved them after this event.
      const { selections, visibleRanges: [shown] } = editor;
      if (selections.some(({ anchor, active }) => isReplaced(anchor) || isReplaced(active))) {
        editor.selections = selections.map(({ anchor, active }) => new vscode.Selection(moved(anchor), moved(active)));
      }
      if (shown && isReplaced(shown.start)) showAtTop(editor, moved(shown.start).line);
    }
  }

  dispose(): void {
    this.#listening.dispose();
  }
}

const linesIn = (document: vscode.TextDocument): string[] => document.getText().split(/\r\n|\r|\n/);

/** VS Code shows some lines above the one that it is told to put at the top: those that sticky scroll may cover. */
function showAtTop(editor: vscode.TextEditor, top: number): void {
  const settings = vscode.workspace.getConfiguration('editor', editor.document);
  const nSticky = settings.get('stickyScroll.enabled', true) ? settings.get('stickyScroll.maxLineCount', 5) : 0;
  const line = top + Math.max(nSticky, settings.get('cursorSurroundingLines', 0));
  editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.AtTop);
}

/** Where a line is among other lines: as far from the nearest one that is once in both as before. Pure. */
export function lineAfter(before: readonly string[], now: readonly string[]): (line: number) => number {
  const [old, places] = [placesOf(before), placesOf(now)];
  const placeOf = (line: number): number | undefined => (old.get(before[line]!) === line ? places.get(before[line]!) : undefined);
  const within = (line: number): number => Math.max(0, Math.min(line, now.length - 1));
  return line => {
    for (let distance = 0; distance < before.length; distance++) {
      for (const near of [line - distance, line + distance]) {
        const place = near >= 0 && near < before.length ? placeOf(near) : undefined;
        if (place !== undefined && place >= 0) return within(place + line - near);
      }
    }
    return within(line);
  };
}

/** The place of each line; -1 if it is there more than once. */
function placesOf(lines: readonly string[]): Map<string, number> {
  const places = new Map<string, number>();
  lines.forEach((text, line) => places.set(text, places.has(text) ? -1 : line));
  return places;
}
