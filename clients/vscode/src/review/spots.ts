/** Where the changes of a review are in the text that a person has open, which may not be the one it began with. Pure. */
import type { ReviewChange } from '../protocol';
import type { Span } from '../ui/spans';
import { changedWords, type Words } from '../ui/words';
import { firstNewLine, firstOldLine, linesOf, moved, normalised } from './hunks';

/** The lines that a change would replace: start = end where it only adds, before that line. */
export interface Spot extends Span {
  id: string;
  removed: readonly Words[];
  added: readonly Words[];
}

/** Of each change, in order; those in lines that were typed into since are left out. now: the open text. */
export function spotsOf(changes: readonly ReviewChange[], original: string, proposed: string, now: string): Spot[] {
  const [from, to] = [normalised(original), normalised(now)];
  const [old, next] = [linesOf(from), linesOf(normalised(proposed))];
  const places = changes.map(change => {
    const start = firstOldLine(change);
    return { id: change.id, start, end: start + change.old_lines, changed: start };
  });
  const there = new Map((from === to ? places : moved(places, from, to)).map(place => [place.id, place]));
  return changes.flatMap(change => {
    const place = there.get(change.id);
    if (!place) return [];
    const [first, firstNew] = [firstOldLine(change), firstNewLine(change)];
    const { before, after } = changedWords(
      old.slice(first, first + change.old_lines).join(''), next.slice(firstNew, firstNew + change.new_lines).join(''));
    return [{ id: change.id, start: place.start, end: place.end, removed: before, added: after }];
  });
}

/** Whether a person whose cursor is in this line means the change there. */
export function isAt({ start, end }: Span, line: number): boolean {
  return start === end ? line === start || line === start - 1 : start <= line && line < end;
}

/** The spot after (or before) a line, around the ends of the file. */
export function neighbour<S extends Span>(spots: readonly S[], line: number, isNext: boolean): S | undefined {
  const sorted = [...spots].sort((a, b) => a.start - b.start);
  return isNext
    ? sorted.find(({ start }) => start > line) ?? sorted[0]
    : sorted.filter(({ start }) => start < line).at(-1) ?? sorted.at(-1);
}

