/**
 * Keeps the person's cursor and view where they are when a file is loaded again because of what they decided: VS Code
 * loads it as one replacement of everything between its first and its last difference, and moves what is in there to
 * its end.
 */
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import { normalised } from '../review/hunks';

/** How long a file may take to be loaded again after the daemon has written it. */
const LATE_MS = 2_000;

/** In the files on the screen. Only their first change is looked at: what the person types must never be taken for a load. */
export async function keepingPlaces<T>(act: () => Promise<T>): Promise<T> {
  const documents = vscode.window.visibleTextEditors.map(({ document }) => document).filter(({ uri, isDirty }) => uri.scheme === 'file' && !isDirty);
  const before = new Map(documents.map(document => [document, linesIn(document)]));
  const listening = vscode.workspace.onDidChangeTextDocument(event => {
    const lines = before.get(event.document);
    if (!lines || event.contentChanges.length === 0) return;
    before.delete(event.document);
    if (isLoad(event)) keepPlaces(event, lines);
  });
  try {
    return await act();
  } finally {
    setTimeout(() => listening.dispose(), LATE_MS);
  }
}

/** Whether the document now is as its file. The first letter that is typed is reported before the document counts as changed. */
function isLoad({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): boolean {
  if (contentChanges.length !== 1 || reason !== undefined) return false;
  try {
    return normalised(fs.readFileSync(document.uri.fsPath, 'utf8')) === normalised(document.getText());
  } catch {
    return false; // it is gone, or cannot be read: then the place is VS Code's
  }
}

function keepPlaces({ document, contentChanges }: vscode.TextDocumentChangeEvent, before: readonly string[]): void {
  const { range: { start, end }, text } = contentChanges[0]!;
  const lineOf = lineAfter(before.slice(start.line, end.line + 1), linesIn(document).slice(start.line, start.line + text.split('\n').length));
  const isReplaced = ({ line }: vscode.Position): boolean => start.line <= line && line <= end.line;
  const moved = (at: vscode.Position): vscode.Position => (isReplaced(at) ? new vscode.Position(start.line + lineOf(at.line - start.line), at.character) : at);
  for (const editor of vscode.window.visibleTextEditors.filter(one => one.document === document)) {
    const { selections, visibleRanges: [shown] } = editor; // as before: VS Code tells how it has moved them after this event
    if (selections.some(({ anchor, active }) => isReplaced(anchor) || isReplaced(active))) {
      editor.selections = selections.map(({ anchor, active }) => new vscode.Selection(moved(anchor), moved(active)));
    }
    if (shown && isReplaced(shown.start)) showAtTop(editor, moved(shown.start).line);
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
