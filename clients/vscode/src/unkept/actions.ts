/** Keeping and undoing what agents changed: of a change, a file, a turn, a session, or all. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { RewindDetails, ToolResult, UnkeptChange } from '../protocol';
import { inOneLine } from '../ui/labels';
import { saysIfLate } from '../ui/late';
import { askReason } from '../ui/reason';
import type { UnkeptList } from './list';

/** What a lens, a row or the cursor names: these changes and no others. what: for people. */
export interface Target {
  change_ids: readonly string[];
  what: string;
}

export type Level = 'change' | 'file' | 'turn' | 'session' | 'all';

const LEVELS: readonly Level[] = ['change', 'file', 'turn', 'session', 'all'];

export class UnkeptActions implements vscode.Disposable {
  readonly #disposables: vscode.Disposable[];
  /** What *Redo the Last Undo* is about: a rewind. */
  #lastUndo: string | undefined;

  /** atCursor: the change that the person is at. */
  constructor(readonly list: UnkeptList, readonly atCursor: () => UnkeptChange | undefined) {
    this.#disposables = LEVELS.flatMap(level => [
      vscode.commands.registerCommand(`fileops.keep.${level}`, (given?: unknown) => this.#act(level, given, target => this.keep(target))),
      vscode.commands.registerCommand(`fileops.undo.${level}`, (given?: unknown) => this.#act(level, given, target => this.undo(target))),
    ]);
    this.#disposables.push(
      vscode.commands.registerCommand('fileops.undo.because', (given?: unknown) => this.#undoBecause(given)),
      vscode.commands.registerCommand('fileops.undo.restore', (rewindId: string) => this.redo(rewindId)),
      vscode.commands.registerCommand('fileops.redo', () => this.#redoLast()),
    );
  }

  async keep({ change_ids, what }: Target): Promise<void> {
    const { n_changes } = await saysIfLate(this.list.daemon.request('fileops/keep', { change_ids: [...change_ids] }), `keeping ${what}`);
    this.list.refresh();
    const n = n_changes ?? change_ids.length; // an older daemon does not say
    if (n === change_ids.length) return void vscode.window.setStatusBarMessage(`$(check) Kept: ${what}`, 5000);
    const kept = n === 0 ? 'nothing was kept: this' : `kept ${n} of ${counted(change_ids.length)}: the rest`;
    void vscode.window.showWarningMessage(`Fileops: ${kept} was undone, kept or written over before, perhaps in another window.`);
  }

  /** As the person asked, without a review; they can redo it. reason: for the agents whose changes they are. */
  async undo({ change_ids, what }: Target, reason?: string): Promise<ToolResult<RewindDetails>> {
    const result = await this.#rewind({ change_ids: [...change_ids], ...(reason ? { reason } : {}) }, `the undo of ${what}`);
    const { rewind_id, conflicts } = result.details;
    if (result.status === 'success' && rewind_id) {
      this.#lastUndo = rewind_id;
      void this.#offerRedo(what, rewind_id, conflicts?.length ?? 0);
    }
    return result;
  }

  /** rewindId: of an undo. What was written since stays. */
  async redo(rewindId: string): Promise<void> {
    const result = await this.#answered('what was undone', () => this.#rewind({ rewind_id: rewindId }, 'the redo of what was undone'));
    if (result?.status !== 'success') return;
    if (this.#lastUndo === rewindId) this.#lastUndo = undefined;
    vscode.window.setStatusBarMessage('$(redo) The changes are there again', 5000);
  }

  async #redoLast(): Promise<void> {
    if (this.#lastUndo !== undefined) return this.redo(this.#lastUndo);
    vscode.window.setStatusBarMessage('Nothing to redo here', 5000);
  }

  async #rewind(target: { change_ids: string[]; reason?: string } | { rewind_id: string }, what: string): Promise<ToolResult<RewindDetails>> {
    const result = await saysIfLate(this.list.daemon.request('fileops/rewind', { ...target, approved: true }), what) as ToolResult<RewindDetails>;
    if (result.status === 'error') void vscode.window.showWarningMessage(`Fileops: nothing was undone. ${result.error?.message ?? ''}`.trim());
    this.list.refresh();
    return result;
  }

  async #offerRedo(what: string, rewindId: string, nConflicts: number): Promise<void> {
    const redo = 'Redo';
    const left = nConflicts > 0 ? ` In ${nConflicts} ${nConflicts === 1 ? 'place' : 'places'} the text was changed again; it stays.` : '';
    const chosen = await vscode.window.showInformationMessage(`Fileops: undone: ${what}.${left}`, redo);
    if (chosen === redo) await this.redo(rewindId);
  }

