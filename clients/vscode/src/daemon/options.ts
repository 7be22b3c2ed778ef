/** The settings that the daemon is started with, as its `initializationOptions`. */
import * as vscode from 'vscode';
import type { ApprovalMode, Ask, EncodingOptions, InitializationOptions } from '../protocol';

const MODES: Record<Ask, ApprovalMode> = { each_edit: 'default', protected: 'auto_edit', never: 'yolo' };

/** How long a review waits for a window that was reloaded, closed or has crashed. */
const REVIEW_GRACE_S = 120;

export function initializationOptions(): InitializationOptions {
  const config = vscode.workspace.getConfiguration('fileops');
  const ask = config.get<Ask>('ask', 'protected');
  return {
    ask,
    approval_mode: MODES[ask], // for the agents of this window itself
    confine: config.get('confine', 'edits'),
    roots: config.get<string[]>('roots', []),
    review_grace_s: REVIEW_GRACE_S,
    bash: config.get('bash', false),
    encodings: config.get<EncodingOptions[]>('encodings', []),
  };
}
