/**
 * What agents changed and the user has not kept yet, as the daemon lists it: by file, for the text, and by session, for the
 * view. Asks again when the daemon says so; grouping and places are the daemon's.
 */
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { UnkeptFile, UnkeptResult } from '../protocol';

const PAUSE_MS = 150; // between two questions for all: the view need not follow each edit

const NOTHING: UnkeptResult = { n_files: 0, n_changes: 0, added: 0, removed: 0, files: [], sessions: [] };

export class UnkeptList implements vscode.Disposable {
  readonly #files = new Map<string, UnkeptFile>();
  readonly #changed = new vscode.EventEmitter<string | undefined>();
  /** Of one file, by its path; undefined: of all. */
  readonly onDidChange = this.#changed.event;
  readonly #disposables: vscode.Disposable[];
  #all: UnkeptResult = NOTHING;
  #pause: NodeJS.Timeout | undefined;
  /** Questions are asked one after another: an older answer must not replace a newer one. */
  #turn: Promise<void> = Promise.resolve();

  constructor(readonly daemon: Daemon) {
    this.#disposables = [
      this.#changed,
      daemon.on('fileops/didChangeUnkept')(({ file_path }) => this.refresh(file_path ?? undefined)),
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

  /** filePath: this file at once, and all a little later. */
  refresh(filePath?: string): void {
    if (!this.isOn) return;
    if (filePath !== undefined) this.#ask(() => this.#load(filePath));
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#ask(() => this.#loadAll());
    }, filePath === undefined ? 0 : PAUSE_MS);
  }

  /** Once everything that was asked for is here. */
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
    const { files } = await this.daemon.request('fileops/unkept', { file_path: filePath });
    const [file] = files;
    if (file) this.#files.set(filePath, file);
    else this.#files.delete(filePath);
    this.#changed.fire(filePath);
  }

  async #loadAll(): Promise<void> {
    if (this.isOn) this.#set(await this.daemon.request('fileops/unkept', {}));
  }

  #set(all: UnkeptResult): void {
    this.#all = all;
    this.#files.clear();
    for (const file of all.files) this.#files.set(file.file_path, file);
    this.#changed.fire(undefined);
  }

  dispose(): void {
    clearTimeout(this.#pause);
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
