/**
 * What agents changed and the user has not kept yet, as the daemon lists it: by file, for the text, and by turn, for
 * the list. Asks again when the daemon says so, and after typing. Grouping and places are the daemon's.
 */
import { isDeepStrictEqual } from 'node:util';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { UnkeptChange, UnkeptFile, UnkeptResult, UnkeptSession, UnkeptTurn } from '../protocol';

const PAUSE_MS = 150; // between two questions for all: the view need not follow each edit
const TYPING_PAUSE_MS = 500; // without a key, before a file is asked about
const RELOAD_PAUSE_MS = 50; // the same for a document without unsaved text: it was reloaded, unless a first letter was typed
const LONGEST_MS = 2_000; // after which it is asked about although the user is still typing; longer in a file with more changes
const FEW_CHANGES = 100; // an answer about 1,000 takes a tenth of a second of this window

const NOTHING: UnkeptResult = { n_files: 0, n_changes: 0, added: 0, removed: 0, files: [], sessions: [] };

/** A file that was typed in. since: the first key in one of its changes, on the clock of `performance`. */
interface Typed {
  document: vscode.TextDocument;
  since: number | undefined;
  pause: NodeJS.Timeout;
}

/** The changes of one turn of an agent. */
export interface Group {
  id: string;
  session: UnkeptSession;
  turn: UnkeptTurn;
}

export class UnkeptList implements vscode.Disposable {
  readonly #files = new Map<string, UnkeptFile>();
  readonly #changed = new vscode.EventEmitter<string | undefined>();
  /** The path of the changed file; undefined: all files. */
  readonly onDidChange = this.#changed.event;
  readonly #loaded = new vscode.EventEmitter<string | undefined>();
  /** Like onDidChange, and also when the same is listed for another version of a document. */
  readonly onDidLoad = this.#loaded.event;
  readonly #disposables: vscode.Disposable[];
  /**
   * Without a key, before a file is asked about in which only lines beside its changes were typed in. Their marks have
   * moved, and the daemon lists others only if what an agent had written was typed again. A test sets it.
   */
  besidePauseMs = 5_000;
  #all: UnkeptResult = NOTHING;
  #pause: NodeJS.Timeout | undefined;
  /** By path, the files to ask about when typing pauses. */
  readonly #typed = new Map<string, Typed>();
  /** Questions are asked one after another, because an older answer must not replace a newer one. */
  #turn: Promise<void> = Promise.resolve();

