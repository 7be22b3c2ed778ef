/**
 * A view of the reviews that wait: the daemon keeps the queue and reports its changes; a command, and an edit of an
 * older daemon, is a question that waits for its answer. Each is listed here until the user decides, here or elsewhere,
 * or the agent withdraws it. One is shown at a time. What they look like is `view.ts`.
 *
 * It is long because it is one state: each decision, end, replacement and pane changes which review is next, has the
 * keyboard or is kept as a draft, in one order (`#turn`). What needs none of that is beside it: the proposal (`edit.ts`),
 * the text (`inText.ts`), drafts, sets, focus and words.
 */
import * as vscode from 'vscode';
import {
  type AnyReview, type ClosedReview, type ConfirmCommandParams, type ConfirmCommandResult, type ConfirmEditParams,
  type ConfirmEditResult, type DecideReviewParams, type DecideReviewResult, type DidBecomeStaleParams,
  type DidChangeReviewsParams, isOfOneEdit, isOfSet, type Review as Question, type ReviewChange,
} from '../protocol';
import { columnBeside, type DiffPanes } from '../ui/diff';
import type { InsertedLines } from '../ui/inserted';
import { askReason } from '../ui/reason';
import { answerOf, questionOf } from './asked';
import { showChanges } from './changes';
import { CommandReview } from './command';
import { Drafts } from './drafts';
import { bodyOf, type Decide, type Judgement, type Outcome, Review, type Verdict } from './edit';
import { ReviewFocus } from './focus';
import { type Chosen, ReviewsInText } from './inText';
import { showRebased } from './rebased';
import { ChangeSet, type SetQuestion } from './set';
import { neighbour } from './spots';
import { endSentence, offerTyped, showEarlier, tellInPassing, tellResult } from './told';

export type Waiting = Review | CommandReview;

/** Where decisions go, and what is known of the sessions that ask. */
export interface Desk {
  decide(params: DecideReviewParams): Promise<DecideReviewResult>;
  /** Called when the user says "always" to a text that they wrote, which the decision itself cannot say. */
  allow(sessionId: string): Promise<void>;
  isOwn(sessionId: string): boolean;
}

/** What the keybindings pass: only the pane that has the keyboard is meant, never another review that waits. */
const PANE_IN_USE = 'pane';

