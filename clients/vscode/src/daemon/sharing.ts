/** Whether this window shares a daemon with agents and other editors, or has a private one because it could not. */
import * as vscode from 'vscode';
import type { SharedCapability } from '../protocol';
import type { Launch } from './locate';

/** The same program as an editor's connection to the user's shared daemon, which it starts if necessary. */
export function sharedLaunch(launch: Launch): Launch {
  return { ...launch, args: [...launch.args, '--shared', '--host', vscode.env.uriScheme] }; // `vscode`, `cursor`, …
}

/** reason: why it is private. */
export type Sharing = { kind: 'shared'; connection: SharedCapability } | { kind: 'private'; reason?: string };
