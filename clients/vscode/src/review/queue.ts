/**
 * The queue of reviews: each `fileops/confirmEdit` and `fileops/confirmCommand` waits here until the user decides, the
 * agent withdraws it, or the daemon or the editor ends. One is shown at a time. What they look like is `view.ts`.
 */
import * as vscode from 'vscode';
import type { ConfirmCommandParams, ConfirmCommandResult, ConfirmEditParams, ConfirmEditResult, DidBecomeStaleParams } from '../protocol';
import { columnBeside, type DiffPanes } from '../ui/diff';
import { literally } from '../ui/labels';
import { showChanges } from './changes';
import { CommandReview } from './command';
import { type Outcome, Review } from './edit';
import { ReviewFocus } from './focus';
import { showRebased } from './rebased';

export type Waiting = Review | CommandReview;

/** An edit that the person said yes to, and the text that they want written. */
export interface AcceptedEdit {
  params: ConfirmEditParams;
  text: string;
}

/** What the keybindings pass: only the pane that has the keyboard is meant, never another review that waits. */
const PANE_IN_USE = 'pane';

export class Reviews implements vscode.Disposable {
  readonly #waiting: Waiting[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #becameStale = new vscode.EventEmitter<Review>();
  readonly #accepted = new vscode.EventEmitter<AcceptedEdit>();
  readonly #focus = new ReviewFocus(this.#waiting);
  readonly #disposables: vscode.Disposable[];
  #count = 0;
  /**
   * Panes are opened and closed one after another. A decision, an agent's next edit and a press of a key may come while
   * the last pane is still being closed; in another order the keyboard could end in a pane that goes away under it.
   */
  #turn: Promise<void> = Promise.resolve();

  /** Of the queue, or of what one in it proposes or says. */
  readonly onDidChange = this.#changed.event;
  readonly onDidBecomeStale = this.#becameStale.event;
  /** Before the daemon is answered. */
  readonly onDidAccept = this.#accepted.event;

