/** Agents and the reviews of their edits, for the suites of reviews. */
import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import { closeAll, type Review, shownDiffs, until, world } from './world';

export let api: FileopsApi;
export let insides: Insides;
let nSessions = 0;

/** A text long enough for several hunks. */
export const PARTS = Array.from({ length: 30 }, (_, i) => `line ${i + 1}`).join('\n') + '\n';

/** The hooks of a suite: the extension runs, and each test begins with nothing open and nothing waiting. */
export function withReviews(): void {
  before(async () => { ({ api, insides } = await world()); });
  beforeEach(async () => {
    await closeAll();
    assert.equal(insides.reviews.waiting.length, 0);
  });
  after(closeAll);
}

/** A new agent that has read the file. */
export async function agent(path: string) {
  const session = api.session(`agent-${++nSessions}`);
  if (fs.existsSync(path)) await session.read({ file_path: path });
  return session;
}

export const shown = (): Promise<Review> => until(() => {
  const [review] = insides.reviews.waiting;
  return review?.kind === 'edit' && insides.panes.isShown(review.pane) ? review : undefined;
}, 'a review is shown');

export const proposed = (review: Review): Thenable<vscode.TextDocument> => vscode.workspace.openTextDocument(review.pane.after);

export const nothingLeft = (): Promise<unknown> => until(() => shownDiffs().length === 0 && insides.panes.nDocuments === 0, 'no pane and no text is left');