const SECOND_MS = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export class Reviews implements vscode.Disposable {
  readonly #waiting: Waiting[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #becameStale = new vscode.EventEmitter<Review>();
  readonly #accepted = new vscode.EventEmitter<Review>();
  readonly #focus = new ReviewFocus(this.#waiting);
  readonly #drafts: Drafts;
  readonly inText: ReviewsInText;
  readonly #disposables: vscode.Disposable[];
  /** Answers the questions of this window, by the id of their review. */
  readonly #asked = new Map<Waiting['id'], () => void>();
  #count = 0;
  #isListing = false;
  #clock: NodeJS.Timeout | undefined;
  /**
   * Panes are opened and closed one after another. A decision, an agent's next edit and a press of a key may come while
   * the last pane is still being closed; in another order the keyboard could end in a pane that goes away under it.
   */
  #turn: Promise<void> = Promise.resolve();

  /** Of the queue, or of what one in it proposes or says. */
  readonly onDidChange = this.#changed.event;
  readonly onDidBecomeStale = this.#becameStale.event;
  /** Before the daemon is notified. */
  readonly onDidAccept = this.#accepted.event;

  /** store: of this window; keeps what was typed and not decided. */
  constructor(
    readonly panes: DiffPanes, inserted: InsertedLines, readonly log: vscode.LogOutputChannel, store: vscode.Memento, readonly desk: Desk,
  ) {
    this.#drafts = new Drafts(store, () => this.#edits);
    this.inText = new ReviewsInText(() => this.#edits, inserted);
    const ofChange = (name: string, verdict: Verdict | undefined) =>
      vscode.commands.registerCommand(`fileops.review.${name}`, (target?: unknown, id?: unknown) => this.#judge(target, id, verdict));
    const command = (name: string, run: (review: Review, arg: unknown) => unknown) =>
      vscode.commands.registerCommand(`fileops.review.${name}`, (target?: unknown, arg?: unknown) => {
        const review = this.#find(target, this.#edits);
        return review && run(review, arg);
      });
    const ofCommand = (name: string, outcome: Outcome) =>
      vscode.commands.registerCommand(`fileops.command.${name}`, (target?: unknown) => {
        const review = this.#find(target, this.#waiting.filter(one => one.kind === 'command'));
        if (!review) return undefined;
        // What was never on the screen is not run, but shown.
        return outcome === 'reject' || panes.isVisible(review.pane) ? this.decide(review, outcome) : this.show(review, true);
      });
    this.#disposables = [
      this.#changed, this.#becameStale, this.#accepted, this.#focus, this.#drafts, this.inText,
      ofChange('acceptChange', 'accepted'), ofChange('rejectChange', 'rejected'), ofChange('putBack', undefined),
      vscode.commands.registerCommand('fileops.review.rejectChangeBecause', (target?: unknown, id?: unknown) => this.#rejectChangeBecause(target, id)),
      command('accept', review => this.decide(review, 'accept')),
      command('always', review => this.decide(review, 'always')),
      command('reject', review => this.#reject(review)),
      ofCommand('run', 'accept'), ofCommand('always', 'always'), ofCommand('reject', 'reject'),
      vscode.commands.registerCommand('fileops.review.focus', (target?: unknown) => {
        const review = this.#find(target, this.#waiting);
        return review && this.show(review, true);
      }),
      command('acceptAll', review => this.#decideAll(review, 'accept')),
      command('rejectAll', review => this.#rejectAll(review)),
      vscode.commands.registerCommand('fileops.review.acceptWaiting', () => this.#decideWaiting(this.#edits, 'accept')),
      vscode.commands.registerCommand('fileops.review.rejectWaiting', () => this.#rejectWaiting()),
      command('toggleHunk', (review, id) => this.#toggle(review, id)),
      command('nextHunk', review => this.#goInPane(review, true)),
      vscode.commands.registerCommand('fileops.review.nextChange', () => this.#go(true)),
      vscode.commands.registerCommand('fileops.review.previousChange', () => this.#go(false)),
      command('openProposal', review => this.#inTurn(() => this.#showPane(review, true, columnBeside()))),
      command('showChanges', review => showChanges(panes, review.question)),
      command('showRebased', ({ question, rebased }) => rebased && showRebased(panes, question.file_path, rebased)),
      command('showEarlier', ({ question, earlier }) => earlier !== undefined && showEarlier(panes, question, earlier)),
      command('useEarlier', review => this.#useEarlier(review)),
    ];
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  get #edits(): Review[] {
    return this.#waiting.filter(one => one.kind === 'edit');
  }

  /** What the daemon says of its queue: `fileops/didChangeReviews`. */
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

  /** What shows the queue is drawn once, not for each of hundreds. */
  #atOnce(change: () => void): void {
    this.#isListing = true;
    try {
      change();
    } finally {
      this.#isListing = false;
    }
    this.#update();
  }

  /** All that the daemon has for this window, after it attached. */
  listed(questions: readonly AnyReview[]): void {
    this.update({ opened: [...questions], closed: [] });
    for (const { filePath, text } of this.#drafts.takeOthers()) {
      if (text !== undefined) void offerTyped(this.panes, filePath, text, '', 'it was decided elsewhere, or the daemon ended.');
    }
  }

  /** The revision of a review that is shown. */
  revisionOf(reviewId: string): number | undefined {
    return this.#edits.find(review => daemonId(review) === reviewId)?.question.revision;
  }

  /** Of an older daemon. Never rejects: a question that cannot be shown is still listed and can be decided there. */
  ask(params: ConfirmEditParams, token: vscode.CancellationToken): Promise<ConfirmEditResult> {
    const withdrawn = params.session ? 'It was withdrawn, or decided in another editor.' : 'The agent took its edit back.';
    const question = questionOf(params, `asked-${++this.#count}`);
    return this.#enqueue<ConfirmEditResult>(token, withdrawn, { outcome: 'cancel' }, answer => {
      const send: Decide = async decision => {
        answer(answerOf(decision));
        return { review_id: question.review_id, state: 'decided', outcome: decision.outcome, by: null, reason: null, error: null };
      };
      return new Review(question, send, this.panes, !params.session);
    });
  }

  /** As `ask`, for a command. */
  askCommand(params: ConfirmCommandParams, token: vscode.CancellationToken): Promise<ConfirmCommandResult> {
    return this.#enqueue<ConfirmCommandResult>(token, 'The agent took its command back.', { outcome: 'cancel' },
      answer => new CommandReview(++this.#count, params, answer, this.panes));
  }

  #enqueue<Result>(token: vscode.CancellationToken, taken: string, no: Result, make: (answer: (result: Result) => void) => Waiting): Promise<Result> {
    return new Promise(resolve => {
      const review = make(result => {
        cancelled.dispose();
        this.#asked.delete(review.id);
        resolve(result);
      });
      this.#asked.set(review.id, () => resolve(no));
      const cancelled = token.onCancellationRequested(() => void this.#withdraw(review, taken));
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
    const old = this.#edits.find(({ id }) => id === question.review_id);
    if (old && old.question.revision >= question.revision) return;
    const send: Decide = decision =>
      this.desk.decide({ ...decision, review_id: question.review_id, revision: question.revision });
    const review = new Review(question, send, this.panes, this.desk.isOwn(question.session.session_id));
    if (old) void this.#replace(old, review);
    else this.#restore(review);
  }

  /** A change set: its files are shown like edits, and decided together. */
  #openedSet(question: SetQuestion): void {
    const old = this.#edits.filter(({ set }) => set?.id === question.review_id);
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

  /** A review that is new here, with what was done to it before this window was reloaded. */
  #restore(review: Review): void {
    const draft = this.#drafts.get(review.id);
    const isSame = draft?.revision === review.question.revision;
    const judgementOf = ({ id }: ReviewChange): Judgement | undefined => {
      if (isSame && draft.dropped.includes(id)) return { verdict: 'rejected', reason: draft.reasons?.[id] };
      return isSame && draft.accepted?.includes(id) ? { verdict: 'accepted' } : undefined;
    };
    if (draft) void this.#inTurn(() => review.takeOver(draft, judgementOf)); // before it is shown
    this.#add(review);
  }

  /** The file changed, and the decision did not fit any more: the review is open again on the new content. */
  async #replace(old: Review, review: Review): Promise<void> {
    const judgements = new Map(old.question.changes.map(change => [bodyOf(change), old.judgementOf(change.id)]));
    this.#waiting[this.#waiting.indexOf(old)] = review;
    this.log.info(`Review ${review.id}: revision ${review.question.revision}`);
    this.#update();
    await this.#inTurn(async () => {
      await this.panes.caughtUp();
      const { draft } = old;
      // What the daemon made of the decision has nothing that was dropped; of another's decision, this window's drops count on.
      if (draft) await review.takeOver(draft, change => judgements.get(bodyOf(change)));
      this.#drafts.keep();
      const [column, hadFocus] = [this.panes.column(old.pane), this.#hasFocus(old)];
      if (column !== undefined) await this.#show(review, hadFocus, column);
      await this.panes.close(old.pane, hadFocus);
      this.#focus.update();
    });
    this.#changed.fire();
  }

  async #closed(end: ClosedReview): Promise<void> {
    const reviews = this.#edits.filter(review => daemonId(review) === end.review_id);
    const isDeciding = reviews.some(({ set, isDeciding }) => isDeciding && !set?.isOpen);
    reviews[0]?.set?.abandon({ ...end, reason: 'already_decided', error: null });
    await Promise.all(reviews.map(review => this.#end(review)));
    // Where a decision is on its way, its answer says the outcome. Of a change set it is said once, but for typed texts.
    if (!isDeciding) reviews.filter((review, index) => index === 0 || review.wasTyped).forEach(review => this.#tellEnd(review, endSentence(end)));
  }

  /** Once its pane is closed: only then is it known what was typed. */
  #tellEnd(review: Waiting, sentence: string): void {
    this.log.info(`Review ${review.id}: ${sentence}`);
    if (review.kind === 'edit' && review.wasTyped) {
      void offerTyped(this.panes, review.question.file_path, review.proposed, review.question.original_text ?? '', sentence);
    } else {
      tellInPassing(review.name, sentence);
    }
  }

  async decide(review: Waiting, outcome: Outcome, reason?: string): Promise<void> {
    if (review.kind === 'command') {
      const result = review.result(outcome);
      this.log.info(`Review ${review.id}: ${result.outcome}`);
      review.answer(result);
      return this.#end(review);
    }
    await review.settled;
    if ((review.isDeciding && !review.set?.isOpen) || !this.#waiting.includes(review)) return;
    const decision = review.decision(outcome, reason);
    if (!decision) return tellInPassing(review.name, 'Nothing of this edit can be made any more: type what you want, or reject it.');
    this.log.info(`Review ${review.id}: ${decision.outcome}${review.dropped.size > 0 ? `, ${review.dropped.size} of ${review.changes.length} changes dropped` : ''}`);
    if (review.isDeciding) { // of a change set of which other files are not decided yet
      review.set?.decideAnew(review.question.file_path, decision);
      return this.#changed.fire();
    }
    const { question, proposed: text, wasTyped } = review;
    const isAccepted = decision.outcome !== 'reject';
    review.isDeciding = true;
    if (isAccepted) this.#accepted.fire(review);
    let result: DecideReviewResult;
    try {
      const sent = review.send(decision);
      if (review.set?.isOpen) await this.#goOn(review);
      result = await sent;
    } catch (error) {
      review.isDeciding = false; // it waits on, with all that was done to it
      this.log.error(`Review ${review.id}: ${String(error)}`);
      void vscode.window.showWarningMessage(`Fileops: your decision about ${review.name} did not arrive. ${error instanceof Error ? error.message : ''}`);
      return;
    }
    const isTold = review.set?.isLast(question.file_path) ?? true;
    const needsAllowing = review.set ? isTold && review.set.needsAllowing : outcome === 'always' && decision.outcome === 'modify';
    if (needsAllowing && result.reason === null) await this.desk.allow(question.session.session_id);
    if (isTold) void tellResult(this.panes, { question, text, isAccepted, wasTyped }, result).catch((error: unknown) => this.log.error(String(error)));
    if (result.reason === 'reopened' || result.reason === 'review_changed') review.isDeciding = false; // shown again
    else await this.#end(review);
  }

  /** Decides one change of an edit. With the last of them the edit is decided. */
  async #judge(target: unknown, id: unknown, verdict: Verdict | undefined): Promise<void> {
    const chosen = await this.#chosen(target, id);
    if (!chosen) return;
    if (verdict === 'rejected' && isLastLeft(chosen)) return this.#reject(chosen.review);
    await this.#judgeChosen(chosen, verdict);
  }

  /** As a rejection of the change, after the person was asked why. */
  async #rejectChangeBecause(target: unknown, id: unknown): Promise<void> {
    const chosen = await this.#chosen(target, id);
    if (!chosen) return;
    const { review } = chosen;
    if (isLastLeft(chosen)) return this.#reject(review);
    const n = review.changes.findIndex(change => change.id === chosen.id) + 1;
    await this.#rejecting(review, `Reject change ${n} of ${review.changes.length} of ${review.name}`, async reason => {
      if (!review.isDeciding) await this.#judgeChosen(chosen, 'rejected', reason);
    });
  }

  /** What a person means, if it can be decided now. */
  async #chosen(target: unknown, id: unknown): Promise<Chosen | undefined> {
    const chosen = this.inText.chosen(target, id) ?? this.#atCursorOfPane();
    if (!chosen) return void vscode.window.setStatusBarMessage('No change at the cursor.', 5000);
    await chosen.review.settled;
    return chosen.review.isDeciding ? undefined : chosen;
  }

  async #judgeChosen({ review, id }: Chosen, verdict: Verdict | undefined, reason?: string): Promise<void> {
    if (!await review.judge(id, verdict, reason)) return void vscode.window.setStatusBarMessage('This change was typed into and cannot be decided alone.', 5000);
    this.#drafts.keep();
    if (review.isDecidedInParts) return this.decide(review, 'accept');
    this.inText.update();
    this.#changed.fire();
    if (verdict !== undefined && this.inText.has(review)) this.inText.go(true);
  }

  #atCursorOfPane(): Chosen | undefined {
    const review = this.#focus.current;
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    if (review?.kind !== 'edit') return undefined;
    const place = review.places().find(({ start, end }) => start <= line && line <= Math.max(end, start + 1));
    return place && { review, id: place.id };
  }

  #go(isNext: boolean): void {
    const review = this.#focus.current;
    if (review?.kind === 'edit') this.#goInPane(review, isNext);
    else if (!this.inText.go(isNext)) vscode.window.setStatusBarMessage('No change waits in this file.', 5000);
  }

  /** A file of a change set is decided: the next one that is not is shown in its place. */
  async #goOn(review: Review): Promise<void> {
    this.#changed.fire();
    const next = this.#edits.find(({ set, isDeciding }) => set === review.set && !isDeciding);
    const column = this.panes.column(review.pane);
    if (next && column !== undefined) await this.#inTurn(() => this.#show(next, this.#hasFocus(review), column));
  }

  /** Decides all files of the review's change set; of an edit, that. What was accepted in part before stays so. */
  async #decideAll(review: Review, outcome: Outcome, reason?: string): Promise<void> {
    const parts = review.set ? this.#edits.filter(({ set }) => set === review.set) : [review];
    const isDecided = (part: Review): boolean => part.isDeciding;
    for (const part of outcome === 'reject' ? parts.filter(isDecided) : []) {
      part.set?.decideAnew(part.question.file_path, { outcome: 'reject', ...(reason ? { reason } : {}) });
    }
    await Promise.all(parts.filter(part => !isDecided(part)).map(part => this.decide(part, outcome, reason)));
  }

  #rejectAll(review: Review): Promise<void> {
    const n = review.set?.question.files.length ?? 1;
    return this.#rejecting(review, `Reject the changes of ${n} files`, reason => this.#decideAll(review, 'reject', reason));
  }

  /** The oldest first: an edit of a file may need the one before it. */
  async #decideWaiting(edits: readonly Review[], outcome: Outcome, reason?: string): Promise<void> {
    if (edits.length === 0) return void vscode.window.showInformationMessage('Fileops: no edit waits for you.');
    const ones = edits.filter((review, index) => !review.set || edits.findIndex(({ set }) => set === review.set) === index);
    for (const review of ones) await this.#decideAll(review, outcome, reason);
  }

  /** Those that wait when the user is asked: what comes while they write a reason is not meant. */
  async #rejectWaiting(): Promise<void> {
    const edits = this.#edits;
    const [first, ...others] = edits;
    if (!first) return this.#decideWaiting(edits, 'reject');
    if (others.length === 0) return this.#reject(first);
    const isThere = (): boolean => edits.some(review => this.#waiting.includes(review));
    const title = `Reject ${edits.length} edits that wait`;
    const reason = await askReason(title, 'Enter rejects them, Escape does not', this.#changed.event, isThere);
    if (reason !== undefined) await this.#decideWaiting(edits, 'reject', reason);
  }

  #reject(review: Review): Promise<void> {
    return this.#rejecting(review, `Reject the edit of ${review.name}`, reason => this.decide(review, 'reject', reason));
  }

  async #rejecting(review: Review, title: string, reject: (reason: string) => Promise<void>): Promise<void> {
    const reason = await askReason(title, 'Enter rejects it, Escape does not', this.#changed.event, () => this.#waiting.includes(review));
    if (reason !== undefined) await reject(reason);
  }

  async #useEarlier(review: Review): Promise<void> {
    const { earlier } = review;
    if (earlier === undefined) return;
    review.earlier = review.wasTyped ? review.proposed : undefined;
    if (!await review.use(earlier)) review.earlier = earlier;
    this.#drafts.keep();
    this.#changed.fire();
  }

  /** A file changed since an agent read it: reviews of that agent's edits of it say so. */
  noteStale(event: DidBecomeStaleParams): void {
    for (const review of this.#edits) {
      if (review.question.session.session_id !== event.session_id || review.question.file_path !== event.file_path) continue;
      review.staleness = event;
      this.log.info(`Review ${review.id}: the file was ${event.reason} by ${event.source}`);
      this.#becameStale.fire(review);
      this.#changed.fire();
    }
  }

  /** The daemon is gone: nothing can be decided here until it is there again. What was typed is kept for then. */
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

  /** The window closes. The queue waits on without it; a question to this window alone is answered with no. */
  leave(): void {
    this.#drafts.keep();
    for (const refuse of this.#asked.values()) refuse();
  }

  async #withdraw(review: Waiting, why: string): Promise<void> {
    if (!this.#waiting.includes(review)) return;
    await this.#end(review);
    this.#tellEnd(review, why);
  }

  /** The keyboard goes from its pane to the next review, else to the editor that is in front then. */
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
      const next = this.#waiting[0];
      if (next && (hadFocus || !this.panes.isShown(next.pane))) {
        // The next one first: were the column left empty in between, the editor would close it and move the focus.
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
    const how = vscode.workspace.getConfiguration('fileops').get<'text' | 'beside' | 'active' | 'never'>('review.open', 'text');
    const isInText = review.kind === 'edit' && this.inText.has(review);
    if (isInText && vscode.window.visibleTextEditors.some(({ document }) => document.uri.toString() === review.uri)) return;
    if (how === 'never' || isInText) {
      const chosen = await vscode.window.showInformationMessage(`Fileops: ${review.title}`, 'Review');
      if (chosen && this.#waiting.includes(review)) await this.show(review, true);
      return;
    }
    await this.#inTurn(() => this.#show(review, false, how === 'active' ? vscode.ViewColumn.Active : columnBeside()));
  }

  show(review: Waiting, takesFocus: boolean): Promise<void> {
    return this.#inTurn(() => this.#show(review, takesFocus, columnBeside()));
  }

  /** In the text of its file, where it is open; else in its pane. */
  async #show(review: Waiting, takesFocus: boolean, viewColumn: vscode.ViewColumn): Promise<void> {
    if (!this.#waiting.includes(review)) return; // it has ended before its turn
    if (review.kind === 'command' || !this.inText.has(review)) return this.#showPane(review, takesFocus, viewColumn);
    if (takesFocus) await this.inText.reveal(review, true);
    this.#focus.update();
  }

  async #showPane(review: Waiting, takesFocus: boolean, viewColumn: vscode.ViewColumn): Promise<void> {
    const first = review.kind === 'edit' ? review.places()[0]?.changed : undefined;
    const show = (): Promise<void> => this.panes.show(review.pane, { takesFocus, viewColumn, ...(first === undefined ? {} : { line: first }) });
    await (takesFocus ? this.#focus.during(review, show) : show());
    this.#focus.update();
  }

  #hasFocus(review: Waiting): boolean {
    const uri = vscode.window.activeTextEditor?.document.uri.toString();
    return this.#focus.current === review || [review.pane.before, review.pane.after].some(side => side?.toString() === uri);
  }

  /** From a row, a document's address (title bar), an id, the pane in use, or else (not by key) the first that waits. */
  #find<W extends Waiting>(target: unknown, among: readonly W[]): W | undefined {
    const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
    return among.find(review => review === target || review.id === target || (review.kind === 'edit' && review.set !== undefined && review.set === target))
      ?? among.find(review => uri && [review.pane.before, review.pane.after].some(u => u?.toString() === uri.toString()))
      ?? among.find(review => review.kind === 'edit' && uri?.toString() === review.uri && this.inText.has(review))
      ?? (target === PANE_IN_USE ? among.find(review => review === this.#focus.current) : among[0]);
  }

  /** Redraws each second in the last minute of a review. */
  #tick(): void {
    clearTimeout(this.#clock);
    const ends = this.#edits.map(({ question }) => question.expires_at * SECOND_MS - Date.now()).filter(Number.isFinite);
    if (ends.length === 0) return;
    const isLastMinute = ends.some(left => left > 0 && left <= 60 * SECOND_MS);
    const later = Math.min(...ends.filter(left => left > 60 * SECOND_MS).map(left => left - 60 * SECOND_MS + 1));
    const pause = isLastMinute ? SECOND_MS : later;
    if (!Number.isFinite(pause)) return;
    this.#clock = setTimeout(() => {
      this.#changed.fire();
      this.#tick();
    }, Math.min(pause, MAX_TIMER_MS));
  }

  #update(): void {
    if (this.#isListing) return;
    this.#tick();
    void vscode.commands.executeCommand('setContext', 'fileops.nReviews', this.#waiting.length);
    this.inText.update();
    this.#focus.update();
    this.#changed.fire();
  }

  async #toggle(review: Review, id: unknown): Promise<void> {
    await review.settled;
    const places = review.places();
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const place = places.find(p => p.id === id) ?? places.find(p => p.start <= line && line <= Math.max(p.end, p.start + 1));
    if (place && await review.toggle(place.id)) {
      this.#drafts.keep();
      this.inText.update();
      this.#changed.fire();
    } else {
      vscode.window.setStatusBarMessage(place ? 'This change was typed into and cannot be dropped alone.' : 'No change at the cursor.', 5000);
    }
  }

  #goInPane(review: Review, isNext: boolean): void {
    const editor = vscode.window.activeTextEditor;
    const spots = review.places().map(({ changed }) => ({ start: changed, end: changed }));
    const spot = editor && neighbour(spots, editor.selection.active.line, isNext);
    if (!spot) return;
    editor.selection = new vscode.Selection(spot.start, 0, spot.start, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  dispose(): void {
    clearTimeout(this.#clock);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Whether the edit is rejected as a whole with this change. */
const isLastLeft = ({ review, id }: Chosen): boolean => review.changes.every(change => change.id === id || review.dropped.has(change.id));

/** The id under which the daemon has it: the files of a change set share one. */
const daemonId = (review: Review): string => review.set?.id ?? review.id;
