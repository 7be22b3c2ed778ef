/**
 * One proposed edit before a person: the pane that shows it, what was dropped or typed, and the decision that follows
 * from the pane's content: the changes that were kept, or the text itself where that does not say it. Knows nothing of
 * the queue.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type DiffPane, type DiffPanes, REVIEW_SCHEME } from '../ui/diff';
import { inOneLine, ownName } from '../ui/labels';
import { inOneReason } from './reasons';
import type { ChangeSet } from './set';
import { compose, fragments, linesOf, moved, normalised, parseUnified, type Place } from './hunks';
import type { DecideReviewParams, DecideReviewResult, DidBecomeStaleParams, Hunk, RebasedDetails, Review as Question, ReviewChange } from '../protocol';

export type Outcome = 'accept' | 'always' | 'reject';

/** What a person decided, as the wire says it. */
export type Decision = Pick<DecideReviewParams, 'outcome' | 'text' | 'change_ids' | 'reason'>;

export type Decide = (decision: Decision) => Promise<DecideReviewResult>;

/** What a person has done to a proposal without deciding yet. text: what they typed, as the whole proposal. */
export interface Draft {
  filePath: string;
  revision: number;
  text?: string | undefined;
  dropped: string[];
  /** Accepted one by one, while others are not decided. */
  accepted?: string[];
  /** Why changes were dropped, by their ids. */
  reasons?: Record<string, string>;
}

/** Of one change, while others are not decided. */
export type Verdict = 'accepted' | 'rejected';

/** A verdict with its reason, which only a rejection has. */
export interface Judgement {
  verdict: Verdict;
  reason?: string | undefined;
}

const NAMES = { create: 'new file', modify: 'edit', rename: 'rename', delete: 'deletion' } as const;

export class Review {
  readonly kind = 'edit';
  readonly dropped = new Set<string>();
  /** Accepted one by one: the edit waits for its other changes. */
  readonly accepted = new Set<string>();
  /** Why changes were dropped, by their ids. */
  readonly #reasons = new Map<string, string>();
  /** How the file changed since the agent read it. */
  staleness: DidBecomeStaleParams | undefined;
  /** A decision is on its way: its outcome is known when the edit was written or not. */
  isDeciding = false;
  /** What the person had typed or decided before the file changed, where it is not in the proposal. */
  earlier: string | undefined;
  /** What the proposed side showed when its pane was closed. */
  lastText: string | undefined;
  readonly pane: DiffPane;
  /** Of its file, as text: with hundreds of reviews it is compared too often to be made each time. */
  readonly uri: string;
  /** Whether single changes can be taken out of the text. */
  readonly isWhole: boolean;
  readonly #original: string;
  readonly #proposedText: string;

  /** isOwn: whether the agent is one of this window. */
  constructor(
    readonly question: Question,
    readonly send: Decide,
    readonly panes: DiffPanes,
    readonly isOwn: boolean,
    /** The change set that it is part of. */
    readonly set?: ChangeSet,
  ) {
    const { original_text, proposed_text, previous } = question;
    this.uri = vscode.Uri.file(question.file_path).toString();
    this.#original = original_text ?? '';
    const isComplete = original_text !== null && proposed_text !== null;
    this.isWhole = isComplete && normalised(compose(original_text, proposed_text, question.changes, () => true).text) === normalised(proposed_text);
    const sides = isComplete ? { before: original_text, after: proposed_text } : fragments(question.changes.map(hunkOf));
    this.#proposedText = sides.after;
    if (previous?.text != null && normalised(previous.text) !== normalised(sides.after)) this.earlier = previous.text;
    this.pane = panes.create({
      scheme: REVIEW_SCHEME, filePath: question.file_path, isEditable: isComplete && question.operation !== 'delete', ...sides,
      title: `${this.name}: ${NAMES[question.operation]}${isOwn ? '' : ` by ${this.agent}`} waits for you`,
    });
  }

  get id(): string {
    return this.question.review_id;
  }

  get name(): string {
    return path.basename(this.question.file_path);
  }

  get title(): string {
    return this.question.title;
  }

  get place(): string {
    return this.question.file_path;
  }

  /** What can be decided one by one. Without texts to put them into they are kept or dropped by their ids. */
  get changes(): readonly ReviewChange[] {
    return this.isWhole || this.question.original_text === null ? this.question.changes : [];
  }

  get rebased(): RebasedDetails | undefined {
    return this.question.rebased === null ? undefined : this.question.rebased as unknown as RebasedDetails;
  }

  /** Whose edit it is, for a person. */
  get agent(): string {
    return this.isOwn ? ownName(this.question.session.session_id) : inOneLine(this.question.session.label);
  }

  /** Nothing of the edit is left that could be accepted; only an own text, or no. */
  get isImpossible(): boolean {
    const isMade = this.set !== undefined && this.question.operation !== 'modify'; // of a rename nothing else may be left
    return this.question.changes.length === 0 && !this.wasTyped && !isMade;
  }

  /** Whole seconds until it expires, in its last minute. */
  get secondsLeft(): number | undefined {
    const left = Math.ceil(this.question.expires_at - Date.now() / 1000);
    return left <= 60 ? Math.max(left, 0) : undefined;
  }

  /** The proposed side as it would be without typing. */
  get expected(): string {
    return this.isWhole ? this.#composed().text : this.#proposedText;
  }

  #composed() {
    return compose(this.#original, this.#proposedText, this.question.changes, id => !this.dropped.has(id));
  }

  /** Whether this change was accepted or rejected on its own. */
  isDecided(id: string): boolean {
    return this.accepted.has(id) || this.dropped.has(id);
  }

