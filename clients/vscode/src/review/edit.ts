/**
 * One proposed edit for a person to decide: the pane that shows it, what was typed into it, and the decision that its
 * text means: the changes that are left, or else the text itself. Knows nothing of the queue.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { DecideReviewParams, DecideReviewResult, RebasedDetails, Review as Question, ReviewChange } from '../protocol';
import { type DiffPane, type DiffPanes, REVIEW_SCHEME } from '../ui/diff';
import { AS_TEXT, inOneLine, ownName } from '../ui/labels';
import { compose, fragments, keptIn, normalised, parseUnified } from './hunks';
import type { ChangeSet } from './set';

export type Outcome = 'accept' | 'reject';

/** What a person decided, as the wire says it. */
export type Decision = Pick<DecideReviewParams, 'outcome' | 'text' | 'change_ids' | 'reason'>;

export type Decide = (decision: Decision) => Promise<DecideReviewResult>;

/** What a person has typed into a proposal without deciding yet, as the whole proposal. */
export interface Draft {
  filePath: string;
  revision: number;
  text: string;
}

/** The texts of an edit and its changes in them. earlier_text: what was decided for an earlier content. */
type Shown = Pick<Question, 'original_text' | 'proposed_text' | 'changes'> & { earlier_text: string | null };

const NAMES = { create: 'new file', modify: 'edit', rename: 'rename', delete: 'deletion' } as const;

export class Review {
  readonly kind = 'edit';
  /** A decision was sent: its outcome is known when the edit was written or not. */
  isDeciding = false;
  /** What the person had typed before the file changed, if it is not in the proposal. */
  earlier: string | undefined;
  /** What the proposed side showed when its pane was closed. */
  lastText: string | undefined;
  readonly pane: DiffPane;
  /** Whether the texts are available, and the changes turn one into the other. */
  readonly #isWhole: boolean;
  /** The proposed side without anything typed. */
  readonly expected: string;

  /** isOwn: whether the agent belongs to this window. set: the change set that it is part of. */
  constructor(readonly question: Question, readonly send: Decide, readonly panes: DiffPanes, readonly isOwn: boolean, readonly set?: ChangeSet) {
    const { operation } = question;
    const { original_text, proposed_text, changes, earlier_text } = this.shown;
    const isComplete = original_text !== null && proposed_text !== null;
    this.#isWhole = isComplete && normalised(compose(original_text, proposed_text, changes, () => true)) === normalised(proposed_text);
    const sides = isComplete ? { before: original_text, after: proposed_text }
      : fragments(changes.map(({ new_start, diff }) => ({ new_start, lines: parseUnified(diff)[0]?.lines ?? [] })));
    this.expected = sides.after;
    if (earlier_text != null && normalised(earlier_text) !== normalised(sides.after)) this.earlier = earlier_text;
    this.pane = panes.create({
      scheme: REVIEW_SCHEME, filePath: this.shownPath, shownPath: vscode.workspace.asRelativePath(this.shownPath), isEditable: isComplete && operation !== 'delete', ...sides,
      title: `${this.name}: ${NAMES[operation]} by ${this.agent} waits for you`,
    });
  }

  get id(): string {
    return this.question.review_id;
  }

  /** What the person sees and types into: of a notebook, its cells. */
  get shown(): Shown {
    const { by_cells, original_text, proposed_text, previous, changes } = this.question;
    return by_cells ? { ...by_cells, earlier_text: by_cells.previous_text } : { original_text, proposed_text, changes, earlier_text: previous?.text ?? null };
  }

  /** A path for what is shown: it decides the name and the colours. */
  get shownPath(): string {
    const { by_cells, file_path } = this.question;
    return by_cells ? `${file_path}${AS_TEXT}` : file_path;
  }

  get name(): string {
    return path.basename(this.question.file_path);
  }

