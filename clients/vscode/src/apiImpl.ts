/** The exported API over a daemon. Every call is one request; there is no state. */
import type { FileopsApi, FileopsSession } from './api';
import type { Corrections } from './corrections';
import type { Daemon } from './daemon/daemon';
import { mcpServerOf } from './daemon/mcp';

function sessionOf(daemon: Daemon, corrections: Corrections, id: string | undefined): FileopsSession {
  const own = id === undefined ? {} : { session_id: id };
  return {
    id,
    read: (params, token) => daemon.request('fileops/read', { ...params, ...own }, token),
    edit: (params, token) => daemon.request('fileops/edit', { ...params, ...own }, token),
    multiEdit: (params, token) => daemon.request('fileops/multiEdit', { ...params, ...own }, token),
    write: (params, token) => daemon.request('fileops/write', { ...params, ...own }, token),
    bash: (params, token) => daemon.request('fileops/bash', { ...params, ...own }, token),
    correctWith: corrector => corrections.register(corrector, id),
    tracked: async () => (await daemon.request('fileops/tracked', own)).files,
    setApprovalMode: async mode => { await daemon.request('fileops/setApprovalMode', { mode, ...own }); },
    undoAll: params => daemon.request('fileops/undo', { ...params, session_id: id ?? 'default' }),
    close: async () => { await daemon.request('fileops/closeSession', { session_id: id ?? 'default' }); },
  };
}

export function apiOf(daemon: Daemon, corrections: Corrections): FileopsApi {
  return {
    ...sessionOf(daemon, corrections, undefined),
    version: 1,
    get state() { return daemon.state; },
    onDidChangeState: daemon.onDidChangeState,
    session: id => sessionOf(daemon, corrections, id),
    tools: async params => (await daemon.request('fileops/tools', params ?? {})).tools,
    history: async params => (await daemon.request('fileops/history', params ?? {})).edits,
    request: (method, params, token) => daemon.request(method, params, token),
    undo: params => daemon.request('fileops/undo', params),
    mcpServer: options => mcpServerOf(daemon, options),
    onDidChangeSessions: daemon.on('fileops/didChangeSessions'),
    onDidRead: daemon.on('fileops/didRead'),
    onDidEdit: daemon.on('fileops/didEdit'),
    onDidBecomeStale: daemon.on('fileops/didBecomeStale'),
    onDidConflict: daemon.on('fileops/didConflict'),
    onWatcherHealth: daemon.on('fileops/watcherHealth'),
  };
}
