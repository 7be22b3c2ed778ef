/** Saves documents before an agent's own tools use their files, if the user wants that: `fileops/saveDocument`. */
import * as vscode from 'vscode';
import type { SaveDocumentParams, SaveDocumentResult } from './protocol';

export async function saveDocument({ uri, version }: SaveDocumentParams): Promise<SaveDocumentResult> {
  const key = vscode.Uri.parse(uri).toString();
  // A notebook has its file's URI, and each of its cells a document with another one.
  const document = [...vscode.workspace.textDocuments, ...vscode.workspace.notebookDocuments].find(one => one.uri.toString() === key);
  if (document?.version !== version) return { saved: false };
  const unsaved = vscode.workspace.getConfiguration('fileops', document.uri).get<'keep' | 'save'>('unsaved', 'keep');
  return { saved: unsaved === 'save' && await document.save() };
}
