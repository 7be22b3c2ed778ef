/**
 * What waits for the person and what they have not kept yet, as a source control of its own: VS Code's list, its count,
 * and its bars, peek and diffs.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { EditedLines, UnkeptOfFile } from '../protocol';
import type { Reviews, Waiting } from '../review/queue';
import { rebasedSentence } from '../review/told';
import type { Agents } from '../agents';
import { VIEW_SCHEME } from '../ui/diff';
import { inCells, inOneLine } from '../ui/labels';
import type { UnkeptActions } from './actions';
import type { Before } from './before';
import { labelOfGroup, WAITING } from './diffs';
import type { Group } from './list';
import { counted, type Row, together } from './targets';

const SORTED = 'fileops.sortedByName';
const SORT_BY_NAME = ['workbench.scm.action.repositories.setSortKey.name', 'workbench.scm.action.setSortKey.name'];

/** Files of a turn that are listed; one more row stands for the others. */
const FOLD_AT = 20;

/** Marks every row of an agent, because git lists the same files. */
const AGENT = new vscode.ThemeIcon('hubot');

interface Shown {
  source: vscode.SourceControl;
  waiting: vscode.SourceControlResourceGroup;
  turns: Map<string, vscode.SourceControlResourceGroup>;
}

export class AgentChanges implements vscode.Disposable {
  /**
   * Exists only while there is something to show. It is then younger than git's, so the editor's peek begins with it:
   * of providers with a root, VS Code asks the youngest first. The list has the oldest first, so it is sorted by name.
   */
  #shown: Shown | undefined;
  /** By key, rows that were just decided. */
  readonly #lingering = new Map<string, Row>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** How long a decided row stays: a second click must not hit the next row in its place. A test sets it. */
  lingerMs = 2_000;
  readonly #disposables: vscode.Disposable[];
  #drawing: NodeJS.Immediate | undefined;
  #hasChanges = false;
  #hasUnkept = false;

  constructor(readonly before: Before, readonly reviews: Reviews, readonly actions: UnkeptActions, readonly agents: Agents, readonly store: vscode.Memento) {
    this.#disposables = [
      before.list.onDidChange(filePath => filePath === undefined && this.#drawSoon()),
      reviews.onDidChange(() => this.#drawSoon()),
      actions.onDidDecide(({ change_ids, rewindId }) => this.#linger(new Set(change_ids), rewindId)),
    ];
  }

  /** The groups in VS Code, the newest turn first; none while there is nothing to decide. */
  get groups(): readonly vscode.SourceControlResourceGroup[] {
    return this.#shown ? [this.#shown.waiting, ...this.#shown.turns.values()] : [];
  }

  get count(): number | undefined {
    return this.#shown?.source.count;
  }

  #open(): Shown {
    void this.#sortByName();
    const source = vscode.scm.createSourceControl('fileops', 'Agent Changes', vscode.Uri.file('/'));
    source.quickDiffProvider = this.before; // only once: after another assignment the peek no longer opens
    source.inputBox.visible = false; // it looks like a commit message
    const waiting = source.createResourceGroup(WAITING, 'Waiting for You');
    waiting.hideWhenEmpty = true;
    return { source, waiting, turns: new Map() };
  }

  /** Once in a workspace, so that a user who chooses another order keeps it. Its label comes before the names of most folders. */
  async #sortByName(): Promise<void> {
    const { globalValue, workspaceValue } = vscode.workspace.getConfiguration('scm').inspect('repositories.sortOrder') ?? {};
    if (globalValue !== undefined || workspaceValue !== undefined || this.store.get(SORTED)) return;
    await this.store.update(SORTED, true);
    const commands = new Set(await vscode.commands.getCommands(true)); // VS Code 1.100 has another name for it
    const sort = SORT_BY_NAME.find(command => commands.has(command));
    if (sort) await vscode.commands.executeCommand(sort);
  }

