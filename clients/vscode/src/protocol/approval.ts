/** Which edits are asked about, and the question. */
import type { Hunk, Operation } from './diff';
import type { Rebased } from './edit';
import type { AskingSession } from './sessions';

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
  /** Whose edit it is, where it is another client's of a shared daemon. */
  session?: AskingSession;
  /** What others changed since the agent read the file, where the edit is applied to their text. */
  rebased?: Rebased;
  /** Null over 1 MB, like `proposed_text`. */
  original_text: string | null;
  proposed_text: string | null;
  /** What to call the two sides. */
  original_label: string;
  proposed_label: string;
}

export interface ConfirmEditResult {
  outcome: 'proceed_once' | 'proceed_always' | 'cancel' | 'modify';
  /** With `modify`: what the person wants written instead. */
  text?: string;
  /** Accept only these hunks. */
  hunk_ids?: string[];
}
