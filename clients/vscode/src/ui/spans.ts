/** Lines of a document that are followed while someone types in it. Pure. */

/** Lines [start, end), 0-based; start = end is the place before a line. */
export interface Span {
  start: number;
  end: number;
}

interface Replaced {
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
  text: string;
}

/** Moves spans for what was typed: the content changes of one event, in the order of the event. */
export function followTyping(spans: Iterable<Span>, changes: readonly Replaced[]): void {
  const moves = changes.map(({ range, text }) => ({ range, by: text.split('\n').length - 1 - (range.end.line - range.start.line) }));
  if (moves.every(({ by }) => by === 0)) return;
  for (const span of spans) {
    for (const { range, by } of moves) {
      const isAbove = range.end.line < span.start || (range.end.line === span.start && range.end.character === 0);
      if (isAbove) {
        span.start += by;
        span.end += by;
      } else if (range.start.line < span.end) {
        span.end = Math.max(span.end + by, span.start);
      }
    }
  }
}

/**
 * Whether the spans are the same afterwards, but for their lines: all was typed in other lines, not even next to them,
 * and can be no text of lines that was cut or deleted elsewhere. spans: before the changes.
 */
export function isBeside(spans: readonly Span[], changes: readonly Replaced[]): boolean {
  return changes.every(({ range, text }) => (!/[\r\n]/.test(text) || text.trim() === '')
    && spans.every(({ start, end }) => range.end.line < start - 1 || range.start.line > end));
}

/**
 * Whether an editor, which moves what it has drawn, may afterwards have it on lines other than the spans, or not at
 * all. spans: before the changes; document: after them.
 */
export function needsDrawing(spans: readonly Span[], changes: readonly Replaced[], { lineCount }: { lineCount: number }): boolean {
  if (lineCount === 1) return true; // a letter may replace the whole text
  const ofLines = changes.filter(({ range, text }) => range.start.line !== range.end.line || /[\r\n]/.test(text));
  // One more line on each side: a span after the last line is drawn in that line.
  return ofLines.some(({ range }) => spans.some(({ start, end }) => range.start.line <= Math.max(start, end) && range.end.line >= start - 1));
}
