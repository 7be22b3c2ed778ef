import * as assert from 'node:assert/strict';
import { without } from '../src/changes/before';
import { spansOf } from '../src/changes/cells';
import { compose, fragments, fragmentsOfCells, keptIn, linesOf, parseUnified } from '../src/review/hunks';
import type { CellUiExtra } from '../src/protocol';
import { followTyping, isBeside, needsDrawing } from '../src/ui/spans';

const DIFF = `--- a/f
+++ b/f
@@ -1,3 +1,4 @@
 one
-two
+TWO
+2.5
 three
@@ -8,2 +9,1 @@
 eight
-nine
\\ No newline at end of file
`;
const AFTER = 'one\nTWO\n2.5\nthree\n4\n5\n6\n7\neight\n';
const BEFORE = 'one\ntwo\nthree\n4\n5\n6\n7\neight\nnine';
const CHANGES = [{ id: 'a', old_start: 2, old_lines: 1, new_start: 2, new_lines: 2 }, { id: 'b', old_start: 9, old_lines: 1, new_start: 9, new_lines: 0 }];

export function hunksSuite(): void {
  describe('hunks', () => {
    const hunks = parseUnified(DIFF);

    it('reads a unified diff', () => {
      assert.deepEqual(hunks.map(h => [h.old_start, h.old_lines, h.new_start, h.new_lines]), [[1, 3, 1, 4], [8, 2, 9, 1]]);
    });
    it('shows the cells of a notebook that differ, and finds the lines to mark in each', () => {
      const cell = (kind: CellUiExtra['kind'], cell_id: string, diff: string, more: Partial<CellUiExtra> = {}): CellUiExtra => ({
        kind, cell_id, index: 1, old_index: null, cell_type: 'code', diff, hunks: parseUnified(diff), stats: { added: 0, removed: 0 }, outputs_removed: 0, has_old_outputs: false, ...more,
      });
      const cells = [
        cell('source', 'c1', DIFF, { outputs_removed: 2 }), cell('delete', 'gone', '@@ -1 +0,0 @@\n-x\n'), cell('insert', 'new', '@@ -0,0 +1,2 @@\n+y\n+z\n'),
        cell('move', 'm', '', { old_index: 4 }),
      ];
      const { before, after } = fragmentsOfCells(cells);
      assert.equal(before, `⋯ cell c1 · code · index 1 ⋯\n${fragments(hunks).before}2 outputs\n⋯ cell gone · code · index 1 ⋯\n⋯ line 1 ⋯\nx\n⋯ cell m · code · index 4 ⋯\n`);
      assert.equal(after, `⋯ cell c1 · code · index 1 ⋯\n${fragments(hunks).after}2 outputs removed\n⋯ cell new · code · index 1 ⋯\n⋯ line 1 ⋯\ny\nz\n⋯ cell m · code · index 1 ⋯\n`);
      assert.deepEqual([...spansOf({ cells })], [['c1', [[1, 2]]], ['new', [[0, 1]]]]);
    });
    it('takes lines that look like headers as content', () => {
      const [hunk] = parseUnified('--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n @@ -1 +1 @@\n');
      assert.deepEqual(hunk!.lines.map(l => l.kind + l.text), ['--- x', '+++ y', ' @@ -1 +1 @@']);
    });
    it('puts all, none or some changes into a text', () => {
      const composed = (kept: (id: string) => boolean) => compose(BEFORE, AFTER, CHANGES, kept);
      assert.equal(composed(() => false), BEFORE);
      assert.equal(composed(() => true), AFTER);
      assert.equal(composed(id => id === 'b'), 'one\ntwo\nthree\n4\n5\n6\n7\neight\n');
    });
    it('inserts into an empty file and after a line', () => {
      const insertion = (line: number) => [{ id: 'a', old_start: line, old_lines: 0, new_start: line + 1, new_lines: 1 }];
      assert.equal(compose('', 'new\n', insertion(0), () => true), 'new\n');
      assert.equal(compose('a\nb\nd\n', 'a\nb\nc\nd\n', insertion(2), () => true), 'a\nb\nc\nd\n');
      assert.equal(compose('a\nb\nd\n', 'a\nb\nc\nd\n', insertion(2), () => false), 'a\nb\nd\n');
    });
    it('keeps carriage returns', () => {
      assert.equal(compose('a\r\nb\r\n', 'a\r\nc\r\n', [{ id: 'a', old_start: 2, old_lines: 1, new_start: 2, new_lines: 1 }], () => true), 'a\r\nc\r\n');
    });
    it('finds which changes a text has, and none where something else was typed', () => {
      const kept = (...ids: string[]) => keptIn(compose(BEFORE, AFTER, CHANGES, id => ids.includes(id)), BEFORE, AFTER, CHANGES);
      for (const ids of [[], ['a'], ['b'], ['a', 'b']]) assert.deepEqual(kept(...ids), ids);
      assert.equal(keptIn(AFTER.replace('\n5\n', '\nfive\n'), BEFORE, AFTER, CHANGES), undefined);
      assert.deepEqual(keptIn(BEFORE.replaceAll('\n', '\r\n'), BEFORE, AFTER, CHANGES), [], 'line ends are no typing');
    });
    it('finds a deletion and an insertion of the same line', () => {
      const changes = [{ id: 'a', old_start: 1, old_lines: 0, new_start: 2, new_lines: 1 }, { id: 'b', old_start: 3, old_lines: 1, new_start: 3, new_lines: 0 }];
      const [before, after] = ['x\ny\nx\nz\n', 'x\nx\ny\nz\n'];
      for (const ids of [[], ['a'], ['b'], ['a', 'b']]) {
        assert.deepEqual(keptIn(compose(before, after, changes, id => ids.includes(id)), before, after, changes), ids, ids.join());
      }
    });
    it('shows both sides without the rest of the file', () => {
      const { before, after } = fragments(hunks);
      assert.ok(before.includes('nine') && !after.includes('nine') && !before.includes('TWO'));
      assert.equal(linesOf(after)[2], 'TWO\n');
      const [first] = parseUnified('@@ -1,1 +1,1 @@\n-\ufeffold\n+\ufeffnew\n');
      assert.deepEqual(fragments([first!]), { before: '⋯ line 1 ⋯\nold\n', after: '⋯ line 1 ⋯\nnew\n' });
    });
    it('gives the text before some changes', () => {
      const mark = (start: number, end: number, removed_text: string) => ({ start, end, change: { removed_text } });
      assert.equal(without('a\nb\nc\n', [mark(1, 2, 'B\nB2\n'), mark(3, 3, 'd\n')]), 'a\nB\nB2\nc\nd\n');
      assert.equal(without('a\nb', [mark(1, 2, '')]), 'a\n');
      assert.equal(without('', [mark(0, 0, 'all\n')]), 'all\n');
    });
    it('follows typing above, inside and below lines', () => {
      const after = (line: number, character: number, endLine: number, text: string): number[] => {
        const span = { start: 5, end: 8 };
        followTyping([span], [{ range: { start: { line, character }, end: { line: endLine, character } }, text }]);
        return [span.start, span.end];
      };
      assert.deepEqual(after(2, 0, 2, 'x\n'), [6, 9]);
      assert.deepEqual(after(5, 0, 5, 'x\n'), [6, 9], 'at its first character: above');
      assert.deepEqual(after(6, 1, 6, '\n'), [5, 9]);
      assert.deepEqual(after(6, 1, 7, ''), [5, 7]);
      assert.deepEqual(after(8, 0, 8, 'x\n'), [5, 8]);
    });
    it('knows what is typed beside spans, and cannot change what they are', () => {
      const beside = (line: number, endLine: number, text: string): boolean =>
        isBeside([{ start: 5, end: 8 }, { start: 12, end: 12 }], [{ range: { start: { line, character: 0 }, end: { line: endLine, character: 0 } }, text }]);
      assert.deepEqual([beside(3, 3, 'x'), beside(9, 9, 'x'), beside(10, 10, 'x'), beside(13, 13, 'x')], [true, true, true, true], 'letters');
      assert.deepEqual([beside(3, 3, '\n  '), beside(0, 3, ''), beside(9, 10, '')], [true, true, true], 'blank lines, and lines that are deleted');
      assert.deepEqual([beside(4, 4, 'x'), beside(5, 5, 'x'), beside(7, 7, 'x'), beside(8, 8, 'x')], [false, false, false, false], 'in one, or next to it');
      assert.deepEqual([beside(11, 11, 'x'), beside(12, 12, 'x')], [false, false], 'next to removed lines');
      assert.deepEqual([beside(0, 4, ''), beside(8, 11, ''), beside(0, 19, '')], [false, false, false], 'lines up to one');
      assert.ok(!beside(0, 0, 'x\n'), 'lines that may have been cut from one');
    });
    it('has an editor draw spans again only where it moves them in another way', () => {
      const isDue = (line: number, endLine: number, text: string, lineCount = 20): boolean =>
        needsDrawing([{ start: 5, end: 8 }], [{ range: { start: { line, character: 0 }, end: { line: endLine, character: 0 } }, text }], { lineCount });
      assert.deepEqual([isDue(6, 6, 'x'), isDue(2, 2, 'x\n'), isDue(12, 13, '')], [false, false, false], 'a letter, and lines elsewhere');
      assert.deepEqual([isDue(5, 5, '\n'), isDue(7, 7, 'x\r\ny'), isDue(3, 6, ''), isDue(7, 12, '')], [true, true, true, true], 'lines of it');
      assert.ok(isDue(4, 4, 'x\n'), 'a span behind the last line is drawn in that line');
      assert.ok(isDue(0, 0, 'x', 1), 'the whole text may be another one');
    });
  });
}
