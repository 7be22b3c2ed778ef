/**
 * The wire, as docs/PROTOCOL.md has it. `protocol/types.ts` is generated from the server's own schema.
 * Keys are snake_case, lines 1-based, paths absolute (never URIs), times seconds since the epoch.
 */
import type { ApprovalModeResult, AskResult, DaemonRequests, Review as AnyReview, ToolResult as AnyToolResult } from './protocol/types';

export * from './protocol/types';

export type { AnyReview };

/** A review of one edit: it has the keys that the review of a change set lacks. */
export type Review = AnyReview & Required<Pick<AnyReview,
  'operation' | 'file_path' | 'is_protected' | 'diff' | 'changes' | 'original_text' | 'proposed_text' | 'rebased' | 'previous'>>;

export const isOfSet = (review: AnyReview): review is AnyReview & Required<Pick<AnyReview, 'files'>> => review.files !== undefined;

export const isOfOneEdit = (review: AnyReview): review is Review => review.files === undefined;

export type ApprovalMode = ApprovalModeResult['mode'];

export type Ask = AskResult['ask'];

/** `D` is what `details` holds: see ReadDetails and EditDetails. */
export type ToolResult<D = Record<string, unknown>> = Omit<AnyToolResult, 'details'> & { details: D };

export const CONFIRM_COMMAND = 'fileops/confirmCommand' satisfies keyof DaemonRequests;
export const CORRECT_EDIT = 'fileops/correctEdit' satisfies keyof DaemonRequests;
export const APPLY_NOTEBOOK_EDIT = 'fileops/applyNotebookEdit' satisfies keyof DaemonRequests;
export const DIAGNOSTICS = 'fileops/diagnostics' satisfies keyof DaemonRequests;
export const SAVE_DOCUMENT = 'fileops/saveDocument' satisfies keyof DaemonRequests;
