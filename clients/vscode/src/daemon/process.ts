/** The daemon's process, and the last lines that it wrote to stderr: the reason if it does not start. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as vscode from 'vscode';
import { environment, type Launch } from './locate';

const STDERR_TAIL_LINES = 20;
const END_MS = 3_000; // from the end of its output to the end of the process

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

  /** Its exit status, once its output has ended; undefined if a signal ended it, or if it does not end. */
  async status(): Promise<number | undefined> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) {
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), END_MS);
      await once(child, 'exit', { signal: late.signal }).catch(() => undefined); // it hangs, and is killed
      clearTimeout(timer);
    }
    return child.exitCode ?? undefined;
  }

  get lastLines(): readonly string[] {
    return this.#stderr;
  }
}
