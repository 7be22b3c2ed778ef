/**
 * What agents did: the view "Agent Edits" with a diff for each edit, and undo of one edit, of the last one or of
 * a whole session. Asks the daemon each time; keeps only what is on the screen.
 */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from '../daemon/daemon';
import type { HistoryEntry, ToolResult, UndoDetails, UndoParams } from '../protocol';
import { fragments, parseUnified } from '../review/hunks';
import { rebasedSentence } from '../review/rebased';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from './diff';
import type { Sessions } from './sessions';

/** Of what the person did: undos that they asked for. */
const OWN_SESSION = '';
const SHOWN_EDITS = 200; // more is no list that a person reads

interface SessionRow {
  session: string;
  edits: HistoryEntry[];
}

type Row = SessionRow | HistoryEntry;

const isSession = (row: Row): row is SessionRow => 'edits' in row;

export class History implements vscode.Disposable, vscode.TreeDataProvider<Row> {
  readonly #rows = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#rows.event;
  readonly #view: vscode.TreeView<Row>;
  readonly #disposables: vscode.Disposable[];
  #sessions: SessionRow[] = [];

  constructor(readonly daemon: Daemon, readonly panes: DiffPanes, readonly sessions: Sessions) {
    this.#view = vscode.window.createTreeView<Row>('fileops.history', { treeDataProvider: this });
    const register = vscode.commands.registerCommand;
    this.#disposables = [
      this.#view, this.#rows,
      daemon.on('fileops/didEdit')(() => this.refresh()),
      daemon.onDidChangeState(() => this.refresh()),
      sessions.onDidChangeNames(() => this.refresh()),
      register('fileops.history.refresh', () => this.refresh()),
      register('fileops.history.show', (target: unknown) => this.#withEdit(target, edit => this.show(edit))),
      register('fileops.history.undo', (target: unknown) => this.#withEdit(target, edit => this.#undoEntry(edit))),
      register('fileops.history.undoSession', (row: SessionRow) => this.#undoSession(row)),
      register('fileops.history.undoLast', () => this.#withLast(edit => edit.undoable, edit => this.#undoEntry(edit))),
      register('fileops.showLastEdit', () => this.#withLast(() => true, edit => this.show(edit))),
    ];
  }

  refresh(): void {
    this.#rows.fire();
  }

  /** Newest first. Empty where the daemon keeps no history. */
  async edits(): Promise<HistoryEntry[]> {
    if (this.daemon.state !== 'running' || !this.daemon.can('fileops/history')) return [];
    const { edits } = await this.daemon.request('fileops/history', { limit: SHOWN_EDITS });
    return edits.sort((a, b) => b.timestamp - a.timestamp);
  }

  async show(edit: HistoryEntry): Promise<void> {
    const { before, after } = fragments(parseUnified(edit.diff));
    const pane = this.panes.create({
      scheme: VIEW_SCHEME, filePath: edit.file_path, before, after,
      title: `${path.basename(edit.file_path)}: agent's edit, ${clock(edit.timestamp)}`,
    });
    await this.panes.show(pane, { viewColumn: columnBeside() });
  }

  /** As the person asked, without a review. Shows them the outcome; the answer is for the caller. */
  async undo(params: Omit<UndoParams, 'approved'>): Promise<ToolResult<UndoDetails>> {
    const result = await this.daemon.request('fileops/undo', { ...params, approved: true });
    if (result.status === 'error') {
      const came = result.details.undone?.length ? 'not all was undone' : 'nothing was undone';
      void vscode.window.showWarningMessage(`Fileops: ${came}. ${result.error?.message ?? ''}`.trim());
    } else {
      const names = (result.details.files ?? []).map(file => path.basename(file.file_path));
      const undone = names.length > 1 ? `${names.length} files` : names[0] ?? '';
      vscode.window.setStatusBarMessage(`$(discard) Undone: ${undone}`, 5000);
    }
    this.refresh();
    return result;
  }

  /** Of a change set the person chooses: files that were changed together belong together. */
  async #undoEntry(edit: HistoryEntry): Promise<ToolResult<UndoDetails> | undefined> {
    const { edit_id, set_id } = edit;
    const ofSet = set_id ? (await this.edits()).filter(other => other.set_id === set_id && other.undoable) : [];
    if (!set_id || ofSet.length <= 1) return this.undo({ edit_id });
    const whole = { label: `Undo the change set: ${ofSet.length} files`, detail: named(ofSet) };
    const single = { label: 'Undo this file only', detail: vscode.workspace.asRelativePath(edit.file_path) };
    const chosen = await vscode.window.showQuickPick([whole, single], { title: 'These files were changed together', placeHolder: 'Escape leaves them' });
    if (!chosen) return undefined;
    return this.undo(chosen === whole ? { set_id } : { edit_id });
  }

  async #undoSession({ session, edits }: SessionRow): Promise<void> {
    const undo = `Undo ${edits.length} ${edits.length === 1 ? 'Edit' : 'Edits'}`;
    const chosen = await vscode.window.showWarningMessage(
      `Undo all edits of ${this.sessions.nameOf(session)}?`, { modal: true, detail: 'What you typed since stays.' }, undo);
    if (chosen === undo) await this.undo({ session_id: session });
  }

  /** target: a row or an edit's id. */
  async #withEdit(target: unknown, run: (edit: HistoryEntry) => Promise<unknown>): Promise<unknown> {
    if (typeof target === 'object' && target !== null && 'edit_id' in target) return run(target as HistoryEntry);
    const edit = (await this.edits()).find(e => e.edit_id === target);
    if (edit) return run(edit);
    void vscode.window.showInformationMessage('Fileops: that edit is not in the history.');
    return undefined;
  }

  /** With the newest edit of an agent; the person's own undos are none. */
  async #withLast(matches: (edit: HistoryEntry) => boolean, run: (edit: HistoryEntry) => Promise<unknown>): Promise<unknown> {
    const edit = (await this.edits()).find(e => e.session_id !== OWN_SESSION && matches(e));
    if (edit) return run(edit);
    void vscode.window.showInformationMessage('Fileops: there is no such edit of an agent.');
    return undefined;
  }

