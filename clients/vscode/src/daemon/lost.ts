/** Requests that the daemon did not live to answer, and what agents get in place of an answer. */
import { ConnectionError, ErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { ToolResult } from '../protocol';

// No answer will come: the pipe broke, or the client noticed that it had.
const LOST_CODES: readonly number[] = [
  ErrorCodes.MessageWriteError, ErrorCodes.MessageReadError, ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive,
];

export function isLost(error: unknown): boolean {
  if (error instanceof ResponseError) return LOST_CODES.includes(error.code);
  // EPIPE, ERR_STREAM_DESTROYED and their like have names for codes
  return error instanceof ConnectionError || (error instanceof Error && 'code' in error && typeof error.code === 'string');
}

const CHANGING_TOOLS: readonly string[] = ['fileops/edit', 'fileops/multiEdit', 'fileops/undo', 'fileops/bash'];

export const isTool = (method: string): boolean => method === 'fileops/read' || CHANGING_TOOLS.includes(method);

/** What an agent and its model read; what the session had read is forgotten with the daemon. */
export function lostResult(method: string): ToolResult {
  const unsure = method === 'fileops/bash' ? ' Whether the command ran is not known.'
    : CHANGING_TOOLS.includes(method) ? ' Whether the edit was made is not known.' : '';
  const message = `The file daemon ended before it answered.${unsure}`;
  const output = `<tool_use_error>${message} Read the files again before you edit them.</tool_use_error>`;
  return { status: 'error', output, error: { code: 'connection_lost', message }, ui_extra: null, details: {} };
}
