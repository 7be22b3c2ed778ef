import * as assert from 'node:assert/strict';
import { answerOf, questionOf } from '../src/review/asked';
import { compose, fragments, linesOf, moved, parseUnified } from '../src/review/hunks';
import { neighbour, spotsOf } from '../src/review/spots';
import { afterEdit, touchedLines } from '../src/review/touched';
import { followTyping, needsDrawing } from '../src/ui/spans';
import { changedWords } from '../src/ui/words';

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
    it('puts all, none or some changes into a text', () => {
      const changes = [{ id: 'a', old_start: 2, old_lines: 1, new_start: 2, new_lines: 2 }, { id: 'b', old_start: 9, old_lines: 1, new_start: 9, new_lines: 0 }];
      const composed = (kept: (id: string) => boolean) => compose(BEFORE, AFTER, changes, kept);
      assert.equal(composed(() => false).text, BEFORE);
      assert.equal(composed(() => true).text, AFTER);
      assert.equal(composed(id => id === 'b').text, 'one\ntwo\nthree\n4\n5\n6\n7\neight\n');
      assert.deepEqual(composed(() => true).places.map(p => [p.start, p.end, p.changed]), [[1, 3, 1], [9, 9, 9]]);
    });
    it('inserts into an empty file and after a line', () => {
      const insertion = (line: number) => [{ id: 'a', old_start: line, old_lines: 0, new_start: line + 1, new_lines: 1 }];
      assert.equal(compose('', 'new\n', insertion(0), () => true).text, 'new\n');
      assert.equal(compose('a\nb\nd\n', 'a\nb\nc\nd\n', insertion(2), () => true).text, 'a\nb\nc\nd\n');
      assert.equal(compose('a\nb\nd\n', 'a\nb\nc\nd\n', insertion(2), () => false).text, 'a\nb\nd\n');
    });
    it('takes the hunks of an older daemon for changes, without the unchanged lines at their ends', () => {
      const question = questionOf({
        type: 'edit', title: '', description: '', file_path: '/demo.py', session_id: 's', operation: 'modify', diff: DIFF,
        hunks, original_text: BEFORE, proposed_text: AFTER, original_label: '', proposed_label: '',
      }, 'asked-1');
      assert.deepEqual(question.changes.map(c => [c.id, c.old_start, c.old_lines, c.new_start, c.new_lines]), [['1', 2, 1, 2, 2], ['2', 9, 1, 9, 0]]);
      assert.equal(compose(BEFORE, AFTER, question.changes, id => id === '1').text, 'one\nTWO\n2.5\nthree\n4\n5\n6\n7\neight\nnine');
      assert.deepEqual(answerOf({ outcome: 'accept', change_ids: ['1'] }), { outcome: 'cancel' });
      assert.deepEqual(parseUnified(question.changes[0]!.diff)[0]!.lines, hunks[0]!.lines);
    });
    it('moves places with typing and forgets those that were typed into', () => {
      const text = AFTER;
      const places = [{ id: '1', start: 0, end: 4, changed: 1 }, { id: '2', start: 8, end: 9, changed: 9 }];
      assert.deepEqual(moved(places, text, text.replace('\n5\n', '\n5\n5b\n')).map(p => p.start), [0, 9]);
      assert.deepEqual(moved(places, text, text.replace('TWO', 'Two')).map(p => p.id), ['2']);
    });
    it('keeps carriage returns', () => {
      const [hunk] = parseUnified('@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n');
      assert.equal(compose('a\r\nb\r\n', 'a\r\nc\r\n', [{ ...hunk!, old_start: 2, old_lines: 1, new_start: 2, new_lines: 1 }], () => true).text, 'a\r\nc\r\n');
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
    it('names the words that differ, and none where the lines have nothing in common', () => {
      const changed = (lines: ReturnType<typeof changedWords>['after']) => lines.map(words => words.filter(w => w.isChanged).map(w => w.text));
      const { before, after } = changedWords('total = a + b\nend\n', 'total = a - b\nend\n');
      assert.deepEqual([changed(before), changed(after)], [[['+'], []], [['-'], []]]);
      assert.deepEqual(changed(changedWords('one\n', 'something else\n').after), [[]]);
      assert.deepEqual(changedWords('', 'new\n'), { before: [], after: [[{ text: 'new', isChanged: false }]] });
    });
    it('finds the changes of a review in a text that was typed in', () => {
      const change = { id: 'c', old_start: 3, old_lines: 1, new_start: 3, new_lines: 2, diff: '' };
      const at = (now: string) => spotsOf([change], 'a\nb\nc\nd\n', 'a\nb\nC\nC2\nd\n', now).map(({ start, end, added }) => [start, end, added.length]);
      assert.deepEqual(at('a\nb\nc\nd\n'), [[2, 3, 2]]);
      assert.deepEqual(at('typed\na\nb\nc\nd\n'), [[3, 4, 2]]);
      assert.deepEqual(at('a\nb\nc, typed\nd\n'), [], 'typed into');
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
    it('has an editor draw spans again only where it moves them in another way', () => {
      const isDue = (line: number, endLine: number, text: string, lineCount = 20): boolean =>
        needsDrawing([{ start: 5, end: 8 }], [{ range: { start: { line, character: 0 }, end: { line: endLine, character: 0 } }, text }], { lineCount });
      assert.deepEqual([isDue(6, 6, 'x'), isDue(2, 2, 'x\n'), isDue(12, 13, '')], [false, false, false], 'a letter, and lines elsewhere');
      assert.deepEqual([isDue(5, 5, '\n'), isDue(7, 7, 'x\r\ny'), isDue(3, 6, ''), isDue(7, 12, '')], [true, true, true, true], 'lines of it');
      assert.ok(isDue(4, 4, 'x\n'), 'a span behind the last line is drawn in that line');
      assert.ok(isDue(0, 0, 'x', 1), 'the whole text may be another one');
    });
    it('goes from change to change around the ends of a file', () => {
      const spans = [{ start: 9, end: 9 }, { start: 2, end: 4 }];
      assert.deepEqual([1, 2, 9].map(line => neighbour(spans, line, true)?.start), [2, 9, 2]);
      assert.deepEqual([1, 3, 9].map(line => neighbour(spans, line, false)?.start), [9, 2, 2]);
      assert.equal(neighbour([], 1, true), undefined);
    });
  });
}
