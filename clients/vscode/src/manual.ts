/** Commands to try the daemon by hand, as an agent would use it: read, preview an edit, apply an edit. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from './daemon/daemon';
import type { EditDetails, EditParams, ReadDetails, ToolResult } from './protocol';
import { fragments } from './review/hunks';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from './ui/diff';

const SESSION = 'by-hand';

export class ManualCommands implements vscode.Disposable {
  readonly #disposables: vscode.Disposable[];

  constructor(readonly daemon: Daemon, readonly panes: DiffPanes) {
    const register = vscode.commands.registerCommand;
    this.#disposables = [
      register('fileops.readFile', (file?: string) => this.#read(file)),
      register('fileops.previewEdit', (...given: (string | undefined)[]) => this.#edit(true, given)),
      register('fileops.applyEdit', (...given: (string | undefined)[]) => this.#edit(false, given)),
    ];
  }

  async #read(file = currentFile()): Promise<ToolResult<ReadDetails> | undefined> {
    if (!file) return noFile();
    const result = await this.daemon.request('fileops/read', { file_path: file, session_id: SESSION });
    await this.#forget();
    if (result.status === 'error') {
      void vscode.window.showWarningMessage(`Fileops: ${result.error?.message ?? result.output}`);
      return result;
    }
    const { details } = result;
    const lines = details.total_lines == null ? '' : `, ${details.total_lines} lines`;
    const { call } = await this.daemon.request('fileops/render', { method: 'fileops/read', arguments: { file_path: file } });
    vscode.window.setStatusBarMessage(`$(check) ${call} from the ${details.source ?? 'disk'}${lines}`, 5000);
    await this.panes.showText(`${file}.txt`, result.output);
    return result;
  }

  async #edit(isPreview: boolean, [givenFile, givenOld, givenNew]: (string | undefined)[]): Promise<ToolResult<EditDetails> | undefined> {
    const file = givenFile ?? currentFile();
    if (!file) return noFile();
    const title = isPreview ? 'Preview an edit' : 'Apply an edit';
    const old = givenOld ?? selectedText() ?? await vscode.window.showInputBox({ title, prompt: 'Text to replace, exactly as it is in the file' });
    if (old === undefined) return undefined;
    const replacement = givenNew ?? await vscode.window.showInputBox({ title, prompt: `What to put in place of “${shortened(old)}”`, value: old });
    if (replacement === undefined) return undefined;

    // An agent has to read what it edits; here the user has it before their eyes.
    await this.daemon.request('fileops/read', { file_path: file, limit: 1, session_id: SESSION });
    const params: EditParams = { file_path: file, old_string: old, new_string: replacement, session_id: SESSION };
    const result = await this.daemon.request('fileops/edit', isPreview ? { ...params, dry_run: true } : params);
    await this.#forget();
    if (result.status === 'error' && result.error?.code !== 'rejected') {
      void vscode.window.showWarningMessage(`Fileops: ${result.error?.message ?? result.output}`);
    }
    if (isPreview && result.ui_extra) {
      const pane = this.panes.create({
        scheme: VIEW_SCHEME, filePath: file, ...fragments(result.ui_extra.hunks), title: `${path.basename(file)}: preview of an edit` });
      await this.panes.show(pane, { viewColumn: columnBeside() });
    }
    return result;
  }

  /** A user needs no marker of what has changed since they read it. */
  async #forget(): Promise<void> {
    await this.daemon.request('fileops/closeSession', { session_id: SESSION });
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

function currentFile(): string | undefined {
  const uri = vscode.window.activeTextEditor?.document.uri;
  return uri?.scheme === 'file' ? uri.fsPath : undefined;
}

function selectedText(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && !editor.selection.isEmpty ? editor.document.getText(editor.selection) : undefined;
}

function noFile(): undefined {
  void vscode.window.showInformationMessage('Fileops: open a file first.');
  return undefined;
}

const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text).replace(/\s+/g, ' ');
