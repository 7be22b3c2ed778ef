/** A question of an older daemon, which keeps no queue of reviews: `fileops/confirmEdit`, and its answer. Pure. */
import type { ConfirmEditParams, ConfirmEditResult, Hunk, Review as Question, ReviewChange } from '../protocol';
import { firstNewLine, firstOldLine } from './hunks';
import type { Decision } from './edit';

/** As a review of a queue would be; its changes are the hunks, and it does not expire. */
export function questionOf(params: ConfirmEditParams, id: string): Question {
  const { title, description, operation, file_path, session_id, diff, original_text, proposed_text, rebased } = params;
  return {
    review_id: id, title, description, operation, file_path, diff, original_text, proposed_text,
    session: params.session ?? { session_id, host: '', label: session_id },
    asked_at: Date.now() / 1000, expires_at: Number.POSITIVE_INFINITY, is_protected: false,
    changes: params.hunks.map(changeOf), rebased: rebased ? { ...rebased } : null, previous: null, revision: 1, n_editors: 1,
  };
}

const ANSWERS = { accept: 'proceed_once', accept_always: 'proceed_always', modify: 'modify', reject: 'cancel' } as const;

/** Parts of an edit cannot be accepted in such an answer: it rejects all. */
export function answerOf({ outcome, text, change_ids }: Decision): ConfirmEditResult {
  if (change_ids) return { outcome: 'cancel' };
  return { outcome: ANSWERS[outcome], ...(text == null ? {} : { text }) };
}

/** A hunk without the unchanged lines at its ends. */
function changeOf(hunk: Hunk): ReviewChange {
  const isChanged = hunk.lines.map(({ kind }) => kind !== ' ');
  const before = Math.max(isChanged.indexOf(true), 0);
  const around = before + (hunk.lines.length - 1 - isChanged.lastIndexOf(true));
  const [old_lines, new_lines] = [hunk.old_lines - around, hunk.new_lines - around];
  const lines = hunk.lines.map(({ kind, text, no_newline }) => `${kind}${text}\n${no_newline ? '\\ No newline at end of file\n' : ''}`);
  return {
    id: hunk.id, old_lines, new_lines,
    old_start: firstOldLine(hunk) + before + (old_lines > 0 ? 1 : 0),
    new_start: firstNewLine(hunk) + before + (new_lines > 0 ? 1 : 0),
    diff: `@@ -${hunk.old_start},${hunk.old_lines} +${hunk.new_start},${hunk.new_lines} @@\n${lines.join('')}`,
  };
}
