/** Agents' turns with their titles, and undoing one of them with all later ones, after a preview. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { RewindDetails, RewindParams, ToolResult, Turn, UiExtra } from '../protocol';
import { applied, fragments, fragmentsOfCells, normalised } from '../review/hunks';
import { type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { AS_TEXT, clock, inOneLine } from '../ui/labels';
import { saysIfLate } from '../ui/late';
import { keepingPlaces } from './cursor';
import { isPage } from './diffs';
import type { UnkeptList } from './list';
import { counted } from './targets';

const SHOWN_TURNS = 200; // a person reads no longer list

/** What the page in front shows, and *Undo All* in its title does. */
interface Preview {
  title: string;
  target: Pick<RewindParams, 'since_turn' | 'all_since_turn' | 'undecided'>;
  plan: string | null | undefined;
}

export class Turns implements vscode.Disposable {
  #shown: Preview | undefined;
  readonly #listening: vscode.Disposable;

  constructor(readonly daemon: Daemon, readonly list: UnkeptList, readonly panes: DiffPanes, readonly didUndo: (rewindId: string | null | undefined, what: string) => void) {
    this.#listening = vscode.window.tabGroups.onDidChangeTabs(() => this.#tellContext());
  }

  /** Whether the page in front is the preview of an undo. Its title has the button for that undo. */
  get isPreviewInFront(): boolean {
    return this.#isPage(vscode.window.tabGroups.activeTabGroup.activeTab);
  }

