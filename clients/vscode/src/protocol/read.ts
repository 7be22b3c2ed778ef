/** `fileops/read`. */

export interface ReadParams {
  file_path: string;
  offset?: number;
  limit?: number;
  /** The text itself is wanted too, as `details.text`. */
  raw?: boolean;
  session_id?: string;
}

export interface ReadDetails {
  /** With `raw`. */
  text?: string;
  start_line?: number;
  end_line?: number;
  total_lines?: number | null;
  next_offset?: number | null;
  n_lines_hidden?: number;
  encoding?: string;
  bom?: boolean;
  newline?: '\n' | '\r\n' | 'mixed' | null;
  size_bytes?: number;
  mtime?: number | null;
  source?: 'disk' | 'buffer';
  document_version?: number | null;
}
