/** Calls and results, drawn for a person. */
import type { Operation } from './diff';
import type { ToolResult } from './tools';

/** `arguments`: as far as they have come. */
export interface DescribeParams {
  method: string;
  arguments?: Record<string, unknown>;
}

export interface RenderParams extends DescribeParams {
  result?: Partial<ToolResult>;
  is_partial?: boolean;
  expanded?: boolean;
}

export interface Location {
  path: string;
  line: number | null;
}

export interface DescribeResult {
  title: string;
  locations: Location[];
}

export interface ViewLine {
  number: number | null;
  text: string;
}

export interface DiffRow {
  kind: 'hunk' | ' ' | '-' | '+';
  old_line: number | null;
  new_line: number | null;
  text: string;
  no_newline: boolean;
}

export interface DiffView {
  title: string;
  operation: Operation;
  added: number;
  removed: number;
  truncated: boolean;
  rows: DiffRow[];
}

export interface RenderResult {
  call: string;
  state: 'pending' | 'success' | 'error';
  lines: ViewLine[];
  diff: DiffView | null;
  n_more: number;
  more: string;
  /** A line about the result as a whole, or "". */
  summary: string;
}
