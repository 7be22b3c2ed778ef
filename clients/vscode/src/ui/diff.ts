/**
 * Diff panes whose two sides are virtual: they never open the real file, and nothing of them is left when they are
 * closed. Owns the two schemes and the contents of their documents; knows nothing of reviews or history.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import { normalised, withoutBom } from '../review/hunks';

/** A pane that waits for a decision; its right side can be edited. */
export const REVIEW_SCHEME = 'fileops-review';
/** A pane that only shows. */
export const VIEW_SCHEME = 'fileops-view';

interface VirtualFile {
  /** Begins with a byte order mark if the real file does. */
  text: string;
  mtime: number;
  isReadonly: boolean;
  /** Whether the editor has asked for it: the editor need not be told of a file that it does not know. */
  isKnown: boolean;
}

const BOM = '\ufeff';

/** Whether the editor reads UTF-8 without a byte order mark as such; else `files.encoding` or a guess would garble it. */
function readsUtf8(uri: vscode.Uri): boolean {
  const files = vscode.workspace.getConfiguration('files', uri);
  const isSetForLanguages = files.inspect('encoding')?.languageIds !== undefined;
  return files.get('encoding') === 'utf8' && !isSetForLanguages && !files.get('autoGuessEncoding');
}

/** Files in memory. Not content providers, because a person may type into the proposed side. */
class VirtualFiles implements vscode.FileSystemProvider {
  readonly #files = new Map<string, VirtualFile>();
  readonly #changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.#changed.event;
  #ticks = Date.now();

  /** A file from before a restart of this extension: old enough that its document can be saved over it. */
  remember(uri: vscode.Uri): void {
    this.#files.set(uri.toString(), { text: '', mtime: 0, isReadonly: false, isKnown: true });
  }

  /** Returns a function that restores the file that was there, as if it had never changed. */
  put(uri: vscode.Uri, text: string, isReadonly: boolean): () => void {
    const before = this.#files.get(uri.toString());
    const isKnown = before?.isKnown ?? false;
    this.#files.set(uri.toString(), { text, mtime: ++this.#ticks, isReadonly, isKnown });
    if (isKnown) this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    return () => void (before && this.#files.set(uri.toString(), before));
  }

  text(uri: vscode.Uri): string | undefined {
    const file = this.#files.get(uri.toString());
    return file && withoutBom(file.text);
  }

  drop(uri: vscode.Uri): void {
    const file = this.#files.get(uri.toString());
    this.#files.delete(uri.toString());
    if (file?.isKnown) this.#changed.fire([{ type: vscode.FileChangeType.Deleted, uri }]);
  }

  get size(): number {
    return this.#files.size;
  }

  #file(uri: vscode.Uri): VirtualFile {
    const file = this.#files.get(uri.toString());
    if (!file) throw vscode.FileSystemError.FileNotFound(uri);
    file.isKnown = true;
    return file;
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const { mtime, isReadonly } = this.#file(uri);
    const stat = { type: vscode.FileType.File, ctime: mtime, mtime, size: this.readFile(uri).length };
    return isReadonly ? { ...stat, permissions: vscode.FilePermission.Readonly } : stat;
  }

  readFile(uri: vscode.Uri): Uint8Array {
    const { text } = this.#file(uri);
    return Buffer.from(readsUtf8(uri) ? text : BOM + withoutBom(text));
  }

  writeFile(uri: vscode.Uri, content: Uint8Array): void {
    const file = this.#file(uri);
    if (file.isReadonly) throw vscode.FileSystemError.NoPermissions(uri);
    this.#files.set(uri.toString(), { ...file, text: Buffer.from(content).toString('utf8'), mtime: ++this.#ticks });
    this.#changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(from: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(from);
  }
}

/** Two sides of a diff, or one text. */
export interface Pane {
  before?: vscode.Uri;
  after: vscode.Uri;
  title: string;
}

export type DiffPane = Pane & { before: vscode.Uri };

export interface PaneContent {
  scheme: typeof REVIEW_SCHEME | typeof VIEW_SCHEME;
  /** Path of the real file: gives the tab its name and the text its colours. */
  filePath: string;
  /** Where pages of several diffs show it; by default its name alone. */
  shownPath?: string;
  title: string;
  before: string;
  after: string;
  isEditable?: boolean;
}

export class DiffPanes implements vscode.Disposable {
  readonly #files = new VirtualFiles();
  readonly #disposables: vscode.Disposable[];
  /** In each address: a tab from before the window was reloaded has a different one. */
  readonly #run = Date.now().toString(36);
  #count = 0;

