/**
 * Reviews: each `fileops/confirmEdit` waits in a queue until the person decides, the agent takes it back, or the
 * daemon or the editor goes away. One is shown at a time; all are listed in the view "Waiting Reviews".
 *
 * The proposed side of a review may be changed by dropping single changes and by typing. What is answered follows
 * from what stands there: the hunks that were kept, or the text itself where that does not say it.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { columnBeside, type DiffPanes, type Pane, REVIEW_SCHEME } from './diff';
import { changesOf, compose, fragments, linesOf, moved, normalised, type Place } from './hunks';
import type { ConfirmEditParams, ConfirmEditResult, Hunk } from './protocol';

export type Outcome = 'accept' | 'always' | 'reject';

const REJECTED: ConfirmEditResult = { outcome: 'cancel' };

export class Review {
  readonly dropped = new Set<string>();
  readonly pane: Pane;
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
      title: `${path.basename(params.file_path)}: ${params.operation === 'create' ? 'new file' : 'edit'} waits for you`,
    });
    this.#proposedText = sides.after;
  }

  readonly #proposedText: string;

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
      await this.panes.setProposed(this.pane, this.expected);
      return true;
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

export class Reviews implements vscode.Disposable, vscode.CodeLensProvider, vscode.TreeDataProvider<Review> {
  readonly #waiting: Review[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #rows = new vscode.EventEmitter<void>();
  readonly #view: vscode.TreeView<Review>;
  readonly #disposables: vscode.Disposable[];
  #count = 0;
  /** After a decision made in a pane, the next pane takes the keyboard that the last one had. */
  #passesFocus = false;
  #isInReview = false;

  readonly onDidChange = this.#changed.event;
  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly onDidChangeTreeData = this.#rows.event;

  /** allow: asked once a person said "always" to a text of his own, which the answer itself cannot say. */
  constructor(readonly panes: DiffPanes, readonly log: vscode.LogOutputChannel, readonly allow: (session: string) => Promise<void>) {
    this.#view = vscode.window.createTreeView('fileops.reviews', { treeDataProvider: this });
    const command = (name: string, run: (review: Review, arg: unknown) => unknown) =>
      vscode.commands.registerCommand(`fileops.review.${name}`, (target?: unknown, arg?: unknown) => {
        const review = this.#find(target);
        return review && run(review, arg);
      });
    this.#disposables = [
      this.#view, this.#changed, this.#lenses, this.#rows,
      vscode.languages.registerCodeLensProvider({ scheme: REVIEW_SCHEME }, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === REVIEW_SCHEME) this.#lenses.fire();
      }),
      vscode.window.tabGroups.onDidChangeTabs(() => this.#tellContext()),
      vscode.window.tabGroups.onDidChangeTabGroups(() => this.#tellContext()),
      command('accept', review => this.decide(review, 'accept')),
      command('always', review => this.decide(review, 'always')),
      command('reject', review => this.decide(review, 'reject')),
      command('focus', review => this.show(review, true)),
      command('toggleHunk', (review, id) => this.#toggle(review, id)),
      command('nextHunk', review => this.#nextHunk(review)),
    ];
  }

  get waiting(): readonly Review[] {
    return this.#waiting;
  }

  /** Never rejects: a question that cannot be shown is still listed and can be decided there. */
  ask(params: ConfirmEditParams, token: vscode.CancellationToken): Promise<ConfirmEditResult> {
    return new Promise(resolve => {
      let cancelled: vscode.Disposable | undefined;
      const answer = (result: ConfirmEditResult): void => {
        cancelled?.dispose();
        resolve(result);
      };
      const review = new Review(++this.#count, params, answer, this.panes);
      cancelled = token.onCancellationRequested(() => void this.#withdraw(review, 'The agent took its edit back.'));
      this.#waiting.push(review);
      this.log.info(`Review ${review.id} waits: ${params.title}`);
      this.#update();
      if (this.#waiting.length === 1) void this.#offer(review);
    });
  }

  async decide(review: Review, outcome: Outcome): Promise<void> {
    const hadFocus = this.#hasFocus(review);
    await review.settled;
    const result = review.result(outcome);
    const isAlwaysOfOwnText = outcome === 'always' && result.outcome === 'modify';
    this.log.info(`Review ${review.id}: ${result.outcome}${review.dropped.size > 0 ? `, ${review.dropped.size} of ${review.changes.length} changes dropped` : ''}`);
    if (isAlwaysOfOwnText) await this.allow(review.params.session_id);
    this.#passesFocus = hadFocus;
    await this.#end(review, result);
  }

  /** The daemon is gone or the editor closes: nothing can be decided any more. */
  async withdrawAll(): Promise<void> {
    for (const review of [...this.#waiting]) await this.#end(review, REJECTED);
  }

  async #withdraw(review: Review, why: string): Promise<void> {
    if (!this.#waiting.includes(review)) return;
    this.log.info(`Review ${review.id}: ${why}`);
    vscode.window.setStatusBarMessage(`$(info) ${path.basename(review.params.file_path)}: ${why}`, 5000);
    await this.#end(review, REJECTED);
  }

  async #end(review: Review, result: ConfirmEditResult): Promise<void> {
    const index = this.#waiting.indexOf(review);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    review.answer(result);
    this.#update();
    const column = this.panes.column(review.pane);
    const next = this.#waiting[0];
    // The next one first: were the column left empty in between, the editor would close it and move the focus.
    if (next && !this.panes.isShown(next.pane)) await this.#offer(next, column);
    await this.panes.close(review.pane);
    this.#passesFocus = false;
  }

  async #offer(review: Review, column?: vscode.ViewColumn): Promise<void> {
    const how = vscode.workspace.getConfiguration('fileops').get<'beside' | 'active' | 'never'>('review.open', 'beside');
    if (how === 'never' && column === undefined) {
      const chosen = await vscode.window.showInformationMessage(`Fileops: ${review.params.title}`, 'Review');
      if (chosen && this.#waiting.includes(review)) await this.show(review, true);
      return;
    }
    await this.show(review, this.#passesFocus, column ?? (how === 'active' ? vscode.ViewColumn.Active : columnBeside()));
  }

  async show(review: Review, takesFocus: boolean, viewColumn = columnBeside()): Promise<void> {
    const first = review.places()[0]?.changed;
    await this.panes.show(review.pane, { takesFocus, viewColumn, ...(first === undefined ? {} : { line: first }) });
  }

  #hasFocus(review: Review): boolean {
    return vscode.window.activeTextEditor?.document.uri.toString() === review.pane.after.toString();
  }

  /** From a row, a document's address (title bar), an id, the pane in use, or else the first that waits. */
  #find(target: unknown): Review | undefined {
    const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
    return this.#waiting.find(review => review === target || review.id === target)
      ?? this.#waiting.find(review => uri && [review.pane.before, review.pane.after].some(u => u.toString() === uri.toString()))
      ?? this.#waiting[0];
  }

  #update(): void {
    const n = this.#waiting.length;
    this.#view.badge = n > 0 ? { value: n, tooltip: `${n} waiting for you` } : undefined;
    void vscode.commands.executeCommand('setContext', 'fileops.nReviews', n);
    this.#tellContext();
    this.#rows.fire();
    this.#lenses.fire();
    this.#changed.fire();
  }

  /** Keys and title buttons go by this; the editor's own `resourceScheme` is not set for a diff of two virtual files. */
  #tellContext(): void {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const isReview = input instanceof vscode.TabInputTextDiff && input.modified.scheme === REVIEW_SCHEME;
    if (isReview === this.#isInReview) return;
    this.#isInReview = isReview;
    void vscode.commands.executeCommand('setContext', 'fileops.inReview', isReview);
  }

  async #toggle(review: Review, id: unknown): Promise<void> {
    await review.settled;
    const places = review.places();
    const line = vscode.window.activeTextEditor?.selection.active.line ?? 0;
    const place = places.find(p => p.hunk.id === id) ?? places.find(p => p.start <= line && line <= Math.max(p.end, p.start + 1));
    if (place && await review.toggle(place.hunk)) {
      this.#rows.fire();
      this.#lenses.fire();
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

  // --- per-hunk actions in the proposed text ------------------------------------------------------------------

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const review = this.#waiting.find(r => r.pane.after.toString() === document.uri.toString());
    if (!review) return [];
    await review.settled;
    const n = review.changes.length;
    return review.places().flatMap(({ hunk, changed }) => {
      const line = Math.min(changed, Math.max(document.lineCount - 1, 0));
      const range = new vscode.Range(line, 0, line, 0);
      const isDropped = review.dropped.has(hunk.id);
      const which = n > 1 ? ` ${review.changes.indexOf(hunk) + 1} of ${n}` : '';
      const lenses = [new vscode.CodeLens(range, {
        command: 'fileops.review.toggleHunk', arguments: [review.id, hunk.id],
        title: isDropped ? `$(add) Put back change${which}` : `$(close) Drop change${which}`,
        tooltip: isDropped ? 'Propose this change again' : 'Accept the edit without this change',
      })];
      if (hunk === review.changes[0]) {
        lenses.push(
          new vscode.CodeLens(range, { command: 'fileops.review.accept', arguments: [review.id], title: '$(check) Accept' }),
          new vscode.CodeLens(range, { command: 'fileops.review.reject', arguments: [review.id], title: '$(discard) Reject all' }));
      }
      return lenses;
    });
  }

  // --- the view -----------------------------------------------------------------------------------------------

  getChildren(element?: Review): Review[] {
    return element ? [] : this.#waiting;
  }

  getTreeItem(review: Review): vscode.TreeItem {
    const { params, dropped, changes } = review;
    const item = new vscode.TreeItem(vscode.Uri.file(params.file_path));
    item.id = String(review.id);
    item.label = path.basename(params.file_path);
    item.description = `${dropped.size > 0 ? `${changes.length - dropped.size} of ${changes.length} changes` : counted(params.hunks)} · ${params.session_id}`;
    item.tooltip = new vscode.MarkdownString(`${params.description || params.title}\n\n${params.file_path}`);
    item.iconPath = new vscode.ThemeIcon(params.operation === 'create' ? 'new-file' : 'edit');
    item.contextValue = 'review';
    item.command = { command: 'fileops.review.focus', title: 'Open', arguments: [review] };
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

function counted(hunks: readonly Hunk[]): string {
  const count = (kind: string): number => hunks.reduce((n, hunk) => n + hunk.lines.filter(l => l.kind === kind).length, 0);
  return `+${count('+')} −${count('-')}`;
}
