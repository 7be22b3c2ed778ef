/** The turns of agents with their titles, and restoring the files to before one of them, after a preview of that. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { RewindDetails, ToolResult, Turn } from '../protocol';
import { fragments } from '../review/hunks';
import { type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { inOneLine } from '../ui/labels';
import { saysIfLate } from '../ui/late';
import { colorOf } from './colors';
import type { UnkeptList } from './list';

const SHOWN_TURNS = 200; // more is no list that a person reads

export class Turns implements vscode.Disposable {
  readonly #commands: vscode.Disposable;

  constructor(readonly daemon: Daemon, readonly list: UnkeptList, readonly panes: DiffPanes) {
    this.#commands = vscode.Disposable.from(
      vscode.commands.registerCommand('fileops.turns.restore', () => this.#choose(undefined)),
      vscode.commands.registerCommand('fileops.turns.restoreRow', ({ turn }: { turn: { turn_id: string | null } }) => this.#choose(turn.turn_id ?? '')),
    );
  }

  async #choose(turnId: string | undefined): Promise<void> {
    if (!this.list.isOn) return void vscode.window.showInformationMessage('Fileops: turns are recorded by the shared daemon only.');
    const { turns } = await this.daemon.request('fileops/turns', { limit: SHOWN_TURNS });
    const open = turns.filter(({ n_entries, n_undone }) => n_entries > n_undone);
    if (turnId !== undefined) return this.#restore(open.find(turn => turn.turn_id === turnId));
    const items = open.map(turn => ({
      label: titleOf(turn), description: `${inOneLine(turn.label)} · ${timeOf(turn.began)}`, turn,
      detail: `${turn.n_entries - turn.n_undone} changes in ${turn.n_files} ${turn.n_files === 1 ? 'file' : 'files'}`,
      iconPath: new vscode.ThemeIcon('circle-filled', new vscode.ThemeColor(colorOf(turn.session_id))),
    }));
    if (items.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has changed a file in a turn.');
    const chosen = await vscode.window.showQuickPick(items, { title: 'Restore to before a turn', placeHolder: 'This turn and all later ones of its session are undone', matchOnDescription: true });
    if (chosen) await this.#restore(chosen.turn);
  }

  /** Shows what would be undone; only a further yes does it, and only if it would still do the same. */
  async #restore(turn: Turn | undefined): Promise<void> {
    if (!turn) return;
    const preview = await this.#rewind({ since_turn: turn.turn_id, dry_run: true }, 'the preview');
    if (preview.status === 'error') return;
    const { files = [], conflicts = [], plan } = preview.details;
    if (files.length === 0) return void vscode.window.showInformationMessage('Fileops: nothing of that turn can be undone any more.');
    await this.panes.showTogether(`Restore to before “${titleOf(turn)}”`, files.map(({ file_path, ui_extra }) => ({
      filePath: file_path,
      pane: this.panes.create({ scheme: VIEW_SCHEME, filePath: file_path, title: path.basename(file_path), ...fragments(ui_extra.hunks) }),
    })));
    const restore = 'Restore';
    const left = conflicts.length > 0 ? ` In ${conflicts.length} ${conflicts.length === 1 ? 'place' : 'places'} the text was changed by others since; it stays.` : '';
    const chosen = await vscode.window.showInformationMessage(
      `Fileops: restore ${files.length} ${files.length === 1 ? 'file' : 'files'} to before “${titleOf(turn)}” of ${inOneLine(turn.label)}?${left} What you wrote stays.`, restore);
    if (chosen !== restore) return;
    const result = await this.#rewind({ since_turn: turn.turn_id, ...(plan ? { plan } : {}) }, `restoring ${files.length} ${files.length === 1 ? 'file' : 'files'}`);
    if (result.status === 'error') return;
    vscode.window.setStatusBarMessage(`$(discard) Restored ${files.length} ${files.length === 1 ? 'file' : 'files'} to before “${titleOf(turn)}”`, 5000);
    this.list.refresh();
  }

  async #rewind(params: { since_turn: string; dry_run?: boolean; plan?: string }, what: string): Promise<ToolResult<RewindDetails>> {
    const result = await saysIfLate(this.daemon.request('fileops/rewind', { ...params, approved: true }), what) as ToolResult<RewindDetails>;
    if (result.status === 'error') void vscode.window.showWarningMessage(`Fileops: nothing was restored. ${result.error?.message ?? ''}`.trim());
    return result;
  }

  dispose(): void {
    this.#commands.dispose();
  }
}

const titleOf = ({ title, began }: Turn): string => (title ? inOneLine(title) : `Turn of ${timeOf(began)}`);

const timeOf = (time: number): string => new Date(time * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
