/** The daemon's process, and the last lines that it wrote to stderr: the reason if it does not start. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as vscode from 'vscode';
import { environment, type Launch } from './locate';

const STDERR_TAIL_LINES = 20;

export class ServerProcess {
  readonly child: ChildProcess;
  #stderr: string[] = [];

  constructor({ command, args }: Launch) {
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const child = spawn(command, args, { ...(cwd ? { cwd } : {}), env: environment(), stdio: 'pipe', windowsHide: true });
    child.stderr.on('data', (data: Buffer) => {
      this.#stderr = [...this.#stderr, ...data.toString().trimEnd().split('\n')].slice(-STDERR_TAIL_LINES);
    });
    this.child = child;
  }

  get lastLines(): readonly string[] {
    return this.#stderr;
  }
}
