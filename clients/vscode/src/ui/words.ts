/** Which words of some lines differ from those of others. Pure. */
import { diffWordsWithSpace } from 'diff';

/** A line in parts, without its line end. */
export type Words = readonly { text: string; isChanged: boolean }[];

/** Where lines share less than this with the others, single words say nothing. */
const MIN_SHARED = 0.3;
/** Of longer changes no words are marked, and of those that differ in more words: the work for one change is bounded. */
const MAX_CHARS = 20_000;
const MAX_DIFFERENT = 400;

/** The lines of both texts. Lines of which nothing is in the other text have no marked words. */
export function changedWords(before: string, after: string): { before: Words[]; after: Words[] } {
  const isShort = before !== '' && after !== '' && before.length + after.length <= MAX_CHARS;
  const parts = isShort ? diffWordsWithSpace(before, after, { maxEditLength: MAX_DIFFERENT }) : undefined;
  const shared = (parts ?? []).filter(part => !part.added && !part.removed).reduce((n, { value }) => n + value.trim().length, 0);
  const isClose = shared >= MIN_SHARED * Math.min(before.trim().length, after.trim().length);
  if (!parts || !isClose) return { before: whole(before), after: whole(after) };
  const side = (other: 'added' | 'removed'): Words[] =>
    inLines(parts.filter(part => !part[other]).map(({ value, added, removed }) => ({ text: value, isChanged: added || removed })));
  return { before: side('added'), after: side('removed') };
}

function whole(text: string): Words[] {
  return inLines([{ text, isChanged: false }]);
}

function inLines(parts: { text: string; isChanged: boolean }[]): Words[] {
  const lines: { text: string; isChanged: boolean }[][] = [[]];
  for (const { text, isChanged } of parts) {
    for (const [index, piece] of text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (piece !== '') lines.at(-1)!.push({ text: piece, isChanged });
    }
  }
  if (lines.at(-1)!.length === 0) lines.pop(); // after the last line end there is no line
  return lines;
}
