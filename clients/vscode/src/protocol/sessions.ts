/** Sessions: who they are, and what each knows of its files. */
import type { ApprovalMode } from './approval';
import type { ToolError } from './errors';

export interface SessionParams {
  session_id?: string;
}

export interface CloseSessionParams {
  session_id: string;
}

export interface TrackedFile {
  file_path: string;
  state: 'fresh' | 'stale';
  reason: string | null;
  read_at: number;
  mtime: number | null;
  size_bytes: number;
}

export interface TrackedResult {
  files: TrackedFile[];
}

export interface FileParams {
  file_path: string;
  session_id?: string;
}

export interface RecordReadResult {
  recorded: boolean;
  error: ToolError | null;
  size_bytes: number | null;
  mtime: number | null;
}

export interface ForgetResult {
  forgotten: boolean;
}

/** `last_*` as the session saw the file; the other figures are null where it is gone. */
export interface Conflict {
  file_path: string;
  reason: 'modified' | 'deleted' | 'replaced';
  source: string;
  last_read: number;
  last_modified: number;
  current_modified: number | null;
  size_diff: number | null;
}

export interface ConflictsResult {
  conflicts: Conflict[];
}

export interface SessionFilesParams {
  session_id?: string;
  limit?: number;
}

export interface SessionFile {
  file_path: string;
  state: 'fresh' | 'stale' | 'untracked';
  reason: string | null;
  n_reads: number;
  n_edits: number;
  n_conflicts: number;
  read_at: number | null;
  edited_at: number | null;
  conflicted_at: number | null;
}

export interface SessionFilesResult {
  files: SessionFile[];
}

/** Whose edit is asked about: a session of another connection to a shared daemon. */
export interface AskingSession {
  /** Its full name: unique in the daemon. */
  session_id: string;
  /** The program: `claude-code`, `codex`. */
  host: string;
  /** For a person. */
  label: string;
}

/** A session of a shared daemon, of this connection or of another one. */
export interface Session extends AskingSession {
  connected: boolean;
  approval_mode: ApprovalMode;
  n_reads: number;
  n_edits: number;
  /** Seconds since the epoch. */
  last_seen: number;
}

export interface SessionsResult {
  sessions: Session[];
}
