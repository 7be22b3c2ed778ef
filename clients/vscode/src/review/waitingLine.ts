/** Beside the first change of an edit that waits: whose it is, and how long the agent still waits. Not in the text. */
import * as vscode from 'vscode';
import { timeLeft } from '../ui/labels';
import type { Reviews } from './queue';

export class WaitingLine implements vscode.Disposable {
  readonly #type = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor('badge.foreground'), backgroundColor: new vscode.ThemeColor('badge.background'), margin: '0 0 0 1em' },
  });
  readonly #disposables: vscode.Disposable[];

  constructor(readonly reviews: Reviews) {
    this.#disposables = [
      this.#type,
      reviews.onDidChange(() => this.#draw()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ];
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const review = this.reviews.edits.find(({ pane }) => pane.after.toString() === document.uri.toString());
      if (!review) continue;
      const line = Math.min(review.firstLine, document.lineCount - 1);
      const contentText = ` ${review.agent}${timeLeft(review.secondsLeft || Infinity)} `;
      editor.setDecorations(this.#type, [{ range: document.lineAt(line).range, renderOptions: { after: { contentText } } }]);
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
