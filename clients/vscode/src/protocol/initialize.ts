/** What editor and daemon say of themselves at the start. */
import type { ApprovalMode } from './approval';

export interface InitializationOptions {
  freshness: 'mtime' | 'content' | 'relevant';
  /** Whether results say what others changed in the files of a session. */
  notices: 'off' | 'details' | 'output';
  confine: 'edits' | 'all' | 'off';
  roots: string[];
  approval_mode: ApprovalMode;
  approval_timeout_s: number;
  /** Of the sessions of others, in a shared daemon. */
  agents_approval?: ApprovalMode;
  history: 'memory' | 'persistent';
  code_lens: boolean;
  bash: boolean;
  correction: boolean;
  encodings: EncodingOptions[];
}

/** Files whose path matches `glob` are in this encoding, a codec of Python. */
export interface EncodingOptions {
  glob: string;
  encoding: string;
}

/** `result.capabilities.experimental.fileops`. */
export interface ServerCapabilities {
  protocol_version: number;
  requests: string[];
  notifications: string[];
  strategies: string[];
  /** Those that are installed. */
  validators: string[];
  /** Null where the daemon is private. */
  shared?: SharedCapability | null;
}

/** This client's connection to a shared daemon. */
export interface SharedCapability {
  connection: string;
  role: 'editor' | 'agent';
  version: string;
  socket: string;
}

export const PROTOCOL_VERSION = 1;
