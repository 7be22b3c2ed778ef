/**
 * How waiting reviews look: the list "Waiting Reviews", the actions above each change of a proposal, and the mark on
 * the tab of a review whose file changed. Reads the queue and decides nothing.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { RebasedDetails, ReviewChange } from '../protocol';
import { REVIEW_SCHEME } from '../ui/diff';
import type { Sessions } from '../ui/sessions';
import { sentence } from '../ui/stale';
import type { Review } from './edit';
import type { Reviews, Waiting } from './queue';
import { ChangeSet } from './set';
import { rebasedSentence } from './rebased';
import { againSentence } from './told';

/** A change set has its own row, with its files below it. */
type Row = Waiting | ChangeSet;

export class ReviewView
implements vscode.Disposable, vscode.CodeLensProvider, vscode.FileDecorationProvider, vscode.TreeDataProvider<Row> {
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly #rows = new vscode.EventEmitter<void>();
  readonly #badges = new vscode.EventEmitter<vscode.Uri>();
  readonly #tree: vscode.TreeView<Row>;
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
    const first = new vscode.Range(top, 0, top, 0);
    const whole = [...this.#noteLenses(review, first), ...this.#staleLenses(review, first), ...this.#rebasedLenses(review, first)];
    const decisions = [
      ...(review.isImpossible ? [] : [new vscode.CodeLens(first, { command: 'fileops.review.accept', arguments: [review.id], title: '$(check) Accept' })]),
      new vscode.CodeLens(first, { command: 'fileops.review.reject', arguments: [review.id], title: review.set ? '$(discard) Reject this file' : '$(discard) Reject all' }),
      ...(review.set ? [
        new vscode.CodeLens(first, { command: 'fileops.review.acceptAll', arguments: [review.id], title: `$(check-all) Accept all ${review.set.question.files.length} files` }),
        new vscode.CodeLens(first, { command: 'fileops.review.rejectAll', arguments: [review.id], title: '$(clear-all) Reject all' }),
      ] : []),
    ];
    const isFirstThere = places.some(({ id }) => id === review.changes[0]?.id);
    return [...whole, ...(isFirstThere ? [] : decisions), ...places.flatMap(({ id, changed }) => {
      const line = Math.min(changed, Math.max(document.lineCount - 1, 0));
      const range = new vscode.Range(line, 0, line, 0);
      const isDropped = review.dropped.has(id);
      const index = review.changes.findIndex(change => change.id === id);
      const which = n > 1 ? ` ${index + 1} of ${n}` : '';
      const toggle = new vscode.CodeLens(range, {
        command: 'fileops.review.toggleHunk', arguments: [review.id, id],
        title: isDropped ? `$(add) Put back change${which}` : `$(close) Drop change${which}`,
        tooltip: isDropped ? 'Propose this change again' : 'Accept the edit without this change',
      });
      return index === 0 ? [toggle, ...decisions] : [toggle];
    })];
  }

  /** That the time is nearly up; that it has to be decided again, and what had been decided. */
  #noteLenses({ id, question, earlier, secondsLeft }: Review, range: vscode.Range): vscode.CodeLens[] {
    const lens = (command: string, title: string, tooltip: string): vscode.CodeLens =>
      new vscode.CodeLens(range, { command: `fileops.review.${command}`, arguments: [id], title, tooltip });
    const why = question.previous ? `Decide again: ${againSentence(question.previous)}` : 'Not decided yet';
    return [
      ...(secondsLeft === undefined ? [] : [lens('focus', `$(clock) ${secondsLeft} s left`, 'Then it ends, and nothing is written')]),
      ...(question.previous && earlier === undefined ? [lens('focus', `$(history) ${why}`, 'The proposal contains what you had decided')] : []),
      ...(earlier === undefined ? [] : [
        lens('showEarlier', `$(history) ${why}`, 'Show what you had decided or typed'),
        lens('useEarlier', '$(insert) Use your earlier text', 'It takes the place of the proposal; what others changed in the meantime is not in it'),
      ]),
    ];
  }

  #rebasedLenses({ id, rebased }: Review, range: vscode.Range): vscode.CodeLens[] {
    if (!rebased) return [];
    return [new vscode.CodeLens(range, {
      command: 'fileops.review.showRebased', arguments: [id], title: `$(git-merge) ${capitalized(this.#sentenceOf(rebased))}`,
      tooltip: 'The agent read the file before these changes. Show them',
    })];
  }

  #sentenceOf(rebased: RebasedDetails): string {
    return rebasedSentence(rebased, id => this.sessions.nameOf(id));
  }

  /** The tab of a review whose file changed in the meantime. */
  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    if (uri.scheme !== REVIEW_SCHEME) return undefined;
    const review = this.reviews.waiting.find(r => r.kind === 'edit' && r.pane.after.toString() === uri.toString());
    if (review?.kind !== 'edit' || !review.staleness) return undefined;
    return new vscode.FileDecoration('≠', this.#meaningOf(review), new vscode.ThemeColor('fileops.staleForeground'));
  }

  /** What it means for the decision that the file changed; empty where it did not. */
  #meaningOf({ staleness }: Review): string {
    if (!staleness) return '';
    return `The file ${sentence(staleness, id => this.sessions.nameOf(id))}: what you accept is merged with it, or you are asked again`;
  }

  #staleLenses(review: Review, range: vscode.Range): vscode.CodeLens[] {
    if (!review.staleness) return [];
    return [new vscode.CodeLens(range, {
      command: 'fileops.review.showChanges', arguments: [review.id], title: '$(warning) File changed in the meantime',
      tooltip: `${this.#meaningOf(review)}. Show what changed`,
    })];
  }

  #rowOf(review: Review): vscode.TreeItem {
    const { agent, question, dropped, changes, staleness, rebased, secondsLeft } = review;
    const item = new vscode.TreeItem(vscode.Uri.file(question.file_path));
    item.label = path.basename(question.file_path);
    const note = rebased ? ` · ${this.#sentenceOf(rebased)}` : '';
    const clock = secondsLeft === undefined ? '' : `${secondsLeft} s left · `;
    const decided = review.set?.isOpen ? review.set.decisionOf(question.file_path) : undefined;
    const verdict = decided ? `${decided.outcome === 'reject' ? 'rejected' : 'accepted'} · ` : '';
    const state = verdict || (question.previous ? 'decide again · ' : staleness ? 'file changed · ' : '');
    item.description = `${clock}${state}${dropped.size > 0 ? `${changes.length - dropped.size} of ${changes.length} changes` : counted(question.changes)} · ${agent}${note}`;
    item.tooltip = new vscode.MarkdownString(`${question.description || question.title}\n\n${question.file_path}${staleness ? `\n\n${this.#meaningOf(review)}.` : ''}`);
    item.iconPath = new vscode.ThemeIcon(staleness ? 'warning' : ICONS[question.operation]);
    item.contextValue = staleness ? 'review.stale' : 'review';
    return item;
  }

  getChildren(element?: Row): Row[] {
    if (element instanceof ChangeSet) return this.#filesOf(element);
    return element ? [] : [...new Set(this.reviews.waiting.map(one => (one.kind === 'edit' && one.set) || one))];
  }

  #filesOf(set: ChangeSet): Review[] {
    return this.reviews.waiting.filter((one): one is Review => one.kind === 'edit' && one.set === set);
  }

  #setRow(set: ChangeSet): vscode.TreeItem {
    const [first] = this.#filesOf(set);
    const n = set.question.files.length;
    const item = new vscode.TreeItem(set.question.description || `${n} files`, vscode.TreeItemCollapsibleState.Expanded);
    const left = set.nLeft < n ? ` · ${set.nLeft} to decide` : '';
    item.description = `${n} files together${left}${first ? ` · ${first.agent}` : ''}`;
    item.tooltip = set.question.title;
    item.iconPath = new vscode.ThemeIcon('files');
    item.contextValue = 'set';
    item.id = set.id;
    return item;
  }

  getTreeItem(review: Row): vscode.TreeItem {
    if (review instanceof ChangeSet) return this.#setRow(review);
    const item = review.kind === 'command' ? review.row() : this.#rowOf(review);
    item.id = String(review.id);
    item.command = { command: 'fileops.review.focus', title: 'Open', arguments: [review] };
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const ICONS = { create: 'new-file', modify: 'edit', rename: 'arrow-right', delete: 'trash' } as const;

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

function counted(changes: readonly ReviewChange[]): string {
  const count = (side: 'new_lines' | 'old_lines'): number => changes.reduce((n, change) => n + change[side], 0);
  return `+${count('new_lines')} −${count('old_lines')}`;
}
