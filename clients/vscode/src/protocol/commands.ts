/** Shell commands: `fileops/bash`, and the question before one is run. */

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

export interface BashDetails {
  /** 128 + number after a signal; null where it did not run to its end. */
  exit_code?: number | null;
  cwd?: string;
  duration_s?: number;
  n_output_bytes?: number;
  truncated?: boolean;
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
