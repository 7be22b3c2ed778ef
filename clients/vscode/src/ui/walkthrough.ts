/**
 * Ticks the steps of the walkthrough: the daemon runs, an agent is attached, the person has decided something.
 *
 * VS Code notices that the context of a step becomes true, but never one that was true when it first read the walkthrough,
 * nor which commands ran before. So the keys are false, and true for a moment when the page may have been opened, and when
 * a state is reached after that. What was reached is remembered, because the page may be opened in a later window.
 */
import * as vscode from 'vscode';
import type { Agents } from '../agents';
import type { UnkeptActions } from '../changes/actions';
import type { Daemon } from '../daemon/daemon';
import type { Reviews } from '../review/queue';

type Step = 'agent' | 'keep' | 'ask';

const REACHED = 'walkthrough'; // its key in the state

export class Walkthrough implements vscode.Disposable {
  readonly #disposables: vscode.Disposable;
  /** The steps that are ticked, beside the daemon's. */
  readonly reached: Set<Step>;
  /** Whether VS Code has read the walkthrough, because its page was opened. A tab of a page has no type. */
  #isRead = hasPage(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs));

  /** state: of all windows of the user. */
  constructor(readonly daemon: Daemon, readonly agents: Agents, actions: UnkeptActions, reviews: Reviews, readonly state: vscode.Memento) {
    this.reached = new Set(state.get<Step[]>(REACHED, []));
    this.#disposables = vscode.Disposable.from(
      vscode.window.tabGroups.onDidChangeTabs(({ opened }) => {
        if (!hasPage(opened)) return;
        this.#isRead = true;
        void this.#tick();
      }),
      daemon.onDidChangeState(() => void this.#tick()),
      agents.onDidChange(() => agents.hasAgent && this.#reach('agent')),
      actions.onDidDecide(() => this.#reach('keep')),
      reviews.onDidDecide(() => this.#reach('ask')),
    );
  }

  #reach(step: Step): void {
    if (this.reached.has(step)) return;
    this.reached.add(step);
    void this.state.update(REACHED, [...this.reached]);
    void this.#tick();
  }

  async #tick(): Promise<void> {
    if (!this.#isRead) return;
    for (const step of [...(this.daemon.state === 'running' ? ['daemon'] : []), ...this.reached]) {
      await vscode.commands.executeCommand('setContext', `fileops.walkthrough.${step}`, true);
      await vscode.commands.executeCommand('setContext', `fileops.walkthrough.${step}`, false);
    }
  }

  dispose(): void {
    this.#disposables.dispose();
  }
}

const hasPage = (tabs: readonly vscode.Tab[]): boolean => tabs.some(({ input }) => input === undefined);
