/** Which sessions are this window's own, and which edits a person has accepted here before they were written. */
import type { Call } from '../daemon/daemon';
import type { SessionParams } from '../protocol';
import type { Review } from './edit';

const TOOL_METHODS: readonly string[] = [
  'fileops/edit', 'fileops/multiEdit', 'fileops/write', 'fileops/undo', 'fileops/read', 'fileops/bash', 'fileops/recordRead',
];

export class EditCalls {
  readonly #accepted = new Set<string>();
  /** Sessions that send their requests through this window. */
  readonly #ownSessions = new Set<string>();

  began(call: Call): void {
    if (TOOL_METHODS.includes(call.method)) this.#ownSessions.add((call.params as SessionParams).session_id ?? 'default');
  }

  isOwn(sessionId: string): boolean {
    return this.#ownSessions.has(sessionId);
  }

  accepted({ question }: Review): void {
    this.#accepted.add(keyOf(question.session.session_id, question.file_path));
  }

  /** An edit was written or refused: whether a person had accepted it here. */
  wasAccepted(sessionId: string, filePath: string): boolean {
    return this.#accepted.delete(keyOf(sessionId, filePath));
  }

  /** The daemon ended: no more events of these edits. */
  forget(): void {
    this.#accepted.clear();
  }
}

const keyOf = (sessionId: string, filePath: string): string => `${sessionId}\0${filePath}`;