  #linger(ids: ReadonlySet<string>, rewindId: string | undefined): void {
    const rows = [...this.#shown?.turns.values() ?? []].flatMap(group => group.resourceStates as Row[]);
    for (const row of rows) {
      if (row.isRest || !row.target || !row.target.change_ids.every(id => ids.has(id))) continue;
      const { target: _, ...rest } = row;
      this.#lingering.set(keyOf(row), {
        ...rest, contextValue: rewindId ? 'undone' : 'kept', ...(rewindId ? { rewindId } : {}),
        decorations: { faded: true, strikeThrough: rewindId !== undefined, tooltip: rewindId ? 'Undone' : 'Kept' },
      });
    }
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#timers.size === 0) this.giveUpPlaces();
    }, this.lingerMs);
    this.#timers.add(timer);
    this.#drawSoon();
  }

  /** What was decided is not shown any more. */
  giveUpPlaces(): void {
    this.#timers.forEach(clearTimeout);
    this.#timers.clear();
    this.#lingering.clear();
    this.#drawSoon();
  }

  /** Once for everything that happens in this turn of the loop. */
  #drawSoon(): void {
    this.#tellContext();
    this.#drawing ??= setImmediate(() => {
      this.#drawing = undefined;
      this.#draw();
    });
  }

  /** At once: a person who reads in the status bar that something waits can press the key that goes there. */
  #tellContext(): void {
    const hasUnkept = this.before.list.all.n_changes > 0; // as the status bar counts them
    const hasChanges = this.reviews.waiting.length > 0 || hasUnkept;
    if (hasUnkept !== this.#hasUnkept) void vscode.commands.executeCommand('setContext', 'fileops.hasUnkept', hasUnkept);
    if (hasChanges !== this.#hasChanges) void vscode.commands.executeCommand('setContext', 'fileops.hasChanges', hasChanges);
    [this.#hasUnkept, this.#hasChanges] = [hasUnkept, hasChanges];
  }

  #draw(): void {
    const { groups } = this.before.list;
    const { waiting } = this.reviews;
    if (waiting.length + groups.length + this.#lingering.size === 0) {
      this.#shown?.source.dispose();
      this.#shown = undefined;
      return;
    }
    const { source, waiting: ofReviews, turns } = this.#shown ??= this.#open();
    ofReviews.label = ['Waiting for You', ...new Set(waiting.map(({ agent }) => agent))].join(' · ');
    ofReviews.resourceStates = waiting.map(review => this.#rowOfReview(review));
    const old = new Map([...turns].map(([id, shown]) => [id, shown.resourceStates as Row[]]));
    const news = groups.filter(({ id }) => !turns.has(id));
    if (news.length > 0) { // VS Code lists groups in the order in which they were made, and the newest is to be the first
      const lingering = [...turns.keys()].filter(id => !groups.some(group => group.id === id));
      for (const shown of turns.values()) shown.dispose();
      turns.clear();
      for (const id of [...groups.map(group => group.id), ...lingering]) turns.set(id, source.createResourceGroup(id, ''));
    }
    for (const [id, shown] of turns) {
      const group = groups.find(one => one.id === id);
      const rows = this.#rowsOf(id, group, old.get(id) ?? []);
      if (rows.length === 0) {
        shown.dispose();
        turns.delete(id);
        continue;
      }
      const nFiles = this.before.list.filesOf(id).length; // VS Code counts the rows
      const all = nFiles > FOLD_AT + 1 ? [counted(nFiles, 'file')] : [];
      if (group) shown.label = labelOfGroup(group, sizeOf(this.#linesOfGroup(group)), ...all);
      shown.resourceStates = rows;
    }
    source.count = waiting.length; // VS Code adds it to git's number, which counts the other files already
  }

  /** Existing rows keep their places, even for a moment after they were decided; new ones follow. */
  #rowsOf(id: string, group: Group | undefined, old: readonly Row[]): Row[] {
    const shown = new Set(this.before.list.filesOf(id));
    const all = (group?.turn.files ?? []).filter(({ file_path }) => shown.has(file_path));
    const files = all.length > FOLD_AT + 1 ? all.slice(0, FOLD_AT) : all;
    const rows = new Map(files.map(file => this.#rowOfFile(group!, file)).map(row => [keyOf(row), row]));
    for (const row of this.#lingering.values()) if (row.groupId === id && !rows.has(keyOf(row))) rows.set(keyOf(row), row);
    const before = old.map(keyOf).filter(key => rows.has(key));
    const listed = [...new Set([...before, ...rows.keys()])].map(key => rows.get(key)!);
    return files.length < all.length ? [...listed, this.#rowOfRest(group!, all.slice(files.length))] : listed;
  }

  /** One row for the files that are not listed: a click opens all of the turn on one page. */
  #rowOfRest(group: Group, files: readonly UnkeptOfFile[]): Row {
    const targets = files.flatMap(file => this.#rowOfFile(group, file).target ?? []);
    return {
      resourceUri: lastRow(counted(files.length, 'more file')), groupId: group.id, contextValue: 'file', isRest: true,
      target: together(targets, `changes in ${counted(files.length, 'file')}`),
      command: { command: 'fileops.openAll', title: 'Open All Changes', arguments: [{ id: group.id, resourceStates: [] }] },
      decorations: { iconPath: new vscode.ThemeIcon('ellipsis'), tooltip: 'Open all changes of this turn on one page' },
    };
  }

  /** All lines of a renamed file count as new for the daemon: here, those that differ from its text under the old name. */
  #linesOfFile(file: UnkeptOfFile): EditedLines {
    return this.before.list.of(file.file_path)?.edited ?? file;
  }

  #linesOfGroup({ id, turn }: Group): EditedLines {
    const shown = new Set(this.before.list.filesOf(id));
    const lines = turn.files.filter(({ file_path }) => shown.has(file_path)).map(file => this.#linesOfFile(file));
    return { added: sumOf(lines.map(({ added }) => added)), removed: sumOf(lines.map(({ removed }) => removed)) };
  }

  #rowOfFile({ id, session }: Group, file: UnkeptOfFile): Row {
    const { file_path, n_changes } = file;
    const resourceUri = vscode.Uri.file(file_path);
    const { operation, moved_from } = this.before.list.of(file_path) ?? {};
    const changes = this.before.list.decidedWith(file_path, id);
    const change_ids = changes.map(({ change_id }) => change_id);
    const agent = inOneLine(session.label);
    const lines = this.#linesOfFile(file);
    const size = lines.added + lines.removed > 0 || moved_from == null ? sizeOf(lines) : '';
    const what = moved_from != null ? [`moved from ${vscode.workspace.asRelativePath(moved_from)}`, size].filter(part => part !== '').join(', ')
      : changes.every(({ kind }) => kind === 'file') ? changes[0]?.whole_file ?? 'whole file' : size;
    return {
      resourceUri, groupId: id, contextValue: 'file',
      target: { change_ids, what: `${counted(n_changes)} in ${path.basename(file_path)}`, nChanges: n_changes, nFiles: 1, agents: [agent] },
      command: { command: 'fileops.open', title: 'Open Changes', arguments: [{ resourceUri, groupId: id }] },
      decorations: { iconPath: AGENT, tooltip: `${counted(n_changes)} of ${agent}: ${what}${inCells(changes)}`, strikeThrough: operation === 'delete' },
    };
  }

  #rowOfReview(review: Waiting): Row {
    const isDecided = review.kind === 'edit' && review.isDeciding;
    return {
      resourceUri: review.kind === 'edit' ? vscode.Uri.file(review.place) : rowOfCommand(review.place, review.name), groupId: WAITING, review, contextValue: review.kind,
      command: { command: 'fileops.open', title: 'Open Changes', arguments: [{ reviewId: review.id }] },
      decorations: {
        tooltip: this.#tooltipOf(review), faded: isDecided,
        strikeThrough: review.kind === 'edit' && review.question.operation === 'delete',
        iconPath: review.kind === 'command' ? new vscode.ThemeIcon('terminal') : AGENT,
      },
    };
  }

  #tooltipOf(review: Waiting): string {
    if (review.kind === 'command') return review.title;
    const { title, agent, set, rebased, isDeciding, question: { previous } } = review;
    return [
      `${title} (${agent})`,
      ...(set ? [`Decided together with the ${set.question.files.length} files of its change set${isDeciding ? `; ${set.nLeft} are left` : ''}`] : []),
      ...(previous ? ['The file changed in the meantime: decide again'] : []),
      ...(rebased ? [rebasedSentence(rebased, id => this.agents.nameOf(id))] : []),
    ].join('\n');
  }

  dispose(): void {
    if (this.#drawing) clearImmediate(this.#drawing);
    for (const timer of this.#timers) clearTimeout(timer);
    this.#shown?.source.dispose();
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** VS Code labels a row by its address alone. For a command, that is its last part, in a folder of its own. */
const rowOfCommand = (folder: string, command: string): vscode.Uri => vscode.Uri.file(path.join(folder, command.replaceAll('/', '\u2215')));

/** VS Code sorts rows by their folders, and this one comes after those of all files. */
const lastRow = (label: string): vscode.Uri => vscode.Uri.from({ scheme: VIEW_SCHEME, path: `/…/${label}` });

const sizeOf = ({ added, removed }: EditedLines): string => `+${added} −${removed}`;

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

const keyOf = ({ groupId, resourceUri }: Row): string => `${groupId}\0${resourceUri.fsPath}`;
