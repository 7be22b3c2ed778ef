/**
 * Ticks the steps of the walkthrough that are about a state: the daemon runs, an agent is attached.
 *
 * VS Code notices that the context of a step becomes true, but not that it already was when it first read the
 * walkthrough. So the keys are false, and true for a moment when the page may have been opened or the state is reached.
 */
import * as vscode from 'vscode';
import type { Agents } from '../agents';
import type { Daemon } from '../daemon/daemon';

export class Walkthrough implements vscode.Disposable {
  readonly #disposables: vscode.Disposable;
  #hadAgent = false;

  constructor(readonly daemon: Daemon, readonly agents: Agents) {
    this.#disposables = vscode.Disposable.from(
      vscode.window.tabGroups.onDidChangeTabs(({ opened }) => {
        if (opened.some(({ input }) => input === undefined)) void this.#tick(); // as that of the walkthrough, which has no type
      }),
      daemon.onDidChangeState(() => void this.#tick()),
      agents.onDidChange(() => {
        if (!agents.hasAgent || this.#hadAgent) return;
        this.#hadAgent = true;
        void this.#tick();
      }),
    );
  }

  async #tick(): Promise<void> {
    const reached = [
      ...(this.daemon.state === 'running' ? ['fileops.walkthrough.daemon'] : []),
      ...(this.#hadAgent ? ['fileops.walkthrough.agent'] : []),
    ];
    for (const key of reached) {
      await vscode.commands.executeCommand('setContext', key, true);
      await vscode.commands.executeCommand('setContext', key, false);
    }
  }

  dispose(): void {
    this.#disposables.dispose();
  }
}
