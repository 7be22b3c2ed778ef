/**
 * What is shown of an edit once it is written: its lines are marked and, where the user wants it, its diff is opened.
 * Edits of this window's agents are known from their answers; those of the others of a shared daemon from its events
 * and its history.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { DidEditParams, EditDetails, EditParams, HistoryEntry, Hunk, ToolResult, UndoDetails } from '../protocol';
import { fragments, parseUnified } from '../review/hunks';
import type { UnkeptList } from '../unkept/list';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from './diff';
import type { Marks } from './marks';

/** Edits of one file that are written before the first of them is looked up. */
const MAX_RECENT_EDITS = 50;

export class AppliedEdits {
  constructor(
    readonly daemon: Daemon, readonly marks: Marks, readonly unkept: UnkeptList, readonly panes: DiffPanes,
    readonly log: vscode.LogOutputChannel,
  ) {}

  /** An edit of this window's agents was answered. wasReviewed: the user has seen its diff. */
  answered(params: EditParams, result: ToolResult<EditDetails>, wasReviewed: boolean): void {
    const { ui_extra: change, details } = result;
    if (result.status !== 'success' || params.dry_run || !change || change.hunks.length === 0) return;
    this.#show(change.file_path, change.hunks, details.edit_id ?? '', params.session_id ?? 'default', wasReviewed);
  }

  /** Edits were undone, by our request or by a command of the server's own: their lines are no longer an agent's. */
  undone(result: Partial<ToolResult<UndoDetails>> | null): void {
    const undone = result?.details?.undone;
    if (undone && !result.details?.dry_run) this.marks.remove(undone);
  }

  /** Another client of the shared daemon edited a file of this window. */
  async notified(event: DidEditParams, wasReviewed: boolean): Promise<void> {
    const entry = await this.#lookUp(event);
    if (!entry) return;
    if (entry.undoes.length > 0) this.marks.remove(entry.undoes);
    else this.#show(entry.file_path, parseUnified(entry.diff), entry.edit_id, entry.session_id, wasReviewed);
  }

  async #lookUp({ file_path, edit_id }: DidEditParams): Promise<HistoryEntry | undefined> {
    if (!this.daemon.can('fileops/history')) return undefined;
    try {
      const { edits } = await this.daemon.request('fileops/history', { file_path, limit: MAX_RECENT_EDITS });
      return edits.find(edit => edit.edit_id === edit_id);
    } catch (error) {
      this.log.warn(`An edit of ${file_path} could not be marked: ${String(error)}`); // the daemon ended
      return undefined;
    }
  }

  #show(filePath: string, hunks: readonly Hunk[], editId: string, session: string, wasReviewed: boolean): void {
    // What no person has accepted is marked as that, until it is kept or undone.
    if (wasReviewed || !this.unkept.isOn) this.marks.add(filePath, hunks, editId, session);
    if (wasReviewed || !vscode.workspace.getConfiguration('fileops').get('diffAfterEdit', false)) return;
    const pane = this.panes.create({
      scheme: VIEW_SCHEME, filePath, ...fragments(hunks), title: `${path.basename(filePath)}: agent's edit`,
    });
    void this.panes.show(pane, { viewColumn: columnBeside() });
  }
}
