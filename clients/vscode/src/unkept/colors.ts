/** One color for each session, the same in every client: `fileops.session1` to `fileops.session8`. Pure. */

const N_COLORS = 8;

/** sessionId: the full name, as in the record; null where the author is unsure. */
export function colorOf(sessionId: string | null): string {
  let hash = 0;
  for (const byte of Buffer.from(sessionId ?? '', 'utf8')) hash = (hash * 31 + byte) % 65521;
  return `fileops.session${1 + (hash % N_COLORS)}`;
}
