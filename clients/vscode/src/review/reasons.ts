/** The reasons of a person who rejects a part, as the wire has them: one line for a whole decision. Pure. */

/** Undefined if there is none. Equal ones are said once, in the order in which they were given. */
export function inOneReason(reasons: Iterable<string | undefined>): string | undefined {
  const said = new Set([...reasons].filter(reason => reason !== undefined && reason.trim() !== ''));
  return said.size > 0 ? [...said].join('; ') : undefined;
}
