/**
 * A change set for a person to decide: each of its files is reviewed like an edit, in any order, and with the last one,
 * a single decision about all is sent. Until then, each file can be decided again. Pure.
 */
import type { AnyReview, DecidedFile, DecideReviewParams, DecideReviewResult, Review as Question } from '../protocol';
import type { Decision } from './edit';

export type SetQuestion = AnyReview & Required<Pick<AnyReview, 'files'>>;

type SetDecision = Pick<DecideReviewParams, 'outcome' | 'files' | 'reason'>;

interface Decided {
  decision: Decision;
  resolve(result: DecideReviewResult): void;
  reject(error: unknown): void;
}

export class ChangeSet {
  readonly #decided = new Map<string, Decided>();
  #isSent = false;
  #last: string | undefined;

  constructor(readonly question: SetQuestion, readonly send: (decision: SetDecision) => Promise<DecideReviewResult>) {}

  get id(): string {
    return this.question.review_id;
  }

  /** Each file as the review of one edit. */
  get parts(): Question[] {
    const { files, ...shared } = this.question;
    return files.map((file, index) => ({
      ...shared, ...file, review_id: `${this.id} ${file.file_path}`, title: `${shared.title} (file ${index + 1} of ${files.length})`,
    }));
  }

  /** Whether decisions can still be changed. */
  get isOpen(): boolean {
    return !this.#isSent;
  }

  get nLeft(): number {
    return this.question.files.length - this.#decided.size;
  }

  decisionOf(filePath: string): Decision | undefined {
    return this.#decided.get(filePath)?.decision;
  }

  /** Whether to report the set's outcome after this file's decision; that is done once. */
  isLast(filePath: string): boolean {
    return this.#last === filePath;
  }

  /** Decides a file; resolves when the whole set is decided and written or not. */
  decide(filePath: string, decision: Decision): Promise<DecideReviewResult> {
    return new Promise((resolve, reject) => {
      this.#decided.set(filePath, { decision, resolve, reject });
      if (this.nLeft === 0) void this.#hand(filePath);
    });
  }

  /** Replaces the decision about a file, while the set is open. */
  decideAnew(filePath: string, decision: Decision): void {
    const decided = this.#decided.get(filePath);
    if (decided) decided.decision = decision;
  }

  /** The set is asked about again, or is over: what was decided here was not sent. */
  abandon(result: DecideReviewResult): void {
    if (this.#isSent) return;
    this.#isSent = true;
    for (const { resolve } of this.#decided.values()) resolve(result);
  }

  async #hand(last: string): Promise<void> {
    this.#isSent = true;
    this.#last = last;
    const decided = [...this.#decided.values()];
    try {
      const result = await this.send(this.#combined);
      if (result.reason === 'reopened' || result.reason === 'review_changed') this.#reopen();
      for (const { resolve } of decided) resolve(result);
    } catch (error) {
      this.#reopen();
      for (const { reject } of decided) reject(error);
    }
  }

  #reopen(): void {
    this.#isSent = false;
    this.#decided.clear();
  }

  get #combined(): SetDecision {
    const decided = [...this.#decided];
    const outcomes = new Set(decided.map(([, { decision }]) => decision.outcome));
    const reasons = new Set(decided.map(([, { decision }]) => decision.reason?.trim()).filter(reason => reason));
    const why = reasons.size > 0 ? { reason: [...reasons].join('; ') } : {};
    if (outcomes.size === 1 && outcomes.has('reject')) return { outcome: 'reject', ...why };
    const files = decided.flatMap(([file_path, { decision: { outcome, text, change_ids } }]): DecidedFile[] => {
      if (outcome === 'reject') return [{ file_path, change_ids: [] }];
      if (text != null) return [{ file_path, text }];
      return change_ids ? [{ file_path, change_ids: [...change_ids] }] : [];
    });
    const isOther = outcomes.has('reject') || outcomes.has('modify');
    return { outcome: isOther ? 'modify' : 'accept', ...(files.length > 0 ? { files } : {}), ...why };
  }
}
