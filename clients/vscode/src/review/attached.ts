/** After this window attached to a daemon: what waits there. */
import type * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { Reviews } from './queue';

/** Asks for the list without texts, and for those that no notification has brought, each with its own. */
export async function attachedTo(daemon: Daemon, reviews: Reviews, log: vscode.LogOutputChannel): Promise<void> {
  if (!daemon.can('fileops/reviews')) return;
  try {
    const { reviews: all } = await daemon.request('fileops/reviews', { include_texts: false });
    const missing = all.filter(({ review_id, revision }) => (reviews.revisionOf(review_id) ?? 0) < revision);
    const answers = await Promise.all(missing.map(({ review_id }) => daemon.request('fileops/reviews', { review_ids: [review_id] })));
    reviews.listed(answers.flatMap(answer => answer.reviews));
  } catch (error) {
    log.warn(`The list of reviews could not be read: ${String(error)}`); // the daemon ended; the next one is asked again
  }
}
