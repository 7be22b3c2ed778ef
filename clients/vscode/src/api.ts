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

/** Asks its own model to quote again. Undefined: it has nothing to propose. The token: no caller waits any more. */
export type Corrector = (question: CorrectEditParams, token: CancellationToken) => Correction | undefined | Promise<Correction | undefined>;

/**
 * The tools, for one agent. A method rejects where there is no daemon, or with a JSON-RPC error (code −32602: the
 * params are wrong); what a tool itself found is in the result. A daemon that ends while a tool is called answers
 * `connection_lost`, in a result like any other: it is started again, and what was read before must be read again.
 */
export interface FileopsSession {
  /** Undefined: the session of callers that name none. */
  readonly id: string | undefined;
  read(params: Omit<ReadParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<ReadDetails>>;
  /** Waits for the person's review where the approval mode asks for one; cancel the token to take the edit back. */
  edit(params: Omit<EditParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  multiEdit(params: Omit<MultiEditParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  /** The whole text, as of an agent that knows no edits. The file must have been read; waits for the review as `edit` does. */
  write(params: Omit<WriteParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<EditDetails>>;
  /** With the setting `fileops.bash` only; waits for the person's consent as `edit` does. Cancelling ends the command. */
  bash(params: Omit<BashParams, 'session_id'>, token?: CancellationToken): Promise<ToolResult<BashDetails>>;
  /**
   * Who is asked for the words of an edit that are not in the file: of the session, or (on the API itself) of all that
   * have none. The file must contain a proposal exactly. The first one restarts this window's daemon: register early.
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
  /** A session has its own memory of what was read; nothing of it is shared. */
  session(id: string): FileopsSession;
  /** Names, descriptions and schemas of the tools, to hand to a model. */
  tools(params?: ToolsParams): Promise<ToolDefinition[]>;
  history(params?: HistoryParams): Promise<HistoryEntry[]>;
  /** Any request of the wire, with its own types. */
  request<M extends keyof Requests>(method: M, params: Requests[M]['params'], token?: CancellationToken): Promise<Requests[M]['result']>;
  /** Reviewed like an edit, unless the person asked for it: then say `approved`. */
  undo(params: UndoParams): Promise<ToolResult<UndoDetails>>;
  /**
   * What an agent that the editor starts has to be given so that it gets the tools over MCP. It attaches to the daemon
   * of this window where that is shared. Waits for a start that is under way; rejects where there is no daemon.
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