  /** Its decision is on its way and cannot be changed; that of a file of a change set can, until the last file's. */
  get isSent(): boolean {
    return this.isDeciding && !this.set?.isOpen;
  }

  get title(): string {
    return this.question.title;
  }

  get place(): string {
    return this.question.file_path;
  }

  get rebased(): RebasedDetails | undefined {
    return this.question.rebased === null ? undefined : this.question.rebased as unknown as RebasedDetails;
  }

  /** Whose edit it is, for a person. */
  get agent(): string {
    return this.isOwn ? ownName(this.question.session.session_id) : inOneLine(this.question.session.label);
  }

  /** Whole seconds until it expires. */
  get secondsLeft(): number {
    return Math.max(Math.ceil(this.question.expires_at - Date.now() / 1000), 0);
  }

  /** The line of the proposed side at which its first change is. */
  get firstLine(): number {
    return this.#isWhole ? Math.max((this.shown.changes[0]?.new_start ?? 1) - 1, 0) : 0;
  }

  get proposed(): string {
    return this.lastText ?? this.panes.proposed(this.pane);
  }

  get wasTyped(): boolean {
    return normalised(this.proposed) !== normalised(this.expected);
  }

  /** Undefined if the person has not touched the proposal. */
  get draft(): Draft | undefined {
    const text = this.wasTyped ? this.proposed : this.earlier;
    return text === undefined ? undefined : { filePath: this.question.file_path, revision: this.question.revision, text };
  }

  /** The changes that the person has left out; none if their text differs in another way. */
  get leftOut(): readonly ReviewChange[] {
    const kept = this.#kept;
    return kept ? this.shown.changes.filter(({ id }) => !kept.includes(id)) : [];
  }

  get #kept(): string[] | undefined {
    const { original_text, proposed_text, changes } = this.shown;
    return this.#isWhole ? keptIn(this.proposed, original_text ?? '', proposed_text ?? '', changes) : undefined;
  }

  /**
   * Takes over what the person did before, to the same proposal or to that of an earlier content. A change that they
   * left out is left out again. A text for an earlier content is only offered, because it would undo what others did.
   */
  async takeOver({ revision, text }: Draft, isLeftOut: (change: ReviewChange) => boolean): Promise<void> {
    const { original_text, proposed_text, changes } = this.shown;
    const kept = changes.filter(change => !isLeftOut(change)).map(({ id }) => id);
    if (revision === this.question.revision) await this.use(text);
    else if (this.#isWhole && kept.length < changes.length) await this.use(compose(original_text ?? '', proposed_text ?? '', changes, id => kept.includes(id)));
    const isThere = [this.proposed, this.expected].some(other => normalised(other) === normalised(text));
    if (!isThere && kept.length === changes.length) this.earlier = text;
  }

  /** Replaces the proposal with a text. False if the person typed in the meantime. */
  use(text: string): Promise<boolean> {
    return this.panes.setProposed(this.pane, text);
  }

  /** The meaning of an outcome, given the text on the proposed side; undefined if there is nothing to accept. */
  decision(outcome: Outcome, reason?: string): Decision | undefined {
    if (outcome === 'reject') return { outcome: 'reject', ...(reason ? { reason } : {}) };
    const { operation } = this.question;
    const { original_text, changes } = this.shown;
    if (original_text !== null && this.wasTyped) {
      const kept = this.#kept;
      if (!kept) return { outcome: 'modify', text: this.proposed };
      const [first, ...rest] = kept;
      return first === undefined ? { outcome: 'reject' } : { outcome: 'accept', change_ids: [first, ...rest] };
    }
    const isMade = this.set !== undefined && operation !== 'modify'; // of a rename nothing else may be left
    return changes.length === 0 && !isMade ? undefined : { outcome: 'accept' };
  }
}

/** What a change changes, without where. */
export const bodyOf = ({ diff }: ReviewChange): string => diff.slice(diff.indexOf('\n') + 1);
