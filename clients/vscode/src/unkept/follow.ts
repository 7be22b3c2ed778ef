/** Following an agent: the file that it changes is shown at the change, unless the person has typed a moment ago. */
import * as vscode from 'vscode';
import type { UnkeptChange } from '../protocol';
import type { Sessions } from '../ui/sessions';
import type { UnkeptList } from './list';

const PAUSE_AFTER_TYPING_MS = 3_000;

export class Follow implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('fileops.follow', vscode.StatusBarAlignment.Left, 0);
  readonly #disposables: vscode.Disposable[];
  #sessionId: string | undefined;
  /** Changes until then are known. Seconds since the epoch. */
  #since = 0;
  #typedAt = 0;

  constructor(readonly list: UnkeptList, readonly sessions: Sessions) {
    this.#item.name = 'Fileops: the agent that is followed';
    this.#item.command = 'fileops.follow';
    this.#disposables = [
      this.#item,
      vscode.commands.registerCommand('fileops.follow', (session?: { session_id: string }) => this.#toggle(session?.session_id)),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard) this.#typedAt = Date.now();
      }),
      list.onDidLoad(filePath => this.#look(filePath)),
      sessions.onDidChangeNames(() => this.#look(undefined)), // a change may come before the name of its session
    ];
  }

  async #toggle(given: string | undefined): Promise<void> {
    if (this.#sessionId !== undefined && (given === undefined || given === this.#sessionId)) return this.#set(undefined);
    this.#set(given ?? await this.#choose());
  }

  async #choose(): Promise<string | undefined> {
    const connected = this.sessions.all.filter(session => session.connected);
    if (connected.length === 0) void vscode.window.showInformationMessage('Fileops: no agent is attached.');
    const chosen = await vscode.window.showQuickPick(
      connected.map(({ session_id }) => ({ label: this.sessions.nameOf(session_id), session_id })), { title: 'Fileops: follow which agent' });
    return chosen?.session_id;
  }

  #set(sessionId: string | undefined): void {
    this.#sessionId = sessionId;
    this.#since = Date.now() / 1000;
    if (sessionId === undefined) return this.#item.hide();
    this.#item.text = `$(eye) following ${this.sessions.nameOf(sessionId)}`;
    this.#item.tooltip = 'Fileops shows what this agent changes. Click to stop.';
    this.#item.show();
  }

  #look(filePath: string | undefined): void {
    const followed = this.#sessionId;
    if (followed === undefined) return;
    const recorded = this.sessions.fullNameOf(followed);
    const files = filePath === undefined ? this.list.all.files : [this.list.of(filePath)].filter(file => file !== undefined);
    const newest = files.flatMap(({ file_path, changes }) => changes.map(change => ({ ...change, file_path })))
      .filter(({ session_id, time }) => session_id === recorded && time > this.#since)
      .reduce<UnkeptChange & { file_path: string } | undefined>((best, change) => (!best || change.time > best.time ? change : best), undefined);
    if (!newest || newest.kind === 'file' || Date.now() - this.#typedAt < PAUSE_AFTER_TYPING_MS) return;
    this.#since = newest.time;
    const line = Math.max(newest.start_line - 1, 0);
    // The keyboard stays where it is; the file takes the place of the last one that was followed.
    vscode.window.showTextDocument(vscode.Uri.file(newest.file_path), { preserveFocus: true, preview: true, selection: new vscode.Range(line, 0, line, 0) })
      .then(undefined, (error: unknown) => this.list.daemon.log.warn(`Following: ${String(error)}`));
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
