/**
 * The switch *Ask Before Each Edit*: for all agents of the project, now and later, in every editor and terminal. The
 * daemon keeps it; the setting `fileops.ask` is the person's own choice, which this window submits when they change it.
 */
import * as vscode from 'vscode';
import type { Daemon } from './daemon/daemon';
import type { Ask } from './protocol';

const CHOICES: Record<Ask, { label: string; detail: string }> = {
  each_edit: { label: 'Ask before each edit', detail: 'Every edit of every agent waits for you.' },
  protected: { label: 'Ask for protected files only', detail: 'Edits are written at once and listed, except of .git, .vscode, .env, workflows and start-up files.' },
  never: { label: 'Never ask', detail: 'Every edit is written at once and listed.' },
};

const isAsk = (value: unknown): value is Ask => typeof value === 'string' && value in CHOICES;

export class AskSwitch implements vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.#changed.event;
  readonly #disposables: vscode.Disposable[];
  #ask: Ask | undefined;

  constructor(readonly daemon: Daemon) {
    this.#disposables = [
      this.#changed,
      daemon.on('fileops/didChangeAsk')(({ ask }) => this.#set(ask)),
      daemon.onDidChangeState(state => void (state === 'running' ? this.#load() : this.#set(undefined))),
      vscode.workspace.onDidChangeConfiguration(event => {
        const chosen = vscode.workspace.getConfiguration('fileops').get('ask');
        if (event.affectsConfiguration('fileops.ask') && isAsk(chosen)) void this.#hand(chosen);
      }),
    ];
  }

  /** Undefined while no daemon runs. */
  get now(): Ask | undefined {
    return this.#ask;
  }

  /** "Ask before each edit", while the daemon reports the switch. */
  get label(): string | undefined {
    return this.#ask && CHOICES[this.#ask].label;
  }

  async pick(): Promise<void> {
    const items = Object.entries(CHOICES).map(([ask, choice]) => ({ ...choice, ask: ask as Ask, description: ask === this.#ask ? 'now' : '' }));
    const chosen = await vscode.window.showQuickPick(items, {
      title: 'When Agents’ Edits Wait for You', placeHolder: 'For all agents of this project, in every editor. Shell commands are not asked about.',
    });
    if (chosen) await this.#hand(chosen.ask);
  }

  async #hand(ask: Ask): Promise<void> {
    if (ask !== this.#ask && this.daemon.can('fileops/setAsk')) this.#set((await this.daemon.request('fileops/setAsk', { ask })).ask);
  }

  async #load(): Promise<void> {
    if (!this.daemon.can('fileops/ask')) return; // a private daemon serves this window alone
    try {
      this.#set((await this.daemon.request('fileops/ask', {})).ask);
    } catch (error) {
      this.daemon.log.warn(`When edits wait could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
    }
  }

  #set(ask: Ask | undefined): void {
    if (ask === this.#ask) return;
    this.#ask = ask;
    this.#changed.fire();
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
