/**
 * The wire, as docs/PROTOCOL.md has it: every payload of a `fileops/*` message and every method, once.
 * Keys are snake_case, lines 1-based, paths absolute (never URIs), times seconds since the epoch.
 * The build's tests compare these fields with the server's schema and decode the shared golden messages.
 */
import type { ApprovalModeResult, SetApprovalModeParams } from './protocol/approval';
import type { BashDetails, BashParams } from './protocol/commands';
import type { EditDetails, EditParams, MultiEditParams } from './protocol/edit';
import type { DidBecomeStaleParams, DidConflictParams, DidEditParams, DidReadParams, WatcherHealthParams } from './protocol/events';
import type { HistoryParams, HistoryResult, UndoDetails, UndoParams } from './protocol/history';
import type { ReadDetails, ReadParams } from './protocol/read';
import type {
  CloseSessionParams, ConflictsResult, FileParams, ForgetResult, RecordReadResult, SessionFilesParams,
  SessionFilesResult, SessionParams, SessionsResult, TrackedResult,
} from './protocol/sessions';
import type { StatsResult } from './protocol/stats';
import type { ToolResult, ToolsParams, ToolsResult } from './protocol/tools';
import type { DescribeParams, DescribeResult, RenderParams, RenderResult } from './protocol/views';
import type { WriteParams } from './protocol/write';

export type * from './protocol/approval';
export type * from './protocol/commands';
export type * from './protocol/correction';
export type * from './protocol/diff';
export type * from './protocol/edit';
export type * from './protocol/errors';
export type * from './protocol/events';
export type * from './protocol/history';
export * from './protocol/initialize';
export type * from './protocol/read';
export type * from './protocol/sessions';
export type * from './protocol/stats';
export type * from './protocol/tools';
export type * from './protocol/views';
export type * from './protocol/write';

/** Requests that the editor sends: method to its params and its result. */
export interface Requests {
  'fileops/read': { params: ReadParams; result: ToolResult<ReadDetails> };
  'fileops/edit': { params: EditParams; result: ToolResult<EditDetails> };
  'fileops/multiEdit': { params: MultiEditParams; result: ToolResult<EditDetails> };
  'fileops/write': { params: WriteParams; result: ToolResult<EditDetails> };
  'fileops/bash': { params: BashParams; result: ToolResult<BashDetails> };
  'fileops/tools': { params: ToolsParams; result: ToolsResult };
  'fileops/tracked': { params: SessionParams; result: TrackedResult };
  'fileops/closeSession': { params: CloseSessionParams; result: null };
  'fileops/recordRead': { params: FileParams; result: RecordReadResult };
  'fileops/forget': { params: FileParams; result: ForgetResult };
  'fileops/conflicts': { params: SessionParams; result: ConflictsResult };
  'fileops/sessionFiles': { params: SessionFilesParams; result: SessionFilesResult };
  'fileops/sessions': { params: Record<string, never>; result: SessionsResult };
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
  /** At most twice a second. */
  'fileops/didChangeSessions': SessionsResult;
}

/** Requests that the server sends. */
export const CONFIRM_EDIT = 'fileops/confirmEdit';
export const CONFIRM_COMMAND = 'fileops/confirmCommand';
export const CORRECT_EDIT = 'fileops/correctEdit';
