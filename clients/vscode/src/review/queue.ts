/**
 * A view of the reviews that wait: the daemon keeps the queue and reports its changes; a command is a question that
 * waits for its answer. Each is listed here until the user decides, here or elsewhere, or the agent withdraws it.
 *
 * It is one state: each decision, end, replacement and pane changes which review is next, has the keyboard or is kept as
 * a draft, in one order (`#turn`). What needs none of that is beside it: the proposal (`edit.ts`), drafts, sets, focus
 * and words.
 */
import * as vscode from 'vscode';
import {
  type AnyReview, type ClosedReview, type ConfirmCommandParams, type ConfirmCommandResult, type DecideReviewParams,
  type DecideReviewResult, type DidChangeReviewsParams, isOfOneEdit, isOfSet, type Review as Question,
} from '../protocol';
import { columnBeside, type DiffPanes } from '../ui/diff';
import { saysIfLate } from '../ui/late';
import { askReason } from '../ui/reason';
import { CommandReview } from './command';
import { Drafts } from './drafts';
import { bodyOf, type Decision, type Outcome, Review } from './edit';
import { ReviewFocus } from './focus';
import { ChangeSet, type SetQuestion } from './set';
import { endSentence, offerEarlier, offerTyped, tellInPassing, tellResult } from './told';

export type Waiting = Review | CommandReview;

/** Where decisions are sent, and what is known of the sessions that ask. */
export interface Desk {
  decide(params: DecideReviewParams): Promise<DecideReviewResult>;
  isOwn(sessionId: string): boolean;
}

