/** Connects an agent's host to the shared daemon, by `fileops-server mcp config`. */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { Daemon } from './daemon';
import { environment, type Launch, searched } from './locate';

const run = promisify(execFile);

/** Names of `mcp config`, and what people call them. */
const HOSTS = { claude: 'Claude Code', codex: 'Codex', gemini: 'Gemini CLI', opencode: 'opencode', copilot: 'Copilot CLI', cursor: 'Cursor', antigravity: 'Antigravity' };

/** Asks which host, changes its settings, and says what to do then. Escape changes nothing. */
export async function connectHost(daemon: Daemon): Promise<void> {
  const items = Object.entries(HOSTS).map(([host, label]) => ({ label, host }));
  const chosen = await vscode.window.showQuickPick(items, { title: 'Connect an Agent', placeHolder: 'No agent of this project is attached. Which one do you use?' });
  if (!chosen) return;
  const { label, host } = chosen;
  const yes = 'Connect';
  const detail = `Hooks and a server are added to your own settings of ${label}; nothing in them is removed. `
    + `fileops-server mcp config ${host} --remove takes that back.`;
  if (await vscode.window.showInformationMessage(`Connect ${label}?`, { modal: true, detail }, yes) !== yes) return;
  const program = await daemon.program();
  const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const args = [...program.args, 'mcp', 'config', host, '--write', '--yes', ...programFor(program)];
  try {
    const { stdout, stderr } = await run(program.command, args, { env: environment(), ...(cwd === undefined ? {} : { cwd }) });
    daemon.log.info(`${stdout}${stderr}`);
    void vscode.window.showInformationMessage(`Fileops: ${label} is connected. Start it again.`);
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    daemon.log.error(stderr ?? message);
    const showLog = 'Show Log';
    const shown = await vscode.window.showErrorMessage(`Fileops: ${label} could not be connected. ${stderr?.trim().split('\n').at(-1) ?? message}`, showLog);
    if (shown === showLog) daemon.log.show();
  }
}

/** The program for the host to start, if it cannot find it by name: a host is silent about missing hooks. */
function programFor({ command, args }: Launch): string[] {
  const isPython = args.includes('-m');
  const program = isPython ? path.join(path.dirname(command), 'fileops-server') : command;
  const isFound = !isPython && searched().includes(path.dirname(program));
  return isFound || !fs.existsSync(program) ? [] : ['--command', program];
}
