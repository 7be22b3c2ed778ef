import * as assert from 'node:assert/strict';
import { changesOf, compose, fragments, linesOf, moved, parseUnified } from '../src/review/hunks';
import { afterEdit, touchedLines } from '../src/review/touched';

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
    it('follows touched lines through a further edit', () => {
      const hunk = (text: string) => parseUnified(`--- a/f\n+++ b/f\n${text}`);
      const first = hunk('@@ -2,5 +2,5 @@\n two\n three\n-four\n+FOUR\n+4.5\n-five\n six\n');
      const after = (text: string) => afterEdit(touchedLines(first), hunk(text));
      const lines = ['FOUR', '4.5'];
      assert.deepEqual(touchedLines(first), [{ start: 3, end: 5, lines }]);
      const above = '@@ -1,3 +1,5 @@\n one\n+1.1\n+1.2\n two\n three\n';
      assert.deepEqual(after(above), [{ start: 5, end: 7, lines }], 'lines above, in one hunk with unchanged ones');
      assert.deepEqual(after('@@ -5,2 +5,3 @@\n 4.5\n+below\n six\n'), [{ start: 3, end: 5, lines }]);
      assert.deepEqual(after('@@ -4,2 +4,2 @@\n FOUR\n-4.5\n+4,5\n'), [{ start: 3, end: 5, lines: ['FOUR', '4,5'] }]);
      assert.deepEqual(after('@@ -3,3 +3,1 @@\n-three\n-FOUR\n+3\n 4.5\n'), [{ start: 3, end: 4, lines: ['4.5'] }]);
      assert.deepEqual(after('@@ -3,4 +3,2 @@\n three\n-FOUR\n-4.5\n six\n'), []);
      const gone = touchedLines(hunk('@@ -1,3 +1,2 @@\n one\n-two\n three\n'));
      assert.deepEqual(afterEdit(gone, hunk('@@ -1,2 +1,3 @@\n-one\n+ONE\n+1.5\n three\n')),
        [{ start: 2, end: 2, lines: [], around: ['1.5', 'three'] }]);
    });
    it('shows both sides without the rest of the file', () => {
      const { before, after, places } = fragments(hunks);
      assert.ok(before.includes('nine') && !after.includes('nine') && !before.includes('TWO'));
      assert.equal(linesOf(after)[places[0]!.changed], 'TWO\n');
    });
  });
}
