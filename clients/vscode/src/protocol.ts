/**
 * The wire, as docs/PROTOCOL.md has it: every payload of a `fileops/*` message and every method, once.
 * Keys are snake_case, lines 1-based, paths absolute (never URIs), times seconds since the epoch.
 * The build's tests compare these fields with the server's schema and decode the shared golden messages.
 */

export type ErrorCode =
  | 'not_found' | 'is_directory' | 'not_absolute' | 'outside_roots' | 'permission_denied' | 'not_regular_file'
  | 'binary' | 'notebook' | 'too_large' | 'too_many_chars' | 'not_read' | 'modified_externally' | 'no_match'
  | 'multiple_matches' | 'count_mismatch' | 'no_change' | 'already_exists' | 'not_encodable' | 'invalid_pattern'
  | 'strategy_failed' | 'validation_failed' | 'rejected' | 'approval_timeout' | 'apply_refused' | 'undo_conflict' | 'disk_full' | 'io_error'
  | 'image_unreadable' | 'connection_lost' | 'command_timeout' | 'command_failed';

export type ApprovalMode = 'default' | 'auto_edit' | 'yolo';
export type Operation = 'create' | 'modify';

// --- params ---------------------------------------------------------------------------------------------------

export interface ReadParams {
  file_path: string;
  offset?: number;
  limit?: number;
  session_id?: string;
}

export interface EditParams {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
  expected_replacements?: number;
  /** How the text is found; names in `ServerCapabilities.strategies`. */
  strategy?: string;
  dry_run?: boolean;
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
  session_id?: string;
}

/** Only where the setting `fileops.bash` is on. */
export interface BashParams {
  command: string;
  /** 120 by default. */
  timeout_s?: number;
  /** Absolute; by default the first workspace folder. */
  cwd?: string;
  /** What it is for, told to the person who is asked. */
  description?: string;
  session_id?: string;
}

export interface SessionParams {
  session_id?: string;
}

export interface ToolsParams {
  /** Names of tools; the others are left out of the guidelines too. */
  enabled?: string[];
}

export interface CloseSessionParams {
  session_id: string;
}

