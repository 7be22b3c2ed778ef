/**
 * Which problems this editor shows in a document, for agents whose edits are compared: `fileops/diagnostics`. It reads
 * VS Code's own store. Problems that may belong to a text other than the one asked about are not sent.
 */
import { createHash } from 'node:crypto';
import * as vscode from 'vscode';
import type { DiagnosticsAnswer, DiagnosticsParams, EditorDiagnosticItem } from './protocol';

const QUIET_MS = 300; // language servers publish in parts
const LOOK_MS = 50;
const MAX = 10_000; // in one answer
/** VS Code reports updates of its store after a pause of this length: an earlier event is about an older text. */
const DEBOUNCE_MS = 50;

interface Times {
  /** When the text was opened or last changed. */
  changed: number;
  /** When its problems were last updated for this text. */
  updated: number | undefined;
  /** Whether any extension has ever reported on it, even that it has no problems. */
  isChecked: boolean;
}

export class Problems implements vscode.Disposable {
  readonly #times = new Map<string, Times>();
  readonly #subscriptions: vscode.Disposable[];

  constructor() {
    vscode.workspace.textDocuments.forEach(document => this.#opened(document));
    this.#subscriptions = [
      vscode.workspace.onDidOpenTextDocument(document => this.#opened(document)),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#times.delete(uri.toString())),
      vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        const times = this.#times.get(document.uri.toString());
        if (times && contentChanges.length > 0) Object.assign(times, { changed: performance.now(), updated: undefined });
      }),
      vscode.languages.onDidChangeDiagnostics(({ uris }) => uris.forEach(uri => this.#updated(uri))),
    ];
  }

  async ask({ uri, sha256, wait_s }: DiagnosticsParams, token: vscode.CancellationToken): Promise<DiagnosticsAnswer> {
    const key = vscode.Uri.parse(uri).toString();
    const end = performance.now() + wait_s * 1_000;
    for (;;) {
      const document = vscode.workspace.textDocuments.find(one => one.uri.toString() === key);
      const times = this.#times.get(key);
      if (!document || !times?.isChecked) return { state: 'unavailable' };
      if (times.updated !== undefined && performance.now() - times.updated >= QUIET_MS) {
        const digest = digestOf(document.getText());
        if (sha256 === null || sha256 === digest) {
          return { state: 'settled', sha256: digest, diagnostics: vscode.languages.getDiagnostics(document.uri).slice(0, MAX).map(itemOf) };
        }
      }
      if (token.isCancellationRequested || performance.now() >= end) return { state: 'pending' };
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
  }

  #opened({ uri }: vscode.TextDocument): void {
    const isChecked = vscode.languages.getDiagnostics(uri).length > 0;
    this.#times.set(uri.toString(), { changed: performance.now(), updated: undefined, isChecked });
  }

  #updated(uri: vscode.Uri): void {
    const times = this.#times.get(uri.toString());
    if (!times) return;
    times.isChecked = true;
    const now = performance.now();
    if (now - times.changed >= DEBOUNCE_MS) times.updated = now;
  }

  dispose(): void {
    this.#subscriptions.forEach(subscription => subscription.dispose());
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text.replace(/\r\n?/g, '\n')).digest('hex');
}

function itemOf({ range: { start, end }, message, severity, code, source }: vscode.Diagnostic): EditorDiagnosticItem {
  return {
    range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
    message,
    severity: (severity + 1) as 1 | 2 | 3 | 4, // VS Code counts from 0
    code: typeof code === 'object' ? code.value : code ?? null,
    source: source ?? null,
  };
}
