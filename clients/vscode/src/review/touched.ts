/** The lines that edits touched, as values: of one edit, and where they are after the next. Pure. */
import type { Hunk } from '../protocol';
import { changesOf, firstNewLine, firstOldLine } from './hunks';

/** Lines of the new text that a change touched, 0-based, [start, end); start = end where lines only went away. */
export interface TouchedLines {
  start: number;
  end: number;
  lines: string[];
  /** Where lines went away: the lines before and after, undefined at an end of the file. */
  around?: [before: string | undefined, after: string | undefined];
}

export function touchedLines(hunks: readonly Hunk[]): TouchedLines[] {
  return hunks.flatMap(hunk => changesOf(hunk).map(change => {
    const start = firstNewLine(change);
    const lines = newTexts(change);
    if (lines.length > 0) return { start, end: start + lines.length, lines };
    const text = newLineOf(hunk);
    return { start, end: start, lines, around: [text(start - 1), text(start)] satisfies TouchedLines['around'] };
  }));
}

/** Where they are in the text after a further edit; without those of which nothing is left. Changes them in place. */
export function afterEdit<T extends TouchedLines>(touched: readonly T[], hunks: readonly Hunk[]): T[] {
  let kept = [...touched];
  for (const change of hunks.flatMap(changesOf).reverse()) kept = kept.filter(lines => follow(lines, change));
  for (const text of hunks.map(newLineOf)) {
    for (const { around, start } of kept) {
      if (around) around.splice(0, 2, text(start - 1) ?? around[0], text(start) ?? around[1]);
    }
  }
  return kept;
}

/** Moves lines for a change. False if nothing is left of them. */
function follow(touched: TouchedLines, change: Hunk): boolean {
  const start = firstOldLine(change);
  const end = start + change.old_lines;
  if (end <= touched.start) {
    touched.start += change.new_lines - change.old_lines;
  } else if (start < touched.end) {
    const tail = touched.lines.slice(end - touched.start);
    if (start < touched.start) {
      touched.start = start + change.new_lines;
      touched.lines = tail;
    } else {
      touched.lines = [...touched.lines.slice(0, start - touched.start), ...newTexts(change), ...tail];
    }
    if (touched.lines.length === 0) return false;
  }
  touched.end = touched.start + touched.lines.length;
  return true;
}

/** The lines of a hunk in the new text, without line ends. */
const newTexts = (hunk: Hunk): string[] => hunk.lines.filter(line => line.kind !== '-').map(line => line.text.replace(/\r$/, ''));

/** A line of the new text by its number, as far as the hunk shows it. */
function newLineOf(hunk: Hunk): (at: number) => string | undefined {
  const first = firstNewLine(hunk);
  const texts = newTexts(hunk);
  return at => texts[at - first];
}