  constructor(readonly daemon: Daemon) {
    this.#disposables = [
      this.#changed, this.#loaded,
      daemon.on('fileops/didChangeUnkept')(({ file_path, typed }) => {
        if (file_path === null) return this.refresh();
        const waiting = this.#typed.get(file_path);
        if (typed && (waiting || vscode.workspace.textDocuments.some(({ uri, isDirty }) => isDirty && uri.fsPath === file_path))) return; // here
        if (waiting) this.refreshLater(waiting.document);
        else this.refresh(file_path);
      }),
      daemon.onDidChangeState(state => (state === 'running' ? this.refresh() : this.#set(NOTHING))),
    ];
  }

  /** Whether the daemon keeps a record, and so knows of such changes. */
  get isOn(): boolean {
    return this.daemon.state === 'running' && this.daemon.sharing.kind === 'shared' && this.daemon.can('fileops/unkept');
  }

  get all(): UnkeptResult {
    return this.#all;
  }

  of(filePath: string): UnkeptFile | undefined {
    return this.#files.get(filePath);
  }

  get groups(): Group[] {
    const groups = this.#all.sessions.flatMap(session => session.turns.map(turn => ({ id: `turn-${session.session_id}-${turn.turn_id}`, session, turn })));
    return groups.sort((a, b) => (b.turn.began ?? 0) - (a.turn.began ?? 0)); // the newest first, of any agent
  }

  /** The changes of one turn in a file; with an empty id, of all turns. */
  changesOf(filePath: string, groupId: string): readonly UnkeptChange[] {
    const changes = this.of(filePath)?.changes ?? [];
    if (groupId === '') return changes;
    const ids = new Set(this.groups.find(({ id }) => id === groupId)?.turn.change_ids);
    return changes.filter(({ change_id }) => ids.has(change_id));
  }

  /** As changesOf, and of a renamed file also that its old name is gone: they are kept or undone together. */
  decidedWith(filePath: string, groupId: string): readonly UnkeptChange[] {
    return [...this.changesOf(filePath, groupId), ...this.ofOldName(filePath, groupId)];
  }

  /** Of a renamed file: that its old name is gone, in whichever turn. */
  ofOldName(filePath: string, groupId: string): readonly UnkeptChange[] {
    const old = this.of(filePath)?.moved_from;
    const isHere = old != null && this.of(old)?.operation === 'delete' && this.changesOf(filePath, groupId).length > 0;
    return isHere ? this.changesOf(old, '') : [];
  }

  /** Files with changes to keep or undo, renamed ones by their new names; others are listed for what was undone of them only. */
  filesOf(groupId: string): string[] {
    const files = this.#all.files.filter(({ file_path }) => this.changesOf(file_path, groupId).length > 0);
    const old = new Set(this.#all.files.filter(({ changes }) => changes.length > 0).map(({ moved_from }) => moved_from)); // by whichever turn
    return files.filter(({ file_path, operation }) => operation !== 'delete' || !old.has(file_path)).map(({ file_path }) => file_path);
  }

  /** filePath: this file at once, and all a little later if its changes differ then. */
  refresh(filePath?: string): void {
    if (filePath === undefined) return this.#refreshAll(0);
    this.#forgetTyping(filePath);
    this.#ask(() => this.#load(filePath));
  }

  /** Its file, once the user has not typed in it for a while. isBeside: they typed beside its changes only. */
  refreshLater(document: vscode.TextDocument, isBeside = false): void {
    const { uri: { fsPath }, isDirty } = document;
    const now = performance.now();
    const since = this.#typed.get(fsPath)?.since ?? (isBeside ? undefined : now);
    this.#forgetTyping(fsPath);
    const longestMs = LONGEST_MS * Math.max(1, (this.#files.get(fsPath)?.changes.length ?? 0) / FEW_CHANGES);
    const pauseMs = !isDirty ? RELOAD_PAUSE_MS : since === undefined ? this.besidePauseMs : Math.min(TYPING_PAUSE_MS, since + longestMs - now);
    const ask = (): void => (document.isDirty && !isDirty ? this.refreshLater(document, isBeside) : this.refresh(fsPath));
    this.#typed.set(fsPath, { document, since, pause: setTimeout(ask, pauseMs) });
  }

  #forgetTyping(filePath: string): void {
    clearTimeout(this.#typed.get(filePath)?.pause);
    this.#typed.delete(filePath);
  }

  #refreshAll(pauseMs: number): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#ask(() => this.#loadAll());
    }, pauseMs);
  }

  /** Once everything that was asked for has arrived. */
  get settled(): Promise<void> {
    return this.#turn;
  }

  #ask(load: () => Promise<void>): void {
    this.#turn = this.#turn.then(load).catch((error: unknown) => {
      this.daemon.log.warn(`What is to keep or undo could not be read: ${String(error)}`); // the daemon ended, or records nothing
    });
  }

  async #load(filePath: string): Promise<void> {
    if (!this.isOn) return;
    const { files: [file] } = await this.daemon.request('fileops/unkept', { file_path: filePath });
    const before = this.#files.get(filePath);
    if (isDeepStrictEqual(file, before)) return;
    if (file) this.#files.set(filePath, file);
    else this.#files.delete(filePath);
    this.#loaded.fire(filePath);
    if (file && before && isDeepStrictEqual(changesIn(file), changesIn(before))) {
      this.#all = { ...this.#all, files: this.#all.files.map(each => (each.file_path === filePath ? file : each)) };
    } else {
      this.#changed.fire(filePath);
      this.#refreshAll(PAUSE_MS);
    }
  }

  async #loadAll(): Promise<void> {
    if (this.isOn) this.#set(await this.daemon.request('fileops/unkept', {}));
  }

  #set(all: UnkeptResult): void {
    this.#all = all;
    this.#files.clear();
    for (const file of all.files) this.#files.set(file.file_path, file);
    this.#loaded.fire(undefined);
    this.#changed.fire(undefined);
  }

  dispose(): void {
    clearTimeout(this.#pause);
    for (const { pause } of this.#typed.values()) clearTimeout(pause);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** Everything about a file except its text, and the places of its changes: typing beside them changes none of this. */
function changesIn({ changes, undone, ...file }: UnkeptFile): unknown {
  const moved = { start_line: 0, end_line: 0 };
  return [
    { ...file, digest: '', document_version: null },
    changes.map(change => ({ ...change, ...moved })), undone.map(place => ({ ...place, ...moved })),
  ];
}
