/**
 * Edits in progress: which of them the user has accepted, and whether those were written. The user is told of an
 * accepted edit that was refused nevertheless (the file changed while it waited, the disk is full).
 *
 * The outcome of an edit of this window's agents is in its answer; that of another client's of a shared daemon is an
 * event of its session and file.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Call } from '../daemon/daemon';
import type { DidConflictParams, DidEditParams, EditParams, ErrorCode, SessionParams, ToolResult } from '../protocol';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { showChanges } from './changes';
import type { AcceptedEdit } from './queue';

const EDITING_METHODS: readonly string[] = ['fileops/edit', 'fileops/multiEdit', 'fileops/write', 'fileops/undo'];

export class EditCalls {
  readonly #accepted = new Map<Call, AcceptedEdit | undefined>();
  readonly #acceptedOfOthers = new Map<string, AcceptedEdit>();
  /** Sessions that send their requests through this window. */
  readonly #ownSessions = new Set<string>();

  constructor(readonly panes: DiffPanes) {}

  began(call: Call): void {
    if (isToolOfSession(call.method)) this.#ownSessions.add((call.params as SessionParams).session_id ?? 'default');
    if (EDITING_METHODS.includes(call.method)) this.#accepted.set(call, undefined);
  }

  isOwn(sessionId: string): boolean {
    return this.#ownSessions.has(sessionId);
  }

  /** The question does not name its call: it is the oldest of that session and file, else an undo. */
  accepted(edit: AcceptedEdit): void {
    if (edit.params.session && !this.isOwn(edit.params.session_id)) {
      this.#acceptedOfOthers.set(keyOf(edit.params), edit);
      return;
    }
    const calls = [...this.#accepted].filter(([, accepted]) => !accepted).map(([call]) => call);
    const call = calls.find(({ params }) => isOf(params as Partial<EditParams>, edit))
      ?? [...this.#accepted.keys()].find(({ method }) => method === 'fileops/undo');
    if (call) this.#accepted.set(call, edit);
  }

  /** problem: it failed without a result. The answer: whether a person accepted it. */
  ended(call: Call, result: Partial<ToolResult> | undefined, problem?: string): boolean {
    const edit = this.#accepted.get(call);
    this.#accepted.delete(call);
    const error = problem === undefined ? result?.error : { code: 'io_error' as const, message: problem };
    if (edit && error && error.code !== 'rejected') void this.#tell(edit, error.code, error.message);
    return edit !== undefined;
  }

  /** An edit of another client was written. The answer: whether a person accepted it. */
  otherWasWritten(event: DidEditParams): boolean {
    return this.#acceptedOfOthers.delete(keyOf(event));
  }

  /** An edit of another client was refused, because the file changed. */
  otherWasRefused(event: DidConflictParams): void {
    const edit = this.#acceptedOfOthers.get(keyOf(event));
    if (!edit) return;
    this.#acceptedOfOthers.delete(keyOf(event));
    void this.#tell(edit, 'modified_externally', '');
  }

  /** The daemon ended: no more events of these edits. */
  forgetOthers(): void {
    this.#acceptedOfOthers.clear();
  }

  async #tell(edit: AcceptedEdit, code: ErrorCode, reason: string): Promise<void> {
    const name = path.basename(edit.params.file_path);
    const [changes, proposal] = ['Show Changes', 'Show What You Accepted'];
    const what = code === 'modified_externally'
      ? `The edit of ${name} that you accepted was not written: the file changed while it waited. The agent was told to read it again.`
      : code === 'connection_lost' ? `Whether the edit of ${name} that you accepted was written is not known: the daemon ended.`
      : `The edit of ${name} that you accepted was not written. ${reason}`;
    const chosen = await vscode.window.showWarningMessage(`Fileops: ${what}`, changes, proposal);
    if (chosen === changes) await showChanges(this.panes, edit.params);
    if (chosen === proposal) await this.#showProposal(edit);
  }

  async #showProposal({ params, text }: AcceptedEdit): Promise<void> {
    const pane = this.panes.create({
      scheme: VIEW_SCHEME, filePath: params.file_path, before: params.original_text ?? '', after: text,
      title: `${path.basename(params.file_path)}: accepted, not written`,
    });
    await this.panes.show(pane, { viewColumn: columnBeside() });
  }
}

const isOf = (call: Partial<EditParams>, { params }: AcceptedEdit): boolean =>
  call.file_path === params.file_path && (call.session_id ?? 'default') === params.session_id;

const TOOL_METHODS: readonly string[] = [...EDITING_METHODS, 'fileops/read', 'fileops/bash', 'fileops/recordRead'];

const isToolOfSession = (method: string): boolean => TOOL_METHODS.includes(method);

const keyOf = ({ session_id, file_path }: { session_id: string; file_path: string }): string => `${session_id}\0${file_path}`;
