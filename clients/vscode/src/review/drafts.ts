/**
 * What a person has typed into proposals without deciding: kept until the review ends, so that reloading the window or
 * a crash of the extension host loses nothing.
 */
import * as vscode from 'vscode';
import { REVIEW_SCHEME } from '../ui/diff';
import type { Draft, Review } from './edit';

const KEY = 'fileops.drafts';
const PAUSE_MS = 200; // typed text is not written with each key

export class Drafts implements vscode.Disposable {
  readonly #drafts: Map<string, Draft>;
  readonly #typing: vscode.Disposable;
  #pause: NodeJS.Timeout | undefined;

  /** waiting: returns the reviews that wait now. */
  constructor(readonly store: vscode.Memento, readonly waiting: () => readonly Review[]) {
    this.#drafts = new Map(Object.entries(store.get<Record<string, Draft>>(KEY, {})));
    this.#typing = vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.uri.scheme !== REVIEW_SCHEME || this.#pause) return;
      this.#pause = setTimeout(() => this.keep(), PAUSE_MS);
    });
  }

  get(reviewId: string): Draft | undefined {
    return this.#drafts.get(reviewId);
  }

  /** Those of reviews that no longer wait are dropped. */
  takeOthers(): Draft[] {
    const ids = new Set(this.waiting().map(review => review.id));
    const others = [...this.#drafts].filter(([id]) => !ids.has(id));
    for (const [id] of others) this.#drafts.delete(id);
    if (others.length > 0) this.#store();
    return others.map(([, draft]) => draft);
  }

  keep(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    for (const review of this.waiting()) this.#set(review);
    this.#store();
  }

  put(review: Review): void {
    this.#set(review);
    this.#store();
  }

  #set({ id, draft }: Review): void {
    if (draft) this.#drafts.set(id, draft);
    else this.#drafts.delete(id);
  }

  forget(reviewId: string): void {
    if (this.#drafts.delete(reviewId)) this.#store();
  }

  #store(): void {
    void this.store.update(KEY, Object.fromEntries(this.#drafts));
  }

  dispose(): void {
    clearTimeout(this.#pause);
    this.#typing.dispose();
  }
}
