/** At the first edit of an agent that no review preceded: once for each machine, what that means, and how to be asked. */
import * as vscode from 'vscode';
import type { UnkeptList } from './list';

const KEY = 'fileops.explainedKeeping';

export function explainOnce(list: UnkeptList, store: vscode.Memento): vscode.Disposable {
  return list.onDidChange(() => {
    const mode = vscode.workspace.getConfiguration('fileops').get('agentsApproval', 'protected');
    if (list.all.n_changes === 0 || mode !== 'protected' || store.get(KEY, false)) return;
    void store.update(KEY, true);
    void explain();
  });
}

async function explain(): Promise<void> {
  const [show, ask] = ['Show Changes', 'Ask Before Each Edit'];
  const chosen = await vscode.window.showInformationMessage(
    'Fileops: agents\u2019 edits are written at once and marked here: keep or undo them. Protected files are asked about before. '
    + 'To be asked before each edit, set fileops.agentsApproval.', show, ask);
  if (chosen === show) await vscode.commands.executeCommand('fileops.changes.focus');
  if (chosen === ask) await vscode.workspace.getConfiguration('fileops').update('agentsApproval', 'each_edit', vscode.ConfigurationTarget.Global);
}