export interface HistoryParams {
  file_path?: string;
  session_id?: string;
  limit?: number;
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

export interface SetApprovalModeParams {
  mode: ApprovalMode;
  session_id?: string;
}

// --- results --------------------------------------------------------------------------------------------------

export interface ToolError {
  code: ErrorCode;
  /** One sentence for a person. */
  message: string;
}

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

/** `D` is what `details` holds: see ReadDetails and EditDetails. */
export interface ToolResult<D = Record<string, unknown>> {
  status: 'success' | 'error';
  /** Exactly the text for the model. */
  output: string;
  error: ToolError | null;
  ui_extra: UiExtra | null;
  details: D;
  /** What a model gets beside the text; absent where there is nothing. */
  attachments?: Attachment[];
}

export interface Attachment {
  type: 'image';
  mime_type: string;
  /** Base64. */
  data: string;
  /** Pixels, like `height`. */
  width: number;
  height: number;
}

export interface ReadDetails {
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
  /** "external", "buffer" or a session. */
  changed_by?: string;
  also_changed_by?: string | null;
  diff_since_read?: string | null;
}

export interface BashDetails {
  /** 128 + number after a signal; null where it did not run to its end. */
  exit_code?: number | null;
  cwd?: string;
  duration_s?: number;
  n_output_bytes?: number;
  truncated?: boolean;
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

/** How the change reached its place. */
export interface Commit {
  method: string;
  durability: string;
  reason: string | null;
}

/** Both ends included. */
export interface LineRange {
  start_line: number;
  end_line: number;
}

export interface Nearest {
  start_line: number;
  end_line: number;
  similarity: number;
  diff: string;
  differs_in: string[];
}

export interface ToolDefinition {
  name: string;
  method: string;
  label: string;
  description: string;
  input_schema: Record<string, unknown>;
  prompt_snippet: string;
  prompt_guidelines: string[];
}

export interface ToolsResult {
  tools: ToolDefinition[];
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

export interface ApprovalModeResult {
  session_id: string;
  mode: ApprovalMode;
}

// --- a review -------------------------------------------------------------------------------------------------

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
}

export interface ConfirmEditResult {
  outcome: 'proceed_once' | 'proceed_always' | 'cancel' | 'modify';
  /** With `modify`: what the person wants written instead. */
  text?: string;
  /** Accept only these hunks. */
  hunk_ids?: string[];
}

export interface ConfirmCommandParams {
  command: string;
  cwd: string;
  session_id: string;
  /** As the agent gave it. */
  description: string | null;
}

export interface ConfirmCommandResult {
  /** `proceed_always` is good for this very command in this folder and session. */
  outcome: 'proceed_once' | 'proceed_always' | 'cancel';
}

// --- a correction ---------------------------------------------------------------------------------------------

export interface CorrectEditParams {
  file_path: string;
  session_id: string;
  /** 0-based step of a multiEdit. */
  edit_index: number;
  old_string: string;
  new_string: string;
  reason: string;
  nearest: Nearest | null;
}

/** What an agent's model proposes instead; `old_string` must stand in the file exactly. */
export interface Correction {
  old_string: string;
  new_string: string;
}

// --- notifications --------------------------------------------------------------------------------------------

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

// --- history --------------------------------------------------------------------------------------------------

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
}

export interface HistoryResult {
  edits: HistoryEntry[];
}

// --- what a session knows of its files, figures, drawing -------------------------------------------------------

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

/** Milliseconds, without the time for which a person thought. */
export interface Latency {
  n: number;
  p50: number;
  p90: number;
  p99: number;
  max: number;
}

export interface EditStats {
  applied: number;
  modified_by_user: number;
  undone: number;
  share_modified: number;
  share_undone: number;
}

export interface StatsResult {
  session_id: string | null;
  since: number;
  calls: Record<string, number>;
  outcomes: Record<string, number>;
  matches: Record<string, number>;
  lines: Stats;
  edits: EditStats;
  latency_ms: Record<string, Latency>;
}

/** `arguments`: as far as they have come. */
export interface DescribeParams {
  method: string;
  arguments?: Record<string, unknown>;
}

export interface RenderParams extends DescribeParams {
  result?: Partial<ToolResult>;
  is_partial?: boolean;
  expanded?: boolean;
}

export interface Location {
  path: string;
  line: number | null;
}

export interface DescribeResult {
  title: string;
  locations: Location[];
}

export interface ViewLine {
  number: number | null;
  text: string;
}

export interface DiffRow {
  kind: 'hunk' | ' ' | '-' | '+';
  old_line: number | null;
  new_line: number | null;
  text: string;
  no_newline: boolean;
}

export interface DiffView {
  title: string;
  operation: Operation;
  added: number;
  removed: number;
  truncated: boolean;
  rows: DiffRow[];
}

export interface RenderResult {
  call: string;
  state: 'pending' | 'success' | 'error';
  lines: ViewLine[];
  diff: DiffView | null;
  n_more: number;
  more: string;
}

// --- initialize -----------------------------------------------------------------------------------------------

export interface InitializationOptions {
  freshness: 'mtime' | 'content';
  confine: 'edits' | 'all' | 'off';
  roots: string[];
  approval_mode: ApprovalMode;
  approval_timeout_s: number;
  history: 'memory' | 'persistent';
  code_lens: boolean;
  bash: boolean;
  correction: boolean;
}

/** `result.capabilities.experimental.fileops`. */
export interface ServerCapabilities {
  protocol_version: number;
  requests: string[];
  notifications: string[];
  strategies: string[];
  /** Those that are installed. */
  validators: string[];
}

export const PROTOCOL_VERSION = 1;

// --- methods --------------------------------------------------------------------------------------------------

/** Requests that the editor sends: method to its params and its result. */
export interface Requests {
  'fileops/read': { params: ReadParams; result: ToolResult<ReadDetails> };
  'fileops/edit': { params: EditParams; result: ToolResult<EditDetails> };
  'fileops/multiEdit': { params: MultiEditParams; result: ToolResult<EditDetails> };
  'fileops/bash': { params: BashParams; result: ToolResult<BashDetails> };
  'fileops/tools': { params: ToolsParams; result: ToolsResult };
  'fileops/tracked': { params: SessionParams; result: TrackedResult };
  'fileops/closeSession': { params: CloseSessionParams; result: null };
  'fileops/recordRead': { params: FileParams; result: RecordReadResult };
  'fileops/forget': { params: FileParams; result: ForgetResult };
  'fileops/conflicts': { params: SessionParams; result: ConflictsResult };
  'fileops/sessionFiles': { params: SessionFilesParams; result: SessionFilesResult };
  'fileops/resetSession': { params: SessionParams; result: null };
  'fileops/stats': { params: SessionParams; result: StatsResult };
  'fileops/describe': { params: DescribeParams; result: DescribeResult };
  'fileops/render': { params: RenderParams; result: RenderResult };
  'fileops/history': { params: HistoryParams; result: HistoryResult };
  'fileops/undo': { params: UndoParams; result: ToolResult<UndoDetails> };
  'fileops/approvalMode': { params: SessionParams; result: ApprovalModeResult };
  'fileops/setApprovalMode': { params: SetApprovalModeParams; result: ApprovalModeResult };
}

/** Notifications that the server sends: method to its params. */
export interface Notifications {
  'fileops/didRead': DidReadParams;
  'fileops/didEdit': DidEditParams;
  'fileops/didBecomeStale': DidBecomeStaleParams;
  'fileops/didConflict': DidConflictParams;
  'fileops/watcherHealth': WatcherHealthParams;
  /** The mode of a session changed, by request or by an "always". */
  'fileops/approvalMode': ApprovalModeResult;
}

/** Requests that the server sends. */
export const CONFIRM_EDIT = 'fileops/confirmEdit';
export const CONFIRM_COMMAND = 'fileops/confirmCommand';
export const CORRECT_EDIT = 'fileops/correctEdit';
