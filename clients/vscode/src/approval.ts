/**
 * Reviews: each `fileops/confirmEdit` and `fileops/confirmCommand` waits in one queue until the person decides, the
 * agent takes it back, or the daemon or the editor goes away. One is shown at a time; all are listed in the view
 * "Waiting Reviews".
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { CommandReview, literally } from './command';
import { columnBeside, type DiffPanes, REVIEW_SCHEME, VIEW_SCHEME } from './diff';
import type {
  ConfirmCommandParams, ConfirmCommandResult, ConfirmEditParams, ConfirmEditResult, DidBecomeStaleParams, Hunk,
} from './protocol';
import { type Outcome, Review } from './review';
import { sentence } from './stale';

export type Waiting = Review | CommandReview;

/** An edit that the person said yes to, and the text that they want written. */
export interface AcceptedEdit {
  params: ConfirmEditParams;
  text: string;
}

/** What the keybindings pass: only the pane that has the keyboard is meant, never another review that waits. */
const PANE_IN_USE = 'pane';

export class Reviews
implements vscode.Disposable, vscode.CodeLensProvider, vscode.FileDecorationProvider, vscode.TreeDataProvider<Waiting> {
  readonly #waiting: Waiting[] = [];
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #rows = new vscode.EventEmitter<void>();
  readonly #badges = new vscode.EventEmitter<vscode.Uri>();
  readonly #accepted = new vscode.EventEmitter<AcceptedEdit>();
  readonly #view: vscode.TreeView<Waiting>;
  readonly #disposables: vscode.Disposable[];
  #count = 0;
  /** After a decision made in a pane, the next pane takes the keyboard that the last one had. */
  #passesFocus = false;
  /** Whose pane has the keyboard, or is about to get it. */
  #inUse: Waiting | undefined;
  #goesTo: Waiting | undefined;

  readonly onDidChange = this.#changed.event;
  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly onDidChangeTreeData = this.#rows.event;
  readonly onDidChangeFileDecorations = this.#badges.event;
  /** Before the daemon is answered. */
  readonly onDidAccept = this.#accepted.event;

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
      this.#view, this.#changed, this.#lenses, this.#rows, this.#badges, this.#accepted,
      vscode.window.registerFileDecorationProvider(this),
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
      command('showChanges', review => showChanges(panes, review.params)),
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
    const text = this.panes.proposed(review.pane);
    await this.#end(review, () => {
      if (result.outcome !== 'cancel') this.#accepted.fire({ params: review.params, text });
      review.answer(result);
    });
  }

  /** A file changed since an agent read it: reviews of that agent's edits of it say that accepting will be refused. */
  noteStale(event: DidBecomeStaleParams): void {
    for (const review of this.#waiting) {
      if (review.kind !== 'edit' || review.params.session_id !== event.session_id || review.params.file_path !== event.file_path) continue;
      review.staleness = sentence(event);
      this.log.info(`Review ${review.id}: the file ${review.staleness}`);
      this.#badges.fire(review.pane.after);
      this.#rows.fire();
      this.#lenses.fire();
      this.#changed.fire();
    }
  }

  /** The daemon is gone or the editor closes: nothing can be decided any more. */
  async withdrawAll(why?: string): Promise<void> {
    for (const review of [...this.#waiting]) {
      if (why) await this.#withdraw(review, why);
      else await this.#end(review, () => review.withdraw());
    }
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
    if (takesFocus) {
      this.#goesTo = review;
      await this.#use(review); // the keys are there before the keyboard is
    }
    try {
      await this.panes.show(review.pane, { takesFocus, viewColumn, ...(first === undefined ? {} : { line: first }) });
    } finally {
      if (this.#goesTo === review) this.#goesTo = undefined;
    }
    if (!this.#waiting.includes(review)) await this.panes.close(review.pane); // it ended while its pane was opened
    this.#tellContext();
  }

  #hasFocus(review: Waiting): boolean {
    return vscode.window.activeTextEditor?.document.uri.toString() === review.pane.after.toString();
  }

  /** From a row, a document's address (title bar), an id, the pane in use, or else (not by key) the first that waits. */
  #find<W extends Waiting>(target: unknown, among: readonly W[]): W | undefined {
    const uri = target instanceof vscode.Uri ? target : vscode.window.activeTextEditor?.document.uri;
    return among.find(review => review === target || review.id === target)
      ?? among.find(review => uri && [review.pane.before, review.pane.after].some(u => u?.toString() === uri.toString()))
      ?? (target === PANE_IN_USE ? among.find(review => review === this.#inUse) : among[0]);
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

  /**
   * Keys and title buttons go by this. Not by the editor's own `resourceScheme`: in a `when` clause VS Code takes the
   * `file` of our scheme's name for a remote's. Keys that decide are bound to nothing else, as this may come late.
   */
  #tellContext(): void {
    if (this.#goesTo) return;
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const uri = input instanceof vscode.TabInputTextDiff ? input.modified : input instanceof vscode.TabInputText ? input.uri : undefined;
    void this.#use(this.#waiting.find(review => review.pane.after.toString() === uri?.toString()));
  }

  async #use(review: Waiting | undefined): Promise<void> {
    if (review === this.#inUse) return;
    const before = this.#inUse?.kind;
    this.#inUse = review;
    if (review?.kind === before) return;
    await Promise.all([
      vscode.commands.executeCommand('setContext', 'fileops.inReview', review?.kind === 'edit'),
      vscode.commands.executeCommand('setContext', 'fileops.inCommand', review?.kind === 'command'),
    ]);
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
    const places = review.places();
    return [...staleLenses(review, places[0]?.changed ?? 0), ...places.flatMap(({ hunk, changed }) => {
      const line = Math.min(changed, Math.max(document.lineCount - 1, 0));
      const range = new vscode.Range(line, 0, line, 0);
      const isDropped = review.dropped.has(hunk.id);
      const which = n > 1 ? ` ${review.changes.indexOf(hunk) + 1} of ${n}` : '';
      const lenses = [new vscode.CodeLens(range, {
        command: 'fileops.review.toggleHunk', arguments: [review.id, hunk.id],
        title: isDropped ? `$(add) Put back change${which}` : `$(close) Drop change${which}`,
        tooltip: isDropped ? 'Propose this change again' : 'Accept the edit without this change',
      })];
      if (hunk === review.changes[0] && !review.staleness) {
        lenses.push(
          new vscode.CodeLens(range, { command: 'fileops.review.accept', arguments: [review.id], title: '$(check) Accept' }),
          new vscode.CodeLens(range, { command: 'fileops.review.reject', arguments: [review.id], title: '$(discard) Reject all' }));
      }
      return lenses;
    })];
  }

  /** The tab of a review whose file changed meanwhile. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== REVIEW_SCHEME) return undefined;
    const review = this.#waiting.find(r => r.kind === 'edit' && r.pane.after.toString() === uri.toString());
    if (review?.kind !== 'edit' || !review.staleness) return undefined;
    return new vscode.FileDecoration('≠', refusal(review.staleness), new vscode.ThemeColor('fileops.staleForeground'));
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

const refusal = (staleness: string): string => `The file ${staleness}: accepting will be refused`;

function staleLenses(review: Review, line: number): vscode.CodeLens[] {
  if (!review.staleness) return [];
  const range = new vscode.Range(line, 0, line, 0);
  const lens = (command: string, title: string, tooltip: string): vscode.CodeLens =>
    new vscode.CodeLens(range, { command: `fileops.review.${command}`, arguments: [review.id], title, tooltip });
  return [
    lens('showChanges', '$(warning) File changed: accepting will be refused', `${refusal(review.staleness)}. Show what changed`),
    lens('reject', '$(discard) Reject', 'The agent has to read the file again'),
  ];
}

/** What the file was when the agent proposed its edit, beside what it is now. */
export async function showChanges(panes: DiffPanes, { file_path, original_text }: ConfirmEditParams): Promise<void> {
  const uri = vscode.Uri.file(file_path);
  if (original_text === null) { // over 1 MB: not at hand
    await vscode.commands.executeCommand('vscode.open', uri);
    return;
  }
  const pane = panes.create({
    scheme: VIEW_SCHEME, filePath: file_path, before: original_text, after: await currentText(uri),
    title: `${path.basename(file_path)}: what changed meanwhile`,
  });
  await panes.show(pane, { viewColumn: columnBeside() });
}

/** What stands in the editor, else on the disk; nothing where the file is gone. */
async function currentText(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find(document => document.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    return await vscode.workspace.decode(await vscode.workspace.fs.readFile(uri), { uri });
  } catch (error) {
    if (error instanceof vscode.FileSystemError && error.code === 'FileNotFound') return '';
    throw error;
  }
}

function rowOf({ params, dropped, changes, staleness }: Review): vscode.TreeItem {
  const item = new vscode.TreeItem(vscode.Uri.file(params.file_path));
  item.label = path.basename(params.file_path);
  item.description = `${staleness ? 'file changed · ' : ''}${dropped.size > 0 ? `${changes.length - dropped.size} of ${changes.length} changes` : counted(params.hunks)} · ${params.session_id}`;
  item.tooltip = new vscode.MarkdownString(`${params.description || params.title}\n\n${params.file_path}${staleness ? `\n\n${refusal(staleness)}.` : ''}`);
  item.iconPath = new vscode.ThemeIcon(staleness ? 'warning' : params.operation === 'create' ? 'new-file' : 'edit');
  item.contextValue = staleness ? 'review.stale' : 'review';
  return item;
}

function counted(hunks: readonly Hunk[]): string {
  const count = (kind: string): number => hunks.reduce((n, hunk) => n + hunk.lines.filter(l => l.kind === kind).length, 0);
  return `+${count('+')} −${count('-')}`;
}
