/** The settings that the daemon is started with, as its `initializationOptions`. */
import * as vscode from 'vscode';
import type { AskResult, EncodingOptions, InitializationOptions } from '../protocol';

type Ask = AskResult['ask'];

export function initializationOptions(): InitializationOptions {
  const config = vscode.workspace.getConfiguration('fileops');
  return {
    ask: config.get<Ask>('agentsApproval', 'protected'),
    freshness: config.get('freshness', 'mtime'),
    notices: config.get('notices', 'off'),
    confine: config.get('confine', 'edits'),
    roots: config.get<string[]>('roots', []),
    approval_mode: config.get('approval.mode', 'default'),
    approval_timeout_s: config.get('approval.timeoutSeconds', 600),
    review_grace_s: config.get('review.graceSeconds', 30),
    history: config.get<'memory' | 'persistent' | null>('history', null),
    code_lens: config.get('codeLens', false),
    bash: config.get('bash', false),
    correction: config.get('correction', false),
    encodings: config.get<EncodingOptions[]>('encodings', []),
  };
}
