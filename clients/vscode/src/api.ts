/**
 * What other extensions get: `vscode.extensions.getExtension<FileopsApi>('fileops.fileops')?.activate()`.
 * The types ship with the extension (`dist/types/api.d.ts`).
 */
import type { CancellationToken, Disposable, Event } from 'vscode';
import type {
  ApprovalMode, BashDetails, BashParams, Correction, CorrectEditParams, DidBecomeStaleParams, DidConflictParams, DidEditParams, DidReadParams, EditDetails, EditParams, HistoryEntry,
  HistoryParams, MultiEditParams, ReadDetails, ReadParams, Requests, SessionsResult, ToolDefinition, ToolResult, ToolsParams, TrackedFile, UndoDetails, UndoParams, WatcherHealthParams, WriteParams,
} from './protocol';

export type * from './protocol';

/** Asks its own model to quote again. Undefined: it proposes nothing. The token: no caller waits any more. */
export type Corrector = (question: CorrectEditParams, token: CancellationToken) => Correction | undefined | Promise<Correction | undefined>;

/**
 * The tools, for one agent. A method rejects if there is no daemon, or with a JSON-RPC error (code −32602: the params
 * are wrong); a tool's own failure is in the result. If the daemon ends during a call, the result is `connection_lost`;
 * the daemon is started again, and what was read before must be read again.
 */
export interface FileopsSession {
  /** Undefined: the session of callers that name none. */
  readonly id: string | undefined;
  read(params: Omit<ReadParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<ReadDetails>>;
  /** Waits for the person's review if the approval mode asks for one; cancel the token to withdraw the edit. */
  edit(params: Omit<EditParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  multiEdit(params: Omit<MultiEditParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  /** The whole text, for an agent that knows no edits. The file must have been read; waits for the review like `edit`. */
  write(params: Omit<WriteParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  /** Only with the setting `fileops.bash`; waits for the person's consent like `edit`. Cancelling ends the command. */
  bash(params: Omit<BashParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<BashDetails>>;
  /**
   * Sets who is asked for the words of an edit that are not in the file: for the session, or (on the API itself) for
   * all sessions without one. The file must contain a proposal exactly. The first call restarts this window's daemon,
   * so call it early.
   */
  correctWith(corrector: Corrector): Disposable;
  tracked(): Promise<TrackedFile[]>;
  setApprovalMode(mode: ApprovalMode): Promise<void>;
  /** Undoes all edits of the session, newest first; with `file_path` only those of that file. Reviewed like an edit. */
  undoAll(params?: Pick<UndoParams, 'file_path' | 'dry_run'>): Promise<ToolResult<UndoDetails>>;
  /** Forgets what the session has read. */
  close(): Promise<void>;
}

/** A server in the shape of `mcpServers` in `session/new` of the Agent Client Protocol. */
export interface McpServer {
  name: string;
  /** An absolute path. */
  command: string;
  args: string[];
  env: { name: string; value: string }[];
}

export interface McpServerOptions {
  /** A name of the session, for the user and for other agents; by default the agent's own. */
  session?: string;
  /** Absolute folders inside which the agent may edit; by default those of the window and of `fileops.roots`. */
  roots?: string[];
}

export interface FileopsApi extends FileopsSession {
  readonly version: 1;
  readonly state: 'stopped' | 'starting' | 'running' | 'failed';
  readonly onDidChangeState: Event<'stopped' | 'starting' | 'running' | 'failed'>;
  /** A session remembers what it has read, and shares none of that. */
  session(id: string): FileopsSession;
  /** Names, descriptions and schemas of the tools, for a model. */
  tools(params?: ToolsParams): Promise<ToolDefinition[]>;
  history(params?: HistoryParams): Promise<HistoryEntry[]>;
  /** Any request of the wire, with its own types. */
  request<M extends keyof Requests>(method: M, params: Requests[M]['params'], token?: CancellationToken): Promise<Requests[M]['result']>;
  /** Reviewed like an edit; if the person asked for it, pass `approved`. */
  undo(params: UndoParams): Promise<ToolResult<UndoDetails>>;
  /**
   * What to give an agent that the editor starts, so that it gets the tools over MCP. It attaches to the daemon of this
   * window if that is shared. Waits for a start in progress; rejects if there is no daemon.
   */
  mcpServer(options?: McpServerOptions): Promise<McpServer>;
  /** The sessions of a shared daemon; fires at most twice a second. */
  readonly onDidChangeSessions: Event<SessionsResult>;
  readonly onDidRead: Event<DidReadParams>;
  readonly onDidEdit: Event<DidEditParams>;
  readonly onDidBecomeStale: Event<DidBecomeStaleParams>;
  readonly onDidConflict: Event<DidConflictParams>;
  readonly onWatcherHealth: Event<WatcherHealthParams>;
}
