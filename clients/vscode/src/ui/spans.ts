/** Lines of a document that are followed while it is typed in. Pure. */

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
