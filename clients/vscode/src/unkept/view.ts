/** The view "Changes": what agents changed and the user has not kept yet, by session, turn and file. Decides nothing. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { UnkeptChange, UnkeptOfFile, UnkeptSession, UnkeptTurn } from '../protocol';
import { type DiffPanes, VIEW_SCHEME } from '../ui/diff';
import { inOneLine } from '../ui/labels';
import { counted, type Target, targetOfChange } from './actions';
import { colorOf } from './colors';
import type { UnkeptList } from './list';

const LOOKED = 'fileops.lastLooked';

/** A row has the changes that its actions mean. */
type Row = Target & (
  | { kind: 'session'; session: UnkeptSession }
  | { kind: 'turn'; session: UnkeptSession; turn: UnkeptTurn }
  | { kind: 'file'; session: UnkeptSession; file: UnkeptOfFile; turnId: string | null }
  | { kind: 'change'; filePath: string; change: UnkeptChange }
);

export class UnkeptView implements vscode.Disposable, vscode.TreeDataProvider<Row> {
  readonly #rows = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.#rows.event;
  readonly #view: vscode.TreeView<Row>;
  readonly #disposables: vscode.Disposable[];

  /** store: of this window; keeps when the person last looked at it. */
  constructor(readonly list: UnkeptList, readonly panes: DiffPanes, readonly store: vscode.Memento) {
    this.#view = vscode.window.createTreeView<Row>('fileops.changes', { treeDataProvider: this, showCollapseAll: true });
    this.#disposables = [
      this.#view, this.#rows,
      list.onDidChange(filePath => filePath === undefined && this.#update()),
      vscode.commands.registerCommand('fileops.changes.show', (row: Row) => this.#show(row)),
      vscode.commands.registerCommand('fileops.changes.open', (row: Row) => this.#open(row)),
      vscode.commands.registerCommand('fileops.showSince', () => this.#showSince()),
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (!focused) void store.update(LOOKED, Date.now() / 1000);
      }),
    ];
  }

  #update(): void {
    const { n_changes } = this.list.all;
    this.#view.badge = n_changes > 0 ? { value: n_changes, tooltip: `${counted(n_changes)} to keep or undo` } : undefined;
    void vscode.commands.executeCommand('setContext', 'fileops.nUnkept', n_changes);
    this.#rows.fire();
  }

  getChildren(row?: Row): Row[] {
    if (!row) return this.list.all.sessions.map(session => ({ kind: 'session', session, change_ids: session.change_ids, what: `${counted(session.n_changes)} of ${inOneLine(session.label)}` }));
    if (row.kind === 'session') {
      return row.session.turns.map(turn => ({ kind: 'turn', session: row.session, turn, change_ids: turn.change_ids, what: `${counted(turn.n_changes)} of the turn “${titleOf(turn)}”` }));
    }
    if (row.kind === 'turn') {
      return row.turn.files.map(file => ({
        kind: 'file', session: row.session, file, turnId: row.turn.turn_id, change_ids: file.change_ids, what: `${counted(file.n_changes)} in ${path.basename(file.file_path)}`,
      }));
    }
    if (row.kind === 'change') return [];
    const changes = this.list.of(row.file.file_path)?.changes ?? [];
    const ids = new Set(row.change_ids);
    return changes.filter(({ change_id }) => ids.has(change_id))
      .map(change => ({ kind: 'change', filePath: row.file.file_path, change, ...targetOfChange(change) }));
  }

  getTreeItem(row: Row): vscode.TreeItem {
    const item = this.#itemOf(row);
    item.contextValue = row.kind;
    item.accessibilityInformation = { label: `${typeof item.label === 'string' ? item.label : ''}, ${row.what}, ${String(item.description ?? '')}` };
    return item;
  }

