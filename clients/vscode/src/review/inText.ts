/**
 * Waiting reviews in the text of files that are open: the lines that would go are marked where they are, the lines that
 * would come are shown below them, and above each change are its actions. Nothing of it is in the document.
 */
import * as vscode from 'vscode';
import type { InsertedLines, Shown } from '../ui/inserted';
import { followTyping } from '../ui/spans';
import type { Words } from '../ui/words';
import type { Review } from './edit';
import { isAt, neighbour, type Spot, spotsOf } from './spots';

interface Placed {
  review: Review;
  spots: Spot[];
}

/** A change that a person means. */
export interface Chosen {
  review: Review;
  id: string;
}

export class ReviewsInText implements vscode.Disposable, vscode.CodeLensProvider {
  readonly #placed = new Map<Review, Placed>();
  readonly #lenses = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.#lenses.event;
  readonly #lineType: vscode.TextEditorDecorationType;
  readonly #wordType: vscode.TextEditorDecorationType;
  readonly #placeType: vscode.TextEditorDecorationType;
  readonly #disposables: vscode.Disposable[];
  #documents = new Set<string>();
  #isHere = false;

  /** waiting: the reviews that wait, at any time. */
  constructor(readonly waiting: () => readonly Review[], readonly inserted: InsertedLines) {
    const ruler = { overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.modifiedForeground'), overviewRulerLane: vscode.OverviewRulerLane.Full };
    this.#lineType = vscode.window.createTextEditorDecorationType({
      ...ruler, isWholeLine: true, backgroundColor: new vscode.ThemeColor('diffEditor.removedLineBackground'),
    });
    this.#wordType = vscode.window.createTextEditorDecorationType({ backgroundColor: new vscode.ThemeColor('diffEditor.removedTextBackground') });
    this.#placeType = vscode.window.createTextEditorDecorationType(ruler);
    this.#disposables = [
      this.#lenses, this.#lineType, this.#wordType, this.#placeType,
      vscode.languages.registerCodeLensProvider({ scheme: 'file' }, this),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        for (const { spots } of this.#of(document.uri)) followTyping(spots, contentChanges);
      }),
      vscode.workspace.onDidOpenTextDocument(() => this.update()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.update()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
      vscode.window.onDidChangeActiveTextEditor(() => this.#tellContext()),
      vscode.workspace.onDidChangeConfiguration(event => event.affectsConfiguration('fileops.review.open') && this.update()),
    ];
  }

  /** Whether this review is shown in the text of its file, which needs no pane then. */
  has(review: Review): boolean {
    return this.#placed.has(review);
  }

  /** The places of a review's changes in the open text; those that are decided, too. */
  spotsOf(review: Review): readonly Spot[] {
    return this.#placed.get(review)?.spots ?? [];
  }

  /** The queue, or what is decided of it, has changed. */
  update(): void {
    const waiting = this.waiting();
    if (waiting.length === 0 && this.#placed.size === 0) return this.#tellContext();
    const documents = shownDocuments();
    const showable = new Set(waiting.filter(review => documents.has(review.uri) && isShowable(review)));
    for (const review of this.#placed.keys()) if (!showable.has(review)) this.#placed.delete(review);
    for (const review of showable) {
      if (this.#placed.has(review)) continue;
      const { changes, original_text, proposed_text } = review.question;
      const text = documents.get(review.uri)!.getText();
      this.#placed.set(review, { review, spots: spotsOf(changes, original_text ?? '', proposed_text ?? '', text) });
    }
    this.#insert();
    this.#draw();
    this.#lenses.fire();
  }

  /** Shows the first change that is not decided. */
  async reveal(review: Review, takesFocus: boolean): Promise<void> {
    const spot = this.#open(review)[0] ?? this.spotsOf(review)[0];
    const at = new vscode.Position(spot?.start ?? 0, 0);
    const column = vscode.window.visibleTextEditors.find(({ document }) => isOf(review, document.uri))?.viewColumn;
    await vscode.window.showTextDocument(vscode.Uri.file(review.question.file_path), {
      preserveFocus: !takesFocus, preview: false, selection: new vscode.Range(at, at), ...(column === undefined ? {} : { viewColumn: column }),
    });
  }

  /** The change that a lens, the title of its lines or the cursor names; undefined if there is none. */
  chosen(target: unknown, id: unknown): Chosen | undefined {
    const key = this.inserted.keyOf(target);
    const all = [...this.#placed.values()].flatMap(({ review, spots }) => spots.map(spot => ({ review, id: spot.id, spot })));
    if (key !== undefined) return all.find(one => keyOf(one.review, one.id) === key);
    if (typeof id === 'string') return all.find(one => one.review.id === target && one.id === id);
    const editor = vscode.window.activeTextEditor;
    return all.find(({ review, id, spot }) => editor && isOf(review, editor.document.uri) && !review.isDecided(id) && isAt(spot, editor.selection.active.line));
  }

  /** Moves the cursor to the next change that waits in this file. False if there is none. */
  go(isNext: boolean): boolean {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return false;
    const spots = this.#of(editor.document.uri).flatMap(({ review }) => this.#open(review));
    const spot = neighbour(spots, editor.selection.active.line, isNext);
    if (!spot) return false;
    editor.selection = new vscode.Selection(spot.start, 0, spot.start, 0);
    editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    return true;
  }

  #of(uri: vscode.Uri): Placed[] {
    return [...this.#placed.values()].filter(({ review }) => isOf(review, uri));
  }

  #open(review: Review): Spot[] {
    return this.spotsOf(review).filter(({ id }) => !review.isDecided(id));
  }

  #insert(): void {
    const shown = new Map<string, { uri: vscode.Uri; lines: Shown[] }>();
    for (const { review } of this.#placed.values()) {
      const entry = shown.get(review.uri) ?? { uri: vscode.Uri.file(review.question.file_path), lines: [] };
      shown.set(review.uri, entry);
      for (const { id, end, added } of this.#open(review)) {
        if (added.length === 0) continue;
        entry.lines.push({
          key: keyOf(review, id), afterLine: end - 1, kind: 'added', lines: added, author: review.agent,
          title: `${which(review, id)}: proposed lines`, context: 'review',
        });
      }
    }
    for (const gone of this.#documents) if (!shown.has(gone)) this.inserted.show('review', vscode.Uri.parse(gone), []);
    for (const { uri, lines } of shown.values()) this.inserted.show('review', uri, lines);
    this.#documents = new Set(shown.keys());
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.scheme !== 'file') continue;
      const spots = this.#of(editor.document.uri).flatMap(({ review }) => this.#open(review));
      editor.setDecorations(this.#lineType, spots.filter(({ start, end }) => end > start).map(({ start, end }) => new vscode.Range(start, 0, end - 1, 0)));
      editor.setDecorations(this.#wordType, spots.flatMap(({ start, removed }) => wordRanges(start, removed)));
      editor.setDecorations(this.#placeType, spots.filter(({ start, end }) => end === start).map(({ start }) => new vscode.Range(start, 0, start, 0)));
    }
    this.#tellContext();
  }

  #tellContext(): void {
    const uri = vscode.window.activeTextEditor?.document.uri;
    const isHere = uri !== undefined && this.#of(uri).length > 0;
    if (isHere === this.#isHere) return;
    this.#isHere = isHere;
    void vscode.commands.executeCommand('setContext', 'fileops.reviewInText', isHere);
  }

  provideCodeLenses({ uri, lineCount }: vscode.TextDocument): vscode.CodeLens[] {
    return this.#of(uri).flatMap(({ review, spots }) => {
      const [first] = spots;
      const line = (n: number): vscode.Range => new vscode.Range(Math.min(n, lineCount - 1), 0, Math.min(n, lineCount - 1), 0);
      const lens = (at: number, command: string, title: string, tooltip: string, ...more: string[]): vscode.CodeLens =>
        new vscode.CodeLens(line(at), { command: `fileops.review.${command}`, arguments: [review.id, ...more], title, tooltip });
      const ofChanges = spots.flatMap(({ id, start }) => review.isDecided(id) ? [
        lens(start, 'putBack', `$(discard) ${review.dropped.has(id) ? 'Rejected' : 'Accepted'}: decide again`, 'This change is decided; the edit waits for its other changes', id),
      ] : [
        lens(start, 'acceptChange', '$(check) Accept', `${review.agent}: accept ${which(review, id)}`, id),
        lens(start, 'rejectChange', '$(close) Reject', `${review.agent}: reject ${which(review, id)}`, id),
        // With its only change an edit is rejected, and that asks for a reason anyway.
        ...(review.changes.length > 1 ? [lens(start, 'rejectChangeBecause', 'Reject, because…', `Reject ${which(review, id)}, and say why: the agent reads it`, id)] : []),
      ]);
      const n = spots.length;
      const ofAll = first ? [
        ...(review.changes.length > 1 ? [
          lens(first.start, 'accept', `$(check-all) Accept all ${review.changes.length}`, 'Accept what is not rejected yet'),
          lens(first.start, 'reject', '$(clear-all) Reject all', 'Nothing of this edit is written'),
        ] : []),
        lens(first.start, 'openProposal', '$(diff) Open the proposal', `Show the whole edit of ${review.agent}, to type into it`),
        ...(review.secondsLeft === undefined ? [] : [lens(first.start, 'focus', `$(clock) ${review.secondsLeft} s left`, 'Then it ends, and nothing is written')]),
      ] : [];
      return n === 0 ? [lens(0, 'openProposal', `$(eye) An edit of ${review.agent} waits for you`, 'You have typed into the lines that it changes')] : [...ofChanges, ...ofAll];
    });
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const keyOf = (review: Review, id: string): string => `${review.id} ${review.question.revision} ${id}`;

/** "Change 2 of 3". */
function which({ changes }: Review, id: string): string {
  const index = changes.findIndex(change => change.id === id);
  return changes.length > 1 ? `change ${index + 1} of ${changes.length}` : 'this edit';
}

const isOf = (review: Review, uri: vscode.Uri): boolean => uri.toString() === review.uri;

/** The open files that have a tab, by their addresses; none where reviews are not wanted in the text. */
function shownDocuments(): ReadonlyMap<string, vscode.TextDocument> {
  if (vscode.workspace.getConfiguration('fileops').get('review.open', 'text') !== 'text') return new Map();
  const inputs = vscode.window.tabGroups.all.flatMap(group => group.tabs.map(({ input }) => input));
  const tabs = new Set(inputs.flatMap(input => (input instanceof vscode.TabInputText ? [input.uri.toString()] : [])));
  return new Map(vscode.workspace.textDocuments.filter(({ isClosed }) => !isClosed)
    .map(document => [document.uri.toString(), document] as const).filter(([uri]) => tabs.has(uri)));
}

/** Whether it is of a kind that lines can show. */
function isShowable({ isWhole, question: { operation, changes, previous } }: Review): boolean {
  return operation === 'modify' && isWhole && changes.length > 0 && previous === null;
}

function wordRanges(start: number, lines: readonly Words[]): vscode.Range[] {
  return lines.flatMap((words, index) => {
    let at = 0;
    return words.flatMap(({ text, isChanged }) => {
      const range = new vscode.Range(start + index, at, start + index, at += text.length);
      return isChanged ? [range] : [];
    });
  });
}
