/**
 * One running daemon: started, supervised, restarted, asked. Owns the language client; everything else talks to
 * the daemon through `request` and the events here.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import * as vscode from 'vscode';
import { CloseAction, type CloseHandlerResult, type LanguageClient, State } from 'vscode-languageclient/node';
import { type Notifications, PROTOCOL_VERSION, type Requests, type ServerCapabilities } from '../protocol';
import { type Answers, makeClient, NOTIFICATIONS } from './client';
import { bundledVersion, privateServer } from './install';
import { find, hasServer, INSTALL_BY_HAND, type Launch, launchOf, ServerMissing } from './locate';
import { isLost, isTool, lostResult } from './lost';

// A daemon that dies by itself is started again, but not for ever: what crashes on each request would.
const MAX_RESTARTS = 3;
const RESTART_WINDOW_MS = 180_000;
const STOP_TIMEOUT_MS = 3_000; // the editor gives `deactivate` five seconds
const STDERR_TAIL_LINES = 20;

export type DaemonState = 'stopped' | 'starting' | 'running' | 'failed';

/** A request on its way; the object itself tells two of the same kind apart. */
export interface Call {
  method: string;
  params: unknown;
}

/** A request and what came of it, whoever sent it: its result, or why there is none. */
export interface Answered {
  call: Call;
  result?: unknown;
  error?: Error;
}

export interface ServerInfo {
  /** Where it was found. */
  origin: string;
  command: string;
  pid: number | undefined;
  version: string | undefined;
  capabilities: ServerCapabilities | undefined;
}

export class Daemon implements vscode.Disposable {
  readonly #stateChanged = new vscode.EventEmitter<DaemonState>();
  readonly #sent = new vscode.EventEmitter<Call>();
  readonly #answered = new vscode.EventEmitter<Answered>();
  readonly #crashed = new vscode.EventEmitter<void>();
  readonly #notified = new Map(NOTIFICATIONS.map(method => [method, new vscode.EventEmitter<never>()]));
  readonly onDidChangeState = this.#stateChanged.event;
  readonly onDidSend = this.#sent.event;
  readonly onDidAnswer = this.#answered.event;
  /** It ended though nobody asked it to, and is started again: once each time, before the state changes. */
  readonly onDidCrash = this.#crashed.event;

  #client: LanguageClient | undefined;
  #process: ChildProcess | undefined;
  #launch: Launch | undefined;
  #state: DaemonState = 'stopped';
  #problem = '';
  #crashes: number[] = [];
  #stderr: string[] = [];
  #turn: Promise<void> = Promise.resolve(); // starts and stops, one after another

  constructor(
    readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
    readonly answers: Answers,
  ) {}

  get state(): DaemonState {
    return this.#state;
  }

  /** Why it is not running, for a person. */
  get problem(): string {
    return this.#problem;
  }

  get server(): ServerInfo | undefined {
    if (!this.#launch) return undefined;
    const result = this.#client?.initializeResult;
    const experimental = result?.capabilities.experimental as { fileops?: ServerCapabilities } | undefined;
    return {
      origin: this.#launch.origin, command: this.#launch.command, pid: this.#process?.pid,
      version: result?.serverInfo?.version, capabilities: experimental?.fileops,
    };
  }

  can(method: string): boolean {
    return this.server?.capabilities?.requests.includes(method) ?? false;
  }

  on<M extends keyof Notifications>(method: M): vscode.Event<Notifications[M]> {
    return this.#notified.get(method)!.event as vscode.Event<Notifications[M]>;
  }

  /**
   * Waits for a start that is under way. A tool's call that the daemon did not live to answer is `connection_lost`.
   * Raises: Error, with why there is no daemon; ResponseError.
   */
  async request<M extends keyof Requests>(
    method: M, params: Requests[M]['params'], token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    await this.#turn;
    if (!this.#client || this.#state === 'failed' || this.#state === 'stopped') {
      throw new Error(`The Fileops daemon is not running. ${this.#problem}`.trim());
    }
    const call = { method, params };
    this.#sent.fire(call);
    try {
      const result = await this.#send<M>(this.#client, method, params, token);
      this.#answered.fire({ call, result });
      return result;
    } catch (error) {
      this.#answered.fire({ call, error: error as Error });
      throw error;
    }
  }

  async #send<M extends keyof Requests>(
    client: LanguageClient, method: M, params: Requests[M]['params'], token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    try {
      return await (token ? client.sendRequest(method, params, token) : client.sendRequest(method, params));
    } catch (error) {
      if (!isLost(error)) throw error;
      this.log.warn(`${method}: the daemon ended before it answered (${error instanceof Error ? error.message : ''})`);
      if (isTool(method)) return lostResult(method) as Requests[M]['result'];
      throw new Error(`The Fileops daemon ended before it answered ${method}.`, { cause: error });
    }
  }

  start(): Promise<void> {
    return this.#inTurn(() => this.#start());
  }

