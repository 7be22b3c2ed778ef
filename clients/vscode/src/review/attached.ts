/** After this window attached to a daemon: what waits there. */
import type * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import { isOfOneEdit, isOfSet } from '../protocol';
import type { Reviews } from './queue';

/** Two texts of up to 1 MiB each: together below the 16 million characters up to which an answer has the texts. */
const N_AT_ONCE = 7;

/** Asks for the list without texts, and for those that no notification has brought: edits a few at a time, sets alone. */
export async function attachedTo(daemon: Daemon, reviews: Reviews, log: vscode.LogOutputChannel): Promise<void> {
  if (!daemon.can('fileops/reviews')) return;
  try {
    const { reviews: all } = await daemon.request('fileops/reviews', { include_texts: false });
    const missing = all.filter(({ review_id, revision }) => (reviews.revisionOf(review_id) ?? 0) < revision);
    const edits = missing.filter(isOfOneEdit).map(({ review_id }) => review_id);
    const groups = Array.from({ length: Math.ceil(edits.length / N_AT_ONCE) }, (_, n) => edits.slice(n * N_AT_ONCE, (n + 1) * N_AT_ONCE));
    groups.push(...missing.filter(isOfSet).map(({ review_id }) => [review_id]));
    const answers = await Promise.all(groups.map(review_ids => daemon.request('fileops/reviews', { review_ids })));
    reviews.listed(answers.flatMap(answer => answer.reviews));
  } catch (error) {
    log.warn(`The list of reviews could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
  }
}
