/** That a file is no longer as an agent read it: what is shown of it, until the agent reads it again. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { DidBecomeStaleParams } from '../protocol';
import type { Sessions } from './sessions';

/** A badge on the file, a note behind its first line and an entry in the status item, until it is read again. */
export class StaleFiles implements vscode.Disposable, vscode.FileDecorationProvider {
  readonly #stale = new Map<string, Map<string, DidBecomeStaleParams>>(); // file → session → what happened
  readonly #changed = new vscode.EventEmitter<void>();
  readonly #badges = new vscode.EventEmitter<vscode.Uri[]>();
  readonly onDidChange = this.#changed.event;
  readonly onDidChangeFileDecorations = this.#badges.event;
  readonly #note = vscode.window.createTextEditorDecorationType({
    after: { margin: '0 0 0 3em', color: new vscode.ThemeColor('fileops.staleForeground'), fontStyle: 'italic' },
  });
  readonly #disposables: vscode.Disposable[];

  constructor(readonly sessions: Sessions) {
    this.#disposables = [
      this.#note, this.#changed, this.#badges,
      sessions.onDidChangeNames(() => this.#update([...this.#stale.keys()])),
      vscode.window.registerFileDecorationProvider(this),
      vscode.window.onDidChangeVisibleTextEditors(() => this.#draw()),
    ];
  }

  get files(): DidBecomeStaleParams[] {
    return [...this.#stale.values()].flatMap(sessions => [...sessions.values()]);
  }

  add(event: DidBecomeStaleParams): void {
    const key = vscode.Uri.file(event.file_path).toString();
    const sessions = this.#stale.get(key) ?? new Map<string, DidBecomeStaleParams>();
    this.#stale.set(key, sessions.set(event.session_id, event));
    this.#update([key]);
  }

  /** The session has read or written the file: it knows it again. */
  clear(filePath: string, sessionId: string): void {
    const key = vscode.Uri.file(filePath).toString();
    const sessions = this.#stale.get(key);
    if (!sessions?.delete(sessionId)) return;
    if (sessions.size === 0) this.#stale.delete(key);
    this.#update([key]);
  }

  clearSession(sessionId: string): void {
    for (const event of this.files) if (event.session_id === sessionId) this.clear(event.file_path, sessionId);
  }

  clearAll(): void {
    const keys = [...this.#stale.keys()];
    this.#stale.clear();
    this.#update(keys);
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const sessions = this.#stale.get(uri.toString());
    if (!sessions) return undefined;
    return new vscode.FileDecoration('≠', this.#sentences(sessions).join('\n'), new vscode.ThemeColor('fileops.staleForeground'));
  }

  /** "prices.py: changed on disk since Codex read it" */
  describe(event: DidBecomeStaleParams): string {
    return `${path.basename(event.file_path)}: ${this.#sentence(event)}`;
  }

  #sentences(sessions: ReadonlyMap<string, DidBecomeStaleParams>): string[] {
    return [...sessions.values()].map(event => this.#sentence(event));
  }

  #sentence(event: DidBecomeStaleParams): string {
    return sentence(event, id => this.sessions.nameOf(id));
  }

  #update(keys: string[]): void {
    this.#badges.fire(keys.map(key => vscode.Uri.parse(key)));
    this.#draw();
    this.#changed.fire();
  }

  #draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const sessions = this.#stale.get(editor.document.uri.toString());
      const end = editor.document.lineAt(0).range.end;
      editor.setDecorations(this.#note, sessions
        ? [{ range: new vscode.Range(end, end), renderOptions: { after: { contentText: `≠ ${this.#sentences(sessions).join('; ')}` } } }]
        : []);
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const VERBS = { modified: 'changed', deleted: 'deleted', replaced: 'replaced' } as const;

/** "changed on disk since Codex read it". nameOf: of a session, for people. */
export function sentence({ reason, source, session_id }: DidBecomeStaleParams, nameOf: (sessionId: string) => string): string {
  const where = source === 'buffer' ? ' in the editor' : source.startsWith('session:') ? ` by ${nameOf(source.slice('session:'.length))}` : ' on disk';
  return `${VERBS[reason] ?? reason}${where} since ${nameOf(session_id)} read it`;
}
