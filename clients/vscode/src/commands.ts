/** The commands of *Agent Changes*: what each means by its arguments, by the pane or page in front, or by the cursor. */
import * as vscode from 'vscode';
import type { Agents } from './agents';
import type { AskSwitch } from './ask';
import type { UnkeptActions } from './changes/actions';
import { type ChangeDiffs, WAITING } from './changes/diffs';
import { ownFile } from './changes/cells';
import { activeFile, type ChangesHere } from './changes/here';
import type { UnkeptList } from './changes/list';
import { counted, isRow, rowsOf, type Target, targetInPeek, targetOfChanges, together } from './changes/targets';
import type { Turns } from './changes/turns';
import type { History } from './history';
import type { Reviews, Waiting } from './review/queue';
import { REVIEW_SCHEME } from './ui/diff';
import type { Status } from './ui/status';

export interface Parts {
  list: UnkeptList;
  here: ChangesHere;
  actions: UnkeptActions;
  diffs: ChangeDiffs;
  turns: Turns;
  reviews: Reviews;
  agents: Agents;
  history: History;
  ask: AskSwitch;
  status: Status;
  log: vscode.LogOutputChannel;
}

type Run = (...given: unknown[]) => unknown;

export class Commands implements vscode.Disposable {
  readonly #commands: vscode.Disposable;

