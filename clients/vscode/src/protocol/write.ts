/** `fileops/write`: a whole text, by agents and tools that do not know edits. */

export interface WriteParams {
  file_path: string;
  content: string;
  dry_run?: boolean;
  /** `details` has the whole text before and after. */
  include_texts?: boolean;
  session_id?: string;
}
