/** The pick *History…*: what agents did, with each edit's diff and its undo. Asks the daemon each time. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Agents } from './agents';
import { counted } from './changes/targets';
import type { Daemon } from './daemon/daemon';
import type { HistoryEntry, ToolResult, UndoDetails, UndoParams } from './protocol';
import { fragments, parseUnified } from './review/hunks';
import { rebasedSentence } from './review/told';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from './ui/diff';
import { clock } from './ui/labels';
import { saysIfLate } from './ui/late';

/** The author of the person's own undos. */
const OWN_SESSION = '';
const SHOWN_EDITS = 200; // a person reads no longer list
const NAMED_FILES = 8; // of a set; one line has no room for more

interface Item extends vscode.QuickPickItem {
  edit: HistoryEntry;
}

const UNDO: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('discard'), tooltip: 'Undo' };

export class History {
  constructor(readonly daemon: Daemon, readonly panes: DiffPanes, readonly agents: Agents) {}

  /** sessionId: of one agent. Choosing an edit shows its diff; its button undoes it. */
  async pick(sessionId?: string): Promise<void> {
    const edits = await this.edits(sessionId);
    if (edits.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has edited a file here.');
    const pick = vscode.window.createQuickPick<Item>();
    pick.title = 'History of Agents’ Edits';
    pick.placeholder = 'Choose one to see its diff';
    pick.matchOnDescription = true;
    pick.items = edits.map(edit => this.#itemOf(edit));
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      pick.hide();
      if (chosen) void this.show(chosen.edit);
    });
    pick.onDidTriggerItemButton(({ item }) => {
      pick.hide();
      void this.undoEntry(item.edit);
    });
    pick.onDidHide(() => pick.dispose());
    pick.show();
  }

  #itemOf(edit: HistoryEntry): Item {
    const { file_path, session_id, stats, timestamp, undone_by, undoes, rebased, undoable } = edit;
    const who = session_id === OWN_SESSION ? 'You' : this.agents.nameOf(session_id);
    const note = undone_by !== null ? ' · undone' : undoes.length > 0 ? ' · an undo' : '';
    const over = rebased ? ` · ${rebasedSentence(rebased, id => this.agents.nameOf(id))}` : '';
    return {
      label: path.basename(file_path), description: `+${stats.added} −${stats.removed} · ${who} · ${clock(timestamp)}${note}${over}`,
      buttons: undoable ? [UNDO] : [], edit,
    };
  }

  /** Newest first. Empty if the daemon keeps no history. */
  async edits(sessionId?: string): Promise<HistoryEntry[]> {
    if (!this.daemon.can('fileops/history')) return [];
    const { edits } = await this.daemon.request('fileops/history', { limit: SHOWN_EDITS, ...(sessionId === undefined ? {} : { session_id: sessionId }) });
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

  /** In a change set, the person chooses a file: files that were changed together belong together. */
  async undoEntry({ edit_id, set_id, file_path }: HistoryEntry): Promise<void> {
    const ofSet = set_id ? (await this.edits()).filter(other => other.set_id === set_id && other.undoable) : [];
    if (!set_id || ofSet.length <= 1) return this.#undo({ edit_id });
    const whole = { label: `Undo the change set: ${ofSet.length} files`, detail: named(ofSet) };
    const single = { label: 'Undo this file only', detail: vscode.workspace.asRelativePath(file_path) };
    const chosen = await vscode.window.showQuickPick([whole, single], { title: 'These files were changed together', placeHolder: 'Escape leaves them' });
    if (chosen) await this.#undo(chosen === whole ? { set_id } : { edit_id });
  }

  /** As the person asked, without a review. */
  async #undo(params: Pick<UndoParams, 'edit_id' | 'set_id'>): Promise<void> {
    const result: ToolResult<UndoDetails> = await saysIfLate(this.daemon.request('fileops/undo', { ...params, approved: true }), 'the undo of an edit');
    if (result.status === 'error') {
      const came = result.details.undone?.length ? 'not all was undone' : 'nothing was undone';
      return void vscode.window.showWarningMessage(`Fileops: ${came}. ${result.error?.message ?? ''}`.trim());
    }
    const files = result.details.files ?? [];
    vscode.window.setStatusBarMessage(`$(discard) Undone: ${files.length === 1 ? path.basename(files[0]!.file_path) : counted(files.length, 'file')}`, 5000);
  }
}

function named(edits: readonly HistoryEntry[]): string {
  const names = edits.slice(0, NAMED_FILES).map(edit => path.basename(edit.file_path));
  return names.join(', ') + (edits.length > NAMED_FILES ? ` and ${edits.length - NAMED_FILES} more` : '');
}
