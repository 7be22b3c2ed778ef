/** What the suites share: the extension's API and insides, a folder of files, waiting for a condition. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Review } from '../src/review/edit';
import type { Insides } from '../src/extension';

export type { Review };
const PATIENCE_MS = Number(process.env.FILEOPS_PATIENCE_MS ?? 480_000);

export async function world(): Promise<{ api: FileopsApi; insides: Insides }> {
  const extension = vscode.extensions.getExtension<FileopsApi>('fileops.fileops');
  if (!extension) throw new Error('the extension is not installed');
  const api = await extension.activate();
  const { _insides: insides } = api as unknown as { _insides: Insides };
  await until(() => api.state === 'running' || api.state === 'failed', 'the daemon runs');
  if (api.state === 'failed') throw new Error(insides.daemon.problem);
  return { api, insides };
}

/** The value of `check` once it is truthy; checked again after each turn of the loop, for a bounded time. */
export async function until<T>(check: () => T | Promise<T>, what: string): Promise<NonNullable<T>> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

export function once<T>(event: vscode.Event<T>, matches: (value: T) => boolean = () => true): Promise<T> {
  return new Promise(resolve => {
    const subscription = event(value => {
      if (!matches(value)) return;
      subscription.dispose();
      resolve(value);
    });
  });
}

const N_FOLDERS = 150;
const folders: string[] = [];

/**
 * Makes folders in the workspace and waits until VS Code watches them. It does not notice what happens in a new folder
 * until then, and would not reload a file that is changed there, however long one waits.
 */
export async function makeFolders(): Promise<void> {
  const workspace = vscode.workspace.workspaceFolders![0]!.uri.fsPath;
  for (let n = 1; n <= N_FOLDERS; n++) {
    const folder = path.join(workspace, `t${n}`);
    fs.mkdirSync(folder);
    folders.push(folder);
  }
  const last = path.join(folders.pop()!, 'probe');
  const watcher = vscode.workspace.createFileSystemWatcher(`**/${path.basename(path.dirname(last))}/probe`);
  let isSeen = false;
  watcher.onDidCreate(() => (isSeen = true));
  await until(async () => {
    if (isSeen) return true;
    fs.rmSync(last, { force: true });
    await new Promise(resolve => setTimeout(resolve, 200)); // VS Code takes a removal and a creation in a row for a change
    fs.writeFileSync(last, '');
    await new Promise(resolve => setTimeout(resolve, 300));
    return isSeen;
  }, 'VS Code watches the folders');
  watcher.dispose();
}

/** A new file inside the workspace, where edits are allowed, in its own folder. */
export function file(content: string | Uint8Array, name = 'demo.py'): string {
  const folder = folders.shift();
  if (!folder) throw new Error(`more than ${N_FOLDERS} files are needed: raise N_FOLDERS`);
  const made = path.join(folder, name);
  fs.writeFileSync(made, content);
  return made;
}

export const disk = (path: string): string => fs.readFileSync(path, 'utf8');

export async function open(path: string): Promise<vscode.TextEditor> {
  return vscode.window.showTextDocument(vscode.Uri.file(path), { viewColumn: vscode.ViewColumn.One, preview: false });
}

/** As a person who types. VS Code refuses a change while the text is being loaded, or where another change was faster. */
export async function typeInto(editor: vscode.TextEditor, change: (edit: vscode.TextEditorEdit) => void): Promise<void> {
  const current = (): vscode.TextEditor | undefined => vscode.window.visibleTextEditors.find(({ document }) => document === editor.document);
  await until(async () => current()?.edit(change), 'it is typed');
}

export async function closeAll(): Promise<void> {
  for (const document of vscode.workspace.textDocuments) if (document.isDirty) await document.save();
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

export function shownDiffs(): vscode.TabInputTextDiff[] {
  return vscode.window.tabGroups.all.flatMap(group => group.tabs).map(tab => tab.input)
    .filter((input): input is vscode.TabInputTextDiff => input instanceof vscode.TabInputTextDiff);
}

const initial = new Map<string, unknown>();

/** Of the person, as a workspace may not set each. undefined: what it was at first. */
export async function set(name: string, value: unknown): Promise<void> {
  const config = vscode.workspace.getConfiguration('fileops');
  if (!initial.has(name)) initial.set(name, config.inspect(name)?.globalValue);
  await config.update(name, value ?? initial.get(name), vscode.ConfigurationTarget.Global);
}

/** Closes the diffs that only show. */
export async function closeViews(): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap(group => group.tabs);
  await vscode.window.tabGroups.close(tabs.filter(({ input }) => input instanceof vscode.TabInputTextDiff && input.modified.scheme === 'fileops-view'));
}
