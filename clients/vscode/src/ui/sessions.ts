/**
 * The view "Agents": the sessions of the shared daemon, with what each may do and has done. Keeps the last list that
 * the daemon sent; sets the mode of one. Where the daemon is private the view says so.
 */
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { ApprovalMode, Session } from '../protocol';
import { colorOf } from '../unkept/colors';
import { inOneLine, ownName } from './labels';

/** As the setting `fileops.agentsApproval` words them. */
const MODES: Record<ApprovalMode, { label: string; detail: string }> = {
  default: { label: 'Ask before each edit', detail: 'Every edit of this agent waits for your review.' },
  auto_edit: { label: 'Ask for protected files only', detail: 'Its edits are written at once, except of protected files.' },
  yolo: { label: 'Never ask', detail: 'Every edit of this agent is written at once.' },
};

export class Sessions implements vscode.Disposable, vscode.TreeDataProvider<Session> {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #namesChanged = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly onDidChangeNames = this.#namesChanged.event;
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view: vscode.TreeView<Session>;
  readonly #disposables: vscode.Disposable[];
  #sessions: readonly Session[] = [];
  /** Labels of all sessions that were ever listed: history names them when they have left. */
  readonly #labels = new Map<string, string>();

  /** isOwn: whether a session sends its requests through this window; such a one is called as it calls itself. */
  constructor(readonly daemon: Daemon, readonly log: vscode.LogOutputChannel, readonly isOwn: (sessionId: string) => boolean) {
    this.#view = vscode.window.createTreeView<Session>('fileops.sessions', { treeDataProvider: this });
    this.#disposables = [
      this.#view, this.#changed, this.#namesChanged,
      daemon.on('fileops/didChangeSessions')(({ sessions }) => this.#set(sessions)),
      daemon.onDidChangeState(state => void (state === 'running' ? this.#load() : this.#set([]))),
      vscode.commands.registerCommand('fileops.sessions.setMode', (session?: Session) => this.#chooseMode(session)),
    ];
  }

  /** Those who did something last come first. */
  get all(): readonly Session[] {
    return this.#sessions;
  }

  /** For people: its label, or what an agent of this window calls itself. Of one that was never listed: its host. */
  nameOf(sessionId: string): string {
    if (this.isOwn(sessionId) || this.daemon.sharing.kind === 'private') return ownName(sessionId);
    return inOneLine(this.#labels.get(sessionId) ?? hostOf(sessionId));
  }

  /** As the record names a session, which for an agent of this window is not what the window calls it. */
  fullNameOf(sessionId: string): string {
    return this.#sessions.find(session => session.session_id === sessionId)?.full_name ?? sessionId;
  }

  async #load(): Promise<void> {
    this.#tellSharing();
    if (!this.daemon.can('fileops/sessions')) return;
    try {
      this.#set((await this.daemon.request('fileops/sessions', {})).sessions);
    } catch (error) {
      this.log.warn(`The list of agents could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
    }
  }

  #set(sessions: readonly Session[]): void {
    const hasNewNames = sessions.some(session => this.#labels.get(session.session_id) !== session.label);
    for (const session of sessions) this.#labels.set(session.session_id, session.label);
    this.#sessions = [...sessions].sort((a, b) => Number(b.connected) - Number(a.connected) || b.last_seen - a.last_seen);
    this.#changed.fire();
    if (hasNewNames) this.#namesChanged.fire();
  }

  #tellSharing(): void {
    const { sharing } = this.daemon;
    if (sharing.kind === 'shared') this.#view.message = '';
    else if (sharing.reason === undefined) this.#view.message = 'This window has a private daemon (setting fileops.shared).';
    else this.#view.message = `This window has a private daemon: ${sharing.reason}`;
  }

  async #chooseMode(given?: Session): Promise<void> {
    const session = given ?? await this.#choose();
    if (!session) return;
    const chosen = await vscode.window.showQuickPick(
      Object.entries(MODES).map(([mode, { label, detail }]) =>
        ({ label, detail, mode: mode as ApprovalMode, description: mode === session.approval_mode ? 'now' : '' })),
      { title: `Fileops: when edits of ${this.nameOf(session.session_id)} wait for you` });
    if (chosen) await this.daemon.request('fileops/setApprovalMode', { session_id: session.session_id, mode: chosen.mode });
  }

  async #choose(): Promise<Session | undefined> {
    if (this.#sessions.length === 0) void vscode.window.showInformationMessage('Fileops: no agent is attached.');
    const chosen = await vscode.window.showQuickPick(
      this.#sessions.map(session => ({ label: this.nameOf(session.session_id), description: session.connected ? '' : 'left', session })),
      { title: 'Fileops: which agent' });
    return chosen?.session;
  }

  getChildren(element?: Session): Session[] {
    return element ? [] : [...this.#sessions];
  }

  getTreeItem(session: Session): vscode.TreeItem {
    const { session_id, host, connected, approval_mode, n_reads, n_edits } = session;
    const label = this.nameOf(session_id);
    const item = new vscode.TreeItem(label);
    item.id = session_id;
    const facts = [
      ...(label.includes(host) ? [] : [host]), ...(connected ? [] : ['left']), MODES[approval_mode].label.toLowerCase(),
      counted(n_reads, 'read'), counted(n_edits, 'edit'), clock(session.last_seen),
    ];
    item.description = facts.join(' · ');
    item.tooltip = new vscode.MarkdownString().appendText(
      `${label}\n${connected ? 'Attached' : 'Left; what it has read is remembered for an hour'}. ${MODES[approval_mode].detail}`);
    item.iconPath = new vscode.ThemeIcon(connected ? 'plug' : 'debug-disconnect', new vscode.ThemeColor(colorOf(this.fullNameOf(session_id))));
    item.contextValue = 'session';
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Of a full name: `HOST:ID` or `HOST-N`, and `/SESSION_ID` after it (R-HUB-2 in docs/PROTOCOL.md). */
const hostOf = (sessionId: string): string => /^(.+?)(?:-\d+)?(?:[:/]|$)/.exec(sessionId)?.[1] ?? 'an agent';

const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

function clock(timestamp: number): string {
  return new Date(timestamp * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}
