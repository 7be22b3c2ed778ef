/** `fileops/correctEdit`: an agent's model is asked to quote a text again. */
import type { Nearest } from './edit';

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
