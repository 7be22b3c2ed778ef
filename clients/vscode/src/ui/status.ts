/** The status item: whether the daemon runs, what waits, what is stale; a click opens a menu of what can be done. */
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { ApprovalMode, WatcherHealthParams } from '../protocol';
import type { Review } from '../review/edit';
import type { Reviews } from '../review/queue';
import type { UnkeptMarks } from '../unkept/marks';
import { literally } from './labels';
import type { Sessions } from './sessions';
import type { StaleFiles } from './stale';

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('fileops.status', vscode.StatusBarAlignment.Left, 0);
  readonly #disposables: vscode.Disposable[];
  #health: WatcherHealthParams = { state: 'ok', reason: '' };
  /** Sessions that are asked less than the others; the way back is in the menu. */
  readonly #modes = new Map<string, ApprovalMode>();

  constructor(
    readonly daemon: Daemon, readonly reviews: Reviews, readonly stale: StaleFiles, readonly sessions: Sessions, readonly unkept: UnkeptMarks,
  ) {
    this.#item.name = 'Fileops';
    this.#item.command = 'fileops.showMenu';
    this.#disposables = [
      this.#item,
      daemon.onDidChangeState(state => {
        void vscode.commands.executeCommand('setContext', 'fileops.running', state === 'running');
        if (state !== 'running') {
          this.#health = { state: 'ok', reason: '' };
          this.#modes.clear();
        }
        this.#draw();
      }),
      daemon.on('fileops/watcherHealth')(health => {
        this.#health = health;
        this.#draw();
      }),
      daemon.on('fileops/approvalMode')(({ session_id, mode }) => {
        if (mode === 'default') this.#modes.delete(session_id);
        else this.#modes.set(session_id, mode);
      }),
      reviews.onDidChange(() => this.#draw()),
      stale.onDidChange(() => this.#draw()),
      sessions.onDidChange(() => this.#draw()),
      unkept.list.onDidChange(() => this.#draw()),
      vscode.commands.registerCommand('fileops.showMenu', () => this.#menu()),
      vscode.commands.registerCommand('fileops.askAgain', (session_id: string) =>
        daemon.request('fileops/setApprovalMode', { session_id, mode: 'default' })),
    ];
    this.#draw();
    this.#item.show();
  }

  get text(): string {
    return this.#item.text;
  }

  get sentence(): string {
    return this.#say()[1];
  }

  #draw(): void {
    const [text, sentence, color] = this.#say();
    this.#item.text = text;
    this.#item.backgroundColor = color ? new vscode.ThemeColor(`statusBarItem.${color}Background`) : undefined;
    const tooltip = new vscode.MarkdownString(undefined, true);
    tooltip.appendText(sentence);
    const server = this.daemon.server;
    if (server && this.daemon.state === 'running') tooltip.appendText(`\nfileops-server ${server.version ?? ''}, found by: ${server.origin}`);
    for (const line of this.#saySharing()) tooltip.appendText(`\n${line}`);
    for (const event of this.stale.files.slice(0, 10)) tooltip.appendText(`\n≠ ${this.stale.describe(event)}`);
    this.#item.tooltip = tooltip;
    this.#item.accessibilityInformation = { label: `Fileops: ${sentence}` };
  }

  #saySharing(): string[] {
    const { sharing, state } = this.daemon;
    if (state !== 'running') return [];
    if (sharing.kind === 'private') return sharing.reason === undefined ? [] : [`A private daemon, as the shared one could not be used: ${sharing.reason}`];
    const names = this.sessions.all.filter(session => session.connected).map(session => this.sessions.nameOf(session.session_id));
    const attached = names.length > 0 ? `Attached: ${names.join(', ')}` : 'No agent is attached.';
    return this.daemon.versionNote ? [attached, this.daemon.versionNote] : [attached];
  }

  #say(): [text: string, sentence: string, color?: 'warning' | 'error'] {
    const { state, problem } = this.daemon;
    if (state === 'failed') return ['$(error) fileops', problem, 'error'];
    if (state === 'starting') return ['$(sync~spin) fileops', 'The daemon starts.'];
    if (state === 'stopped') return ['$(circle-slash) fileops', 'The daemon is stopped.'];
    const n = this.reviews.waiting.length;
    const nStale = new Set(this.stale.files.map(f => f.file_path)).size;
    const stale = nStale > 0 ? ` · ≠ ${nStale} stale` : '';
    if (n > 0) {
      const changed = this.reviews.waiting.filter((review): review is Review => review.kind === 'edit' && review.staleness !== undefined);
      const waits = n === 1 ? 'One decision waits for you.' : `${n} decisions wait for you.`;
      const left = Math.min(...this.reviews.waiting.map(review => (review.kind === 'edit' && review.secondsLeft) || Infinity));
      const clock = Number.isFinite(left) ? ` · ${left} s left` : '';
      const sentences = waits + (changed.length > 0 ? ` Changed in the meantime: ${changed.map(review => review.name).join(', ')}.` : '');
      return [`$(eye) fileops: ${n} to review${clock}${stale}`, sentences, 'warning'];
    }
    if (this.#health.state === 'degraded') return [`$(warning) fileops${stale}`, `Changes of files may be noticed late: ${this.#health.reason}`];
    const { n_changes } = this.unkept.list.all;
    if (n_changes > 0) return [`$(diff) fileops: ${n_changes} to keep or undo${stale}`, `${this.unkept.sentence}.`];
    return [`$(check) fileops${stale}`, 'The daemon runs.'];
  }

  async #menu(): Promise<void> {
    const separator = { label: '', kind: vscode.QuickPickItemKind.Separator, command: '' };
    const reviews = this.reviews.waiting.map(review => ({
      label: `$(${review.kind === 'command' ? 'terminal' : 'eye'}) ${literally(review.title)}`, description: review.place, command: 'fileops.review.focus', argument: review,
    }));
    const stale = this.stale.files.map(event => ({
      label: `$(diff) ${this.stale.describe(event)}`, description: event.file_path, command: 'vscode.open', argument: vscode.Uri.file(event.file_path),
    }));
    const modes = [...this.#modes].map(([session_id, mode]) => ({
      label: `$(shield) Ask Again Before Edits of ${this.sessions.nameOf(session_id)}`, description: mode, command: 'fileops.askAgain', argument: session_id,
    }));
    const chosen = await vscode.window.showQuickPick<vscode.QuickPickItem & { command: string; argument?: unknown }>([
      ...reviews, ...(reviews.length > 0 ? [separator] : []),
      ...stale, ...(stale.length > 0 ? [separator] : []),
      ...modes,
      { label: '$(diff-multiple) Changes to Keep or Undo', command: 'fileops.changes.focus' },
      { label: '$(plug) Agents', command: 'fileops.sessions.focus' },
      { label: '$(history) Agent Edits', command: 'fileops.history.focus' },
      { label: '$(discard) Undo the Last Agent Edit', command: 'fileops.history.undoLast' },
      { label: '$(close) Dismiss All Marks', command: 'fileops.dismissAllMarks' },
      { label: '$(output) Show Log', command: 'fileops.showLog' },
      { label: '$(debug-restart) Restart Daemon', command: 'fileops.restart' },
    ], { title: `Fileops: ${this.#say()[1]}`, placeHolder: 'What to do' });
    if (chosen?.command) await vscode.commands.executeCommand(chosen.command, chosen.argument);
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