  constructor() {
    this.#disposables = [
      vscode.workspace.registerFileSystemProvider(REVIEW_SCHEME, this.#files, { isCaseSensitive: true }),
      vscode.workspace.registerFileSystemProvider(VIEW_SCHEME, this.#files, { isCaseSensitive: true, isReadonly: true }),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        for (const { input } of closed) {
          const uris = input instanceof vscode.TabInputTextDiff ? [input.original, input.modified]
            : input instanceof vscode.TabInputText ? [input.uri] : [];
          for (const uri of uris) if (uri.scheme === VIEW_SCHEME) this.#files.drop(uri);
        }
      }),
    ];
  }

  #nextId(): string {
    return `${++this.#count}-${this.#run}`;
  }

  /** Closes tabs left from before the window was reloaded: what they showed is gone, and is shown again. */
  async closeOrphans(): Promise<void> {
    for (const tab of vscode.window.tabGroups.all.flatMap(group => group.tabs)) {
      const { input } = tab;
      const pane = input instanceof vscode.TabInputTextDiff ? { before: input.original, after: input.modified, title: tab.label }
        : input instanceof vscode.TabInputText ? { after: input.uri, title: tab.label } : undefined;
      if (!pane || !isOurs(pane.after) || pane.after.authority.endsWith(`-${this.#run}`)) continue;
      if (pane.before) this.#files.remember(pane.before);
      this.#files.remember(pane.after);
      if (tab.isDirty) await vscode.workspace.openTextDocument(pane.after); // its text is restored, and saved before it is closed
      await this.close(pane);
    }
  }

  /** Number of virtual documents held. */
  get nDocuments(): number {
    return this.#files.size;
  }

  create(content: PaneContent): DiffPane {
    const id = this.#nextId();
    const pane = {
      before: address(content.scheme, id, 'before', content.filePath, content.shownPath),
      after: address(content.scheme, id, 'after', content.filePath, content.shownPath),
      title: content.title,
    };
    this.#files.put(pane.before, content.before, true);
    this.#files.put(pane.after, content.after, !content.isEditable);
    return pane;
  }

  /** A pane with one text that cannot be edited. */
  createText(content: { scheme: PaneContent['scheme']; filePath: string; title: string; text: string }): Pane {
    const after = address(content.scheme, this.#nextId(), 'text', content.filePath);
    this.#files.put(after, content.text, true);
    return { after, title: content.title };
  }

  /** Our text, read-only, beside the user's editor. */
  async showText(filePath: string, text: string): Promise<void> {
    const uri = address(VIEW_SCHEME, this.#nextId(), 'text', filePath);
    this.#files.put(uri, text, true);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  }

  /** Shows the pane; never takes the keyboard unless asked to. Also returns if the pane is closed while it opens. */
  async show(pane: Pane, options: { viewColumn?: vscode.ViewColumn; takesFocus?: boolean; line?: number } = {}): Promise<void> {
    const tab = this.#tab(pane);
    const show: vscode.TextDocumentShowOptions = {
      preview: false, preserveFocus: !options.takesFocus,
      viewColumn: tab?.group.viewColumn ?? options.viewColumn ?? vscode.ViewColumn.Active,
    };
    if (options.line !== undefined) show.selection = new vscode.Range(options.line, 0, options.line, 0);
    let listening: vscode.Disposable | undefined;
    const closed = new Promise<void>(resolve => {
      listening = vscode.window.tabGroups.onDidChangeTabs(event => {
        if (event.closed.some(({ input }) => isOf(pane, input))) resolve();
      });
    });
    // VS Code may never answer if the tab is closed while it opens; everything that waits for this pane would wait
    // forever.
    const opened = pane.before
      ? vscode.commands.executeCommand('vscode.diff', pane.before, pane.after, pane.title, show)
      : vscode.commands.executeCommand('vscode.open', pane.after, show, pane.title);
    await Promise.race([opened, closed]).finally(() => listening?.dispose());
  }

  /** Several panes on one page; their texts are dropped when it is closed. after: a document to use as the right side. */
  async showTogether(title: string, diffs: readonly { filePath: string; pane: DiffPane; after?: vscode.Uri }[]): Promise<void> {
    const closing = vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
      if (!closed.some(({ label }) => label.includes(title))) return;
      closing.dispose();
      for (const { pane } of diffs) for (const side of [pane.before, pane.after]) this.#files.drop(side);
    });
    this.#disposables.push(closing);
    await vscode.commands.executeCommand('vscode.changes', title, diffs.map(({ filePath, pane, after }) => [vscode.Uri.file(filePath), pane.before, after ?? pane.after]));
  }

  isShown(pane: Pane): boolean {
    return this.#tab(pane) !== undefined;
  }

  /** Whether it is on the screen, not behind another tab. */
  isVisible(pane: Pane): boolean {
    return this.#tab(pane)?.isActive ?? false;
  }

  column(pane: Pane): vscode.ViewColumn | undefined {
    return this.#tab(pane)?.group.viewColumn;
  }

  /**
   * Returns once everything typed so far is known here, because VS Code reports it before it answers. Otherwise a busy
   * extension host could learn of a later event first.
   */
  async caughtUp(): Promise<void> {
    await vscode.commands.executeCommand('setContext', 'fileops.isCaughtUp', true);
  }

  /** The text on the right side now, including typed text, saved or not. */
  proposed(pane: Pane): string {
    return this.#document(pane)?.getText() ?? this.#files.text(pane.after) ?? '';
  }

  /**
   * Returns once an open pane shows the text. False if the user typed in the meantime: then the pane keeps what they
   * typed, and nothing else has changed.
   */
  async setProposed(pane: Pane, text: string): Promise<boolean> {
    // A document that is still loading would have read the text before, and would not be told of this one.
    await untilChanged(() => this.#document(pane) !== undefined || !this.isVisible(pane));
    const document = this.#document(pane);
    if (document?.isDirty) return replace(document, text); // though it is the same, the editor would not load it again
    const shows = (): boolean => normalised(this.proposed(pane)) === normalised(text);
    const putBack = this.#files.put(pane.after, text, false);
    await untilChanged(() => shows() || (this.#document(pane)?.isDirty ?? false));
    if (!shows()) putBack(); // else the editor would not save what was typed over a newer file
    return shows();
  }

  /**
   * Closes the tab and forgets both texts. Returns what the right side showed at the end.
   *
   * A document that may be typed into is saved, into memory, and its file is kept until there is nothing left to be
   * saved: what is typed between the save and the end of the tab is saved again, by this or by the editor itself.
   * Where `files.autoSave` is off, VS Code asks about what was typed in that moment; each answer closes the pane.
   *
   * passesFocus: the pane had the keyboard, and the editor that is in front then gets it; else nothing would have it.
   */
  async close(pane: Pane, passesFocus = false): Promise<string> {
    await this.caughtUp(); // else a tab that was just opened is not known here yet, and would stay
    for (let isClosed = false; !isClosed || this.#document(pane)?.isDirty;) {
      const document = this.#document(pane);
      if (document?.isDirty) await document.save(); // else closing would ask
      const tab = this.#tab(pane);
      isClosed = !tab || await vscode.window.tabGroups.close(tab, !passesFocus);
    }
    const text = this.proposed(pane);
    if (pane.before) this.#files.drop(pane.before);
    this.#files.drop(pane.after);
    return text;
  }

  async closeViews(): Promise<void> {
    const texts = vscode.window.tabGroups.all.flatMap(group => group.tabs)
      .filter(({ input }) => input instanceof vscode.TabInputText && input.uri.scheme === VIEW_SCHEME);
    await vscode.window.tabGroups.close([...texts, ...tabs(input => input.modified.scheme === VIEW_SCHEME)], true);
  }

  #document(pane: Pane): vscode.TextDocument | undefined {
    const uri = pane.after.toString();
    return vscode.workspace.textDocuments.find(d => d.uri.toString() === uri && !d.isClosed);
  }

  #tab(pane: Pane): vscode.Tab | undefined {
    return vscode.window.tabGroups.all.flatMap(group => group.tabs).find(({ input }) => isOf(pane, input));
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Whether a tab with this input is the pane's. */
function isOf(pane: Pane, input: unknown): boolean {
  const uri = pane.after.toString();
  if (input instanceof vscode.TabInputTextDiff) return input.modified.toString() === uri;
  return pane.before === undefined && input instanceof vscode.TabInputText && input.uri.toString() === uri;
}

function replace(document: vscode.TextDocument, text: string): Thenable<boolean> {
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), text);
  return vscode.workspace.applyEdit(edit);
}

/** Until the condition, which depends on open documents and tabs, is true. */
async function untilChanged(condition: () => boolean): Promise<void> {
  if (condition()) return;
  let listening: vscode.Disposable | undefined;
  await new Promise<void>(resolve => {
    const check = (): void => void (condition() && resolve());
    listening = vscode.Disposable.from(
      vscode.workspace.onDidOpenTextDocument(check), vscode.workspace.onDidChangeTextDocument(check),
      vscode.workspace.onDidCloseTextDocument(check), vscode.window.tabGroups.onDidChangeTabs(check),
    );
  });
  listening?.dispose();
}

const address = (scheme: string, id: string, side: string, filePath: string, shownPath = path.basename(filePath)): vscode.Uri =>
  vscode.Uri.from({ scheme, authority: `${side}-${id}`, path: `/${shownPath.replace(/^\/+/, '') || 'file'}` });

function tabs(matches: (input: vscode.TabInputTextDiff) => boolean): vscode.Tab[] {
  return vscode.window.tabGroups.all
    .flatMap(group => group.tabs)
    .filter(tab => tab.input instanceof vscode.TabInputTextDiff && matches(tab.input));
}

/** The column for a pane: where one of our panes already is, else beside what the person is looking at. */
export function columnBeside(): vscode.ViewColumn {
  const { all, activeTabGroup } = vscode.window.tabGroups;
  const ours = all.find(group => group.tabs.some(({ input }) => input instanceof vscode.TabInputTextDiff ? isOurs(input.modified)
    : input instanceof vscode.TabInputText && input.uri.scheme === REVIEW_SCHEME));
  return ours?.viewColumn ?? (activeTabGroup.activeTab ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active);
}

const isOurs = (uri: vscode.Uri): boolean => uri.scheme === REVIEW_SCHEME || uri.scheme === VIEW_SCHEME;