  restart(): Promise<void> {
    return this.#inTurn(async () => {
      this.#crashes = [];
      await this.#stop();
      await this.#start();
    });
  }

  stop(): Promise<void> {
    return this.#inTurn(() => this.#stop());
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(step);
    return this.#turn;
  }

  async #start(): Promise<void> {
    this.#become('starting');
    this.#problem = '';
    try {
      this.#launch = await this.#findLaunch();
      this.log.info(`Starting ${[this.#launch.command, ...this.#launch.args].join(' ')}, found by: ${this.#launch.origin}`);
      const client = this.#makeClient();
      this.#client = client;
      await client.start();
      this.#checkProtocol();
      this.#become('running');
      const info = this.server;
      this.log.info(`fileops-server ${info?.version ?? '?'} runs, process ${info?.pid ?? '?'}`);
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #findLaunch(): Promise<Launch> {
    const { extensionPath } = this.context;
    const bundled = await bundledVersion(extensionPath);
    const found = await find(extensionPath, this.log);
    if (!('python' in found)) return found;
    if (hasServer(found, bundled ?? '0')) return launchOf(found);
    if (bundled === undefined) {
      throw new ServerMissing(`${found.command} has no fileops-server, and this build holds none. ${INSTALL_BY_HAND}`, 'fileops.path');
    }
    return privateServer(this.context, found, bundled, this.log);
  }

  #makeClient(): LanguageClient {
    const client = makeClient(this.log, this.answers, {
      spawn: () => this.#spawn(),
      closed: ended => this.#closed(ended),
      commandRan: (method, params, result) => this.#answered.fire({ call: { method, params }, result }),
      notified: (method, params) => this.#notified.get(method)!.fire(params as never),
    });
    client.onDidChangeState(({ newState }) => {
      if (client !== this.#client || this.#state === 'failed') return;
      if (newState === State.Stopped) this.#become('stopped');
      if (newState === State.Starting) this.#become('starting');
    });
    return client;
  }

  #spawn(): ChildProcess {
    const { command, args } = this.#launch!;
    const cwd = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const child = spawn(command, args, { ...(cwd ? { cwd } : {}), stdio: 'pipe', windowsHide: true });
    this.#stderr = [];
    child.stderr.on('data', (data: Buffer) => {
      this.#stderr = [...this.#stderr, ...data.toString().trimEnd().split('\n')].slice(-STDERR_TAIL_LINES);
    });
    this.#process = child;
    return child;
  }

  /** The daemon is gone though nobody asked it to go. */
  #closed(client: LanguageClient): CloseHandlerResult {
    const giveUp = { action: CloseAction.DoNotRestart, handled: true };
    if (client !== this.#client || this.#state !== 'running') return giveUp; // `#start` tells
    const now = Date.now();
    this.#crashes = [...this.#crashes.filter(at => now - at < RESTART_WINDOW_MS), now];
    this.log.error(`The daemon ended by itself (${this.#crashes.length} of ${MAX_RESTARTS + 1}).`, ...this.#stderr.slice(-5));
    if (this.#crashes.length <= MAX_RESTARTS) {
      this.#crashed.fire();
      void this.#inTurn(async () => { // requests wait from now on
        await new Promise(resolve => setImmediate(resolve)); // the client has its own end to note first
        await this.#stopClient();
        await this.#start();
      });
      return giveUp;
    }
    void this.#fail(new Error(`The daemon ended ${this.#crashes.length} times within three minutes and is not started again.`));
    return giveUp;
  }

  #checkProtocol(): void {
    if (!this.#client?.initializeResult) throw new Error('it ended before it answered'); // `start` may say nothing of it
    const version = this.server?.capabilities?.protocol_version;
    if (version === PROTOCOL_VERSION) return;
    const age = version === undefined || version < PROTOCOL_VERSION ? 'too old' : 'too new';
    throw new ServerMissing(
      `The fileops-server found by ${this.#launch!.origin} is ${age} for this extension (protocol ${version ?? 'unknown'}, wanted ${PROTOCOL_VERSION}).`,
      'fileops.path');
  }

  async #fail(error: unknown): Promise<void> {
    const said = this.#stderr.at(-1);
    const reason = error instanceof ServerMissing ? error.message
      : `The daemon did not start: ${said ?? (error instanceof Error ? error.message : String(error))}`;
    this.#problem = this.#crashes.length > MAX_RESTARTS && error instanceof Error ? error.message : reason;
    this.log.error(this.#problem, ...this.#stderr);
    this.#become('failed');
    const setting = error instanceof ServerMissing ? error.setting : undefined;
    void this.#tell(this.#problem, setting);
    await this.#stopClient();
  }

  async #tell(problem: string, setting: string | undefined): Promise<void> {
    const [openSetting, showLog, restart] = ['Open Setting', 'Show Log', 'Restart'];
    const buttons = setting ? [openSetting, showLog, restart] : [showLog, restart];
    const chosen = await vscode.window.showErrorMessage(`Fileops: ${problem}`, ...buttons);
    if (chosen === openSetting) await vscode.commands.executeCommand('workbench.action.openSettings', setting);
    if (chosen === showLog) this.log.show();
    if (chosen === restart) await vscode.commands.executeCommand('fileops.restart');
  }

  async #stop(): Promise<void> {
    const wasFailed = this.#state === 'failed';
    await this.#stopClient();
    if (!wasFailed) this.#become('stopped');
  }

  async #stopClient(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    try {
      await client?.dispose(STOP_TIMEOUT_MS);
    } catch (error) {
      this.log.debug(`Stopping: ${String(error)}`); // it was dead already, or is killed by the client now
    }
    this.#process?.kill();
    this.#process = undefined;
  }

  #become(state: DaemonState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateChanged.fire(state);
  }

  dispose(): void {
    this.#stateChanged.dispose();
    this.#sent.dispose();
    this.#answered.dispose();
    this.#crashed.dispose();
    for (const emitter of this.#notified.values()) emitter.dispose();
  }
}
