/** Why a tool failed. */

export type ErrorCode =
  | 'not_found' | 'is_directory' | 'not_absolute' | 'outside_roots' | 'permission_denied' | 'not_regular_file'
  | 'binary' | 'notebook' | 'too_large' | 'too_many_chars' | 'not_read' | 'modified_externally' | 'no_match'
  | 'multiple_matches' | 'count_mismatch' | 'no_change' | 'already_exists' | 'not_encodable' | 'invalid_pattern'
  | 'strategy_failed' | 'validation_failed' | 'rejected' | 'approval_timeout' | 'apply_refused' | 'undo_conflict' | 'disk_full' | 'io_error'
  | 'image_unreadable' | 'connection_lost' | 'command_timeout' | 'command_failed';

export interface ToolError {
  code: ErrorCode;
  /** One sentence for a person. */
  message: string;
}
