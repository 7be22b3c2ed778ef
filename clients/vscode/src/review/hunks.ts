/**
 * Hunks and changes as values: reading them from a unified diff, putting some changes into a text, showing them without
 * the rest of the file. Pure; knows nothing of the editor.
 */
import type { CellUiExtra, Hunk, HunkLine, ReviewChange } from '../protocol';

/** Which lines of the old text become which of the new one. 1-based; a side of no lines starts at the line before it. */
type Change = Pick<ReviewChange, 'id' | 'old_start' | 'old_lines' | 'new_start' | 'new_lines'>;

/** Lines with their `\n`; a text that ends with one has no further, empty line. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

export const withoutBom = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

/** For comparing an editor's text, which has one kind of line end, with the wire's. */
export const normalised = (text: string): string => withoutBom(text).replace(/\r\n?/g, '\n');

/** Both sides of a change, and the lines between it and the change before it. */
interface Part {
  id: string;
  same: string;
  old: string;
  now: string;
}

/** A text as its changes and what is between them; the last part follows the last change, and changes nothing. */
function partsOf(original: string, proposed: string, changes: readonly Change[]): Part[] {
  const [old, now] = [linesOf(original), linesOf(proposed)];
  const cut = (lines: string[], start: number, n: number): string => lines.slice(start, start + n).join('');
  let at = 0;
  const parts = changes.map(({ id, old_start, old_lines, new_start, new_lines }) => {
    const [first, firstNew] = [old_lines === 0 ? old_start : old_start - 1, new_lines === 0 ? new_start : new_start - 1];
    const part = { id, same: cut(old, at, first - at), old: cut(old, first, old_lines), now: cut(now, firstNew, new_lines) };
    at = first + old_lines;
    return part;
  });
  return [...parts, { id: '', same: old.slice(at).join(''), old: '', now: '' }];
}

/** The original with some of the changes, as the proposed text has them. */
export function compose(original: string, proposed: string, changes: readonly Change[], kept: (id: string) => boolean): string {
  return partsOf(original, proposed, changes).map(({ id, same, old, now }) => same + (kept(id) ? now : old)).join('');
}

/** Which changes a text has completely, if it has the others not at all; undefined if it has anything else. */
export function keptIn(text: string, original: string, proposed: string, changes: readonly Change[]): string[] | undefined {
  const parts = partsOf(normalised(original), normalised(proposed), changes);
  const wanted = normalised(text);
  const vain = new Set<string>();
  /** The parts from one on, in the text from a place on. If both sides fit, the rest of the text decides. */
  const kept = (index: number, at: number): string[] | undefined => {
    const { id, same, old, now } = parts[index]!;
    if (!wanted.startsWith(same, at) || vain.has(`${index} ${at}`)) return undefined;
    const next = at + same.length;
    if (index === parts.length - 1) return next === wanted.length ? [] : undefined;
    const withIt = wanted.startsWith(now, next) ? kept(index + 1, next + now.length) : undefined;
    const found = withIt ? [id, ...withIt] : wanted.startsWith(old, next) ? kept(index + 1, next + old.length) : undefined;
    if (!found) vain.add(`${index} ${at}`);
    return found;
  };
  return kept(0, 0);
}

/** Both sides of the hunks alone, if the rest of the file is not available. */
export function fragments(hunks: readonly Pick<Hunk, 'new_start' | 'lines'>[]): { before: string; after: string } {
  const side = (other: HunkLine['kind']): string => hunks.map(({ new_start, lines }) =>
    `⋯ line ${Math.max(new_start, 1)} ⋯\n${lines.filter(({ kind }) => kind !== other).map(({ text }) => `${withoutBom(text)}\n`).join('')}`).join('');
  return { before: side('+'), after: side('-') };
}

/** Both sides of the cells of a notebook that differ, each below its name. What a diff of sources does not show is a line. */
export function fragmentsOfCells(cells: readonly CellUiExtra[]): { before: string; after: string } {
  const sides = cells.map(({ kind, cell_id, cell_type, index, old_index, hunks, outputs_removed: n }) => {
    const head = `⋯ cell ${cell_id || 'of any name'} · ${cell_type} · index `;
    const { before, after } = fragments(hunks);
    const outputs = n > 0 ? `${n} output${n === 1 ? '' : 's'}\n` : '';
    return {
      before: kind === 'insert' ? '' : `${head}${old_index ?? index} ⋯\n${before}${outputs}`,
      after: kind === 'delete' ? '' : `${head}${index} ⋯\n${after}${outputs && `${n} output${n === 1 ? '' : 's'} removed\n`}`,
    };
  });
  return { before: sides.map(({ before }) => before).join(''), after: sides.map(({ after }) => after).join('') };
}

/** A text with the hunks put into it; undefined if it does not have their old lines. */
export function applied(text: string, hunks: readonly Pick<Hunk, 'old_start' | 'old_lines' | 'lines'>[]): string | undefined {
  const lines = linesOf(text);
  const out: string[] = [];
  let at = 0;
  for (const { old_start, old_lines, lines: ofHunk } of hunks) {
    const first = old_lines === 0 ? old_start : old_start - 1;
    const side = (other: HunkLine['kind']): string[] => ofHunk.filter(({ kind }) => kind !== other)
      .map(({ text: line, no_newline }) => normalised(no_newline ? line : `${line}\n`));
    const old = side('+');
    if (first < at || old.join('') !== lines.slice(first, first + old.length).join('')) return undefined;
    out.push(...lines.slice(at, first), ...side('-'));
    at = first + old.length;
  }
  return [...out, ...lines.slice(at)].join('');
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
    } else if (!line.startsWith('\\')) {
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
