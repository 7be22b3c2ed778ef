/** The outcome of a review, shown to the user: who decided, what could not be written, whether to review again. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { ClosedReview, DecideReviewResult, DecidedBy, PreviousDecision, Review as Question } from '../protocol';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { inOneLine, literally } from '../ui/labels';
import { showChanges } from './changes';

/** A decision that was handed in, and the text that the person had before them. */
export interface Decided {
  question: Question;
  text: string;
  isAccepted: boolean;
  /** They had typed into it. */
  wasTyped: boolean;
}

const OUTCOMES = { reject: 'rejected', modify: 'accepted with another text', accept_always: 'accepted', accept: 'accepted' } as const;

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

/** Why a decision has to be made again. */
export function againSentence({ reason, ranges }: PreviousDecision): string {
  if (reason === 'deleted') return 'the file was deleted in the meantime';
  if (reason === 'created') return 'the file was created in the meantime';
  if (reason === 'another_file') return 'the path leads to another file now';
  const [first] = ranges;
  const lines = first ? ` (line ${first.start_line}${ranges.length > 1 ? ' and others' : ''})` : '';
  return `the file changed in the meantime${lines}`;
}

/** In the status bar, for a moment. */
export function tellInPassing(name: string, sentence: string): void {
  vscode.window.setStatusBarMessage(`$(info) ${literally(name)}: ${sentence}`, 5000);
}

/** A review is over in which the person had typed: their text is not lost. */
export async function offerTyped(panes: DiffPanes, filePath: string, text: string, original: string, sentence: string): Promise<void> {
  const show = 'Show What You Typed';
  const chosen = await vscode.window.showWarningMessage(`Fileops: the review of ${path.basename(filePath)} has ended: ${sentence}`, show);
  if (chosen === show) await showText(panes, filePath, original, text, 'what you typed');
}

/** What a decision of this window came to. */
export async function tellResult(panes: DiffPanes, decided: Decided, result: DecideReviewResult): Promise<void> {
  const { question, text, isAccepted, wasTyped } = decided;
  const name = path.basename(question.file_path);
  if (result.reason === 'reopened' || result.reason === 'review_changed') {
    void vscode.window.showWarningMessage(
      `Fileops: your decision about ${name} was not carried out, because the file changed in the meantime. Nothing was written; the review shows the file as it is now.`);
    return;
  }
  if (result.reason === 'already_decided' || result.reason === 'unknown_review') {
    const end = result.state ? endSentence({ ...result, state: result.state }) : 'It does not wait any more.';
    if (wasTyped) await offerTyped(panes, question.file_path, text, question.original_text ?? '', end);
    else void vscode.window.showInformationMessage(`Fileops: your decision about ${name} came too late: ${end}`);
    return;
  }
  if (!isAccepted || (!result.error && result.state === 'decided')) return;
  const why = result.error?.message ?? (result.state ? endSentence({ ...result, state: result.state }) : '');
  const [changes, proposal] = ['Show Changes', 'Show What You Accepted'];
  const chosen = await vscode.window.showWarningMessage(
    `Fileops: The edit of ${name} that you accepted was not written. ${why}`, changes, proposal);
  if (chosen === changes) await showChanges(panes, question);
  if (chosen === proposal) await showText(panes, question.file_path, question.original_text ?? '', text, 'accepted, not written');
}

/** What the person had before the file changed, against the file as it is. */
export async function showEarlier(panes: DiffPanes, question: Question, text: string): Promise<void> {
  await showText(panes, question.file_path, question.original_text ?? '', text, 'what you had decided');
}

async function showText(panes: DiffPanes, filePath: string, before: string, after: string, what: string): Promise<void> {
  const pane = panes.create({ scheme: VIEW_SCHEME, filePath, before, after, title: `${path.basename(filePath)}: ${what}` });
  await panes.show(pane, { viewColumn: columnBeside() });
}
