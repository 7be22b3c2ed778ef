/** Which sessions are this window's own: those that send their requests through it. */
import type { Call } from './daemon/daemon';
import type { SessionParams } from './protocol';

const TOOL_METHODS: readonly string[] = [
  'fileops/edit', 'fileops/multiEdit', 'fileops/write', 'fileops/undo', 'fileops/read', 'fileops/bash', 'fileops/recordRead',
];

export class OwnSessions {
  readonly #ids = new Set<string>();

  began(call: Call): void {
    if (TOOL_METHODS.includes(call.method)) this.#ids.add((call.params as SessionParams).session_id ?? 'default');
  }

  has(sessionId: string): boolean {
    return this.#ids.has(sessionId);
  }
}
