/** After this window attached to a daemon: fetches what waits there. */
import type * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import { type AnyReview, isOfOneEdit, isOfSet } from '../protocol';
import type { Reviews } from './queue';

/** Two texts of up to 1 MiB each: together below the 16 million characters up to which an answer has the texts. */
const N_AT_ONCE = 7;

/** Asks for all at once, then again for those whose texts did not fit: edits a few at a time, sets alone. */
export async function attachedTo(daemon: Daemon, reviews: Reviews, log: vscode.LogOutputChannel): Promise<void> {
  if (!daemon.can('fileops/reviews')) return;
  try {
    const { reviews: all } = await daemon.request('fileops/reviews', {});
    const missing = all.filter(({ review_id, revision }) => (reviews.revisionOf(review_id) ?? 0) < revision);
    const cut = missing.filter(review => !hasTexts(review));
    const edits = cut.filter(isOfOneEdit).map(({ review_id }) => review_id);
    const groups = Array.from({ length: Math.ceil(edits.length / N_AT_ONCE) }, (_, n) => edits.slice(n * N_AT_ONCE, (n + 1) * N_AT_ONCE));
    groups.push(...cut.filter(isOfSet).map(({ review_id }) => [review_id]));
    const answers = await Promise.all(groups.map(review_ids => daemon.request('fileops/reviews', { review_ids })));
    const again = new Map(answers.flatMap(answer => answer.reviews).map(review => [review.review_id, review]));
    const isAsked = new Set(groups.flat());
    // In the order of the queue. One that is missing in the second answer has ended meanwhile.
    reviews.listed(missing.flatMap(review => (isAsked.has(review.review_id) ? again.get(review.review_id) ?? [] : review)));
  } catch (error) {
    log.warn(`The list of reviews could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
  }
}

/** False if the answer was already full, or the texts are too long for any answer. */
function hasTexts(review: AnyReview): boolean {
  const files = isOfSet(review) ? review.files : [review];
  return files.some(({ original_text, proposed_text }) => original_text != null || proposed_text != null);
}