  /** allow: called when the user says "always" to a text that they wrote, which the answer itself cannot say. */
  constructor(readonly panes: DiffPanes, readonly log: vscode.LogOutputChannel, readonly allow: (session: string) => Promise<void>) {
    const command = (name: string, run: (review: Review, arg: unknown) => unknown) =>
      vscode.commands.registerCommand(`fileops.review.${name}`, (target?: unknown, arg?: unknown) => {
        const review = this.#find(target, this.#waiting.filter(one => one.kind === 'edit'));
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
      this.#changed, this.#becameStale, this.#accepted, this.#focus,
      command('accept', review => this.decide(review, 'accept')),
      command('always', review => this.decide(review, 'always')),
      command('reject', review => this.decide(review, 'reject')),
      ofCommand('run', 'accept'), ofCommand('always', 'always'), ofCommand('reject', 'reject'),
      vscode.commands.registerCommand('fileops.review.focus', (target?: unknown) => {
        const review = this.#find(target, this.#waiting);
        return review && this.show(review, true);
      }),
      command('toggleHunk', (review, id) => this.#toggle(review, id)),
      command('nextHunk', review => this.#nextHunk(review)),
      command('showChanges', review => showChanges(panes, review.params)),
      command('showRebased', ({ params }) => params.rebased && showRebased(panes, params.file_path, params.rebased)),
    ];
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  /** Never rejects: a question that cannot be shown is still listed and can be decided there. */
  ask(params: ConfirmEditParams, token: vscode.CancellationToken): Promise<ConfirmEditResult> {
    const withdrawn = params.session ? 'It was withdrawn, or decided in another editor.' : 'The agent took its edit back.';
    return this.#enqueue(token, withdrawn, (id, answer) => new Review(id, params, answer, this.panes));
  }

  /** As `ask`, for a command. */
  askCommand(params: ConfirmCommandParams, token: vscode.CancellationToken): Promise<ConfirmCommandResult> {
    return this.#enqueue(token, 'The agent took its command back.', (id, answer) => new CommandReview(id, params, answer, this.panes));
  }

  #enqueue<Result>(
    token: vscode.CancellationToken, taken: string, make: (id: number, answer: (result: Result) => void) => Waiting,
  ): Promise<Result> {
    return new Promise(resolve => {
      let cancelled: vscode.Disposable | undefined;
      const review = make(++this.#count, result => {
        cancelled?.dispose();
        resolve(result);
      });
      cancelled = token.onCancellationRequested(() => void this.#withdraw(review, taken));
      this.#waiting.push(review);
      this.log.info(`Review ${review.id} waits: ${review.title}`);
      this.#update();
      if (this.#waiting.length === 1) void this.#offer(review);
    });
  }

  async decide(review: Waiting, outcome: Outcome): Promise<void> {
    const hadFocus = this.#hasFocus(review);
    if (review.kind === 'command') {
      const result = review.result(outcome);
      this.log.info(`Review ${review.id}: ${result.outcome}`);
      return this.#end(review, () => review.answer(result), hadFocus);
    }
    await review.settled;
    const result = review.result(outcome);
    const isAlwaysOfOwnText = outcome === 'always' && result.outcome === 'modify';
    this.log.info(`Review ${review.id}: ${result.outcome}${review.dropped.size > 0 ? `, ${review.dropped.size} of ${review.changes.length} changes dropped` : ''}`);
    if (isAlwaysOfOwnText) await this.allow(review.params.session_id);
    const text = this.panes.proposed(review.pane);
    await this.#end(review, () => {
      if (result.outcome !== 'cancel') this.#accepted.fire({ params: review.params, text });
      review.answer(result);
    }, hadFocus);
  }

  /** A file changed since an agent read it: reviews of that agent's edits of it say so. */
  noteStale(event: DidBecomeStaleParams): void {
    for (const review of this.#waiting) {
      if (review.kind !== 'edit' || review.params.session_id !== event.session_id || review.params.file_path !== event.file_path) continue;
      review.staleness = event;
      this.log.info(`Review ${review.id}: the file was ${event.reason} by ${event.source}`);
      this.#becameStale.fire(review);
      this.#changed.fire();
    }
  }

  /** The daemon is gone or the editor closes: nothing can be decided any more. */
  async withdrawAll(why?: string): Promise<void> {
    await Promise.all([...this.#waiting].map(review => why ? this.#withdraw(review, why) : this.#end(review, () => review.withdraw())));
  }

  async #withdraw(review: Waiting, why: string): Promise<void> {
    if (!this.#waiting.includes(review)) return;
    this.log.info(`Review ${review.id}: ${why}`);
    vscode.window.setStatusBarMessage(`$(info) ${literally(review.name)}: ${why}`, 5000);
    await this.#end(review, () => review.withdraw());
  }

  /** hadFocus: the keyboard was in its pane; the next review gets it, else the editor that is in front then. */
  async #end(review: Waiting, answer: () => void, hadFocus = this.#hasFocus(review)): Promise<void> {
    const index = this.#waiting.indexOf(review);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    answer();
    this.#update();
    await this.#inTurn(async () => {
      const column = this.panes.column(review.pane);
      const next = this.#waiting[0];
      if (next && (hadFocus || !this.panes.isShown(next.pane))) {
        // The next one first: were the column left empty in between, the editor would close it and move the focus.
        if (column !== undefined) await this.#show(next, hadFocus, column);
        else void this.#offer(next);
      }
      await this.panes.close(review.pane, hadFocus);
      this.#focus.update();
    });
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => this.log.error(String(error))); // the list still shows what waits
    return this.#turn;
  }

  async #offer(review: Waiting): Promise<void> {
    const how = vscode.workspace.getConfiguration('fileops').get<'beside' | 'active' | 'never'>('review.open', 'beside');
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
    if (!this.#waiting.includes(review)) return; // it has ended before its turn
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
    return among.find(review => review === target || review.id === target)
      ?? among.find(review => uri && [review.pane.before, review.pane.after].some(u => u?.toString() === uri.toString()))
      ?? (target === PANE_IN_USE ? among.find(review => review === this.#focus.current) : among[0]);
  }

  #update(): void {
    void vscode.commands.executeCommand('setContext', 'fileops.nReviews', this.#waiting.length);
    this.#focus.update();
    this.#changed.fire();
  }

  async #toggle(review: Review, id: unknown): Promise<void> {
    await review.settled;
    const places = review.places();
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const place = places.find(p => p.hunk.id === id) ?? places.find(p => p.start <= line && line <= Math.max(p.end, p.start + 1));
    if (place && await review.toggle(place.hunk)) {
      this.#changed.fire();
    } else {
      vscode.window.setStatusBarMessage(place ? 'This change was typed into and cannot be dropped alone.' : 'No change at the cursor.', 5000);
    }
  }

  #nextHunk(review: Review): void {
    const editor = vscode.window.activeTextEditor;
    const places = review.places();
    if (!editor || places.length === 0) return;
    const line = editor.selection.active.line;
    const { changed } = places.find(p => p.changed > line) ?? places[0]!;
    editor.selection = new vscode.Selection(changed, 0, changed, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
