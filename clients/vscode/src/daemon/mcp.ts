/** How an agent gets the tools over MCP: the daemon's own program, as a front end to the daemon of this window. */
import * as vscode from 'vscode';
import type { McpServer, McpServerOptions } from '../api';
import type { Daemon } from './daemon';

/** Raises: Error, with why there is no daemon. */
export async function mcpServerOf(daemon: Daemon, { session, roots = rootsOfWindow() }: McpServerOptions = {}): Promise<McpServer> {
  const { command, args } = await daemon.program();
  const options = roots.flatMap(root => ['--root', root]);
  if (session !== undefined) options.push('--session', session);
  // Agents strip the environment that they pass on, so the socket is named even if it is the usual one.
  const env = daemon.sharing.kind === 'shared' ? [{ name: 'FILEOPS_SOCKET', value: daemon.sharing.connection.socket }] : [];
  return { name: 'fileops', command, args: [...args, 'mcp', '--freshness', 'relevant', '--notices', 'on', ...options], env };
}

function rootsOfWindow(): string[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const further = vscode.workspace.getConfiguration('fileops').get<string[]>('roots', []);
  return [...folders.map(folder => folder.uri.fsPath), ...further];
}
