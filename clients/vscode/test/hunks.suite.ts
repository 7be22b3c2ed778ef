import * as assert from 'node:assert/strict';
import { changesOf, compose, fragments, linesOf, moved, parseUnified, touchedLines } from '../src/review/hunks';

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
const BEFORE = 'one\ntwo\nthree\n4\n5\n6\n7\neight\nnine';

export function hunksSuite(): void {
  describe('hunks', () => {
    const hunks = parseUnified(DIFF);

    it('reads a unified diff', () => {
      assert.deepEqual(hunks.map(h => [h.old_start, h.old_lines, h.new_start, h.new_lines]), [[1, 3, 1, 4], [8, 2, 9, 1]]);
      assert.equal(hunks[1]!.lines[1]!.no_newline, true);
    });
    it('takes lines that look like headers as content', () => {
      const [hunk] = parseUnified('--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n @@ -1 +1 @@\n');
      assert.deepEqual(hunk!.lines.map(l => l.kind + l.text), ['--- x', '+++ y', ' @@ -1 +1 @@']);
    });
    it('puts all, none or some of them into a text', () => {
      assert.equal(compose(BEFORE, hunks, () => false).text, BEFORE);
      assert.equal(compose(BEFORE, hunks, () => true).text, 'one\nTWO\n2.5\nthree\n4\n5\n6\n7\neight\n');
      assert.equal(compose(BEFORE, hunks, h => h.id === '2').text, 'one\ntwo\nthree\n4\n5\n6\n7\neight\n');
    });
    it('takes a hunk apart into single changes that add up to it again', () => {
      const before = 'a\nb\nc\nd\ne\n';
      const [hunk] = parseUnified('@@ -1,5 +1,5 @@\n+0\n a\n-b\n c\n-d\n+D\n e\n');
      const changes = changesOf(hunk!);
      assert.deepEqual(changes.map(c => [c.old_start, c.old_lines, c.new_start, c.new_lines]), [[0, 0, 1, 1], [2, 1, 2, 0], [4, 1, 4, 1]]);
      assert.equal(compose(before, changes, () => true).text, compose(before, [hunk!], () => true).text);
      assert.equal(compose(before, changes, () => false).text, before);
      assert.equal(compose(before, changes, c => c === changes[1]).text, 'a\nc\nd\ne\n');
    });
    it('inserts into an empty file and after a line', () => {
      const [into] = parseUnified('@@ -0,0 +1,1 @@\n+new\n');
      assert.equal(compose('', [into!], () => true).text, 'new\n');
      const [after] = parseUnified('@@ -2,0 +3,1 @@\n+c\n');
      assert.equal(compose('a\nb\nd\n', [after!], () => true).text, 'a\nb\nc\nd\n');
    });
    it('knows the position of each', () => {
      assert.deepEqual(compose(BEFORE, hunks, () => true).places.map(p => [p.start, p.end, p.changed]), [[0, 4, 1], [8, 9, 9]]);
    });
    it('moves places with typing and forgets those that were typed into', () => {
      const { text, places } = compose(BEFORE, hunks, () => true);
      assert.deepEqual(moved(places, text, text.replace('\n5\n', '\n5\n5b\n')).map(p => p.start), [0, 9]);
      assert.deepEqual(moved(places, text, text.replace('TWO', 'Two')).map(p => p.hunk.id), ['2']);
    });
    it('keeps carriage returns', () => {
      const [hunk] = parseUnified('@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n');
      assert.equal(compose('a\r\nb\r\n', [hunk!], () => true).text, 'a\r\nc\r\n');
      assert.deepEqual(touchedLines([hunk!]), [{ start: 1, end: 2, lines: ['c'] }]);
    });
    it('names the touched lines of the new text', () => {
      assert.deepEqual(touchedLines(hunks), [{ start: 1, end: 3, lines: ['TWO', '2.5'] }, { start: 9, end: 9, lines: [], around: ['eight', undefined] }]);
    });
    it('names the lines around others that went away', () => {
      const around = (diff: string) => touchedLines(parseUnified(`--- a/f\n+++ b/f\n${diff}`)).map(t => t.around);
      assert.deepEqual(around('@@ -1,2 +1,1 @@\n-gone\n after\n'), [[undefined, 'after']]);
      assert.deepEqual(around('@@ -1,4 +1,2 @@\n before\n-gone\n-gone\n after\r\n'), [['before', 'after']]);
      assert.deepEqual(around('@@ -1,3 +1,3 @@\n before\n-gone\n+new\n after\n'), [undefined]);
      assert.deepEqual(around('@@ -1,1 +0,0 @@\n-gone\n'), [[undefined, undefined]]);
    });
    it('shows both sides without the rest of the file', () => {
      const { before, after, places } = fragments(hunks);
      assert.ok(before.includes('nine') && !after.includes('nine') && !before.includes('TWO'));
      assert.equal(linesOf(after)[places[0]!.changed], 'TWO\n');
    });
  });
}
