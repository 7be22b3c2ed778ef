/** Texts by others (commands, names) as labels: in one line, without what the editor would draw as an icon. */

import type { UnkeptChange } from '../protocol';

const MAX_CHARS = 60;

/** Keeps `$(` in a text from becoming an icon. */
export const literally = (text: string): string => text.replaceAll('$(', '\\$(');

/** A session of this window's own agents: what it calls itself. */
export const ownName = (sessionId: string): string => (sessionId === 'default' ? 'an agent' : inOneLine(sessionId));

/** For a row or a title: the first line, shortened, with invisible characters made visible. */
export function inOneLine(text: string): string {
  const [first = '', ...rest] = text.trim().split(/\r\n|[\r\n\u2028\u2029]/);
  const visible = first.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
  return visible.length > MAX_CHARS ? `${visible.slice(0, MAX_CHARS)}…` : visible + (rest.length > 0 ? ' …' : '');
}

/** A time of the daemon, in seconds since the epoch: "14:02". */
export function clock(timestamp: number): string {
  return new Date(timestamp * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}

/** A time of the daemon that may be long ago: "14:02", of another day with its date. */
export function moment(timestamp: number): string {
  const day = new Date(timestamp * 1000).toLocaleDateString();
  return day === new Date().toLocaleDateString() ? clock(timestamp) : `${day} ${clock(timestamp)}`;
}

/** How long an agent still waits; empty if it does not say. */
export function timeLeft(seconds: number): string {
  if (!Number.isFinite(seconds)) return '';
  return seconds > 60 ? ` · ${Math.round(seconds / 60)} min left` : ` · ${seconds} s left`;
}

/** As the text of a Markdown page. `appendText` would make its blanks unbreakable, and lines break inside of words. */
export const inMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]()#+\-!~<>&|$]/g, '\\$&');

/** An address that ends in .ipynb opens a notebook editor, which shows none of our documents: a text of cells has this, too. */
export const AS_TEXT = '.py';

export const isNotebook = (filePath: string): boolean => filePath.toLowerCase().endsWith('.ipynb');

/** Of a notebook, in which cells the changes are. */
export function inCells(changes: readonly Pick<UnkeptChange, 'cell_ids'>[]): string {
  const names = [...new Set(changes.flatMap(({ cell_ids }) => cell_ids ?? []))];
  return names.length === 0 ? '' : ` in ${names.length === 1 ? 'cell' : 'cells'} ${names.join(', ')}`;
}
