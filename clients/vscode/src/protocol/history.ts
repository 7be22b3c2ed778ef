/** Edits that were made, and undo. */
import type { LineRange, Operation, Stats, UiExtra } from './diff';
import type { Rebased } from './edit';

export interface HistoryParams {
  file_path?: string;
  session_id?: string;
  limit?: number;
}

export interface HistoryEntry {
  edit_id: string;
  file_path: string;
  session_id: string;
  timestamp: number;
  operation: Operation | 'delete';
  summary: string;
  diff: string;
  stats: Stats;
  undoable: boolean;
  /** The edit that took this one back. */
  undone_by: string | null;
  /** The edits that this one took back. */
  undoes: string[];
  /** What others had changed since the agent read the file. */
  rebased?: Pick<Rebased, 'changed_by' | 'n_foreign_hunks'>;
}

export interface HistoryResult {
  edits: HistoryEntry[];
}

/** One edit by `edit_id`, or all of a session, newest first, with `file_path` only those of that file. */
export interface UndoParams {
  edit_id?: string;
  session_id?: string;
  file_path?: string;
  dry_run?: boolean;
  /** The person asked for it or has confirmed it already: nobody is asked again. */
  approved?: boolean;
}

export interface UndoDetails {
  /** The edits that were taken back; none where a person changed the proposal. */
  undone?: string[];
  /** Of the undo itself, which can be taken back too; null where it touched several files or nothing was written. */
  edit_id?: string | null;
  applied_to?: 'disk' | 'buffer';
  modified_by_user?: boolean;
  dry_run?: boolean;
  files?: UndoneFile[];
  /** Of an `undo_conflict`: what the undo would have to overwrite. */
  ranges?: LineRange[];
  /** Of a failure: the file that failed; `undone` and `files` are then what could not be put back. */
  file_path?: string;
}

export interface UndoneFile {
  file_path: string;
  undone: string[];
  edit_id: string | null;
  outcome: string;
  applied_to: 'disk' | 'buffer';
  ui_extra: UiExtra;
}
