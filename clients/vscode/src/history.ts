/** The pick *History…*: what agents and their commands did, with each change's diff and its undo. Asks the daemon each time. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Agents } from './agents';
import type { UnkeptActions } from './changes/actions';
import { counted } from './changes/targets';
import type { Daemon } from './daemon/daemon';
import type { EntryResult, RecordEntry } from './protocol';
import { fragments, fragmentsOfCells, parseUnified } from './review/hunks';
import { columnBeside, type DiffPanes, VIEW_SCHEME } from './ui/diff';
import { AS_TEXT, clock } from './ui/labels';

const SHOWN_ENTRIES = 200; // a person reads no longer list
const NAMED_FILES = 8; // of a set; one line has no room for more
const VERBS: Record<RecordEntry['kind'], string> = { create: 'new', delete: 'deleted', mode: 'executable bit', modify: '' };

interface Item extends vscode.QuickPickItem {
  entry: RecordEntry;
}

const UNDO: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon('discard'), tooltip: 'Undo' };

export class History {
  constructor(readonly daemon: Daemon, readonly panes: DiffPanes, readonly agents: Agents, readonly actions: UnkeptActions) {}

  /** sessionId: of one agent. Choosing a change shows its diff; its button undoes it. */
  async pick(sessionId?: string): Promise<void> {
    const entries = await this.entries(sessionId);
    if (entries.length === 0) return void vscode.window.showInformationMessage('Fileops: no agent has changed a file here.');
    const pick = vscode.window.createQuickPick<Item>();
    pick.title = 'History of Agents’ Changes';
    pick.placeholder = 'Choose one to see its diff';
    pick.matchOnDescription = true;
    pick.items = entries.map(entry => this.itemOf(entry));
    pick.onDidAccept(() => {
      const [chosen] = pick.selectedItems;
      pick.hide();
      if (chosen) void this.show(chosen.entry);
    });
    pick.onDidTriggerItemButton(({ item }) => {
      pick.hide();
      void this.undoEntry(item.entry);
    });
    pick.onDidHide(() => pick.dispose());
    pick.show();
  }

  /** As the pick shows it. */
  itemOf(entry: RecordEntry): Item {
    const { path: filePath, moved_from, kind, time, undone_by, undoes, rewind_id, undoable, content, edited } = entry;
    const { added, removed } = edited ?? entry;
    const what = moved_from ? `renamed from ${path.basename(moved_from)}` : VERBS[kind];
    const note = undone_by !== null ? 'undone' : rewind_id !== null || undoes.length > 0 ? 'an undo' : '';
    const isRenamedOnly = edited !== undefined && added + removed === 0;
    const size = content !== 'kept' ? wordsOf(content) : isRenamedOnly || kind === 'mode' ? '' : `+${added} −${removed}`;
    const facts = [size, what, this.agents.authorOf(entry.by), clock(time), note];
    return {
      label: path.basename(filePath), description: facts.filter(fact => fact !== '').join(' · '),
      buttons: undoable && undone_by === null ? [UNDO] : [], entry,
    };
  }

  /** Of agents, their commands, and the person's undos, newest first. */
  async entries(sessionId?: string): Promise<RecordEntry[]> {
    if (!this.daemon.can('fileops/log')) return [];
    const { entries } = await this.daemon.request('fileops/log', { limit: SHOWN_ENTRIES, ...(sessionId === undefined ? {} : { session_id: sessionId }) });
    const arrived = new Set(entries.filter(({ edited }) => edited).map(({ moved_from }) => moved_from)); // renames are one row, of the new name
    return entries.filter(({ by, rewind_id, path: filePath, moved_to }) => (by.kind === 'session' || by.kind === 'command' || by.kind === 'unsure' || rewind_id !== null)
      && (moved_to === null || !arrived.has(filePath)));
  }

  async show(entry: RecordEntry): Promise<void> {
    const { entry_id, path: filePath, moved_from, time, content } = entry;
    const name = `${path.basename(filePath)}${moved_from ? `, renamed from ${path.basename(moved_from)}` : ''}`;
    const result = await this.daemon.request('fileops/entry', { entry_id });
    const { diff, cells, other_change } = result;
    if (other_change) return void vscode.window.showInformationMessage(`Fileops: the cells are the same: ${other_change}.`);
    if (diff === '') return void vscode.window.showInformationMessage(`Fileops: the text of this change is not recorded${content === 'kept' ? '' : ` (${wordsOf(content)})`}.`);
    const pane = this.panes.create({
      scheme: VIEW_SCHEME, ...(cells ? { filePath: `${filePath}${AS_TEXT}`, ...fragmentsOfCells(cells) } : { filePath, ...sidesOf(result) }),
      title: `${name}: ${this.agents.authorOf(entry.by)}, ${clock(time)}`,
    });
    await this.panes.show(pane, { viewColumn: columnBeside() });
  }

  /** In a change set, the person chooses a file: files that were changed together belong together. */
  async undoEntry(entry: RecordEntry): Promise<void> {
    const { entry_id, set_id, path: filePath } = entry;
    const ofSet = set_id ? (await this.entries()).filter(other => other.set_id === set_id && other.undoable && other.undone_by === null) : [];
    if (!set_id || ofSet.length <= 1) return this.actions.undoEntries([entry_id], path.basename(filePath));
    const whole = { label: `Undo the change set: ${counted(ofSet.length, 'file')}`, detail: named(ofSet) };
    const single = { label: 'Undo this file only', detail: vscode.workspace.asRelativePath(filePath) };
    const chosen = await vscode.window.showQuickPick([whole, single], { title: 'These files were changed together', placeHolder: 'Escape leaves them' });
    if (chosen === whole) await this.actions.undoEntries(ofSet.map(other => other.entry_id), counted(ofSet.length, 'file'));
    if (chosen === single) await this.actions.undoEntries([entry_id], path.basename(filePath));
  }
}

/** Both sides as whole files, so that lines have their numbers; of a large file the changed parts alone; a renamed one is compared with its old name. */
function sidesOf({ entry: { kind, moved_from }, diff, before_text, after_text }: EntryResult): { before: string; after: string } {
  const before = kind === 'create' && moved_from === null ? '' : before_text;
  const after = kind === 'delete' ? '' : after_text;
  return before === null || after === null ? fragments(parseUnified(diff)) : { before, after };
}

const wordsOf = (content: RecordEntry['content']): string => content.replaceAll('_', ' ');

function named(entries: readonly RecordEntry[]): string {
  const names = entries.slice(0, NAMED_FILES).map(entry => path.basename(entry.path));
  return names.join(', ') + (entries.length > NAMED_FILES ? ` and ${entries.length - NAMED_FILES} more` : '');
}
