/** The status item: whether the daemon runs, what waits, what is to keep or undo. A click opens a menu of actions. */
import * as vscode from 'vscode';
import type { Agents } from '../agents';
import type { AskSwitch } from '../ask';
import type { UnkeptActions } from '../changes/actions';
import type { ChangesHere } from '../changes/here';
import type { UnkeptList } from '../changes/list';
import { counted } from '../changes/targets';
import type { Daemon } from '../daemon/daemon';
import { INSTALL_COMMAND } from '../daemon/locate';
import type { WatcherHealthParams } from '../protocol';
import type { Reviews } from '../review/queue';
import { inMarkdown, literally, timeLeft } from './labels';

interface Item extends vscode.QuickPickItem {
  act(): unknown;
}

/** From its top, where *Agent Changes* is: VS Code scrolls to the file in front, which git may list below hundreds. */
async function showList(): Promise<void> {
  await vscode.commands.executeCommand('workbench.view.scm');
  await vscode.commands.executeCommand('list.focusFirst');
}

export class Status implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem('fileops.status', vscode.StatusBarAlignment.Left, 0);
  readonly #disposables: vscode.Disposable[];
  #health: WatcherHealthParams = { state: 'ok', reason: '' };

  constructor(
    readonly daemon: Daemon, readonly reviews: Reviews, readonly agents: Agents, readonly list: UnkeptList, readonly here: ChangesHere, readonly actions: UnkeptActions, readonly ask: AskSwitch,
  ) {
    this.#item.name = 'Agent Changes';
    this.#item.command = 'fileops.showMenu';
    this.#disposables = [
      this.#item,
      daemon.onDidChangeState(state => {
        void vscode.commands.executeCommand('setContext', 'fileops.running', state === 'running');
        if (state !== 'running') this.#health = { state: 'ok', reason: '' };
        this.#draw();
      }),
      daemon.on('fileops/watcherHealth')(health => {
        this.#health = health;
        this.#draw();
      }),
      reviews.onDidChange(() => this.#draw()),
      agents.onDidChange(() => this.#draw()),
      ask.onDidChange(() => this.#draw()),
      list.onDidChange(() => this.#draw()),
      here.onDidMove(() => this.#draw()),
    ];
    this.#draw();
    this.#item.show();
  }

  get text(): string {
    return this.#item.text;
  }

  get tooltip(): string {
    return (this.#item.tooltip as vscode.MarkdownString).value;
  }

  #draw(): void {
    const [text, sentence, color] = this.#say();
    this.#item.text = text;
    this.#item.backgroundColor = color ? new vscode.ThemeColor(`statusBarItem.${color}Background`) : undefined;
    this.#item.tooltip = new vscode.MarkdownString([sentence, ...this.#facts()].map(inMarkdown).join('\n\n'));
    this.#item.accessibilityInformation = { label: `Fileops: ${sentence}` };
  }

  #facts(): string[] {
    const { server, sharing, state, versionNote } = this.daemon;
    if (state !== 'running') return [];
    const { n_changes, n_files } = this.list.all;
    const unkept = n_changes > 0 && this.reviews.waiting.length > 0 ? [toDecide(n_changes, n_files)] : []; // else the first sentence says so
    const names = this.agents.all.filter(session => session.connected).map(session => this.agents.nameOf(session.session_id));
    const attached = sharing.kind === 'private' ? `This window has a private daemon, because the shared one could not be used: ${sharing.reason ?? ''}`
      : names.length > 0 ? `Attached: ${names.join(', ')}` : 'No agent of this project is attached: click to connect one.';
    return [
      ...unkept, ...(this.ask.label === undefined ? [] : [this.ask.label]), attached, ...(versionNote ? [versionNote] : []),
      ...(server ? [`fileops-server ${server.version ?? ''}, found by: ${server.origin}`] : []),
    ];
  }

  #say(): [text: string, sentence: string, color?: 'warning' | 'error'] {
    const { state, problem, sharing } = this.daemon;
    if (state === 'failed') return ['$(error) fileops', problem, 'error'];
    if (state === 'starting') return ['$(sync~spin) fileops', 'The daemon starts.'];
    if (state === 'stopped') return ['$(circle-slash) fileops', 'The daemon is stopped. This window attaches to the next one, which an agent or you start.'];
    const n = this.reviews.waiting.length;
    if (n > 0) {
      const left = Math.min(...this.reviews.waiting.map(review => (review.kind === 'edit' && review.secondsLeft) || Infinity));
      const agents = [...new Set(this.reviews.waiting.map(({ agent }) => agent))];
      return [`$(eye) ${agents.length === 1 ? literally(agents[0]!) : 'fileops'}: ${n} to review${timeLeft(left)}`, n === 1 ? 'One decision waits for you.' : `${n} decisions wait for you.`, 'warning'];
    }
    if (this.#health.state === 'degraded') return ['$(warning) fileops', `Changes of files may be noticed late: ${this.#health.reason}`];
    const { n_changes, n_files } = this.list.all;
    if (n_changes > 0) {
      const here = this.here.summary;
      return [`$(diff) ${here === undefined ? '' : `${literally(here)} · `}${inFiles(n_changes, n_files)}`, toDecide(n_changes, n_files)];
    }
    if (sharing.kind === 'private') return ['$(debug-disconnect) fileops: private daemon', 'Agents outside this window neither see your unsaved text nor ask you about their edits.', 'warning'];
    return ['$(check) fileops', 'The daemon runs.'];
  }

  /** What waits, and what can be done. */
  async pick(): Promise<void> {
    const run = (command: string) => () => vscode.commands.executeCommand(`fileops.${command}`);
    const separator: Item = { label: '', kind: vscode.QuickPickItemKind.Separator, act: () => undefined };
    const waiting = this.reviews.waiting.map((review): Item => ({
      label: `$(${review.kind === 'command' ? 'terminal' : 'eye'}) ${literally(review.title)}`, description: review.kind === 'command' ? review.place : literally(review.agent), act: () => this.reviews.show(review, true),
    }));
    const { lastKept } = this.actions;
    const isRunning = this.daemon.state === 'running';
    const hasChanges = waiting.length > 0 || this.list.all.n_changes > 0;
    const chosen = await vscode.window.showQuickPick<Item>([
      ...waiting, ...(waiting.length > 0 ? [separator] : []),
      ...(hasChanges ? [
        { label: '$(diff-multiple) Open All Changes', act: run('openAll') },
        { label: '$(arrow-down) Next File', act: run('nextFile') },
        { label: '$(list-tree) Show the List', description: 'Source Control', act: showList },
      ] : []),
      ...(isRunning ? [
        { label: '$(redo) Redo the Last Undo', act: run('redo') },
        { label: '$(discard) Undo the Last Keep', description: lastKept ?? '', act: () => this.actions.undoKeep() },
        separator,
        { label: '$(shield) Ask Before Each Edit', description: this.ask.label ?? '', act: run('ask') },
        { label: this.agents.hasAgent ? '$(plug) Agents…' : '$(plug) Agents… or Connect One', act: run('showAgents') },
        { label: '$(history) History…', act: run('showHistory') },
        { label: '$(debug-step-back) Undo a Turn…', act: run('restore') },
        separator,
      ] : []),
      ...(this.daemon.state === 'failed' ? [{ label: '$(copy) Copy the Install Command', description: INSTALL_COMMAND, act: () => vscode.env.clipboard.writeText(INSTALL_COMMAND) }] : []),
      { label: '$(output) Show Log', act: run('showLog') },
      { label: '$(debug-restart) Restart', act: run('restart') },
    ], { title: `Agent Changes: ${this.#say()[1]}`, placeHolder: 'What to do' });
    await chosen?.act();
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const inFiles = (nChanges: number, nFiles: number): string => `${counted(nChanges)} in ${counted(nFiles, 'file')}`;

const toDecide = (nChanges: number, nFiles: number): string => `${inFiles(nChanges, nFiles)} to keep or undo.`;
