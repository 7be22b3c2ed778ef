/**
 * How waiting reviews look: the list "Waiting Reviews", the actions above each change of a proposal, and the mark on
 * the tab of a review whose file changed. Reads the queue and decides nothing.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Hunk, RebasedDetails } from '../protocol';
import { REVIEW_SCHEME } from '../ui/diff';
import type { Sessions } from '../ui/sessions';
import { sentence } from '../ui/stale';
import type { Review } from './edit';
import type { Reviews, Waiting } from './queue';
import { rebasedSentence } from './rebased';

export class ReviewView
implements vscode.Disposable, vscode.CodeLensProvider, vscode.FileDecorationProvider, vscode.TreeDataProvider<Waiting> {
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #rows = new vscode.EventEmitter<void>();
  readonly #badges = new vscode.EventEmitter<vscode.Uri>();
  readonly #tree: vscode.TreeView<Waiting>;
  readonly #disposables: vscode.Disposable[];

  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly onDidChangeTreeData = this.#rows.event;
  readonly onDidChangeFileDecorations = this.#badges.event;

  constructor(readonly reviews: Reviews, readonly sessions: Sessions) {
    this.#tree = vscode.window.createTreeView('fileops.reviews', { treeDataProvider: this });
    this.#disposables = [
      this.#tree, this.#lenses, this.#rows, this.#badges,
      vscode.window.registerFileDecorationProvider(this),
      vscode.languages.registerCodeLensProvider({ scheme: REVIEW_SCHEME }, this),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.scheme === REVIEW_SCHEME) this.#lenses.fire();
      }),
      reviews.onDidChange(() => this.#update()),
      reviews.onDidBecomeStale(review => this.#badges.fire(review.pane.after)),
    ];
  }

  #update(): void {
    const n = this.reviews.waiting.length;
    this.#tree.badge = n > 0 ? { value: n, tooltip: `${n} waiting for you` } : undefined;
    this.#rows.fire();
    this.#lenses.fire();
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const review = this.reviews.waiting.find(r => r.pane.after.toString() === document.uri.toString());
    if (!review) return [];
    if (review.kind === 'command') return review.lenses();
    await review.settled;
    const n = review.changes.length;
    const places = review.places();
    const top = places[0]?.changed ?? 0;
    return [...this.#staleLenses(review, top), ...this.#rebasedLenses(review, top), ...places.flatMap(({ hunk, changed }) => {
      const line = Math.min(changed, Math.max(document.lineCount - 1, 0));
      const range = new vscode.Range(line, 0, line, 0);
      const isDropped = review.dropped.has(hunk.id);
      const which = n > 1 ? ` ${review.changes.indexOf(hunk) + 1} of ${n}` : '';
      const lenses = [new vscode.CodeLens(range, {
        command: 'fileops.review.toggleHunk', arguments: [review.id, hunk.id],
        title: isDropped ? `$(add) Put back change${which}` : `$(close) Drop change${which}`,
        tooltip: isDropped ? 'Propose this change again' : 'Accept the edit without this change',
      })];
      if (hunk === review.changes[0] && !review.isRefused) {
        lenses.push(
          new vscode.CodeLens(range, { command: 'fileops.review.accept', arguments: [review.id], title: '$(check) Accept' }),
          new vscode.CodeLens(range, { command: 'fileops.review.reject', arguments: [review.id], title: '$(discard) Reject all' }));
      }
      return lenses;
    })];
  }

  #rebasedLenses({ id, params }: Review, line: number): vscode.CodeLens[] {
    if (!params.rebased) return [];
    return [new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
      command: 'fileops.review.showRebased', arguments: [id], title: `$(git-merge) ${capitalized(this.#sentenceOf(params.rebased))}`,
      tooltip: 'The agent read the file before these changes. Show them',
    })];
  }

  #sentenceOf(rebased: RebasedDetails): string {
    return rebasedSentence(rebased, id => this.sessions.nameOf(id));
  }

  /** The tab of a review whose file changed meanwhile. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== REVIEW_SCHEME) return undefined;
    const review = this.reviews.waiting.find(r => r.kind === 'edit' && r.pane.after.toString() === uri.toString());
    if (review?.kind !== 'edit' || !review.staleness) return undefined;
    return new vscode.FileDecoration('≠', this.#meaningOf(review), new vscode.ThemeColor('fileops.staleForeground'));
  }

  /** What it means for the decision that the file changed; empty where it did not. */
  #meaningOf({ staleness, isRefused }: Review): string {
    if (!staleness) return '';
    const what = `The file ${sentence(staleness, id => this.sessions.nameOf(id))}`;
    return `${what}: accepting will be refused${isRefused ? '' : ' if the change is near the edit'}`;
  }

  #staleLenses(review: Review, line: number): vscode.CodeLens[] {
    if (!review.staleness) return [];
    const range = new vscode.Range(line, 0, line, 0);
    const lens = (command: string, title: string, tooltip: string): vscode.CodeLens =>
      new vscode.CodeLens(range, { command: `fileops.review.${command}`, arguments: [review.id], title, tooltip });
    const tooltip = `${this.#meaningOf(review)}. Show what changed`;
    if (!review.isRefused) return [lens('showChanges', '$(warning) File changed meanwhile', tooltip)];
    return [
      lens('showChanges', '$(warning) File changed: accepting will be refused', tooltip),
      lens('reject', '$(discard) Reject', 'The agent has to read the file again'),
    ];
  }

  #rowOf(review: Review): vscode.TreeItem {
    const { agent, params, dropped, changes, staleness } = review;
    const item = new vscode.TreeItem(vscode.Uri.file(params.file_path));
    item.label = path.basename(params.file_path);
    const note = params.rebased ? ` · ${this.#sentenceOf(params.rebased)}` : '';
    item.description = `${staleness ? 'file changed · ' : ''}${dropped.size > 0 ? `${changes.length - dropped.size} of ${changes.length} changes` : counted(params.hunks)} · ${agent}${note}`;
    item.tooltip = new vscode.MarkdownString(`${params.description || params.title}\n\n${params.file_path}${staleness ? `\n\n${this.#meaningOf(review)}.` : ''}`);
    item.iconPath = new vscode.ThemeIcon(staleness ? 'warning' : params.operation === 'create' ? 'new-file' : 'edit');
    item.contextValue = staleness ? 'review.stale' : 'review';
    return item;
  }

  getChildren(element?: Waiting): Waiting[] {
    return element ? [] : [...this.reviews.waiting];
  }

  getTreeItem(review: Waiting): vscode.TreeItem {
    const item = review.kind === 'command' ? review.row() : this.#rowOf(review);
    item.id = String(review.id);
    item.command = { command: 'fileops.review.focus', title: 'Open', arguments: [review] };
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function counted(hunks: readonly Hunk[]): string {
  const count = (kind: string): number => hunks.reduce((n, hunk) => n + hunk.lines.filter(l => l.kind === kind).length, 0);
  return `+${count('+')} −${count('-')}`;
}
