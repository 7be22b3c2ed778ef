/** Whether this window shares a daemon with agents and other editors (setting `fileops.shared`) or has a private one. */
import * as vscode from 'vscode';
import type { SharedCapability } from '../protocol';
import type { Launch } from './locate';

export const wantsShared = (): boolean => vscode.workspace.getConfiguration('fileops').get('shared', true);

/** The same program as an editor's connection to the user's shared daemon, which it starts if need be. */
export function sharedLaunch(launch: Launch): Launch {
  return { ...launch, args: [...launch.args, '--shared', '--host', vscode.env.uriScheme] }; // `vscode`, `cursor`, …
}

/** reason: why it is private though a shared one was asked for; absent where the setting says private. */
export type Sharing = { kind: 'shared'; connection: SharedCapability } | { kind: 'private'; reason?: string };
