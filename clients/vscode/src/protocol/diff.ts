/** A change of a text, as values. */

export type Operation = 'create' | 'modify';

export interface HunkLine {
  kind: ' ' | '-' | '+';
  /** Without its `\n`, with its `\r`. */
  text: string;
  /** True on a last line without a line end. */
  no_newline?: boolean;
}

/** As in a unified diff: a side of zero lines starts at the line before it. */
export interface Hunk {
  id: string;
  old_start: number;
  old_lines: number;
  new_start: number;
  new_lines: number;
  lines: HunkLine[];
}

export interface Stats {
  added: number;
  removed: number;
}

export interface UiExtra {
  diff: string;
  exact: boolean;
  truncated: boolean;
  operation: Operation;
  file_path: string;
  hunks: Hunk[];
  stats: Stats;
  /** In the new text. */
  first_changed_line: number;
}

/** Both ends included. */
export interface LineRange {
  start_line: number;
  end_line: number;
}
