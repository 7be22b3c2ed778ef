/** Asks agents to let their own model correct the words of an edit that are not in the file: `fileops/correctEdit`. */
import * as vscode from 'vscode';
import type { Corrector } from './api';
import type { Correction, CorrectEditParams } from './protocol';

export class Corrections {
  readonly #ofSession = new Map<string, Corrector>();
  #ofAll: Corrector | undefined;

  #isUsed = false;

  /** begins: called with the first corrector; the daemon must be told before it asks. */
  constructor(readonly log: vscode.LogOutputChannel, readonly begins: () => void) {}

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** A later one replaces the earlier one. */
  register(corrector: Corrector, session?: string): vscode.Disposable {
    if (!this.#isUsed) {
      this.#isUsed = true;
      this.begins();
    }
    if (session === undefined) this.#ofAll = corrector;
    else this.#ofSession.set(session, corrector);
    return new vscode.Disposable(() => {
      if (this.#ofAll === corrector && session === undefined) this.#ofAll = undefined;
      if (session !== undefined && this.#ofSession.get(session) === corrector) this.#ofSession.delete(session);
    });
  }

  closeSession(session: string): void {
    this.#ofSession.delete(session);
  }

  /** Never rejects: a corrector that fails proposes nothing. */
  async ask(question: CorrectEditParams, token: vscode.CancellationToken): Promise<Correction | null> {
    const corrector = this.#ofSession.get(question.session_id) ?? this.#ofAll;
    try {
      return (await corrector?.(question, token)) ?? null;
    } catch (error) {
      this.log.warn(`A corrector failed: ${String(error)}`);
      return null;
    }
  }
}
