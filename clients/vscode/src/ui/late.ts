/** A message about a daemon that does not answer, because it hangs or is busy. */
import * as vscode from 'vscode';

const LATE_MS = 4_000; // a write of many files takes less

/** Returns the answer. If it is late, the person reads that nothing is lost. what: "the undo of 3 changes". */
export async function saysIfLate<T>(answer: Promise<T>, what: string): Promise<T> {
  const timer = setTimeout(() => void vscode.window.showWarningMessage(
    `Fileops: the daemon has not answered about ${what} yet. Nothing is lost: what is not done is listed again when it answers, or when another one runs.`), LATE_MS);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
  }
}
