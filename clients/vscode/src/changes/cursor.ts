/**
 * Keeps the person's cursor and view where they are while changes are undone: VS Code loads a changed file as one
 * replacement of everything between its first and its last difference, and moves what is in there to its end.
 */
import * as vscode from 'vscode';
import type { Before, Mark } from './before';
import { linesOf } from '../review/hunks';

/** How long a file may take to be loaded again after the daemon has written it. */
const LATE_MS = 2_000;

interface Place {
  editor: vscode.TextEditor;
  anchor: vscode.Position;
  active: vscode.Position;
  top: number | undefined;
}

/** For every editor of a file with one of these changes. Dispose of it when they are undone. */
export function placesKept(before: Before, changeIds: ReadonlySet<string>): vscode.Disposable {
  const places = vscode.window.visibleTextEditors.flatMap((editor): Place[] => {
    const undone = before.at(editor.document.uri).filter(({ change }) => changeIds.has(change.change_id));
    if (undone.length === 0 || editor.document.uri.scheme !== 'file') return [];
    const moved = ({ line, character }: vscode.Position): vscode.Position => new vscode.Position(lineWithout(line, undone), character);
    const top = editor.visibleRanges[0]?.start.line;
    return [{ editor, anchor: moved(editor.selection.anchor), active: moved(editor.selection.active), top: top === undefined ? undefined : lineWithout(top, undone) }];
  });
  const listening = vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
    if (contentChanges.length === 0) return;
    for (const { editor, anchor, active, top } of places) {
      if (editor.document !== document) continue;
      editor.selection = new vscode.Selection(anchor, active);
      if (top !== undefined) showAtTop(editor, top);
    }
  });
  return new vscode.Disposable(() => void setTimeout(() => listening.dispose(), LATE_MS));
}

/** VS Code shows some lines above the one that it is told to put at the top: those that sticky scroll may cover. */
function showAtTop(editor: vscode.TextEditor, top: number): void {
  const settings = vscode.workspace.getConfiguration('editor', editor.document);
  const nSticky = settings.get('stickyScroll.enabled', true) ? settings.get('stickyScroll.maxLineCount', 5) : 0;
  const line = top + Math.max(nSticky, settings.get('cursorSurroundingLines', 0));
  editor.revealRange(new vscode.Range(line, 0, line, 0), vscode.TextEditorRevealType.AtTop);
}

/** Where a line is once these changes, in their order, are undone. Pure. */
export function lineWithout(line: number, undone: readonly Mark[]): number {
  let delta = 0;
  for (const { start, end, change } of undone) {
    const nBefore = linesOf(change.removed_text).length;
    if (line >= end) delta += nBefore - (end - start);
    else if (line >= start) return start + delta + Math.min(line - start, Math.max(nBefore - 1, 0));
  }
  return line + delta;
}
