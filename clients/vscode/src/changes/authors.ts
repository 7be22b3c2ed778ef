/**
 * Who wrote a line that is kept or committed: a hover says it of the lines of agents, as the line that is not kept says
 * it by itself. At the cursor, VS Code's *Show or Focus Hover* shows it. The daemon is asked once about a text, and again
 * after a while: it does not say when a person has forgotten the record of a file.
 */
import * as vscode from 'vscode';
import type { Agents } from '../agents';
import type { Daemon } from '../daemon/daemon';
import type { BlameResult } from '../protocol';
import { moment } from '../ui/labels';
import type { ChangesHere } from './here';

export class Authors implements vscode.Disposable, vscode.HoverProvider {
  readonly #disposables: vscode.Disposable[];
  /** How long an answer is used. A test sets it. */
  usedMs = 10_000;
  /** Who wrote the text that was hovered over last. since: on the clock of `performance`. */
  #known: { document: vscode.TextDocument; version: number; since: number; answer: Promise<BlameResult> } | undefined;

  constructor(readonly daemon: Daemon, readonly agents: Agents, readonly here: ChangesHere, readonly log: vscode.LogOutputChannel) {
    const forget = (): void => (this.#known = undefined);
    this.#disposables = [
      vscode.languages.registerHoverProvider({ scheme: 'file' }, this),
      daemon.on('fileops/didChangeUnkept')(forget), // the record may have another author for the same text
      daemon.onDidChangeState(forget),
    ];
  }

  async provideHover(document: vscode.TextDocument, { line }: vscode.Position): Promise<vscode.Hover | undefined> {
    const { uri } = document;
    if (this.here.isMarked(uri, line) || !this.daemon.can('fileops/blame')) return undefined;
    try {
      const { lines } = await this.#blame(document);
      const run = lines.find(({ first_line, n_lines }) => first_line <= line + 1 && line + 1 < first_line + n_lines);
      if (!run?.by || run.time === null || run.by.kind === 'person' || run.by.kind === 'outside') return undefined;
      return new vscode.Hover(new vscode.MarkdownString().appendText(`${this.agents.authorOf(run.by)}, ${moment(run.time)}`));
    } catch (error) { // the mouse was only moved: no message
      this.log.debug(`who wrote a line of ${uri.fsPath} is unknown: ${String(error)}`);
      return undefined;
    }
  }

  /** No token: the next line that is hovered over needs the same answer. */
  #blame(document: vscode.TextDocument): Promise<BlameResult> {
    const { uri, version } = document;
    const now = performance.now();
    const last = this.#known;
    if (last?.document === document && last.version === version && now < last.since + this.usedMs) return last.answer;
    const known = this.#known = { document, version, since: now, answer: this.daemon.request('fileops/blame', { file_path: uri.fsPath }) };
    known.answer.catch(() => this.#known === known && (this.#known = undefined));
    return known.answer;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
