/** Agents' turns with their titles, and restoring the files to before one of them, after a preview. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { RewindDetails, RewindParams, ToolResult, Turn } from '../protocol';
import { fragments } from '../review/hunks';
import { type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { clock, inOneLine } from '../ui/labels';
import { saysIfLate } from '../ui/late';
import type { UnkeptList } from './list';
import { counted } from './targets';

const SHOWN_TURNS = 200; // a person reads no longer list

export class Turns {
  constructor(readonly daemon: Daemon, readonly list: UnkeptList, readonly panes: DiffPanes) {}

  async pick(): Promise<void> {
    if (!this.list.isOn) return void vscode.window.showInformationMessage('Fileops: turns are recorded by the shared daemon only.');
    const { turns } = await this.daemon.request('fileops/turns', { limit: SHOWN_TURNS });
    const open = turns.filter(({ n_entries, n_undone }) => n_entries > n_undone);
    const items = open.map(turn => ({
      label: titleOf(turn), description: `${inOneLine(turn.label)} · ${clock(turn.began)}`, turn,
      detail: `${counted(turn.n_entries - turn.n_undone)} in ${counted(turn.n_files, 'file')}`,
    }));
    if (items.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has changed a file in a turn.');
    const chosen = await vscode.window.showQuickPick(items, { title: 'Restore to Before a Turn', placeHolder: 'This turn and later ones are undone', matchOnDescription: true });
    if (!chosen) return;
    const { turn } = chosen;
    const others = open.filter(({ session_id, began }) => session_id !== turn.session_id && began >= turn.began);
    const isOfAll = others.length === 0 ? false : await this.#whose(turn, others);
    if (isOfAll !== undefined) await this.restore(turn, isOfAll);
  }

  /** Whether to include what other agents did since; undefined if the person has not chosen. */
  async #whose({ label }: Turn, others: readonly Turn[]): Promise<boolean | undefined> {
    const names = [...new Set(others.map(turn => inOneLine(turn.label)))];
    const choices = [
      { label: `Only of ${inOneLine(label)}`, detail: 'What other agents did since stays', isOfAll: false },
      { label: 'Of all agents', detail: `Also ${counted(others.length, 'turn')} of ${names.join(', ')}`, isOfAll: true },
    ];
    return (await vscode.window.showQuickPick(choices, { title: 'Whose Turns Since Then' }))?.isOfAll;
  }

  /** Shows what would be undone. Only a second yes does it, and only if the result would still be the same. */
  async restore(turn: Turn, isOfAll = false): Promise<void> {
    const target = isOfAll ? { all_since_turn: turn.turn_id } : { since_turn: turn.turn_id };
    const preview = await this.#rewind({ ...target, dry_run: true }, 'the preview');
    if (preview.status === 'error') return;
    const { files = [], conflicts = [], plan } = preview.details;
    if (files.length === 0) return void vscode.window.showInformationMessage('Fileops: nothing of that turn can be undone any more.');
    await this.panes.showTogether(`Restore to before “${titleOf(turn)}”`, files.map(({ file_path, ui_extra }) => ({
      filePath: file_path,
      pane: this.panes.create({ scheme: VIEW_SCHEME, filePath: file_path, title: path.basename(file_path), ...fragments(ui_extra.hunks) }),
    })));
    const restore = 'Restore';
    const left = conflicts.length > 0 ? ` In ${counted(conflicts.length, 'place')} the text was changed by others since; it stays.` : '';
    const chosen = await vscode.window.showInformationMessage(
      `Fileops: restore ${counted(files.length, 'file')} to before “${titleOf(turn)}” of ${isOfAll ? 'all agents' : inOneLine(turn.label)}?${left} What you wrote stays.`, restore);
    if (chosen !== restore) return;
    const result = await this.#rewind({ ...target, ...(plan ? { plan } : {}) }, `restoring ${counted(files.length, 'file')}`);
    if (result.status === 'error') return;
    vscode.window.setStatusBarMessage(`$(discard) Restored ${counted(files.length, 'file')} to before “${titleOf(turn)}”`, 5000);
    this.list.refresh();
  }

  async #rewind(params: Pick<RewindParams, 'since_turn' | 'all_since_turn' | 'dry_run' | 'plan'>, what: string): Promise<ToolResult<RewindDetails>> {
    const result = await saysIfLate(this.daemon.request('fileops/rewind', { ...params, approved: true }), what) as ToolResult<RewindDetails>;
    if (result.status === 'error') void vscode.window.showWarningMessage(`Fileops: nothing was restored. ${result.error?.message ?? ''}`.trim());
    return result;
  }
}

const titleOf = ({ title, began }: Turn): string => (title ? inOneLine(title) : `Turn of ${clock(began)}`);
