/**
 * Reviews: each `fileops/confirmEdit` and `fileops/confirmCommand` waits in one queue until the person decides, the
 * agent takes it back, or the daemon or the editor goes away. One is shown at a time; all are listed in the view
 * "Waiting Reviews".
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { CommandReview, literally } from './command';
import { columnBeside, type DiffPanes, REVIEW_SCHEME } from './diff';
import type { ConfirmCommandParams, ConfirmCommandResult, ConfirmEditParams, ConfirmEditResult, Hunk } from './protocol';
import { type Outcome, Review } from './review';

export type Waiting = Review | CommandReview;

export class Reviews implements vscode.Disposable, vscode.CodeLensProvider, vscode.TreeDataProvider<Waiting> {
  readonly #waiting: Waiting[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #rows = new vscode.EventEmitter<void>();
  readonly #view: vscode.TreeView<Waiting>;
  readonly #disposables: vscode.Disposable[];
  #count = 0;
  /** After a decision made in a pane, the next pane takes the keyboard that the last one had. */
  #passesFocus = false;
  #shownKind: Waiting['kind'] | undefined;

  readonly onDidChange = this.#changed.event;
  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly onDidChangeTreeData = this.#rows.event;

  /** allow: asked once a person said "always" to a text of his own, which the answer itself cannot say. */
  constructor(readonly panes: DiffPanes, readonly log: vscode.LogOutputChannel, readonly allow: (session: string) => Promise<void>) {
    this.#view = vscode.window.createTreeView('fileops.reviews', { treeDataProvider: this });
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
      ofCommand('run', 'accept'), ofCommand('always', 'always'), ofCommand('reject', 'reject'),
      vscode.commands.registerCommand('fileops.review.focus', (target?: unknown) => {
        const review = this.#find(target, this.#waiting);
        return review && this.show(review, true);
      }),
      command('toggleHunk', (review, id) => this.#toggle(review, id)),
      command('nextHunk', review => this.#nextHunk(review)),
    ];
  }

  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  /** Never rejects: a question that cannot be shown is still listed and can be decided there. */
  ask(params: ConfirmEditParams, token: vscode.CancellationToken): Promise<ConfirmEditResult> {
    return this.#enqueue(token, 'The agent took its edit back.', (id, answer) => new Review(id, params, answer, this.panes));
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
      this.#passesFocus = hadFocus;
      return this.#end(review, () => review.answer(result));
    }
    await review.settled;
    const result = review.result(outcome);
    const isAlwaysOfOwnText = outcome === 'always' && result.outcome === 'modify';
    this.log.info(`Review ${review.id}: ${result.outcome}${review.dropped.size > 0 ? `, ${review.dropped.size} of ${review.changes.length} changes dropped` : ''}`);
    if (isAlwaysOfOwnText) await this.allow(review.params.session_id);
    this.#passesFocus = hadFocus;
    await this.#end(review, () => review.answer(result));
  }

  /** The daemon is gone or the editor closes: nothing can be decided any more. */
  async withdrawAll(): Promise<void> {
    for (const review of [...this.#waiting]) await this.#end(review, () => review.withdraw());
  }

  async #withdraw(review: Waiting, why: string): Promise<void> {
    if (!this.#waiting.includes(review)) return;
    this.log.info(`Review ${review.id}: ${why}`);
    vscode.window.setStatusBarMessage(`$(info) ${literally(review.name)}: ${why}`, 5000);
    await this.#end(review, () => review.withdraw());
  }

  async #end(review: Waiting, answer: () => void): Promise<void> {
    const index = this.#waiting.indexOf(review);
    if (index < 0) return;
    this.#waiting.splice(index, 1);
    answer();
    this.#update();
    const column = this.panes.column(review.pane);
    const next = this.#waiting[0];
    // The next one first: were the column left empty in between, the editor would close it and move the focus.
    if (next && !this.panes.isShown(next.pane)) await this.#offer(next, column);
    await this.panes.close(review.pane);
    this.#passesFocus = false;
  }

  async #offer(review: Waiting, column?: vscode.ViewColumn): Promise<void> {
    const how = vscode.workspace.getConfiguration('fileops').get<'beside' | 'active' | 'never'>('review.open', 'beside');
    if (how === 'never' && column === undefined) {
      const chosen = await vscode.window.showInformationMessage(`Fileops: ${review.title}`, 'Review');
      if (chosen && this.#waiting.includes(review)) await this.show(review, true);
      return;
    }
    await this.show(review, this.#passesFocus, column ?? (how === 'active' ? vscode.ViewColumn.Active : columnBeside()));
  }

  async show(review: Waiting, takesFocus: boolean, viewColumn = columnBeside()): Promise<void> {
    const first = review.kind === 'edit' ? review.places()[0]?.changed : undefined;
    await this.panes.show(review.pane, { takesFocus, viewColumn, ...(first === undefined ? {} : { line: first }) });
  }

  #hasFocus(review: Waiting): boolean {
    return vscode.window.activeTextEditor?.document.uri.toString() === review.pane.after.toString();
  }

  /** From a row, a document's address (title bar), an id, the pane in use, or else the first that waits. */
  #find<W extends Waiting>(target: unknown, among: readonly W[]): W | undefined {
    const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
    return among.find(review => review === target || review.id === target)
      ?? among.find(review => uri && [review.pane.before, review.pane.after].some(u => u?.toString() === uri.toString()))
      ?? among[0];
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
    const kind = input instanceof vscode.TabInputTextDiff && input.modified.scheme === REVIEW_SCHEME ? 'edit'
      : input instanceof vscode.TabInputText && input.uri.scheme === REVIEW_SCHEME ? 'command' : undefined;
    if (kind === this.#shownKind) return;
    this.#shownKind = kind;
    void vscode.commands.executeCommand('setContext', 'fileops.inReview', kind === 'edit');
    void vscode.commands.executeCommand('setContext', 'fileops.inCommand', kind === 'command');
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
    if (review.kind === 'command') return review.lenses();
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

  getChildren(element?: Waiting): Waiting[] {
    return element ? [] : this.#waiting;
  }

  getTreeItem(review: Waiting): vscode.TreeItem {
    const item = review.kind === 'command' ? review.row() : rowOf(review);
    item.id = String(review.id);
    item.command = { command: 'fileops.review.focus', title: 'Open', arguments: [review] };
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

function rowOf({ params, dropped, changes }: Review): vscode.TreeItem {
  const item = new vscode.TreeItem(vscode.Uri.file(params.file_path));
  item.label = path.basename(params.file_path);
  item.description = `${dropped.size > 0 ? `${changes.length - dropped.size} of ${changes.length} changes` : counted(params.hunks)} · ${params.session_id}`;
  item.tooltip = new vscode.MarkdownString(`${params.description || params.title}\n\n${params.file_path}`);
  item.iconPath = new vscode.ThemeIcon(params.operation === 'create' ? 'new-file' : 'edit');
  item.contextValue = 'review';
  return item;
}

function counted(hunks: readonly Hunk[]): string {
  const count = (kind: string): number => hunks.reduce((n, hunk) => n + hunk.lines.filter(l => l.kind === kind).length, 0);
  return `+${count('+')} −${count('-')}`;
}
