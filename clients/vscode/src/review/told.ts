/** The outcome of a review, shown to the user: who decided, what could not be written, whether to review again. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { ClosedReview, DecideReviewResult, DecidedBy, RebasedDetails } from '../protocol';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { inOneLine, literally } from '../ui/labels';
import type { Review } from './edit';

/** A decision that was sent, and the text that the person had before them. */
export interface Decided {
  review: Review;
  text: string;
  isAccepted: boolean;
  /** They had typed into it. */
  wasTyped: boolean;
}

const OUTCOMES = { accept: 'accepted', accept_always: 'accepted', modify: 'accepted with another text', reject: 'rejected' } as const;

/** "accepted in Neovim". */
function decidedSentence(outcome: ClosedReview['outcome'], by: DecidedBy | null): string {
  const where = by?.client ? ` in ${inOneLine(by.client)}` : by?.rule ? ` by the rule ${inOneLine(by.rule)}` : '';
  return `${outcome ? OUTCOMES[outcome] : 'decided'}${where}`;
}

/** Why a review ended that was not decided here. */
export function endSentence({ state, outcome, by }: ClosedReview): string {
  switch (state) {
    case 'decided': return `${decidedSentence(outcome, by)}.`;
    case 'withdrawn': return 'The agent took its edit back.';
    case 'timed_out': return 'There was no decision in time. Nothing was written.';
    case 'undecided': return 'There was no decision. Nothing was written.';
    case 'waiting': return 'It still waits, but no longer concerns this window.';
  }
}

/** "rebased over 2 changes by Codex". nameOf: the label of a session. */
export function rebasedSentence({ changed_by, n_foreign_hunks }: Pick<RebasedDetails, 'changed_by' | 'n_foreign_hunks'>, nameOf: (sessionId: string) => string): string {
  const who = changed_by === 'external' ? 'another program' : changed_by === 'buffer' ? 'you' : nameOf(changed_by.replace(/^session:/, ''));
  return `rebased over ${n_foreign_hunks} change${n_foreign_hunks === 1 ? '' : 's'} by ${who}`;
}

/** In the status bar, for a moment. */
export function tellInPassing(name: string, sentence: string): void {
  vscode.window.setStatusBarMessage(`$(info) ${literally(name)}: ${sentence}`, 5000);
}

/** A review has ended in which the person had typed: their text is not lost. */
export async function offerTyped(panes: DiffPanes, filePath: string, text: string, original: string, sentence: string): Promise<void> {
  const show = 'Show What You Typed';
  const chosen = await vscode.window.showWarningMessage(`Fileops: the review of ${path.basename(filePath)} has ended: ${sentence}`, show);
  if (chosen === show) await showText(panes, filePath, original, text, 'what you typed');
}

/** The outcome of a decision made in this window. */
export async function tellResult(panes: DiffPanes, decided: Decided, result: DecideReviewResult): Promise<void> {
  const { review: { name, shown: { original_text }, shownPath }, text, isAccepted, wasTyped } = decided;
  if (result.reason === 'reopened' || result.reason === 'review_changed') {
    void vscode.window.showWarningMessage(
      `Fileops: your decision about ${name} was not carried out, because the file changed in the meantime. Nothing was written; the review shows the file as it is now.`);
    return;
  }
  if (result.reason === 'already_decided' || result.reason === 'unknown_review') {
    const end = result.state ? endSentence({ ...result, state: result.state }) : 'It is no longer waiting.';
    if (wasTyped) await offerTyped(panes, shownPath, text, original_text ?? '', end);
    else void vscode.window.showInformationMessage(`Fileops: your decision about ${name} came too late: ${end}`);
    return;
  }
  if (!isAccepted || (!result.error && result.state === 'decided')) return;
  const why = result.error?.message ?? (result.state ? endSentence({ ...result, state: result.state }) : '');
  const show = 'Show What You Accepted';
  const chosen = await vscode.window.showWarningMessage(`Fileops: the edit of ${name} that you accepted was not written. ${why}`, show);
  if (chosen === show) await showText(panes, shownPath, original_text ?? '', text, 'accepted, not written');
}

/** The file changed after the person had typed into the proposal: their text is not in the new one, but is not lost. */
export async function offerEarlier(panes: DiffPanes, review: Review): Promise<void> {
  const { earlier, name, shown: { original_text }, shownPath } = review;
  if (earlier === undefined) return;
  const [show, use] = ['Show What You Typed', 'Use What You Typed'];
  const chosen = await vscode.window.showWarningMessage(
    `Fileops: ${name} changed after you had typed into its review. What you typed is not in the review any more; it would take back what others changed.`, show, use);
  if (chosen === show) await showText(panes, shownPath, original_text ?? '', earlier, 'what you typed');
  if (chosen === use && await review.use(earlier)) review.earlier = undefined;
}

async function showText(panes: DiffPanes, filePath: string, before: string, after: string, what: string): Promise<void> {
  const pane = panes.create({ scheme: VIEW_SCHEME, filePath, before, after, title: `${path.basename(filePath)}: ${what}` });
  await panes.show(pane, { viewColumn: columnBeside() });
}
