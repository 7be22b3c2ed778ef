/**
 * One running daemon: started, supervised, restarted, asked. Owns the language client; everything else talks to the
 * daemon through `request` and the events here.
 */
import * as vscode from 'vscode';
import { CloseAction, type CloseHandlerResult, type LanguageClient, ResponseError } from 'vscode-languageclient/node';
import { type Notifications, PROTOCOL_VERSION, type Requests, type FileopsCapabilities } from '../protocol';
import { type Answers, makeClient, NOTIFICATIONS } from './client';
import { Crashes } from './crashes';
import { findLaunch } from './install';
import { type Launch, ServerMissing } from './locate';
import { isLost, sendOrLose } from './lost';
import { socketNamed, watchForNext } from './next';
import { SharingNotice, showFailure, showStopped } from './notices';
import { ServerProcess } from './process';
import { sharedLaunch, type Sharing } from './sharing';

const STOP_TIMEOUT_MS = 3_000; // the editor gives `deactivate` five seconds

export type DaemonState = 'stopped' | 'starting' | 'running' | 'failed';

/** A request in flight; the identity of the object distinguishes two of the same kind. */
export interface Call {
  method: string;
  params: unknown;
}

/** Any request and its outcome: its result, or why there is none. */
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
  capabilities: FileopsCapabilities | undefined;
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
  /** It ended by itself and is started again. Fires once each time, before the state changes. */
  readonly onDidCrash = this.#crashed.event;

  #client: LanguageClient | undefined;
  #process: ServerProcess | undefined;
  /** As it was found and started. */
  #program: Launch | undefined;
  #launch: Launch | undefined;
  #state: DaemonState = 'stopped';
  #problem = '';
  readonly #crashes = new Crashes();
  #turn: Promise<void> = Promise.resolve(); // starts and stops, one after another
  #sharing: Sharing = { kind: 'private' };
  /** Of the shared daemon that this window was last attached to. */
  #socket: string | undefined;
  #leaveWatch: () => void = () => undefined;
  readonly #sharingNotice: SharingNotice;

  constructor(
    readonly context: vscode.ExtensionContext,
    readonly log: vscode.LogOutputChannel,
    readonly answers: Answers,
  ) {
    this.#sharingNotice = new SharingNotice(log);
  }

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
    const experimental = result?.capabilities.experimental as { fileops?: FileopsCapabilities } | undefined;
    return {
      origin: this.#launch.origin, command: this.#launch.command, pid: this.#process?.child.pid,
      version: result?.serverInfo?.version, capabilities: experimental?.fileops,
    };
  }

  get sharing(): Sharing {
    return this.#sharing;
  }

  /** Says that the shared daemon was started by another installation, of another version; undefined if it was not. */
  get versionNote(): string | undefined {
    const own = this.#program?.version;
    const shared = this.#sharing.kind === 'shared' ? this.#sharing.connection.version : undefined;
    if (own === undefined || shared === undefined || own === shared) return undefined;
    return `The shared daemon is fileops-server ${shared}, of another installation; this window found ${own}. `
      + 'An older one ends when its last editor and agent have left; `fileops-server status --stop` ends it earlier.';
  }

  /** The program and the arguments before its options; waits for a start in progress. Raises: Error. */
  async program(): Promise<Launch> {
    await this.#turn;
    if (!this.#program || this.#state !== 'running') throw this.#notRunning();
    return this.#program;
  }

  can(method: string): boolean {
    return this.server?.capabilities?.requests.includes(method) ?? false;
  }

  on<M extends keyof Notifications>(method: M): vscode.Event<Notifications[M]> {
    return this.#notified.get(method)!.event as vscode.Event<Notifications[M]>;
  }

  /**
   * Waits for a start in progress. A tool's call that the daemon ended without answering is `connection_lost`. Raises:
   * Error, with why there is no daemon; ResponseError.
   */
  async request<M extends keyof Requests>(
    method: M, params: Requests[M]['params'], token?: vscode.CancellationToken,
  ): Promise<Requests[M]['result']> {
    await this.#turn;
    if (!this.#client || this.#state === 'failed' || this.#state === 'stopped') {
      throw this.#notRunning();
    }
    const call = { method, params };
    this.#sent.fire(call);
    try {
      const result = await sendOrLose<M>(this.#client, this.log, method, params, token);
      this.#answered.fire({ call, result });
      return result;
    } catch (error) {
      this.#answered.fire({ call, error: error as Error });
      throw error;
    }
  }

  #notRunning(): Error {
    return new Error(`The Fileops daemon is not running. ${this.#problem}`.trim());
  }

  start(): Promise<void> {
    return this.#inTurn(() => this.#start());
  }

  restart(): Promise<void> {
    return this.#inTurn(async () => {
      this.#crashes.forget();
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
    this.#leaveWatch();
    this.#become('starting');
    this.#problem = '';
    try {
      this.#program = await findLaunch(this.context, this.log);
      const reason = await this.#connectShared(this.#program);
      if (reason !== undefined) await this.#connect(this.#program);
      this.#noteSharing(reason);
      this.#become('running');
      const info = this.server;
      this.log.info(`fileops-server ${info?.version ?? '?'} runs, process ${info?.pid ?? '?'}`);
      if (this.versionNote) this.log.warn(this.versionNote);
    } catch (error) {
      await this.#fail(error);
    }
  }

  /** Returns why the shared daemon cannot be used; undefined once this window is connected by `--shared`. */
  async #connectShared(program: Launch): Promise<string | undefined> {
    try {
      await this.#connect(sharedLaunch(program));
      return undefined;
    } catch (error) {
      if (error instanceof ServerMissing) throw error; // the private daemon is the same program
      const reason = this.#reasonOf(error);
      await this.#stopClient();
      return reason;
    }
  }

  async #connect(launch: Launch): Promise<void> {
    this.#launch = launch;
    this.log.info(`Starting ${[launch.command, ...launch.args].join(' ')}, found by: ${launch.origin}`);
    const client = this.#makeClient();
    this.#client = client;
    await client.start();
    this.#checkProtocol();
  }

  #noteSharing(reason: string | undefined): void {
    const connection = this.server?.capabilities?.shared ?? undefined;
    // The server itself falls back, too, and then notifies the user.
    const isServersChoice = connection === undefined && reason === undefined;
    const why = isServersChoice ? this.#process?.lastLines.at(-1) ?? 'the server gives no reason' : reason;
    this.#socket = connection && socketNamed(connection.socket);
    this.#sharing = connection ? { kind: 'shared', connection } : { kind: 'private', ...(why === undefined ? {} : { reason: why }) };
    this.#sharingNotice.update(this.#sharing, isServersChoice);
  }

  #makeClient(): LanguageClient {
    return makeClient(this.log, this.answers, {
      spawn: () => {
        this.#process = new ServerProcess(this.#launch!);
        return this.#process.child;
      },
      closed: ended => this.#closed(ended),
      notified: (method, params) => this.#notified.get(method)!.fire(params as never),
    });
  }

  /** The daemon ended without a request. */
  #closed(client: LanguageClient): CloseHandlerResult {
    // otherwise `#start` reports it
    if (client === this.#client && this.#state === 'running') void this.#inTurn(() => this.#ended()); // requests wait from now on
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  async #ended(): Promise<void> {
    const status = await this.#process?.status(); // by then the client has noted its own end, too
    if (status === 0 && this.#sharing.kind === 'shared') return this.#awaitNext(this.#sharing.connection.socket);
    this.log.error(`The daemon ended by itself (${this.#crashes.note()}).`, ...(this.#process?.lastLines.slice(-5) ?? []));
    if (this.#crashes.problem) return this.#fail(new Error(this.#crashes.problem));
    this.#crashed.fire();
    await this.#stop(); // even if the client has noted its end: nothing of the old daemon may be shown any more
    await this.#start();
  }

  /** The user has stopped the shared daemon: it stays stopped until they or an agent need one. */
  async #awaitNext(socket: string): Promise<void> {
    this.log.info('The shared daemon was stopped.');
    await this.#stop();
    const unwatched = (error: unknown): void => this.log.error(`The next daemon will not be noticed: ${String(error)}`);
    try {
      this.#leaveWatch = watchForNext(socket, this.#socket, () => void this.start(), unwatched);
    } catch (error) {
      unwatched(error);
    }
    void showStopped().then(async wantsOne => {
      if (wantsOne && this.#state === 'stopped') await this.start(); // else it is an old message
    });
  }

  #checkProtocol(): void {
    if (!this.#client?.initializeResult) throw new Error('it ended before it answered'); // `start` may not report it
    const version = this.server?.capabilities?.protocol_version;
    if (version === PROTOCOL_VERSION) return;
    const age = version === undefined || version < PROTOCOL_VERSION ? 'too old' : 'too new';
    throw new ServerMissing(
      `The fileops-server found by ${this.#launch!.origin} is ${age} for this extension (protocol ${version ?? 'unknown'}, wanted ${PROTOCOL_VERSION}).`,
      'fileops.path');
  }

  async #fail(error: unknown): Promise<void> {
    this.#problem = this.#crashes.problem ?? (error instanceof ServerMissing ? error.message : `The daemon did not start: ${this.#reasonOf(error)}`);
    this.log.error(this.#problem, ...(this.#process?.lastLines ?? []));
    this.#become('failed');
    const setting = error instanceof ServerMissing ? error.setting : undefined;
    void showFailure(this.#problem, setting, this.log);
    await this.#stopClient();
  }

  /** The answer to `initialize`, else the process's own last words, else what the client noticed. */
  #reasonOf(error: unknown): string {
    if (error instanceof ResponseError && !isLost(error)) return error.message.replace(/^Invalid params: \$\.initializationOptions\./, 'fileops.'); // the setting
    return this.#process?.lastLines.at(-1) ?? (error instanceof Error ? error.message : String(error));
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
      this.log.debug(`Stopping: ${String(error)}`); // it had already ended, or the client kills it now
    }
    this.#process?.child.kill();
    this.#process = undefined;
  }

  #become(state: DaemonState): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#stateChanged.fire(state);
  }

  dispose(): void {
    this.#leaveWatch();
    this.#stateChanged.dispose();
    this.#sent.dispose();
    this.#answered.dispose();
    this.#crashed.dispose();
    for (const emitter of this.#notified.values()) emitter.dispose();
  }
}