  /** given: as for the other commands, or a level by its name. Without it the person chooses how much they mean. */
  async #undoBecause(given: unknown): Promise<unknown> {
    if (isTarget(given) || isLevel(given)) return this.#act(isLevel(given) ? given : 'all', given, target => this.#askAndUndo(target));
    const choices = LEVELS.flatMap(level => {
      const target = this.#targetOf(level);
      return target && target.change_ids.length > 0 ? [{ label: target.what, level, target }] : [];
    });
    if (choices.length === 0) return this.#act('all', undefined, target => this.#askAndUndo(target)); // it says that there is nothing
    const chosen = await vscode.window.showQuickPick(choices, { title: 'Undo, because…', placeHolder: 'What to undo; then say why' });
    return chosen && this.#act(chosen.level, chosen.target, target => this.#askAndUndo(target));
  }

  async #askAndUndo(target: Target): Promise<unknown> {
    const ids = new Set(target.change_ids);
    const isThere = (): boolean => this.list.all.files.some(({ changes }) => changes.some(({ change_id }) => ids.has(change_id)));
    const reason = await askReason(`Undo ${target.what}`, 'Enter undoes it, Escape does not', this.list.onDidChange, isThere);
    return reason === undefined ? undefined : this.undo(target, reason);
  }

  async #act(level: Level, given: unknown, act: (target: Target) => Promise<unknown>): Promise<unknown> {
    const target = isTarget(given) ? given : this.#targetOf(level);
    if (target && target.change_ids.length > 0) return this.#answered(target.what, () => act(target));
    const where = level === 'change' ? 'at the cursor' : level === 'file' ? 'in this file' : '';
    return void vscode.window.setStatusBarMessage(`Nothing to keep or undo ${where}`.trimEnd(), 5000);
  }

  /** Undefined after a message, if there was no answer: the daemon ended, or the record cannot be written. */
  async #answered<T>(what: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      this.list.daemon.log.error(String(error));
      const why = error instanceof Error ? error.message : '';
      void vscode.window.showWarningMessage(`Fileops: there was no answer about ${what}. The view Changes shows what is still to keep or undo. ${why}`.trim());
      return undefined;
    }
  }

  #targetOf(level: Level): Target | undefined {
    const { all } = this.list;
    if (level === 'all') {
      return { change_ids: all.sessions.flatMap(({ change_ids }) => change_ids), what: counted(all.n_changes) };
    }
    const change = this.atCursor();
    const document = vscode.window.activeTextEditor?.document;
    if (level === 'file') {
      const file = document && this.list.of(document.uri.fsPath);
      return file && targetOfFile(file.file_path, file.changes);
    }
    if (!change) return undefined;
    if (level === 'change') return targetOfChange(change);
    const session = all.sessions.find(({ change_ids }) => change_ids.includes(change.change_id));
    if (level === 'session') return session && { change_ids: session.change_ids, what: `${counted(session.n_changes)} of ${inOneLine(session.label)}` };
    const turn = session?.turns.find(({ change_ids }) => change_ids.includes(change.change_id));
    return turn && { change_ids: turn.change_ids, what: `${counted(turn.n_changes)} of the turn “${inOneLine(turn.title ?? '')}”` };
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const isLevel = (given: unknown): given is Level => LEVELS.some(level => level === given);

function isTarget(given: unknown): given is Target {
  return typeof given === 'object' && given !== null && 'change_ids' in given && 'what' in given;
}

export const counted = (n: number): string => `${n} ${n === 1 ? 'change' : 'changes'}`;

export function targetOfChange({ change_id, label, start_line }: UnkeptChange): Target {
  return { change_ids: [change_id], what: `the change of ${inOneLine(label)} in line ${start_line}` };
}

export function targetOfFile(filePath: string, changes: readonly UnkeptChange[]): Target {
  return { change_ids: changes.map(({ change_id }) => change_id), what: `${counted(changes.length)} in ${path.basename(filePath)}` };
}