  #itemOf(row: Row): vscode.TreeItem {
    switch (row.kind) {
      case 'session': {
        const { session_id, label, n_changes } = row.session;
        const item = new vscode.TreeItem(inOneLine(label), vscode.TreeItemCollapsibleState.Expanded);
        item.id = `session ${session_id}`;
        item.description = `${counted(n_changes)} · ${sizeOf(row.session)}`;
        item.iconPath = new vscode.ThemeIcon('circle-filled', new vscode.ThemeColor(colorOf(session_id)));
        return item;
      }
      case 'turn': {
        const item = new vscode.TreeItem(titleOf(row.turn), vscode.TreeItemCollapsibleState.Expanded);
        item.id = `turn ${row.session.session_id} ${row.turn.turn_id}`;
        item.description = sizeOf(row.turn);
        item.iconPath = new vscode.ThemeIcon('comment');
        item.command = { command: 'fileops.changes.show', title: 'Show All Diffs', arguments: [row] };
        return item;
      }
      case 'file': {
        const { file_path } = row.file;
        const item = new vscode.TreeItem(vscode.Uri.file(file_path), vscode.TreeItemCollapsibleState.Collapsed);
        item.label = path.basename(file_path);
        item.id = `file ${row.session.session_id} ${row.turnId} ${file_path}`;
        const folder = path.dirname(vscode.workspace.asRelativePath(file_path));
        item.description = folder === '.' ? sizeOf(row.file) : `${sizeOf(row.file)} · ${folder}`;
        item.iconPath = vscode.ThemeIcon.File;
        item.command = { command: 'fileops.changes.open', title: 'Open', arguments: [row] };
        return item;
      }
      case 'change': {
        const { change_id, start_line, removed_text, kind } = row.change;
        const item = new vscode.TreeItem(kind === 'removed' ? `− ${inOneLine(removed_text)}` : `Line ${start_line}`);
        item.id = `change ${change_id}`;
        item.description = `${sizeOf(row.change)} · ${kind}`;
        item.tooltip = removed_text;
        item.iconPath = new vscode.ThemeIcon({ added: 'diff-added', changed: 'diff-modified', removed: 'diff-removed', file: 'file' }[kind]);
        item.command = { command: 'fileops.changes.open', title: 'Open', arguments: [row] };
        return item;
      }
    }
  }

  /** The file, at the change or the first one. */
  async #open(row: Row): Promise<void> {
    if (row.kind !== 'file' && row.kind !== 'change') return;
    const filePath = row.kind === 'file' ? row.file.file_path : row.filePath;
    const file = this.list.of(filePath);
    const change = row.kind === 'change' ? row.change : file?.changes.find(({ change_id }) => row.change_ids.includes(change_id));
    if (file?.operation === 'delete') return this.#show(row);
    const line = Math.max((change?.start_line ?? 1) - 1, 0);
    await vscode.window.showTextDocument(vscode.Uri.file(filePath), { selection: new vscode.Range(line, 0, line, 0), preview: false });
  }

  /** All files of the row in the editor of several diffs: without its changes, and as they are. */
  async #show(row: Target): Promise<void> {
    const paths = [...new Set(this.list.all.files.filter(({ changes }) => changes.some(({ change_id }) => row.change_ids.includes(change_id))).map(({ file_path }) => file_path))];
    const diffs = await Promise.all(paths.map(async filePath => {
      const uri = vscode.Uri.file(filePath);
      const file = this.list.of(filePath)!;
      const isThere = file.operation !== 'delete';
      const now = isThere ? (await vscode.workspace.openTextDocument(uri)).getText() : '';
      const before = without(now, file.changes.filter(({ change_id }) => row.change_ids.includes(change_id)));
      const pane = this.panes.create({ scheme: VIEW_SCHEME, filePath, title: path.basename(filePath), before, after: now });
      return { filePath, pane, ...(isThere ? { after: uri } : {}) };
    }));
    await this.panes.showTogether(`${row.what}: what was there, and what is`, diffs);
  }

  /** What agents have changed since this window lost the keyboard the last time. */
  async #showSince(): Promise<void> {
    const since = this.store.get(LOOKED, 0);
    const change_ids = this.list.all.files.flatMap(({ changes }) => changes.filter(({ time }) => time > since).map(({ change_id }) => change_id));
    if (change_ids.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has changed anything since you last looked.');
    await this.#show({ change_ids, what: `${counted(change_ids.length)} since you last looked` });
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}

/** A text with the lines that were there before some changes of it, which are in order. Pure. */
export function without(now: string, changes: readonly Pick<UnkeptChange, 'start_line' | 'end_line' | 'removed_text'>[]): string {
  const lines = now.split(/(?<=\n)/);
  for (const { start_line, end_line, removed_text } of [...changes].reverse()) {
    lines.splice(start_line - 1, end_line - start_line + 1, removed_text);
  }
  return lines.join('');
}

const sizeOf = ({ added, removed }: { added: number; removed: number }): string => `+${added} −${removed}`;

function titleOf({ title, began }: UnkeptTurn): string {
  if (title) return inOneLine(title);
  return began === null ? 'Changes' : `Turn of ${new Date(began * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })}`;
}
