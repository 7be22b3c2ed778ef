/** `fileops/write`: a whole text, by agents and tools that do not know edits. */

export interface WriteParams {
  file_path: string;
  content: string;
  dry_run?: boolean;
  session_id?: string;
}
