/**
 * Lines that are not in a file, shown between its lines: what an edit would add, what an agent has removed. Extensions
 * have no other way to such space in a stable editor than comment threads, so these are threads that cannot be
 * answered. Owns them; knows nothing of reviews.
 */
import * as vscode from 'vscode';
import type { Words } from './words';

export interface Shown {
  /** Names it as long as it is shown; another content under the same key takes its place. */
  key: string;
  /** 0-based line of the file below which it is shown; -1: above the first one. */
  afterLine: number;
  kind: 'added' | 'removed';
  lines: readonly Words[];
  /** Above the lines, for people: what they are, and whose. */
  title: string;
  author: string;
  /** By which the manifest adds actions to its title. */
  context: string;
}

interface Placed {
  thread: vscode.CommentThread;
  content: string;
}

const SHOWN_LINES = 200; // of more, the rest is counted: the whole is in the diff

export class InsertedLines implements vscode.Disposable {
  readonly #controller = vscode.comments.createCommentController('fileops', 'Fileops');
  readonly #placed = new Map<string, Map<string, Placed>>();

  /** Shows exactly these of an owner in a document. What is shown already stays where it is: it moves with the text. */
  show(owner: string, uri: vscode.Uri, shown: readonly Shown[]): void {
    const place = `${owner} ${uri.toString()}`;
    const before = this.#placed.get(place) ?? new Map<string, Placed>();
    const now = new Map<string, Placed>();
    for (const lines of shown) {
      const content = JSON.stringify([lines.kind, lines.lines, lines.title, lines.author]);
      const same = before.get(lines.key);
      if (same?.content === content) {
        now.set(lines.key, same);
        before.delete(lines.key);
      } else {
        now.set(lines.key, { thread: this.#thread(uri, lines), content });
      }
    }
    for (const { thread } of before.values()) thread.dispose();
    if (now.size > 0) this.#placed.set(place, now);
    else this.#placed.delete(place);
  }

  /** The key of what a menu was opened on. */
  keyOf(target: unknown): string | undefined {
    const all = [...this.#placed.values()].flatMap(placed => [...placed]);
    return all.find(([, { thread }]) => thread === target)?.[0];
  }

  /** For tests: what is shown in a document. */
  at(uri: vscode.Uri): { key: string; thread: vscode.CommentThread }[] {
    const all = [...this.#placed.values()].flatMap(placed => [...placed]);
    return all.map(([key, { thread }]) => ({ key, thread })).filter(({ thread }) => thread.uri.toString() === uri.toString());
  }

  #thread(uri: vscode.Uri, { key, afterLine, kind, lines, title, author, context }: Shown): vscode.CommentThread {
    const range = new vscode.Range(Math.max(afterLine, 0), 0, Math.max(afterLine, 0), 0);
    const body = new vscode.MarkdownString(html(kind, lines));
    body.supportHtml = true;
    const comment: vscode.Comment = { body, mode: vscode.CommentMode.Preview, author: { name: author }, contextValue: key };
    const thread = this.#controller.createCommentThread(uri, range, [comment]);
    if (afterLine < 0) thread.range = undefined; // VS Code shows it above the first line
    thread.canReply = false;
    thread.label = title;
    thread.contextValue = context;
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    return thread;
  }

  dispose(): void {
    this.#controller.dispose();
  }
}

const COLORS = { added: ['+', 'insertedLine', 'insertedText'], removed: ['−', 'removedLine', 'removedText'] } as const;

function html(kind: Shown['kind'], lines: readonly Words[]): string {
  const [sign, line, word] = COLORS[kind];
  const colored = (inner: string, name: string): string => `<span style="background-color:var(--vscode-diffEditor-${name}Background);">${inner}</span>`;
  // As in a diff: the color of a word lies on that of its line.
  const drawn = lines.slice(0, SHOWN_LINES).map(words =>
    colored(`${sign} ${words.map(({ text, isChanged }) => (isChanged ? colored(escaped(text), word) : escaped(text))).join('')}`, line));
  const rest = lines.length - SHOWN_LINES;
  if (rest > 0) drawn.push(`… ${rest} more ${rest === 1 ? 'line' : 'lines'}`);
  return `<pre><code>${drawn.join('\n')}</code></pre>`;
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
