/** Keeps and undoes what agents changed, and takes either back. */
import * as vscode from 'vscode';
import type { RewindDetails, ToolResult } from '../protocol';
import { saysIfLate } from '../ui/late';
import { askReason } from '../ui/reason';
import { keepingPlaces } from './cursor';
import type { UnkeptList } from './list';
import { counted, type Target } from './targets';

/** What was decided, and the undo with which it can be redone. */
export interface Decided {
  change_ids: readonly string[];
  rewindId?: string | undefined;
}

/** If more files than this are affected, their number is shown first. */
const MANY_FILES = 10;
/** Changes by the person, among which their last undo is looked for. */
const RECENT = 200;

export class UnkeptActions implements vscode.Disposable {
  readonly #decided = new vscode.EventEmitter<Decided>();
  readonly onDidDecide = this.#decided.event;
  /** What *Redo the Last Undo* is about. */
  #lastUndo: string | undefined;
  #lastKeep: { keepId: string; what: string } | undefined;

  constructor(readonly list: UnkeptList) {}

  /** "3 changes in prices.py", while it can be taken back. */
  get lastKept(): string | undefined {
    return this.#lastKeep?.what;
  }

  async keep(target: Target): Promise<void> {
    const { change_ids, what, nChanges } = target;
    if (!await this.#isMeant('Keep', target)) return;
    const result = await this.#answered(what, () => this.list.daemon.request('fileops/keep', { change_ids: [...change_ids] }), `keeping ${what}`);
    if (!result) return;
    const { n_changes, keep_id } = result;
    if (keep_id) this.#lastKeep = { keepId: keep_id, what };
    this.#decided.fire({ change_ids });
    this.list.refresh();
    if (n_changes === 0 || (n_changes ?? change_ids.length) < change_ids.length) {
      const kept = n_changes === 0 ? 'nothing was kept: this' : `kept a part of ${counted(nChanges)}: the rest`;
      return void vscode.window.showWarningMessage(`Fileops: ${kept} was already undone, kept or overwritten, perhaps in another window.`);
    }
    if (change_ids.length === 1 || !keep_id) return void vscode.window.setStatusBarMessage(`$(check) Kept: ${what}`, 5000);
    const undo = 'Undo Keep';
    void vscode.window.showInformationMessage(`Fileops: kept: ${what}.`, undo).then(chosen => (chosen === undo ? this.undoKeep(keep_id) : undefined));
  }

  /** keepId: as the daemon answered it; by default the last one, also of another window. What was kept is listed again. */
  async undoKeep(keepId?: string): Promise<void> {
    this.#lastKeep = undefined;
    const result = await this.#answered('what was kept', () => this.list.daemon.request('fileops/undoKeep', keepId === undefined ? {} : { keep_id: keepId }), 'the undo of what was kept');
    this.list.refresh();
    if (result) vscode.window.setStatusBarMessage('$(discard) It is to keep or undo again', 5000);
  }

  /** As the person asked, without a review. reason: for the agents whose changes they are. */
  async undo(target: Target, reason?: string): Promise<void> {
    const { change_ids, what } = target;
    if (!await this.#isMeant('Undo', target)) return;
    const result = await this.#rewind({ change_ids: [...change_ids], ...(reason ? { reason } : {}) }, what, `the undo of ${what}`);
    const { rewind_id, conflicts } = result?.details ?? {};
    if (result?.status !== 'success' || !rewind_id) return;
    this.#decided.fire({ change_ids, rewindId: rewind_id });
    const n = conflicts?.length ?? 0;
    this.offerRedo(rewind_id, what, n > 0 ? ` In ${counted(n, 'place')} the text was changed again; it stays.` : '');
  }

  /** Entries of the record, kept or not. */
  async undoEntries(entry_ids: readonly string[], what: string): Promise<void> {
    const result = await this.#rewind({ entry_ids: [...entry_ids] }, what, `the undo of ${what}`);
    const { rewind_id, conflicts } = result?.details ?? {};
    const n = conflicts?.length ?? 0;
    if (result?.status === 'success') this.offerRedo(rewind_id, what, n > 0 ? ` In ${counted(n, 'place')} the text was changed again; it stays.` : '');
  }

  /** Says what was undone. left: what was not. */
  offerRedo(rewindId: string | null | undefined, what: string, left = ''): void {
    if (!rewindId) return;
    this.#lastUndo = rewindId;
    const redo = 'Redo';
    void vscode.window.showInformationMessage(`Fileops: undone: ${what}.${left}`, redo).then(chosen => (chosen === redo ? this.redo(rewindId) : undefined));
  }

  async undoWithReason(target: Target): Promise<void> {
    const ids = new Set(target.change_ids);
    const isThere = (): boolean => this.list.all.files.some(({ changes }) => changes.some(({ change_id }) => ids.has(change_id)));
    const reason = await askReason(`Undo ${target.what}`, 'Enter undoes it, Escape does not', this.list.onDidChange, isThere);
    if (reason !== undefined) await this.undo(target, reason);
  }

  /** rewindId: of an undo; by default the last one, also of another window. What was written since stays. */
  async redo(given?: string): Promise<void> {
    const rewindId = given ?? this.#lastUndo ?? await this.#undoneElsewhere();
    if (rewindId === undefined) return void vscode.window.setStatusBarMessage('Nothing to redo here', 5000);
    const result = await this.#rewind({ rewind_id: rewindId }, 'what was undone', 'the redo of what was undone');
    if (result?.status !== 'success') return;
    if (this.#lastUndo === rewindId) this.#lastUndo = undefined;
    vscode.window.setStatusBarMessage('$(redo) The changes are there again', 5000);
  }

  /** The person's newest undo in this project that is in force and is not itself a redo. */
  async #undoneElsewhere(): Promise<string | undefined> {
    if (!this.list.isOn) return undefined;
    const { entries } = await this.list.daemon.request('fileops/log', { by: 'person', limit: RECENT });
    for (const { rewind_id, undone_by, undoes } of entries) {
      if (rewind_id === null || undone_by !== null) continue;
      const [undone] = undoes;
      const written = undone === undefined ? undefined : (await this.list.daemon.request('fileops/entry', { entry_id: undone })).entry;
      if (!written || (written.undoes.length === 0 && written.rewind_id === null)) return rewind_id;
    }
    return undefined;
  }

  async #rewind(target: { change_ids: string[]; reason?: string } | { entry_ids: string[] } | { rewind_id: string }, what: string, act: string): Promise<ToolResult<RewindDetails> | undefined> {
    const result = await this.#answered(what, () => keepingPlaces(() => this.list.daemon.request('fileops/rewind', { ...target, approved: true })), act) as ToolResult<RewindDetails> | undefined;
    if (result?.status === 'error') void vscode.window.showWarningMessage(`Fileops: nothing was undone. ${result.error?.message ?? ''}`.trim());
    this.list.refresh();
    return result;
  }

  /** Asks before deciding on more than one screen shows, with numbers and names. */
  async #isMeant(verb: 'Keep' | 'Undo', { nChanges, nFiles, agents }: Target): Promise<boolean> {
    if (nFiles <= MANY_FILES && agents.length <= 1) return true;
    const yes = `${verb} ${counted(nChanges)}`;
    const detail = verb === 'Keep' ? 'It can be taken back.' : 'What you typed since stays. It can be redone.';
    return await vscode.window.showWarningMessage(
      `${verb} ${counted(nChanges)} in ${counted(nFiles, 'file')} of ${agents.join(', ')}?`, { modal: true, detail }, yes) === yes;
  }

  /** Undefined after a message, if there was no answer: the daemon ended, or the record cannot be written. */
  async #answered<T>(what: string, ask: () => Promise<T>, act: string): Promise<T | undefined> {
    try {
      return await saysIfLate(ask(), act);
    } catch (error) {
      this.list.daemon.log.error(String(error));
      const why = error instanceof Error ? error.message : '';
      void vscode.window.showWarningMessage(`Fileops: there was no answer about ${what}. The list of agent changes shows what is still to keep or undo. ${why}`.trim());
      return undefined;
    }
  }

  dispose(): void {
    this.#decided.dispose();
  }
}
