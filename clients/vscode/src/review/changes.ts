/** What happened to a file since the agent proposed its edit, shown beside the person's editor. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Review as Question } from '../protocol';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from '../ui/diff';

/** What the file was when the agent proposed its edit, beside what it is now. */
export async function showChanges(panes: DiffPanes, { file_path, original_text }: Pick<Question, 'file_path' | 'original_text'>): Promise<void> {
  const uri = vscode.Uri.file(file_path);
  if (original_text === null) { // over 1 MB: not at hand
    await vscode.commands.executeCommand('vscode.open', uri);
    return;
  }
  const pane = panes.create({
    scheme: VIEW_SCHEME, filePath: file_path, before: original_text, after: await currentText(uri),
    title: `${path.basename(file_path)}: what changed in the meantime`,
  });
  await panes.show(pane, { viewColumn: columnBeside() });
}

/** The text in the editor, else on the disk; nothing if the file is gone. */
async function currentText(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find(document => document.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { uri });
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return '';
    throw error;
  }
}
