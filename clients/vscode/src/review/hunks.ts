/**
 * Hunks and changes as values: reading them from a unified diff, putting some changes into a text, showing them without
 * the rest of the file. Pure; knows nothing of the editor.
 */
import type { Hunk, HunkLine, ReviewChange } from '../protocol';

/** Which lines of the old text become which of the new one. 1-based; a side of no lines starts at the line before it. */
export type Ranges = Pick<ReviewChange, 'old_start' | 'old_lines' | 'new_start' | 'new_lines'>;

/** Lines with their `\n`; a text that ends in one has no further, empty line. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

export const withoutBom = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

/** For comparing what an editor shows, which has one kind of line end, with what the wire says. */
export const normalised = (text: string): string => withoutBom(text).replace(/\r\n?/g, '\n');

const written = (line: HunkLine): string => line.text + (line.no_newline ? '' : '\n');

export const newLines = (hunk: Hunk): string[] => hunk.lines.filter(l => l.kind !== '-').map(written);
export const oldLines = (hunk: Hunk): string[] => hunk.lines.filter(l => l.kind !== '+').map(written);

/** 0-based line of the first new line of a hunk; where it has none, of the line before which others went away. */
export const firstNewLine = (hunk: Ranges): number => (hunk.new_lines === 0 ? hunk.new_start : hunk.new_start - 1);

/** 0-based line of the first old line of a hunk; where it has none, of the line before which it inserts. */
export const firstOldLine = (hunk: Ranges): number => (hunk.old_lines === 0 ? hunk.old_start : hunk.old_start - 1);

/** The runs of changed lines of a hunk, for marks; what a person decides about is split by the daemon alone. */
export function changesOf(hunk: Hunk): Hunk[] {
  const changes: Hunk[] = [];
  let old = firstOldLine(hunk);
  let now = firstNewLine(hunk);
  let open: Hunk | undefined;
  for (const line of hunk.lines) {
    if (line.kind === ' ') {
      open = undefined;
    } else {
      if (!open) {
        open = { id: `${hunk.id}.${changes.length + 1}`, old_start: old, old_lines: 0, new_start: now, new_lines: 0, lines: [] };
        changes.push(open);
      }
      open.lines.push(line);
      if (line.kind === '-' && open.old_lines++ === 0) open.old_start++; // a side of lines starts at its first line
      if (line.kind === '+' && open.new_lines++ === 0) open.new_start++;
    }
    if (line.kind !== '+') old++;
    if (line.kind !== '-') now++;
  }
  return changes;
}

/** Where a change or a hunk is in a text: its lines [start, end), and the first line that differs. 0-based. */
export interface Place {
  id: string;
  start: number;
  end: number;
  changed: number;
}

export interface Composed {
  text: string;
  places: Place[];
}

/** The original with the changes in `kept`, as the proposed text has them, and without the others. */
export function compose(original: string, proposed: string, changes: readonly (Ranges & { id: string })[], kept: (id: string) => boolean): Composed {
  const [old, now] = [linesOf(original), linesOf(proposed)];
  const out: string[] = [];
  const places: Place[] = [];
  let at = 0;
  for (const change of changes) {
    const first = firstOldLine(change);
    out.push(...old.slice(at, first));
    const start = out.length;
    const newFirst = firstNewLine(change);
    out.push(...(kept(change.id) ? now.slice(newFirst, newFirst + change.new_lines) : old.slice(first, first + change.old_lines)));
    places.push({ id: change.id, start, end: out.length, changed: start });
    at = first + change.old_lines;
  }
  out.push(...old.slice(at));
  return { text: out.join(''), places };
}

/** Both sides of the hunks alone, for when the rest of the file is not at hand. */
export function fragments(hunks: readonly Hunk[]): { before: string; after: string; places: Place[] } {
  const before: string[] = [];
  const after: string[] = [];
  const places: Place[] = [];
  const ended = (line: string): string => (line.endsWith('\n') ? line : line + '\n');
  for (const hunk of hunks) {
    const line = Math.max(hunk.new_start, 1);
    const rule = `⋯ line ${line} ⋯\n`;
    before.push(rule, ...oldLines(hunk).map(ended));
    after.push(rule);
    const start = after.length;
    after.push(...newLines(hunk).map(ended));
    const context = hunk.lines.findIndex(l => l.kind !== ' ');
    places.push({ id: hunk.id, start, end: after.length, changed: start + Math.max(context, 0) });
  }
  return { before: before.join(''), after: after.join(''), places };
}

/**
 * Where the places are after typing: lines above the typing stay, lines below move, a change that was
 * typed into is left out.
 */
export function moved(places: readonly Place[], from: string, to: string): Place[] {
  const a = linesOf(from);
  const b = linesOf(to);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const changedEnd = a.length - tail;
  const shift = b.length - a.length;
  return places.flatMap(place => {
    if (place.end <= head) return [place];
    if (place.start >= changedEnd) {
      return [{ ...place, start: place.start + shift, end: place.end + shift, changed: place.changed + shift }];
    }
    return [];
  });
}

const HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** The hunks of a unified diff of one file; ids "1", "2", … in order. */
export function parseUnified(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  let old = 0;
  let now = 0;
  for (const line of diff.split('\n')) {
    const hunk = hunks.at(-1);
    if (hunk && (old > 0 || now > 0) && (line === '' || ' -+'.includes(line[0]!))) {
      const kind = (line[0] ?? ' ') as HunkLine['kind'];
      hunk.lines.push({ kind, text: line.slice(1) });
      if (kind !== '+') old--;
      if (kind !== '-') now--;
    } else if (hunk && line.startsWith('\\')) {
      const last = hunk.lines.at(-1);
      if (last) last.no_newline = true;
    } else {
      const header = HEADER.exec(line);
      if (!header) continue;
      old = Number(header[2] ?? 1);
      now = Number(header[4] ?? 1);
      hunks.push({
        id: String(hunks.length + 1), lines: [],
        old_start: Number(header[1]), old_lines: old, new_start: Number(header[3]), new_lines: now,
      });
    }
  }
  return hunks;
}
