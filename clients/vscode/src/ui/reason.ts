/** The one line that a person writes to an agent: why they reject or undo what it did. */
import * as vscode from 'vscode';

/**
 * Asks for a reason, which may be empty; undefined if the person cancelled with Escape. prompt: what Enter and Escape
 * do. The box closes once there is nothing left to decide: `isThere` is checked after each `changed`.
 */
export async function askReason(
  title: string, prompt: string, changed: vscode.Event<unknown>, isThere: () => boolean,
): Promise<string | undefined> {
  const ended = new vscode.CancellationTokenSource();
  const watching = changed(() => {
    if (!isThere()) ended.cancel();
  });
  try {
    return await vscode.window.showInputBox({ title, prompt, ignoreFocusOut: true, placeHolder: 'Why, for the agent (may be left empty)' }, ended.token);
  } finally {
    watching.dispose();
    ended.dispose();
  }
}