  #isPage(tab: vscode.Tab | undefined): boolean {
    return tab !== undefined && this.#shown !== undefined && isPage(tab, this.#shown.title);
  }

  #tellContext(): void {
    void vscode.commands.executeCommand('setContext', 'fileops.isUndoPreview', this.isPreviewInFront);
  }

  async pick(): Promise<void> {
    if (!this.list.isOn) return void vscode.window.showInformationMessage('Fileops: turns are recorded by the shared daemon only.');
    const { turns } = await this.daemon.request('fileops/turns', { limit: SHOWN_TURNS });
    const open = turns.filter(({ n_entries, n_undone }) => n_entries > n_undone);
    const items = open.map(turn => ({
      label: turn.title ? inOneLine(turn.title) : titleOf(turn), description: `${inOneLine(turn.label)} · ${clock(turn.began)}`, turn,
      detail: `${counted(turn.n_entries - turn.n_undone - (turn.n_renames ?? 0), 'edit')} in ${counted(turn.n_files - (turn.n_renames ?? 0), 'file')}`,
    }));
    if (items.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has changed a file in a turn.');
    const chosen = await vscode.window.showQuickPick(items, { title: 'Undo a Turn', placeHolder: 'It is shown first, with the later turns of its agent', matchOnDescription: true });
    if (!chosen) return;
    const { turn } = chosen;
    const others = open.filter(({ session_id, began }) => session_id !== turn.session_id && began >= turn.began);
    const isOfAll = others.length === 0 ? false : await this.#whose(turn, others);
    if (isOfAll !== undefined) await this.preview(turn, isOfAll);
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

  /**
   * What is neither kept nor committed, with its preview; if there is more, the person says whether to include it.
   * Undefined if they have not chosen.
   */
  async #scoped(turns: Preview['target']): Promise<{ target: Preview['target']; preview: ToolResult<RewindDetails> } | undefined> {
    const target = { ...turns, undecided: true };
    const preview = await this.#answered({ ...target, dry_run: true }, 'the preview');
    const { n_decided = 0, n_decided_files = 0, files = [] } = preview.details;
    if (n_decided === 0) return { target, preview: this.#told(preview) };
    const rest = `${counted(n_decided, 'edit')} in ${counted(n_decided_files, 'file')}`;
    const choices = [
      ...(files.length > 0 ? [{ label: 'Only what is not kept', detail: `${rest}, kept, committed or overwritten, stay`, isAll: false }] : []),
      { label: 'Also what is kept or committed', detail: rest, isAll: true },
    ];
    const chosen = await vscode.window.showQuickPick(choices, { title: 'How Much of It' });
    if (!chosen) return undefined;
    return chosen.isAll ? { target: turns, preview: await this.#rewind({ ...turns, dry_run: true }, 'the preview') } : { target, preview };
  }

  /** Shows on one page what would be undone. *Undo All* in its title does it, if the result would still be the same. */
  async preview(turn: Turn, isOfAll = false): Promise<void> {
    const turns = isOfAll ? { all_since_turn: turn.turn_id } : { since_turn: turn.turn_id };
    const found = await this.#scoped(turns);
    if (!found) return;
    const { target, preview } = found;
    if (preview.status === 'error') return;
    const { files = [], conflicts = [], plan } = preview.details;
    if (files.length === 0) return void vscode.window.showInformationMessage('Fileops: nothing of that turn can be undone any more.');
    const left = conflicts.length > 0 ? `, ${counted(conflicts.length, 'place')} left` : '';
    const title = `Undo ${titleOf(turn)}${left}`;
    const sides = new Map(await Promise.all(files.map(async ({ file_path, ui_extra }) => [file_path, await sidesOf(file_path, ui_extra)] as const)));
    const oldNames = new Set(files.map(({ moved_from }) => moved_from));
    const diffs = files.filter(({ file_path }) => !oldNames.has(file_path)).map(({ file_path, moved_from, ui_extra }) => ({
      filePath: file_path,
      pane: this.panes.create({
        scheme: VIEW_SCHEME, filePath: file_path, shownPath: `${vscode.workspace.asRelativePath(file_path)}${ui_extra.cells ? AS_TEXT : ''}`, title: path.basename(file_path),
        after: sides.get(file_path)!.after, before: sides.get(moved_from ?? file_path)!.before,
      }),
    }));
    this.#shown = { title, target, plan };
    await this.panes.showTogether(title, diffs);
    this.#tellContext();
  }

  /** Undoes what the page in front shows. */
  async undoShown(): Promise<void> {
    if (!this.#shown) return;
    const { title, target, plan } = this.#shown;
    const result = await keepingPlaces(() => this.#rewind({ ...target, ...(plan ? { plan } : {}) }, 'the undo of a turn'));
    if (result.status === 'error') return;
    const { n_changes = 0, n_files = 0, rewind_id } = result.details;
    await vscode.window.tabGroups.close(vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs).filter(tab => isPage(tab, title)), true);
    this.#shown = undefined;
    this.#tellContext();
    this.list.refresh();
    this.didUndo(rewind_id, `${counted(n_changes)} in ${counted(n_files, 'file')}`);
  }

  async #answered(params: Preview['target'] & Pick<RewindParams, 'dry_run' | 'plan'>, what: string): Promise<ToolResult<RewindDetails>> {
    return await saysIfLate(this.daemon.request('fileops/rewind', { ...params, approved: true }), what) as ToolResult<RewindDetails>;
  }

  async #rewind(params: Preview['target'] & Pick<RewindParams, 'dry_run' | 'plan'>, what: string): Promise<ToolResult<RewindDetails>> {
    return this.#told(await this.#answered(params, what));
  }

  #told(result: ToolResult<RewindDetails>): ToolResult<RewindDetails> {
    if (result.status === 'error') void vscode.window.showWarningMessage(`Fileops: nothing was undone. ${result.error?.message ?? ''}`.trim());
    return result;
  }

  dispose(): void {
    this.#listening.dispose();
  }
}

/** Both sides as whole files, so that lines have their numbers; of a notebook the cells that differ; the hunks alone if the file's text does not fit them. */
async function sidesOf(filePath: string, { truncated, hunks, cells }: UiExtra): Promise<{ before: string; after: string }> {
  if (cells) return fragmentsOfCells(cells);
  const document = truncated ? undefined : await vscode.workspace.openTextDocument(vscode.Uri.file(filePath)).then(found => found, () => undefined);
  const before = normalised(document?.getText() ?? '');
  const after = applied(before, hunks);
  return after === undefined ? fragments(hunks) : { before, after };
}

const titleOf = ({ title, began, label }: Turn): string => (title ? `“${inOneLine(title)}”` : `what ${inOneLine(label)} did at ${clock(began)}`);