  /** What the view shows. If the daemon has ended, that is nothing: the user is notified elsewhere, and the next daemon is asked again. */
  async #listed(): Promise<HistoryEntry[]> {
    try {
      return await this.edits();
    } catch (error) {
      this.daemon.log.warn(`The history could not be read: ${String(error)}`);
      return [];
    }
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row) return isSession(row) ? row.edits : [];
    const sessions = new Map<string, HistoryEntry[]>();
    for (const edit of await this.#listed()) {
      sessions.set(edit.session_id, [...(sessions.get(edit.session_id) ?? []), edit]);
    }
    this.#sessions = [...sessions].map(([session, edits]) => ({ session, edits }));
    return this.#sessions;
  }

  getTreeItem(row: Row): vscode.TreeItem {
    if (isSession(row)) {
      const isOwn = row.session === OWN_SESSION;
      const item = new vscode.TreeItem(isOwn ? 'You' : this.sessions.nameOf(row.session), vscode.TreeItemCollapsibleState.Expanded);
      item.id = `session:${row.session}`;
      item.description = `${row.edits.length} ${row.edits.length === 1 ? 'edit' : 'edits'}`;
      item.contextValue = isOwn ? 'own' : 'session';
      return item;
    }
    const item = new vscode.TreeItem(path.basename(row.file_path));
    item.id = row.edit_id;
    const note = row.undone_by !== null ? ' · undone' : row.undoes.length > 0 ? ' · an undo' : '';
    const rebased = row.rebased ? ` · ${rebasedSentence(row.rebased, id => this.sessions.nameOf(id))}` : '';
    item.description = `+${row.stats.added} −${row.stats.removed} · ${clock(row.timestamp)}${note}${rebased}`;
    item.tooltip = new vscode.MarkdownString(`${row.summary}\n\n${row.file_path}`);
    item.iconPath = new vscode.ThemeIcon(iconOf(row));
    item.contextValue = row.undoable ? 'edit.undoable' : 'edit';
    item.command = { command: 'fileops.history.show', title: 'Show Diff', arguments: [row] };
    return item;
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

const NAMED_FILES = 8; // of a set; one line has no room for more

function named(edits: readonly HistoryEntry[]): string {
  const names = edits.slice(0, NAMED_FILES).map(edit => path.basename(edit.file_path));
  return names.join(', ') + (edits.length > NAMED_FILES ? ` and ${edits.length - NAMED_FILES} more` : '');
}

function iconOf(edit: HistoryEntry): string {
  if (!edit.undoable) return 'circle-slash';
  if (edit.undoes.length > 0) return 'discard';
  return { create: 'new-file', modify: 'edit', rename: 'arrow-right', delete: 'trash' }[edit.operation];
}

function clock(timestamp: number): string {
  return new Date(timestamp * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}
