/** That an edit was applied to a file which others had changed since the agent read it: the sentence, and their changes. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { RebasedDetails } from '../protocol';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { fragments, parseUnified } from './hunks';

/** "rebased over 2 changes by Codex". Args: nameOf: the label of a session. */
export function rebasedSentence({ changed_by, n_foreign_hunks }: Pick<RebasedDetails, 'changed_by' | 'n_foreign_hunks'>, nameOf: (sessionId: string) => string): string {
  const who = changed_by === 'external' ? 'another program' : changed_by === 'buffer' ? 'you' : nameOf(changed_by.replace(/^session:/, ''));
  return `rebased over ${n_foreign_hunks} change${n_foreign_hunks === 1 ? '' : 's'} by ${who}`;
}

/** What the others changed, beside the user's editor. */
export async function showRebased(panes: DiffPanes, filePath: string, { diff }: RebasedDetails): Promise<void> {
  if (diff === null) {
    void vscode.window.showInformationMessage(`The changes of others in ${path.basename(filePath)} are too long to be shown.`);
    return;
  }
  const pane = panes.create({
    scheme: VIEW_SCHEME, filePath, ...fragments(parseUnified(diff)), title: `${path.basename(filePath)}: what others changed before`,
  });
  await panes.show(pane, { viewColumn: columnBeside() });
}
