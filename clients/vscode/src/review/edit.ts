/**
 * One proposed edit before a person: the pane that shows it, what was dropped or typed, and the answer that follows
 * from what stands there: the hunks that were kept, or the text itself where that does not say it. Knows nothing of
 * the queue.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type DiffPane, type DiffPanes, REVIEW_SCHEME } from '../ui/diff';
import { inOneLine, ownName } from '../ui/labels';
import { changesOf, compose, fragments, linesOf, moved, normalised, type Place } from './hunks';
import type { ConfirmEditParams, ConfirmEditResult, DidBecomeStaleParams, Hunk } from '../protocol';

export type Outcome = 'accept' | 'always' | 'reject';

export const REJECTED: ConfirmEditResult = { outcome: 'cancel' };

export class Review {
  readonly kind = 'edit';
  readonly dropped = new Set<string>();
  /** How the file changed since the agent read it. */
  staleness: DidBecomeStaleParams | undefined;
  readonly pane: DiffPane;
  /** What can be decided one by one: finer than the wire's hunks, where both texts are at hand. */
  readonly changes: readonly Hunk[];
  /** Whether single changes can be taken out of the text. */
  readonly isWhole: boolean;
  readonly #original: string;

  constructor(
    readonly id: number,
    readonly params: ConfirmEditParams,
    readonly answer: (result: ConfirmEditResult) => void,
    readonly panes: DiffPanes,
  ) {
    this.#original = params.original_text ?? '';
    const proposed = params.proposed_text;
    const isComplete = params.original_text !== null && proposed !== null;
    // Hunks with cut lines (over 2000 characters) do not add up to the proposal; then it is shown, not taken apart.
    this.isWhole = isComplete && normalised(compose(this.#original, params.hunks, () => true).text) === normalised(proposed);
    this.changes = this.isWhole ? params.hunks.flatMap(changesOf) : isComplete ? [] : params.hunks;
    const sides = isComplete ? { before: this.#original, after: proposed } : fragments(params.hunks);
    this.pane = panes.create({
      scheme: REVIEW_SCHEME, filePath: params.file_path, isEditable: isComplete, ...sides,
      title: `${path.basename(params.file_path)}: ${params.operation === 'create' ? 'new file' : 'edit'}${params.session ? ` by ${inOneLine(params.session.label)}` : ''} waits for you`,
    });
    this.#proposedText = sides.after;
  }

  readonly #proposedText: string;

  get name(): string {
    return path.basename(this.params.file_path);
  }

  get title(): string {
    return this.params.title;
  }

  get place(): string {
    return this.params.file_path;
  }

  /** Whose edit it is, for a person. */
  get agent(): string {
    return this.params.session ? inOneLine(this.params.session.label) : ownName(this.params.session_id);
  }

  /**
   * Whether it is certain that accepting will fail. With `relevant`, which agents outside of this window usually have,
   * the daemon applies the edit where no change is near it; only it can say so.
   */
  get isRefused(): boolean {
    const isRelevant = vscode.workspace.getConfiguration('fileops').get('freshness') === 'relevant';
    return this.staleness !== undefined && this.params.session === undefined && !isRelevant;
  }

  /** Nothing can be decided any more. */
  withdraw(): void {
    this.answer(REJECTED);
  }

  /** What would stand there had nobody typed. */
  get expected(): string {
    return this.isWhole ? this.#composed().text : this.#proposedText;
  }

  #composed() {
    return compose(this.#original, this.changes, change => !this.dropped.has(change.id));
  }

  get wasTyped(): boolean {
    return normalised(this.panes.proposed(this.pane)) !== normalised(this.expected);
  }

  /** Where the changes stand in the proposed side as it is now; those that were typed into are left out. */
  places(): Place[] {
    if (!this.isWhole) return fragments(this.changes).places;
    const { text, places } = this.#composed();
    return moved(places, normalised(text), normalised(this.panes.proposed(this.pane)));
  }

  /** Drops a change or puts it back. False where it cannot be told apart any more, because somebody typed. */
  toggle(change: Hunk): Promise<boolean> {
    const done = this.#settled.then(() => this.#toggle(change));
    this.#settled = done;
    return done;
  }

  /** Once the pane shows what was last toggled: until then what stands there is not what the person meant. */
  get settled(): Promise<unknown> {
    return this.#settled;
  }

  #settled: Promise<unknown> = Promise.resolve();

  async #toggle(change: Hunk): Promise<boolean> {
    if (!this.isWhole) {
      this.#flip(change);
      return true;
    }
    if (!this.wasTyped) {
      this.#flip(change);
      if (await this.panes.setProposed(this.pane, this.expected)) return true;
      this.#flip(change); // the user typed in the meantime: only the change is replaced, not their text
    }
    const place = this.places().find(p => p.hunk.id === change.id);
    if (!place) return false;
    this.#flip(change);
    const other = this.#composed();
    const there = other.places.find(p => p.hunk.id === change.id)!;
    const lines = linesOf(normalised(other.text)).slice(there.start, there.end).join('');
    const edit = new vscode.WorkspaceEdit();
    edit.replace(this.pane.after, new vscode.Range(place.start, 0, place.end, 0), lines);
    return vscode.workspace.applyEdit(edit);
  }

  #flip(change: Hunk): void {
    if (!this.dropped.delete(change.id)) this.dropped.add(change.id);
  }

  /** The wire's answer to an outcome, from what stands on the proposed side. */
  result(outcome: Outcome): ConfirmEditResult {
    if (outcome === 'reject') return REJECTED;
    const ownText: ConfirmEditResult = { outcome: 'modify', text: this.panes.proposed(this.pane) };
    if (this.params.original_text !== null && this.wasTyped) return ownText;
    const proceed = outcome === 'always' ? 'proceed_always' : 'proceed_once';
    if (this.dropped.size === 0) return { outcome: proceed };
    if (this.dropped.size === this.changes.length) return REJECTED;
    const hunks = this.params.hunks.map(hunk => {
      const parts = this.isWhole ? changesOf(hunk) : [hunk];
      return { id: hunk.id, nDropped: parts.filter(part => this.dropped.has(part.id)).length, n: parts.length };
    });
    if (hunks.some(hunk => hunk.nDropped > 0 && hunk.nDropped < hunk.n)) return ownText;
    return { outcome: proceed, hunk_ids: hunks.filter(hunk => hunk.nDropped === 0).map(hunk => hunk.id) };
  }
}
