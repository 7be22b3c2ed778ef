/**
 * The agents of the shared daemon: their names for people, and the pick *Agents…* with what each may do, what it has
 * done, and which files it must read again. One of them can be followed.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { UnkeptList } from './changes/list';
import { counted } from './changes/targets';
import { connectHost } from './daemon/connect';
import type { Daemon } from './daemon/daemon';
import type { ApprovalMode, RecordEntry, Session } from './protocol';
import { clock, inOneLine, ownName } from './ui/labels';

const MODES: Record<ApprovalMode, { label: string; detail: string }> = {
  default: { label: 'Ask before each edit', detail: 'Every edit of this agent waits for you.' },
  auto_edit: { label: 'Ask for protected files only', detail: 'Its edits are written at once, except of protected files.' },
  yolo: { label: 'Never ask', detail: 'Every edit of this agent is written at once.' },
};

const NAMED_TURNS = 200; // whose agents are known by name

const PAUSE_AFTER_TYPING_MS = 3_000; // nothing is shown where a person is typing

export class Agents implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #followed = vscode.window.createStatusBarItem('fileops.follow', vscode.StatusBarAlignment.Left, 0);
  readonly #disposables: vscode.Disposable[];
  #sessions: readonly Session[] = [];
  /** Labels of all sessions that were ever listed: the history names sessions that have left. */
  readonly #labels = new Map<string, string>();
  #followedId: string | undefined;
  /** Earlier changes are known. Seconds since the epoch. */
  #since = 0;
  #typedAt = 0;

  /** isOwn: whether the session sends its requests through this window; it is then called what it calls itself. */
  constructor(readonly daemon: Daemon, readonly list: UnkeptList, readonly isOwn: (sessionId: string) => boolean) {
    this.#followed.name = 'Fileops: the agent that is followed';
    this.#followed.command = 'fileops.showAgents';
    this.#disposables = [
      this.#changed, this.#followed,
      daemon.on('fileops/didChangeSessions')(({ sessions }) => this.#set(sessions)),
      daemon.onDidChangeState(state => void (state === 'running' ? this.#load() : this.#set([]))),
      list.onDidLoad(filePath => this.#look(filePath)),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard) this.#typedAt = Date.now();
      }),
    ];
  }

  /** Those of this project. Attached ones come first, then those that were active last. */
  get all(): readonly Session[] {
    return this.#sessions.filter(({ in_folders }) => in_folders !== false);
  }

  /** Whether one of this project is attached. */
  get hasAgent(): boolean {
    return this.all.some(({ connected }) => connected);
  }

  /** For people: its label, or what an agent of this window calls itself; its host if it was never listed. */
  nameOf(sessionId: string): string {
    if (this.isOwn(sessionId) || this.daemon.sharing.kind === 'private') return ownName(sessionId);
    return inOneLine(this.#labels.get(sessionId) ?? hostOf(sessionId));
  }

  authorOf(by: RecordEntry['by']): string {
    if (by.kind === 'person') return 'You';
    if (by.kind === 'session' && this.isOwn(by.session_id)) return this.nameOf(by.session_id);
    return inOneLine('label' in by && by.label ? by.label : 'unsure');
  }

  async #load(): Promise<void> {
    if (!this.daemon.can('fileops/sessions')) return;
    try {
      this.#set((await this.daemon.request('fileops/sessions', {})).sessions);
      if (!this.daemon.can('fileops/turns')) return;
      const { turns } = await this.daemon.request('fileops/turns', { limit: NAMED_TURNS }); // of agents that have left, too
      for (const { session_id, label } of turns) if (!this.#labels.has(session_id)) this.#labels.set(session_id, label);
    } catch (error) {
      this.daemon.log.warn(`The list of agents could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
    }
  }

  #set(sessions: readonly Session[]): void {
    for (const session of sessions) this.#labels.set(session.session_id, session.label);
    this.#sessions = [...sessions].sort((a, b) => Number(b.connected) - Number(a.connected) || b.last_seen - a.last_seen);
    this.#changed.fire();
    this.#look(undefined); // a change may arrive before the name of its session
  }

  /** history: shows what one of them did. */
  async pick(history: (sessionId: string) => Promise<void>): Promise<void> {
    const { sharing } = this.daemon;
    if (sharing.kind === 'private') return void vscode.window.showInformationMessage(`Fileops: this window has a private daemon, without agents of other programs. ${sharing.reason ?? ''}`.trim());
    const present = await Promise.all(this.all.map(async session => ({
      ...this.#itemOf(session), detail: await this.#staleOf(session), act: () => this.#pickFor(session, history),
    })));
    const items = [...present, ...await this.#earlier(history)];
    const connect = { label: '$(add) Connect an Agent…', description: '', act: () => connectHost(this.daemon) };
    if (items.length === 0) return connect.act();
    const chosen = await vscode.window.showQuickPick([...items, ...(this.hasAgent ? [] : [connect])], { title: 'Agents', placeHolder: 'Choose one to ask, follow or look at', matchOnDescription: true });
    await chosen?.act();
  }

  /** Agents with turns in the folders of this window that the daemon has forgotten: they left some time ago. */
  async #earlier(history: (sessionId: string) => Promise<void>): Promise<{ label: string; description: string; act: () => Promise<void> }[]> {
    if (!this.daemon.can('fileops/turns')) return [];
    const roots = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    const turns = (await Promise.all(roots.map(root => this.daemon.request('fileops/turns', { root, limit: NAMED_TURNS })))).flatMap(answer => answer.turns);
    const listed = new Set(this.#sessions.map(({ full_name }) => full_name));
    const last = new Map(turns.sort((a, b) => a.began - b.began).filter(({ session_id }) => !listed.has(session_id)).map(turn => [turn.session_id, turn]));
    return [...last.values()].sort((a, b) => b.began - a.began).map(({ session_id, label, began }) => ({
      label: `$(debug-disconnect) ${inOneLine(label)}`, description: `left · ${clock(began)}`, act: () => history(session_id),
    }));
  }

  #itemOf({ session_id, host, connected, approval_mode, n_reads, n_edits, last_seen }: Session): { label: string; description: string } {
    const name = this.nameOf(session_id);
    const facts = [
      ...(isNamedAfter(name, host) ? [] : [host]), ...(connected ? [] : ['left']), MODES[approval_mode].label.toLowerCase(),
      counted(n_reads, 'read'), counted(n_edits, 'edit'), clock(last_seen),
    ];
    return { label: `$(${connected ? 'plug' : 'debug-disconnect'}) ${name}`, description: facts.join(' · ') };
  }

  /** Files that it must read again before it can edit them; empty for an agent that has left. */
  async #staleOf({ session_id, connected }: Session): Promise<string> {
    if (!connected) return '';
    const { files } = await this.daemon.request('fileops/sessionFiles', { session_id });
    const names = files.filter(({ state }) => state === 'stale').map(({ file_path }) => path.basename(file_path));
    return names.length > 0 ? `Has to read again: ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}` : '';
  }

  async #pickFor(session: Session, history: (sessionId: string) => Promise<void>): Promise<void> {
    const { session_id, approval_mode, connected } = session;
    const isFollowed = this.#followedId === session_id;
    const acts = [
      ...(connected || isFollowed ? [{ label: isFollowed ? '$(eye-closed) Stop following' : '$(eye) Follow', detail: 'Shows each file that it changes, at the change', act: () => this.follow(isFollowed ? undefined : session_id) }] : []),
      { label: '$(history) History…', detail: 'What it did', act: () => history(session_id) },
      ...(connected ? Object.entries(MODES).map(([mode, { label, detail }]) => ({
        label: `$(shield) ${label}`, description: mode === approval_mode ? 'now' : '', detail,
        act: async () => { await this.daemon.request('fileops/setApprovalMode', { session_id, mode: mode as ApprovalMode }); },
      })) : []),
    ];
    const chosen = await vscode.window.showQuickPick(acts, { title: this.nameOf(session_id) });
    await chosen?.act();
  }

  /** Shows the files that it changes as they change; undefined ends that. */
  follow(sessionId: string | undefined): void {
    this.#followedId = sessionId;
    this.#since = Date.now() / 1000;
    if (sessionId === undefined) return this.#followed.hide();
    this.#followed.text = `$(eye) following ${this.nameOf(sessionId)}`;
    this.#followed.tooltip = 'Each file that this agent changes is shown. Click to stop.';
    this.#followed.show();
  }

  #look(filePath: string | undefined): void {
    if (this.#followedId === undefined) return;
    const { full_name } = this.#sessions.find(({ session_id }) => session_id === this.#followedId) ?? {};
    const files = filePath === undefined ? this.list.all.files : [this.list.of(filePath)].filter(file => file !== undefined);
    const news = files.flatMap(({ file_path, changes }) => changes.map(change => ({ ...change, file_path })))
      .filter(({ session_id, time, kind }) => session_id === full_name && time > this.#since && kind !== 'file').sort((a, b) => a.time - b.time);
    const newest = news.at(-1);
    if (!newest || Date.now() - this.#typedAt < PAUSE_AFTER_TYPING_MS) return;
    this.#since = newest.time;
    const line = Math.max(newest.start_line - 1, 0);
    // The keyboard stays where it is; the file replaces the last one that was followed.
    vscode.window.showTextDocument(vscode.Uri.file(newest.file_path), { preserveFocus: true, preview: true, selection: new vscode.Range(line, 0, line, 0) })
      .then(undefined, (error: unknown) => this.daemon.log.warn(`Following: ${String(error)}`));
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** For comparing names: `claude-code` is Claude Code. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Whether a name says already which program it is: "Codex 2" does of what calls itself "codex-mcp-client". */
function isNamedAfter(name: string, host: string): boolean {
  const [shown, program] = [plain(name.replace(/ \d+$/, '')), plain(host)];
  return shown.includes(program) || (shown !== '' && program.includes(shown));
}

/** Of a full name: `HOST:ID` or `HOST-N`, and `/SESSION_ID` after it (R-HUB-2 in docs/PROTOCOL.md). */
const hostOf = (sessionId: string): string => /^(.+?)(?:-\d+)?(?:[:/]|$)/.exec(sessionId)?.[1] ?? 'an agent';
