/** What the daemon notifies. */

export interface DidBecomeStaleParams {
  file_path: string;
  session_id: string;
  reason: 'modified' | 'deleted' | 'replaced';
  /** "external", "buffer" or "session:ID". */
  source: string;
  timestamp: number;
}

export interface DidReadParams {
  file_path: string;
  session_id: string;
  timestamp: number;
  size: number;
  modified: number;
}

export interface DidEditParams {
  file_path: string;
  session_id: string;
  timestamp: number;
  /** Characters of the new content. */
  content_length: number;
  source: string;
  edit_id: string;
}

export interface DidConflictParams {
  file_path: string;
  session_id: string;
  last_read: number;
  last_modified: number;
  current_modified: number | null;
  size_diff: number;
}

export interface WatcherHealthParams {
  state: 'ok' | 'degraded';
  reason: string;
}
