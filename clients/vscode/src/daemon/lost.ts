/** Requests that the daemon ended without answering, and what agents get instead of an answer. */
import type * as vscode from 'vscode';
import { ConnectionError, ErrorCodes, type LanguageClient, ResponseError } from 'vscode-languageclient/node';
import type { Requests, ToolResult } from '../protocol';

/** Raises: Error, if the lost request was not a tool's call; ResponseError. */
export async function sendOrLose<M extends keyof Requests>(
  client: LanguageClient, log: vscode.LogOutputChannel, method: M, params: Requests[M]['params'], token?: vscode.CancellationToken,
): Promise<Requests[M]['result']> {
  try {
    return await (token ? client.sendRequest(method, params, token) : client.sendRequest(method, params));
  } catch (error) {
    if (!isLost(error)) throw error;
    log.warn(`${method}: the daemon ended before it answered (${error instanceof Error ? error.message : ''})`);
    if (isTool(method)) return lostResult(method) as Requests[M]['result'];
    throw new Error(`The Fileops daemon ended before it answered ${method}.`, { cause: error });
  }
}

// No answer will come: the pipe broke, or the client noticed that.
const LOST_CODES: readonly number[] = [
  ErrorCodes.MessageWriteError, ErrorCodes.MessageReadError, ErrorCodes.PendingResponseRejected, ErrorCodes.ConnectionInactive,
];

export function isLost(error: unknown): boolean {
  if (error instanceof ResponseError) return LOST_CODES.includes(error.code);
  // EPIPE, ERR_STREAM_DESTROYED and the like have names as codes
  return error instanceof ConnectionError || (error instanceof Error && 'code' in error && typeof error.code === 'string');
}

const CHANGING_TOOLS: readonly string[] = ['fileops/edit', 'fileops/multiEdit', 'fileops/write', 'fileops/undo', 'fileops/bash'];

const isTool = (method: string): boolean => method === 'fileops/read' || CHANGING_TOOLS.includes(method);

/** What an agent and its model read; what the session had read is lost with the daemon. */
function lostResult(method: string): ToolResult {
  const unsure = method === 'fileops/bash' ? ' Whether the command ran is not known.'
    : CHANGING_TOOLS.includes(method) ? ' Whether the edit was made is not known.' : '';
  const message = `The file daemon ended before it answered.${unsure}`;
  const output = `<tool_use_error>${message} Read the files again before you edit them.</tool_use_error>`;
  return { status: 'error', output, error: { code: 'connection_lost', message }, ui_extra: null, details: {} };
}