  constructor(readonly parts: Parts) {
    const { actions, diffs, turns, reviews, agents, history, ask, status } = parts;
    const onTarget = (act: (target: Target) => Promise<void>): Run => (...given) => this.#withTarget(this.#targetOf(given), act);
    const inFile = (act: (target: Target) => Promise<void>): Run => given => this.#withTarget(this.#targetOfFile(given), act);
    const onAll = (act: (target: Target) => Promise<void>): Run => () => this.#withTarget(this.#targetOfAll(), act);
    const undoAll = onAll(target => actions.undo(target));
    const commands: Record<string, Run> = {
      keep: onTarget(target => actions.keep(target)),
      undo: onTarget(target => actions.undo(target)),
      undoWithReason: onTarget(target => actions.undoWithReason(target)),
      keepFile: inFile(target => actions.keep(target)),
      undoFile: inFile(target => actions.undo(target)),
      keepAll: onAll(target => actions.keep(target)),
      undoAll: () => (turns.isPreviewInFront ? turns.undoShown() : undoAll()),
      accept: (...given) => reviews.accept(this.#reviewsOf(given)),
      reject: (...given) => reviews.reject(this.#reviewsOf(given)),
      // VS Code adds the key of a command to its button in a second line. So those with words have their keys here.
      acceptByKey: () => reviews.accept(this.#reviewsOf([])),
      rejectByKey: () => reviews.reject(this.#reviewsOf([])),
      keepFileByKey: inFile(target => actions.keep(target)),
      undoFileByKey: inFile(target => actions.undo(target)),
      acceptAll: () => reviews.accept(reviews.edits.filter(({ isDeciding }) => !isDeciding)),
      rejectAll: () => reviews.reject(reviews.edits),
      acceptAlways: (...given) => Promise.all(this.#reviewsOf(given).map(review => reviews.decide(review, 'always'))),
      open: (...given) => this.#open(given),
      openAll: (group?: unknown) => diffs.openAll(isGroup(group) ? group.id : undefined),
      nextFile: () => diffs.nextFile(),
      redo: (row?: unknown) => actions.redo(isRow(row) ? row.rewindId : undefined),
      ask: () => ask.pick(),
      showAgents: () => agents.pick(sessionId => history.pick(sessionId)),
      showHistory: () => history.pick(),
      restore: () => turns.pick(),
      showMenu: () => status.pick(),
      showLog: () => parts.log.show(),
      restart: () => parts.list.daemon.restart(),
    };
    this.#commands = vscode.Disposable.from(vscode.languages.registerCodeLensProvider({ scheme: REVIEW_SCHEME, language: 'fileops-command' }, {
      provideCodeLenses: () => [new vscode.CodeLens(new vscode.Range(0, 0, 0, 0), { command: 'fileops.acceptAlways', title: '$(check-all) Accept, and do not ask again about this command' })],
    }), ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(`fileops.${name}`, (...given: unknown[]) => this.#run(name, run, given))));
  }

  /** Shows why a request failed; VS Code would show only its code. */
  async #run(name: string, run: Run, given: unknown[]): Promise<void> {
    try {
      await run(...given);
    } catch (error) {
      this.parts.log.error(`${name}: ${String(error)}`);
      void vscode.window.showWarningMessage(`Fileops: nothing was done. ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #withTarget(target: Target | undefined, act: (target: Target) => Promise<void>): Promise<void> {
    if (target && target.change_ids.length > 0) await act(target);
    else vscode.window.setStatusBarMessage('Nothing to keep or undo here', 5000);
  }

  /** Rows or a group, a change of the peek, or the change at the cursor. */
  #targetOf(given: unknown[]): Target | undefined {
    const rows = rowsOf(given);
    if (rows.length > 0) {
      const targets = rows.flatMap(({ target }) => target ?? []);
      const [first] = targets;
      if (targets.length <= 1) return first;
      const all = together(targets, '');
      return { ...all, what: inFiles(all) };
    }
    const [mark] = this.parts.here.atCursor;
    return targetInPeek(this.parts.here.before, given)
      ?? (mark && targetOfChanges([{ ...mark.change, start_line: mark.start + 1 }], ''));
  }

  /**
   * In a turn's diff, the turn's changes; else all in the file. given: the file of the title with the button, which
   * need not have the keyboard.
   */
  #targetOfFile(given: unknown): Target | undefined {
    const isOther = given instanceof vscode.Uri && given.scheme === 'file' && given.toString() !== activeFile()?.toString();
    if (isOther) return this.#targetIn(given.fsPath, '');
    const { input } = vscode.window.tabGroups.activeTabGroup.activeTab ?? {};
    const before = input instanceof vscode.TabInputTextDiff ? input.original : input instanceof vscode.TabInputText ? input.uri : undefined;
    const own = ownFile(before);
    const file = own?.fsPath ?? activeFile()?.fsPath;
    return file === undefined ? undefined : this.#targetIn(file, own ? before!.query : '');
  }

  /** Everything on the page in front; else everything to keep or undo. */
  #targetOfAll(): Target | undefined {
    const { list, diffs } = this.parts;
    const page = diffs.pageInFront;
    const groupId = page === undefined || page === WAITING ? '' : page;
    const all = together(list.filesOf(groupId).flatMap(file => this.#targetIn(file, groupId) ?? []), '');
    return { ...all, what: inFiles(all) };
  }

  #targetIn(file: string, groupId: string): Target | undefined {
    const { list } = this.parts;
    return targetOfChanges(list.changesOf(file, groupId), file, list.ofOldName(file, groupId));
  }

  /** For rows or the group, or the pane whose title has the button; else for the pane in front. */
  #reviewsOf(given: unknown[]): Waiting[] {
    const rows = rowsOf(given);
    const { reviews } = this.parts;
    const [uri] = given;
    if (uri instanceof vscode.Uri) return reviews.waiting.filter(({ pane }) => pane.after.toString() === uri.toString());
    if (rows.length > 0) return rows.flatMap(({ review }) => review ?? []);
    const { current } = reviews;
    if (!current) vscode.window.setStatusBarMessage('No edit that waits is in front', 5000);
    return current ? [current] : [];
  }

  async #open([given]: unknown[]): Promise<void> {
    const { reviews, diffs } = this.parts;
    if (typeof given !== 'object' || given === null) return;
    const reviewId = 'reviewId' in given ? given.reviewId : isRow(given) ? given.review?.id : undefined;
    const review = reviews.waiting.find(({ id }) => id === reviewId);
    if (review) await reviews.show(review, true);
    else if (isRow(given)) await diffs.open(given.resourceUri.fsPath, given.groupId);
  }

  dispose(): void {
    this.#commands.dispose();
  }
}

const inFiles = ({ nChanges, nFiles }: Target): string => `${counted(nChanges)} in ${counted(nFiles, 'file')}`;

const isGroup = (given: unknown): given is vscode.SourceControlResourceGroup => typeof given === 'object' && given !== null && 'resourceStates' in given;
