/**
 * Cells of open notebooks that the daemon asks to insert, move, remove and change: `fileops/applyNotebookEdit`. Texts of
 * cells come by `workspace/applyEdit`, which can do nothing else.
 */
import * as vscode from 'vscode';
import type { ApplyNotebookEditParams, ApplyNotebookEditResult, NotebookEditCell } from './protocol';

const MAX_REMOVED = 200; // cells whose outputs are kept in memory for an undo, of all notebooks

interface Removed {
  notebook: string;
  cell: vscode.NotebookCell;
}

export class Notebooks {
  /** The newest first. LSP does not carry outputs, so only this editor can bring them back. */
  #removed: Removed[] = [];

  async apply({ uri, cell_versions, edits }: ApplyNotebookEditParams): Promise<ApplyNotebookEditResult> {
    const key = vscode.Uri.parse(uri).toString();
    const notebook = vscode.workspace.notebookDocuments.find(one => one.uri.toString() === key);
    if (!notebook) return refused('the notebook is not open');
    const before = notebook.getCells();
    // VS Code reports what is typed in a cell with the version that the notebook had before: those of the cells decide.
    const versions = before.map(({ document }) => [document.uri.toString(), document.version]);
    if (JSON.stringify(versions) !== JSON.stringify(Object.entries(cell_versions))) return refused('the notebook has changed in the meantime');
    const stays = new Set(edits.flatMap(({ cells }) => cells.map(({ moved_from }) => moved_from)));
    const removed = edits.flatMap(({ start, delete_count }) => before.slice(start, start + delete_count))
      .filter(cell => !stays.has(cell.index));
    const change = new vscode.WorkspaceEdit();
    change.set(notebook.uri, edits.map(({ start, delete_count, cells }) => vscode.NotebookEdit.replaceCells(
      new vscode.NotebookRange(start, start + delete_count), cells.map(cell => this.#dataOf(cell, before, key)))));
    const kept = removed.map(cell => ({ notebook: key, cell }));
    if (!await vscode.workspace.applyEdit(change)) return refused('VS Code did not make the edit');
    this.#removed = [...kept, ...this.#removed].slice(0, MAX_REMOVED);
    return { applied: true, failure_reason: null };
  }

  #dataOf(asked: NotebookEditCell, before: readonly vscode.NotebookCell[], notebook: string): vscode.NotebookCellData {
    const moved = asked.moved_from === null ? undefined : before[asked.moved_from];
    const from = moved ?? this.#removedLike(asked, notebook);
    const isMarkdown = asked.cell_type === 'markdown';
    const data = new vscode.NotebookCellData(
      isMarkdown ? vscode.NotebookCellKind.Markup : vscode.NotebookCellKind.Code, asked.source, languageOf(asked, from, before));
    data.metadata = from ? { ...from.metadata } : {};
    if (asked.cell_id !== null) data.metadata.id = asked.cell_id;
    if (from && asked.cell_type === 'code' && asked.outputs === 'keep') {
      data.outputs = [...from.outputs];
      if (from.executionSummary) data.executionSummary = from.executionSummary;
    }
    return data;
  }

  #removedLike(asked: NotebookEditCell, notebook: string): vscode.NotebookCell | undefined {
    if (asked.outputs !== 'keep') return undefined;
    return this.#removed.find(({ notebook: of, cell }) => of === notebook && (asked.cell_id === null
      ? cell.document.getText() === asked.source
      : cell.metadata.id === asked.cell_id))?.cell;
  }
}

function languageOf(asked: NotebookEditCell, from: vscode.NotebookCell | undefined, before: readonly vscode.NotebookCell[]): string {
  if (asked.cell_type !== 'code') return asked.cell_type;
  const code = [...(from ? [from] : []), ...before]
    .find(cell => cell.kind === vscode.NotebookCellKind.Code && cell.document.languageId !== 'raw');
  return code?.document.languageId ?? 'python';
}

function refused(failure_reason: string): ApplyNotebookEditResult {
  return { applied: false, failure_reason };
}
