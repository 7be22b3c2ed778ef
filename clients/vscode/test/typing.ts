/**
 * Loaded by the extension host for tests/bench/vscode_keys.mjs, with the extension or without it: opens a text, in which
 * an agent has made changes, and lets the program type in it. Writes figures, and judges none.
 */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { until, world } from './world';

const SETTLES_MS = 1_500; // after which an extension has done what a pause of the typing causes

/** What the program answers; the answer to "turn" comes when it is this window's turn. */
const ask = async <T>(what: string, more: Record<string, string> = {}): Promise<T> =>
  await (await fetch(`${process.env.FILEOPS_PAGE}?${new URLSearchParams({ what, ...more }).toString()}`)).json() as T;

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

export async function run(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.closeSidebar');
  const filePath = path.join(vscode.workspace.workspaceFolders![0]!.uri.fsPath, 'text.txt');
  const { olds, news } = await ask<{ olds: string[]; news: string[] }>('edits');
  if (vscode.extensions.getExtension('fileops.fileops')) await changed(filePath, olds, news);
  else fs.writeFileSync(filePath, news.reduce((text, added, n) => text.replace(olds[n]!, added), fs.readFileSync(filePath, 'utf8')));
  const editor = await vscode.window.showTextDocument(vscode.Uri.file(filePath), { preview: false });
  const { document } = editor;
  await settled(document, olds.length);
  for (;;) {
    const { line, keys } = await ask<{ line: number; keys: string }>('turn');
    if (line < 0) return;
    editor.selection = new vscode.Selection(line, 0, line, 0);
    const length = document.getText().length;
    await ask('typed', { keys: 'a' }); // the first key of a pause has the work that ends it
    await until(() => document.getText().length === length + 1, 'the first letter is here');
    const busy = cpuMs();
    await ask('typed', { keys, counted: '1' });
    await until(() => document.getText().length === length + 1 + keys.length, 'all letters are here');
    const typing = cpuMs() - busy;
    await ask('paused');
    await settled(document, olds.length);
    await ask('done', { typing: String(typing / keys.length), pause: String(cpuMs() - busy - typing) });
  }
}

/** An agent makes the changes, which are marked once the file is open. */
async function changed(filePath: string, olds: readonly string[], news: readonly string[]): Promise<void> {
  const writer = (await world()).api.session('writes');
  await writer.setApprovalMode('yolo');
  await writer.read({ file_path: filePath, limit: 10 });
  const [first, ...others] = olds.map((old_string, n) => ({ old_string, new_string: news[n]! }));
  const { output, status } = await writer.multiEdit({ file_path: filePath, edits: [first!, ...others] });
  if (status !== 'success') throw new Error(output);
}

/** Until the marks are those of the text, and then for a moment. */
async function settled({ uri }: vscode.TextDocument, nChanges: number): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, SETTLES_MS));
  if (!vscode.extensions.getExtension('fileops.fileops')) return;
  const { insides: { before, list } } = await world();
  await until(() => before.at(uri).length === nChanges, 'all changes are marked');
  await list.settled;
}
