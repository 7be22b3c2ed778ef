/**
 * Agents' changes in VS Code's own diff editors: of one file, and of all files on one page. After a decision, the next
 * file replaces one that has nothing left to decide; a page is closed, or opened again if files were added.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Reviews } from '../review/queue';
import { type Before, isThere } from './before';
import { type Cells, ownFile } from './cells';
import { clock, inOneLine, isNotebook } from '../ui/labels';
import { activeFile } from './here';
import type { UnkeptActions } from './actions';

/** A page of several diffs. The tab tells only its label. */
interface Page {
  title: string;
  /** A turn, or `waiting`; empty: everything to keep or undo. */
  groupId: string;
  /** What is on it. */
  shown: ReadonlySet<string>;
}

type Diff = [label: vscode.Uri, before: vscode.Uri | undefined, after: vscode.Uri | undefined];

export const WAITING = 'waiting';
const TYPING_PAUSE_MS = 3_000; // a page is not replaced while a person types in it

export class ChangeDiffs implements vscode.Disposable {
  readonly #pages = new Map<string, Page>();
  readonly #disposables: vscode.Disposable[];
  #turn: Promise<void> = Promise.resolve();
  #typedAt = 0;
  #later: NodeJS.Timeout | undefined;
  /** The changes that this window has decided and the list still had: once they leave it, the next file is shown. */
  readonly #decided = new Set<string>();

