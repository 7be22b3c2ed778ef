/** `fileops/edit` and `fileops/multiEdit`. */
import type { LineRange } from './diff';

export interface EditParams {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
  expected_replacements?: number;
  /** How the text is found; names in `ServerCapabilities.strategies`. */
  strategy?: string;
  dry_run?: boolean;
  /** `details` has the whole text before and after. */
  include_texts?: boolean;
  session_id?: string;
}

export interface EditStep {
  old_string: string;
  new_string: string;
  replace_all?: boolean;
  strategy?: string;
}

export interface MultiEditParams {
  file_path: string;
  edits: EditStep[];
  dry_run?: boolean;
  /** `details` has the whole text before and after. */
  include_texts?: boolean;
  session_id?: string;
}

export interface EditDetails {
  replacements?: number;
  created?: boolean;
  applied_to?: 'disk' | 'buffer';
  match?: string;
  /** 0-based, of the failing step. */
  edit_index?: number;
  match_lines?: number[];
  nearest?: Nearest | null;
  modified_by_user?: boolean;
  /** Null where nothing was written. */
  edit_id?: string | null;
  dry_run?: boolean;
  /** Of a multiEdit: what came of each step. */
  edits?: StepDetails[];
  /** What was matched and written in place of what was given, where `correction` is on. */
  corrected?: CorrectedStep[];
  commit?: Commit;
  /** With `include_texts`; null over 1 MB. */
  original_text?: string | null;
  proposed_text?: string | null;
  /** "external", "buffer" or a session. */
  changed_by?: string;
  also_changed_by?: string | null;
  diff_since_read?: string | null;
  /** Of an edit that was applied though others had changed the file, with `freshness` "relevant". */
  rebased?: Rebased;
  /** Of an edit that was refused, with `freshness` "relevant". */
  relevance?: Relevance;
  /** What others changed in the files of the session, with the option `notices`. */
  notices?: Notice[];
}

export interface Rebased {
  /** "external", "buffer" or a session. */
  changed_by: string;
  n_foreign_hunks: number;
  /** What they changed, in the text before the edit. */
  ranges: LineRange[];
  diff: string;
}

/** Why a change of others does not let an edit through. */
export interface Relevance {
  reason: 'no_base' | 'format' | 'too_large' | 'near' | 'elsewhere' | 'no_match_now' | 'no_match_then' | 'count';
  ranges: LineRange[];
}

export interface Notice {
  file_path: string;
  changed_by: string;
  kind: 'modified' | 'unsaved' | 'edited' | 'gone';
  diff: string | null;
  truncated: boolean;
}

export interface StepDetails {
  /** 0-based. */
  index: number;
  status: 'ok' | 'failed' | 'not_tried';
  /** These where all steps were applied. */
  replacements?: number;
  match?: string;
  match_lines?: number[];
}

export interface CorrectedStep {
  edit_index: number;
  old_string: string;
  new_string: string;
}

/** How the change reached its place. */
export interface Commit {
  method: string;
  durability: string;
  reason: string | null;
}

export interface Nearest {
  start_line: number;
  end_line: number;
  similarity: number;
  diff: string;
  differs_in: string[];
}
