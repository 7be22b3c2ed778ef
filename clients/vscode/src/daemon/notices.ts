/** Notices about the daemon to the user: that it did not start, that it ended by itself, that it is a private one. */
import * as vscode from 'vscode';
import { INSTALL_COMMAND } from './locate';
import type { Sharing } from './sharing';

export async function showFailure(problem: string, setting: string | undefined, log: vscode.LogOutputChannel): Promise<void> {
  const [copy, openSetting, showLog, restart] = ['Copy the Install Command', 'Open Setting', 'Show Log', 'Restart'];
  const buttons = setting ? [copy, openSetting, restart] : [showLog, restart];
  const chosen = await vscode.window.showErrorMessage(`Fileops: ${problem}`, ...buttons);
  if (chosen === copy) await vscode.env.clipboard.writeText(INSTALL_COMMAND);
  if (chosen === openSetting) await vscode.commands.executeCommand('workbench.action.openSettings', setting);
  if (chosen === showLog) log.show();
  if (chosen === restart) await vscode.commands.executeCommand('fileops.restart');
}

/** Once for each crash: what it means for the user and for agents. names: of the reviews that were waiting. */
export async function showCrash(names: readonly string[], log: vscode.LogOutputChannel): Promise<void> {
  const reviews = names.length === 1 ? ` The review of ${names[0]!} ended with it; nothing of it was written.`
    : names.length > 1 ? ` ${names.length} reviews ended with it; nothing of them was written.` : '';
  const showLog = 'Show Log';
  const chosen = await vscode.window.showWarningMessage(
    `Fileops: the daemon has ended and is being restarted.${reviews} Agents have to read their files again.`, showLog);
  if (chosen === showLog) log.show();
}

/** Once for each stop by the user. Returns whether they want another daemon. */
export async function showStopped(): Promise<boolean> {
  const start = 'Start';
  const chosen = await vscode.window.showInformationMessage(
    'Fileops: the daemon was stopped. This window attaches to the next one, which an agent or you start.', start);
  return chosen === start;
}

/** Says once that the daemon is private although a shared one was wanted; again only if it was shared meanwhile. */
export class SharingNotice {
  #isSaid = false;

  constructor(readonly log: vscode.LogOutputChannel) {}

  /** isServersChoice: the server itself has notified the user. */
  update(sharing: Sharing, isServersChoice: boolean): void {
    if (sharing.kind === 'shared') this.#isSaid = false;
    if (sharing.kind === 'shared' || sharing.reason === undefined || this.#isSaid) return;
    this.#isSaid = true;
    this.log.warn(`The shared daemon is not used: ${sharing.reason}`);
    if (!isServersChoice) void this.#say(sharing.reason);
  }

  async #say(reason: string): Promise<void> {
    const [showLog, retry] = ['Show Log', 'Try Again'];
    const chosen = await vscode.window.showWarningMessage(
      `Fileops: this window has a private daemon, because the shared one could not be used: ${ended(reason)} `
      + 'Agents that run outside this window do not see your unsaved text, and you do not review their edits.', showLog, retry);
    if (chosen === showLog) this.log.show();
    if (chosen === retry) await vscode.commands.executeCommand('fileops.restart');
  }
}

const ended = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);
