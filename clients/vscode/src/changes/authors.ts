/**
 * Who wrote a line that is kept or committed: a hover says it of the lines of agents, as the line that is not kept says
 * it by itself. At the cursor, VS Code's *Show or Focus Hover* shows it. The daemon is asked each time.
 */
import * as vscode from 'vscode';
import type { Agents } from '../agents';
import type { Daemon } from '../daemon/daemon';
import { moment } from '../ui/labels';
import type { ChangesHere } from './here';

export class Authors implements vscode.Disposable, vscode.HoverProvider {
  readonly #provider = vscode.languages.registerHoverProvider({ scheme: 'file' }, this);

  constructor(readonly daemon: Daemon, readonly agents: Agents, readonly here: ChangesHere, readonly log: vscode.LogOutputChannel) {}

  async provideHover({ uri }: vscode.TextDocument, { line }: vscode.Position, token: vscode.CancellationToken): Promise<vscode.Hover | undefined> {
    if (this.here.isMarked(uri, line) || !this.daemon.can('fileops/blame')) return undefined;
    try {
      const { lines } = await this.daemon.request('fileops/blame', { file_path: uri.fsPath }, token);
      const run = lines.find(({ first_line, n_lines }) => first_line <= line + 1 && line + 1 < first_line + n_lines);
      if (!run?.by || run.time === null || run.by.kind === 'person' || run.by.kind === 'outside') return undefined;
      return new vscode.Hover(new vscode.MarkdownString().appendText(`${this.agents.authorOf(run.by)}, ${moment(run.time)}`));
    } catch (error) { // the mouse was only moved: no message
      this.log.debug(`who wrote a line of ${uri.fsPath} is unknown: ${String(error)}`);
      return undefined;
    }
  }

  dispose(): void {
    this.#provider.dispose();
  }
}
