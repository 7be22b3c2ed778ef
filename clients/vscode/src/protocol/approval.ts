/** Which edits are asked about, and the question. */
import type { Hunk, Operation } from './diff';

export type ApprovalMode = 'default' | 'auto_edit' | 'yolo';

export interface SetApprovalModeParams {
  mode: ApprovalMode;
  session_id?: string;
}

export interface ApprovalModeResult {
  session_id: string;
  mode: ApprovalMode;
}

export interface ConfirmEditParams {
  title: string;
  description: string;
  file_path: string;
  session_id: string;
  operation: Operation;
  diff: string;
  hunks: Hunk[];
  /** Null over 1 MB, like `proposed_text`. */
  original_text: string | null;
  proposed_text: string | null;
  /** Present if others changed the file since the agent read it. */
  rebased?: { changed_by: string; n_foreign_hunks: number };
}

export interface ConfirmEditResult {
  outcome: 'proceed_once' | 'proceed_always' | 'cancel' | 'modify';
  /** With `modify`: what the person wants written instead. */
  text?: string;
  /** Accept only these hunks. */
  hunk_ids?: string[];
}
