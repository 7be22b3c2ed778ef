/** What a person means by Keep or Undo: rows, a turn, a change of the editor's peek, or what the cursor is at. */
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { UnkeptChange } from '../protocol';
import type { Waiting } from '../review/queue';
import { inOneLine } from '../ui/labels';
import type { Before } from './before';

/** Exactly these changes. what: for people. nChanges: a rename counts as one. agents: whose they are. */
export interface Target {
  change_ids: readonly string[];
  what: string;
  nChanges: number;
  nFiles: number;
  agents: readonly string[];
}

/** A file of the list: what waits there, or what is to keep or undo. */
export interface Row extends vscode.SourceControlResourceState {
  groupId: string;
  review?: Waiting;
  target?: Target;
  /** Whether it stands for the files that are not listed. */
  isRest?: boolean;
  /** The undo that undid it; the row is shown a moment longer. */
  rewindId?: string;
}

/** The lines of one of the changes that the editor itself found. 1-based, inclusive; without lines, the end is 0. */
interface LineChange {
  modifiedStartLineNumber: number;
  modifiedEndLineNumber: number;
}

const isObject = (given: unknown): given is object => typeof given === 'object' && given !== null;

/** A button in an editor's title also gets an object with a `groupId`: that of the editor's group. */
export const isRow = (given: unknown): given is Row => isObject(given) && 'resourceUri' in given && 'groupId' in given;

/** From the rows or the group that a command was given. */
export function rowsOf(given: readonly unknown[]): Row[] {
  return given.flat().filter(isObject).flatMap(one => {
    if ('resourceStates' in one) return one.resourceStates as Row[];
    return isRow(one) ? [one] : [];
  });
}

/** As VS Code passes it to a button of its peek: the file, all its changes, and which one is meant. */
export function targetInPeek(before: Before, [uri, changes, index]: readonly unknown[]): Target | undefined {
  if (!(uri instanceof vscode.Uri) || !Array.isArray(changes) || typeof index !== 'number') return undefined;
  const { modifiedStartLineNumber: from, modifiedEndLineNumber: to } = changes[index] as LineChange;
  const marks = to === 0 ? before.within(uri, from, from) : before.within(uri, from - 1, to);
  return targetOfChanges(marks.map(({ change, start }) => ({ ...change, start_line: start + 1 })), uri.fsPath);
}

/** ofOldName: that the old name of a renamed file is gone, which is decided with its changes and not counted. */
export function targetOfChanges(changes: readonly UnkeptChange[], filePath: string, ofOldName: readonly UnkeptChange[] = []): Target | undefined {
  const [first] = changes;
  if (!first) return undefined;
  const what = changes.length === 1 ? `the change of ${inOneLine(first.label)} in line ${first.start_line}` : `${counted(changes.length)} in ${path.basename(filePath)}`;
  return {
    change_ids: [...changes, ...ofOldName].map(({ change_id }) => change_id), what, nChanges: changes.length, nFiles: 1,
    agents: [...new Set(changes.map(({ label }) => inOneLine(label)))],
  };
}

export function together(targets: readonly Target[], what: string): Target {
  return {
    change_ids: [...new Set(targets.flatMap(({ change_ids }) => change_ids))], what,
    nChanges: targets.reduce((n, { nChanges }) => n + nChanges, 0),
    nFiles: targets.reduce((n, { nFiles }) => n + nFiles, 0), agents: [...new Set(targets.flatMap(({ agents }) => agents))],
  };
}

export const counted = (n: number, what = 'change'): string => `${n} ${what}${n === 1 ? '' : 's'}`;