  constructor(readonly before: Before, readonly cells: Cells, readonly reviews: Reviews, readonly actions: UnkeptActions, readonly log: vscode.LogOutputChannel) {
    this.#disposables = [
      actions.onDidDecide(({ change_ids }) => change_ids.forEach(id => this.#decided.add(id))),
      before.list.onDidChange(filePath => filePath === undefined && this.#inTurn(() => this.#follow())),
      reviews.onDidChange(() => this.#inTurn(() => this.#updatePages())),
      vscode.window.tabGroups.onDidChangeTabs(() => {
        this.#tellContext();
        void this.#inTurn(() => this.#updatePages());
      }),
      vscode.window.onDidChangeTextEditorSelection(({ kind }) => {
        if (kind === vscode.TextEditorSelectionChangeKind.Keyboard) this.#typedAt = Date.now();
      }),
    ];
  }

  /** The file beside its text without the changes of a turn, or of all; a deleted file, or one without text, alone. */
  async open(filePath: string, groupId: string, preserveFocus = false): Promise<void> {
    const uri = vscode.Uri.file(filePath);
    const name = path.basename(filePath);
    const [before, now] = this.#sides(uri, groupId);
    const changes = this.before.list.changesOf(filePath, groupId);
    const options = { preserveFocus };
    if (changes.length > 0 && changes.every(({ kind }) => kind === 'file')) await vscode.commands.executeCommand('vscode.open', uri, options);
    else if (this.before.list.of(filePath)?.operation === 'delete') await vscode.commands.executeCommand('vscode.open', before, options, `${name} (deleted)`);
    else await vscode.commands.executeCommand('vscode.diff', before, now, `${name}${this.#renamedFrom(filePath)} (Agent Changes)`, options);
  }

  /** groupId: a turn, `waiting`, or empty: everything to keep or undo; by default what waits, if anything does. */
  async openAll(groupId = this.reviews.edits.length > 0 ? WAITING : ''): Promise<void> {
    const group = this.before.list.groups.find(({ id }) => id === groupId);
    const title = groupId === WAITING ? 'Waiting for You' : group ? labelOfGroup(group) : 'Agent Changes';
    const diffs = this.#diffsOf(groupId);
    if (diffs.length === 0) return void vscode.window.setStatusBarMessage('No agent changes', 5000);
    const old = this.#tabsOf(title);
    this.#pages.set(title, { title, groupId, shown: keysOf(diffs) });
    await vscode.commands.executeCommand('vscode.changes', title, diffs);
    await this.#close(old);
  }

  /** What waits comes first, then what is to keep or undo; wraps around. */
  async nextFile(): Promise<void> {
    const files = this.before.list.filesOf('').map(filePath => ({ key: filePath, show: () => this.open(filePath, '') }));
    const waiting = this.reviews.waiting.map(review => ({ key: review.pane.after.toString(), show: () => this.reviews.show(review, true) }));
    const all = [...waiting, ...files];
    const here = this.reviews.current?.pane.after.toString() ?? activeFile()?.fsPath;
    const next = all[(all.findIndex(({ key }) => key === here) + 1) % Math.max(all.length, 1)];
    if (next) await next.show();
    else vscode.window.setStatusBarMessage('No file with agent changes', 5000);
  }

  #diffsOf(groupId: string): Diff[] {
    if (groupId === WAITING) return this.reviews.edits.filter(({ isDeciding }) => !isDeciding).map(({ pane, place }) => [vscode.Uri.file(place), pane.before, pane.after]);
    const { list } = this.before;
    return list.filesOf(groupId).filter(filePath => list.changesOf(filePath, groupId).some(({ kind }) => kind !== 'file')).map(filePath => {
      const uri = vscode.Uri.file(filePath);
      const [before, now] = this.#sides(uri, groupId);
      return [uri, before, list.of(filePath)?.operation === 'delete' ? undefined : now];
    });
  }

  /** For a title; empty for a file that has its name. */
  #renamedFrom(filePath: string): string {
    const old = this.before.list.of(filePath)?.moved_from;
    return old == null ? '' : `, renamed from ${path.dirname(old) === path.dirname(filePath) ? path.basename(old) : vscode.workspace.asRelativePath(old)}`;
  }

  /** The file without the changes, and as it is; of a notebook, its cells. */
  #sides(uri: vscode.Uri, groupId: string): [before: vscode.Uri, now: vscode.Uri] {
    return isNotebook(uri.fsPath) && this.cells.areServed ? this.cells.of(uri, groupId) : [this.before.of(uri, groupId), uri];
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step).catch((error: unknown) => this.log.error(String(error)));
    return this.#turn;
  }

  /** The list has changed: closes tabs with nothing left to decide, and shows the next file if the person saw one. */
  async #follow(): Promise<void> {
    const listed = new Set(this.before.list.all.files.flatMap(({ changes }) => changes.map(({ change_id }) => change_id)));
    const left = [...this.#decided].filter(id => !listed.has(id)); // a list that was requested before still contains them
    for (const id of left) this.#decided.delete(id);
    await this.#updatePages();
    if (left.length === 0) return;
    const done = allTabs().filter(tab => this.#isDone(tab));
    const active = done.find(tab => tab.isActive && tab.group.isActive);
    const groupId = active?.input instanceof vscode.TabInputTextDiff ? active.input.original.query : '';
    const [next] = active ? this.before.list.filesOf(groupId) : [];
    if (next) await this.open(next, groupId); // before the other is closed: its column stays
    await this.#close(done);
    const files = await Promise.all(allTabs().map(async tab => ({ tab, isGone: await isGone(tab) })));
    await this.#close(files.filter(({ isGone }) => isGone).map(({ tab }) => tab));
  }

  /** Whether it is a diff of ours with nothing left to decide. */
  #isDone({ input }: vscode.Tab): boolean {
    const own = input instanceof vscode.TabInputTextDiff ? input.original : input instanceof vscode.TabInputText ? input.uri : undefined;
    const file = ownFile(own);
    return file !== undefined && this.before.list.changesOf(file.fsPath, own!.query).length === 0;
  }

  async #updatePages(): Promise<void> {
    for (const page of this.#pages.values()) {
      const tabs = this.#tabsOf(page.title);
      if (tabs.length === 0) continue;
      const shown = keysOf(this.#diffsOf(page.groupId));
      const isOutdated = page.groupId === WAITING
        ? shown.size !== page.shown.size || [...shown].some(key => !page.shown.has(key)) // their texts go with them
        : [...shown].some(key => !page.shown.has(key));
      if (shown.size === 0) await this.#close(tabs);
      else if (isOutdated && tabs.some(tab => tab.isActive && tab.group.isActive)) await this.#openAgain(page);
    }
  }

  async #openAgain(page: Page): Promise<void> {
    const pauseMs = this.#typedAt + TYPING_PAUSE_MS - Date.now();
    if (pauseMs <= 0) return this.openAll(page.groupId);
    clearTimeout(this.#later);
    this.#later = setTimeout(() => void this.#inTurn(() => this.#updatePages()), pauseMs);
  }

  /** Which of our pages is in front: VS Code has no address for it. */
  #tellContext(): void {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    const page = tab && [...this.#pages.values()].find(({ title }) => isPage(tab, title));
    void vscode.commands.executeCommand('setContext', 'fileops.page', page && (page.groupId === WAITING ? WAITING : 'unkept'));
  }

  /** The turn whose page is in front; empty: all; undefined: no page is. */
  get pageInFront(): string | undefined {
    const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
    return tab && [...this.#pages.values()].find(({ title }) => isPage(tab, title))?.groupId;
  }

  #tabsOf(title: string): vscode.Tab[] {
    return allTabs().filter(tab => isPage(tab, title));
  }

  /** Not for unsaved text: VS Code would ask whether to save it. */
  async #close(tabs: readonly vscode.Tab[]): Promise<void> {
    const open = new Set(allTabs());
    for (const tab of tabs) if (open.has(tab) && !tab.isDirty) await vscode.window.tabGroups.close(tab, true);
  }

  dispose(): void {
    clearTimeout(this.#later);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** size: what is said of it before its title, which VS Code cuts where the column is narrow. */
export function labelOfGroup({ session, turn }: { session: { label: string }; turn: { title: string | null; began: number | null } }, ...size: readonly string[]): string {
  const when = turn.began === null ? '' : clock(turn.began);
  return [session.label, ...size, turn.title ?? when].map(inOneLine).filter(part => part !== '').join(' · ');
}

const allTabs = (): vscode.Tab[] => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs);

/** VS Code adds the number of files to the title. Its input has no class in the stable API. */
export const isPage = ({ input, label }: vscode.Tab, title: string): boolean =>
  !(input instanceof vscode.TabInputText || input instanceof vscode.TabInputTextDiff) && (label === title || label.startsWith(`${title} (`));

const keysOf = (diffs: readonly Diff[]): ReadonlySet<string> => new Set(diffs.map(([, before]) => String(before)));

/** Whether it shows a file that an undo has deleted. */
async function isGone({ input }: vscode.Tab): Promise<boolean> {
  const uri = input instanceof vscode.TabInputTextDiff && ownFile(input.original) ? ownFile(input.modified) ?? input.modified
    : input instanceof vscode.TabInputText ? input.uri : undefined;
  return uri?.scheme === 'file' && !await isThere(uri);
}