  /** How a change was decided on its own; undefined if it was not. */
  judgementOf(id: string): Judgement | undefined {
    if (this.accepted.has(id)) return { verdict: 'accepted' };
    return this.dropped.has(id) ? { verdict: 'rejected', reason: this.#reasons.get(id) } : undefined;
  }

  /** Whether each change was. */
  get isDecidedInParts(): boolean {
    return this.changes.length > 0 && this.changes.every(({ id }) => this.isDecided(id));
  }

  get proposed(): string {
    return this.lastText ?? this.panes.proposed(this.pane);
  }

  get wasTyped(): boolean {
    return normalised(this.proposed) !== normalised(this.expected);
  }

  /** Undefined where the person has done nothing to the proposal. */
  get draft(): Draft | undefined {
    const text = this.wasTyped ? this.proposed : this.earlier;
    if (text === undefined && this.dropped.size === 0 && this.accepted.size === 0) return undefined;
    return { filePath: this.question.file_path, revision: this.question.revision, text, dropped: [...this.dropped], accepted: [...this.accepted], reasons: Object.fromEntries(this.#reasons) };
  }

  /**
   * Takes over what the person had done to it before: to the same proposal, or to that of an earlier content. A change
   * that they dropped stays dropped; a text of an earlier content is offered, because it would undo what others did.
   * judgementOf: what was decided of a change on its own.
   */
  async takeOver(draft: Draft, judgementOf: (change: ReviewChange) => Judgement | undefined): Promise<void> {
    for (const change of this.changes) {
      const judgement = judgementOf(change);
      if (judgement) (judgement.verdict === 'accepted' ? this.accepted : this.dropped).add(change.id);
      if (judgement?.reason) this.#reasons.set(change.id, judgement.reason);
    }
    if (draft.revision === this.question.revision && draft.text !== undefined) {
      await this.panes.setProposed(this.pane, draft.text);
    } else if (this.dropped.size > 0) {
      await this.panes.setProposed(this.pane, this.expected);
    }
    const isThere = (text: string): boolean => [this.proposed, this.#proposedText].some(other => normalised(other) === normalised(text));
    if (draft.text !== undefined && !isThere(draft.text)) this.earlier = draft.text;
  }

  /** Where the changes are in the proposed side now; those that were typed into are left out. */
  places(): Place[] {
    if (!this.isWhole) return fragments(this.changes.map(hunkOf)).places;
    const { text, places } = this.#composed();
    return moved(places, normalised(text), normalised(this.proposed));
  }

  /** Decides one change; undefined: it is open again. False if typing has made it indistinguishable. */
  async judge(id: string, verdict: Verdict | undefined, reason?: string): Promise<boolean> {
    if (this.dropped.has(id) !== (verdict === 'rejected') && !await this.toggle(id)) return false;
    if (reason) this.#reasons.set(id, reason);
    if (verdict === 'accepted') this.accepted.add(id);
    else this.accepted.delete(id);
    return true;
  }

  /** Drops a change or puts it back. False if typing has made it indistinguishable. */
  toggle(id: string): Promise<boolean> {
    const done = this.#settled.then(() => this.#toggle(id));
    this.#settled = done;
    return done;
  }

  /** Puts a text in the place of the proposal. */
  use(text: string): Promise<boolean> {
    const done = this.#settled.then(() => this.panes.setProposed(this.pane, text));
    this.#settled = done;
    return done;
  }

  /** Once the pane shows what was last toggled: until then its text is not what the user meant. */
  get settled(): Promise<unknown> {
    return this.#settled;
  }

  #settled: Promise<unknown> = Promise.resolve();

  async #toggle(id: string): Promise<boolean> {
    if (!this.isWhole) {
      this.#flip(id);
      return true;
    }
    if (!this.wasTyped) {
      this.#flip(id);
      if (await this.panes.setProposed(this.pane, this.expected)) return true;
      this.#flip(id); // the user typed in the meantime: only the change is replaced, not their text
    }
    const place = this.places().find(p => p.id === id);
    if (!place) return false;
    this.#flip(id);
    const other = this.#composed();
    const there = other.places.find(p => p.id === id)!;
    const lines = linesOf(normalised(other.text)).slice(there.start, there.end).join('');
    const edit = new vscode.WorkspaceEdit();
    edit.replace(this.pane.after, new vscode.Range(place.start, 0, place.end, 0), lines);
    return vscode.workspace.applyEdit(edit);
  }

  #flip(id: string): void {
    this.accepted.delete(id);
    this.#reasons.delete(id);
    if (!this.dropped.delete(id)) this.dropped.add(id);
  }

  /** What an outcome means, from the text on the proposed side; undefined if there is nothing to accept. */
  decision(outcome: Outcome, reasonOfAll?: string): Decision | undefined {
    const reason = inOneReason([...this.#reasons.values(), reasonOfAll]);
    const why = reason === undefined ? {} : { reason };
    if (outcome === 'reject') return { outcome: 'reject', ...why };
    if (this.question.original_text !== null && this.wasTyped) return { outcome: 'modify', text: this.proposed, ...why };
    if (this.isImpossible) return undefined;
    const proceed = outcome === 'always' ? 'accept_always' : 'accept';
    if (this.dropped.size === 0) return { outcome: proceed };
    const [first, ...rest] = this.question.changes.map(change => change.id).filter(id => !this.dropped.has(id));
    return first === undefined ? { outcome: 'reject', ...why } : { outcome: proceed, change_ids: [first, ...rest], ...why };
  }
}

/** A change with its lines, as far as the daemon sent them. */
function hunkOf({ id, diff, ...ranges }: ReviewChange): Hunk {
  return { id, ...ranges, lines: parseUnified(diff)[0]?.lines ?? [] };
}

/** What a change changes, without where. */
export const bodyOf = ({ diff }: ReviewChange): string => diff.slice(diff.indexOf('\n') + 1);
