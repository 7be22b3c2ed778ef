/**
 * Which waiting review has the keyboard. Owns the context key `fileops.inReview`, which enables keybindings and title
 * buttons.
 *
 * The editor's own `resourceScheme` cannot do that: in a `when` clause, VS Code takes the `file` in our scheme's name
 * for a remote's. Keys that decide do nothing else, because this may be late.
 */
import * as vscode from 'vscode';
import type { Waiting } from './queue';

export class ReviewFocus implements vscode.Disposable {
  readonly #disposables: vscode.Disposable[];
  /** Whether the context key says that a review has the keyboard. */
  #isIn = false;
  /** About to get the keyboard: until then, the tabs do not count. */
  #next: Waiting | undefined;

  constructor(readonly waiting: readonly Waiting[]) {
    this.#disposables = [
      vscode.window.tabGroups.onDidChangeTabs(() => this.update()),
      vscode.window.tabGroups.onDidChangeTabGroups(() => this.update()),
    ];
  }

  /** The review whose pane is in front in the group with the keyboard; not one that is still being opened. */
  get current(): Waiting | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
    return this.waiting.find(review => review.pane.after.toString() === uri?.toString());
  }

  /** Runs `show`, which gives the review's pane the keyboard; the keys are there before the keyboard is. */
  async during(review: Waiting, show: () => Promise<void>): Promise<void> {
    this.#next = review;
    await this.#set(true);
    try {
      await show();
    } finally {
      if (this.#next === review) this.#next = undefined;
    }
  }

  update(): void {
    if (!this.#next) void this.#set(this.current !== undefined);
  }

  async #set(isIn: boolean): Promise<void> {
    if (isIn === this.#isIn) return;
    this.#isIn = isIn;
    await vscode.commands.executeCommand('setContext', 'fileops.inReview', isIn);
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