const SECOND_MS = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Reviews implements vscode.Disposable {
  readonly #waiting: Waiting[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #decided = new vscode.EventEmitter<void>();
  readonly #focus = new ReviewFocus(this.#waiting);
  readonly #drafts: Drafts;
  readonly #disposables: vscode.Disposable[];
  /** Answers this window's questions with no, by the id of their review. */
  readonly #asked = new Map<Waiting['id'], () => void>();
  #count = 0;
  #isListing = false;
  #clock: NodeJS.Timeout | undefined;
  /**
   * Panes are opened and closed one after another. A decision, an agent's next edit and a key press may come while the
   * last pane is still closing; in another order, the keyboard could end up in a pane that is about to close.
   */
  #turn: Promise<void> = Promise.resolve();

  /** The queue, or what one of its entries says, has changed. */
  readonly onDidChange = this.#changed.event;
  /** The person has accepted or rejected something. */
  readonly onDidDecide = this.#decided.event;

  /** store: of this window; keeps what was typed and not decided. */
  constructor(readonly panes: DiffPanes, readonly log: vscode.LogOutputChannel, store: vscode.Memento, readonly desk: Desk) {
    this.#drafts = new Drafts(store, () => this.edits);
    this.#disposables = [this.#changed, this.#focus, this.#drafts];
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  get edits(): Review[] {
    return this.#waiting.filter(one => one.kind === 'edit');
  }

  /** The one whose pane has the keyboard. */
  get current(): Waiting | undefined {
    return this.#focus.current;
  }

  /** Handles `fileops/didChangeReviews`. */
  update({ opened, closed }: DidChangeReviewsParams): void {
    let wasEmpty = false;
    this.#atOnce(() => {
      for (const end of closed) void this.#closed(end);
      wasEmpty = this.#waiting.length === 0;
      for (const question of opened.filter(isOfOneEdit)) this.#opened(question);
      for (const question of opened.filter(isOfSet)) this.#openedSet(question);
    });
    const [first] = this.#waiting;
    if (wasEmpty && first) void this.#offer(first);
  }

  /** Redraws what shows the queue once, not for each of hundreds. */
  #atOnce(change: () => void): void {
    this.#isListing = true;
    try {
      change();
    } finally {
      this.#isListing = false;
    }
    this.#update();
  }

  /** Everything that the daemon has for this window, after it attached. */
  listed(questions: readonly AnyReview[]): void {
    this.update({ opened: [...questions], closed: [] });
    for (const { filePath, text } of this.#drafts.takeOthers()) {
      void offerTyped(this.panes, filePath, text, '', 'it was decided elsewhere, or the daemon ended.');
    }
  }

  /** The revision of a review that is shown. */
  revisionOf(reviewId: string): number | undefined {
    return this.edits.find(review => daemonId(review) === reviewId)?.question.revision;
  }

  /** Never rejects: a command that cannot be shown is still listed, and can be decided there. */
  askCommand(params: ConfirmCommandParams, token: vscode.CancellationToken): Promise<ConfirmCommandResult> {
    return new Promise(resolve => {
      const review = new CommandReview(++this.#count, params, result => {
        cancelled.dispose();
        this.#asked.delete(review.id);
        resolve(result);
      }, this.panes);
      this.#asked.set(review.id, () => resolve({ outcome: 'cancel' }));
      const cancelled = token.onCancellationRequested(() => void this.#withdraw(review));
      this.#add(review);
    });
  }

  #add(review: Waiting): void {
    this.#waiting.push(review);
    this.log.info(`Review ${review.id} waits: ${review.title}`);
    this.#update();
    if (this.#waiting.length === 1 && !this.#isListing) void this.#offer(review);
  }

  #opened(question: Question): void {
    const old = this.edits.find(({ id }) => id === question.review_id);
    if (old && old.question.revision >= question.revision) return;
    const send = (decision: Decision): Promise<DecideReviewResult> =>
      this.desk.decide({ ...decision, review_id: question.review_id, revision: question.revision });
    const review = new Review(question, send, this.panes, this.desk.isOwn(question.session.session_id));
    if (old) void this.#replace(old, review);
    else this.#restore(review);
  }

  /** A change set: its files are shown like edits, and decided together. */
  #openedSet(question: SetQuestion): void {
    const old = this.edits.filter(({ set }) => set?.id === question.review_id);
    const before = old[0]?.set;
    if (before && before.question.revision >= question.revision) return;
    const set = new ChangeSet(question, decision =>
      this.desk.decide({ ...decision, review_id: question.review_id, revision: question.revision }));
    before?.abandon({ review_id: before.id, state: 'waiting', outcome: null, by: null, reason: 'review_changed', error: null });
    const isOwn = this.desk.isOwn(question.session.session_id);
    const parts = set.parts.map(part =>
      new Review(part, decision => set.decide(part.file_path, decision), this.panes, isOwn, set));
    for (const part of parts) {
      const same = old.find(({ id }) => id === part.id);
      if (same) void this.#replace(same, part);
      else this.#restore(part);
    }
    for (const gone of old.filter(({ id }) => !parts.some(part => part.id === id))) void this.#end(gone);
  }

  /** A review that is new here, with what was typed into it before this window was reloaded. */
  #restore(review: Review): void {
    const draft = this.#drafts.get(review.id);
    if (draft) void this.#inTurn(() => review.takeOver(draft, () => false)); // before it is shown
    this.#add(review);
  }

  /** The file changed, and the decision no longer fits: the review is open again, on the new content. */
  async #replace(old: Review, review: Review): Promise<void> {
    this.#waiting[this.#waiting.indexOf(old)] = review;
    this.log.info(`Review ${review.id}: revision ${review.question.revision}`);
    this.#update();
    await this.#inTurn(async () => {
      await this.panes.caughtUp();
      const leftOut = new Set(old.leftOut.map(bodyOf));
      if (old.draft) await review.takeOver(old.draft, change => leftOut.has(bodyOf(change)));
      this.#drafts.keep();
      const [column, hadFocus] = [this.panes.column(old.pane), this.#hasFocus(old)];
      if (column !== undefined) await this.#show(review, hadFocus, column);
      await this.panes.close(old.pane, hadFocus);
      this.#focus.update();
    });
    this.#changed.fire();
    await offerEarlier(this.panes, review);
  }

  async #closed(end: ClosedReview): Promise<void> {
    const reviews = this.edits.filter(review => daemonId(review) === end.review_id);
    const isDeciding = reviews.some(review => review.isSent);
    reviews[0]?.set?.abandon({ ...end, reason: 'already_decided', error: null });
    await Promise.all(reviews.map(review => this.#end(review)));
    // If a decision was sent, its answer reports the outcome. For a change set it is reported once, except for typed
    // texts.
    if (!isDeciding) reviews.filter((review, index) => index === 0 || review.wasTyped).forEach(review => this.#tellEnd(review, endSentence(end)));
  }

  /** Once its pane is closed: only then is it known what was typed. */
  #tellEnd(review: Waiting, sentence: string): void {
    this.log.info(`Review ${review.id}: ${sentence}`);
    if (review.kind === 'edit' && review.wasTyped) {
      void offerTyped(this.panes, review.shownPath, review.proposed, review.shown.original_text ?? '', sentence);
    } else {
      tellInPassing(review.name, sentence);
    }
  }

  /** Oldest first: an edit may need an earlier one of its file. A command never shown is shown instead of decided. */
  async accept(reviews: readonly Waiting[]): Promise<void> {
    for (const review of inSets(reviews)) {
      if (review.kind === 'command' && !this.panes.isVisible(review.pane)) await this.show(review, true);
      else await this.#decideWithItsSet(review, reviews, 'accept');
    }
  }

  /**
   * After the user was asked why; reviews that arrive meanwhile are not included. Nothing is asked about a decision that
   * is on its way: the box would close with its review, and the Enter that was meant for it would go into a text.
   */
  async reject(reviews: readonly Waiting[]): Promise<void> {
    const edits = reviews.filter((one): one is Review => one.kind === 'edit' && !one.isSent);
    const [first] = edits;
    const what = edits.length > 1 ? `${edits.length} edits that wait` : `the edit of ${first?.name ?? ''}`;
    const isThere = (): boolean => edits.some(review => this.#waiting.includes(review));
    const prompt = `Enter rejects ${edits.length > 1 ? 'them' : 'it'}, Escape does not`;
    const reason = first ? await askReason(`Reject ${what}`, prompt, this.#changed.event, isThere) : '';
    if (reason === undefined) return;
    for (const review of inSets(reviews)) await this.#decideWithItsSet(review, reviews, 'reject', reason);
  }

  /** Files of a change set are decided at once: with the last of them the set is. */
  async #decideWithItsSet(review: Waiting, among: readonly Waiting[], outcome: Outcome, reason?: string): Promise<void> {
    const set = review.kind === 'edit' ? review.set : undefined;
    const parts = set ? among.filter(one => one.kind === 'edit' && one.set === set) : [review];
    await Promise.all(parts.map(part => this.decide(part, outcome, reason)));
  }

  /** always, for a command: it is not asked about again. */
  async decide(review: Waiting, outcome: Outcome | 'always', reason?: string): Promise<void> {
    if (review.kind === 'command') {
      const result = review.result(outcome);
      this.log.info(`Review ${review.id}: ${result.outcome}`);
      review.answer(result);
      this.#decided.fire();
      return this.#end(review);
    }
    await this.panes.caughtUp();
    if (review.isSent || !this.#waiting.includes(review)) return;
    const decision = review.decision(outcome === 'reject' ? 'reject' : 'accept', reason);
    if (!decision) return tellInPassing(review.name, 'Nothing of this edit can be made any more: type what you want, or reject it.');
    this.log.info(`Review ${review.id}: ${decision.outcome}${decision.change_ids ? `, ${decision.change_ids.length} of ${review.question.changes.length} changes` : ''}`);
    if (review.isDeciding) { // of a change set whose other files are not decided yet
      review.set?.decideAnew(review.question.file_path, decision);
      return this.#changed.fire();
    }
    const { question, proposed: text, wasTyped } = review;
    const isAccepted = decision.outcome !== 'reject';
    review.isDeciding = true;
    let result: DecideReviewResult;
    try {
      const sent = saysIfLate(review.send(decision), `your decision about ${review.name}`);
      if (review.set?.isOpen) await this.#goOn(review);
      result = await sent;
    } catch (error) {
      review.isDeciding = false; // it waits again, with everything that was done to it
      this.log.error(`Review ${review.id}: ${String(error)}`);
      void vscode.window.showWarningMessage(`Fileops: your decision about ${review.name} did not arrive. ${error instanceof Error ? error.message : ''}`);
      return;
    }
    this.#decided.fire();
    const isTold = review.set?.isLast(question.file_path) ?? true;
    if (isTold) void tellResult(this.panes, { review, text, isAccepted, wasTyped }, result).catch((error: unknown) => this.log.error(String(error)));
    if (result.reason === 'reopened' || result.reason === 'review_changed') review.isDeciding = false; // shown again
    else await this.#end(review);
  }

  /** A file of a change set is decided: the next undecided file replaces it. */
  async #goOn(review: Review): Promise<void> {
    this.#changed.fire();
    const next = this.edits.find(({ set, isDeciding }) => set === review.set && !isDeciding);
    const column = this.panes.column(review.pane);
    if (next && column !== undefined) await this.#inTurn(() => this.#show(next, this.#hasFocus(review), column));
  }

  /** The daemon has ended: nothing can be decided here until it is back. What was typed is kept until then. */
  async detach(why: string): Promise<void> {
    this.#drafts.keep();
    const [first, ...others] = this.#waiting;
    if (!first) return;
    tellInPassing(others.length > 0 ? `${others.length + 1} reviews` : first.name, why);
    const ended: Promise<void>[] = [];
    this.#atOnce(() => {
      for (const review of [...this.#waiting]) ended.push(this.#end(review, true));
    });
    await Promise.all(ended);
  }

  /** The window closes. The queue continues without it; a question to this window alone is answered with no. */
  leave(): void {
    this.#drafts.keep();
    for (const refuse of this.#asked.values()) refuse();
  }

  async #withdraw(review: CommandReview): Promise<void> {
    if (!this.#waiting.includes(review)) return;
    await this.#end(review);
    this.#tellEnd(review, 'The agent took its command back.');
  }

  /** The keyboard moves from its pane to the next review, else to the editor that is then in front. */
  async #end(review: Waiting, keepsDraft = false): Promise<void> {
    const index = this.#waiting.indexOf(review);
    if (index < 0) return;
    const hadFocus = this.#hasFocus(review);
    this.#waiting.splice(index, 1);
    this.#asked.get(review.id)?.();
    this.#asked.delete(review.id);
    if (review.kind === 'edit' && !keepsDraft) this.#drafts.forget(review.id);
    this.#update();
    await this.#inTurn(async () => {
      const column = this.panes.column(review.pane);
      const next = this.#waiting[index] ?? this.#waiting[0];
      if (next && (hadFocus || !this.panes.isShown(next.pane))) {
        // The next one first: if the column were empty in between, the editor would close it and move the focus.
        if (column !== undefined) await this.#show(next, hadFocus, column);
        else void this.#offer(next);
      }
      const text = await this.panes.close(review.pane, hadFocus);
      if (review.kind === 'edit') {
        review.lastText = text;
        if (keepsDraft) this.#drafts.put(review);
      }
      this.#focus.update();
    });
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => this.log.error(String(error))); // the list still shows what waits
    return this.#turn;
  }

  async #offer(review: Waiting): Promise<void> {
    const how = vscode.workspace.getConfiguration('fileops').get<'beside' | 'active' | 'never'>('openReviews', 'beside');
    if (how === 'never') {
      const chosen = await vscode.window.showInformationMessage(`Fileops: ${review.title}`, 'Review');
      if (chosen && this.#waiting.includes(review)) await this.show(review, true);
      return;
    }
    await this.#inTurn(() => this.#show(review, false, how === 'active' ? vscode.ViewColumn.Active : columnBeside()));
  }

  show(review: Waiting, takesFocus: boolean): Promise<void> {
    return this.#inTurn(() => this.#show(review, takesFocus, columnBeside()));
  }

  async #show(review: Waiting, takesFocus: boolean, viewColumn: vscode.ViewColumn): Promise<void> {
    if (!this.#waiting.includes(review)) return; // it ended before its turn
    const show = (): Promise<void> => this.panes.show(review.pane, { takesFocus, viewColumn });
    await (takesFocus ? this.#focus.during(review, show) : show());
    this.#focus.update();
  }

  #hasFocus(review: Waiting): boolean {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    return this.#focus.current === review || [review.pane.before, review.pane.after].some(side => side?.toString() === uri);
  }

  /** Redraws each second in the last minute of a review. */
  #tick(): void {
    clearTimeout(this.#clock);
    const ends = this.edits.map(({ question }) => question.expires_at * SECOND_MS - Date.now()).filter(Number.isFinite);
    if (ends.length === 0) return;
    const isLastMinute = ends.some(left => left > 0 && left <= 60 * SECOND_MS);
    const later = Math.min(...ends.filter(left => left > 60 * SECOND_MS).map(left => left - 60 * SECOND_MS + 1));
    const pause = isLastMinute ? SECOND_MS : Math.min(later, 60 * SECOND_MS);
    if (!Number.isFinite(pause)) return;
    this.#clock = setTimeout(() => {
      this.#changed.fire();
      this.#tick();
    }, Math.min(pause, MAX_TIMER_MS));
  }

  #update(): void {
    if (this.#isListing) return;
    this.#tick();
    this.#focus.update();
    this.#changed.fire();
  }

  dispose(): void {
    clearTimeout(this.#clock);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** One review for each change set. */
const inSets = (reviews: readonly Waiting[]): Waiting[] =>
  reviews.filter((review, index) => review.kind === 'command' || !review.set || reviews.findIndex(one => one.kind === 'edit' && one.set === review.set) === index);

/** The id by which the daemon knows it: the files of a change set share one. */
const daemonId = (review: Review): string => review.set?.id ?? review.id;
