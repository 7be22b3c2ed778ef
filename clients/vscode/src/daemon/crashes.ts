/** Counts how often the daemon ended by itself: one that crashes on each request is not started forever. */

const MAX_RESTARTS = 3;
const WINDOW_MS = 180_000;

export class Crashes {
  #at: number[] = [];

  /** Counts a crash; returns "2 of 4", for the log. */
  note(): string {
    const now = Date.now();
    this.#at = [...this.#at.filter(at => now - at < WINDOW_MS), now];
    return `${this.#at.length} of ${MAX_RESTARTS + 1}`;
  }

  /** Why it is not started again; undefined if it is. */
  get problem(): string | undefined {
    if (this.#at.length <= MAX_RESTARTS) return undefined;
    return `The daemon ended ${this.#at.length} times within three minutes and is not started again.`;
  }

  forget(): void {
    this.#at = [];
  }
}
