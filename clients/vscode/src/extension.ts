/** Puts the parts together; the only file that knows all of them. */
import * as vscode from 'vscode';
import type { FileopsApi } from './api';
import { apiOf } from './apiImpl';
import { Corrections } from './corrections';
import { Daemon } from './daemon/daemon';
import { onDidSelectInterpreter } from './daemon/locate';
import { showCrash } from './daemon/notices';
import { ManualCommands } from './manual';
import type { EditDetails, EditParams, SessionParams, ToolResult, UndoDetails } from './protocol';
import { attachedTo } from './review/attached';
import { EditCalls } from './review/calls';
import { Reviews } from './review/queue';
import { ReviewView } from './review/view';
import { AppliedEdits } from './ui/applied';
import { DiffPanes } from './ui/diff';
import { History } from './ui/history';
import { InsertedLines } from './ui/inserted';
import { saysIfLate } from './ui/late';
import { Marks } from './ui/marks';
import { Sessions } from './ui/sessions';
import { StaleFiles } from './ui/stale';
import { Status } from './ui/status';
import { UnkeptActions } from './unkept/actions';
import { explainOnce } from './unkept/introduction';
import { Follow } from './unkept/follow';
import { UnkeptList } from './unkept/list';
import { UnkeptMarks } from './unkept/marks';
import { Turns } from './unkept/turns';
import { UnkeptView } from './unkept/view';

const RESTARTING_SETTINGS = [
  'path', 'interpreter', 'shared', 'freshness', 'notices', 'confine', 'roots', 'approval', 'agentsApproval', 'history', 'codeLens', 'review.graceSeconds', 'bash', 'correction', 'encodings',
]
  .map(name => `fileops.${name}`);

/** For the tests of this extension only; not part of the API. */
export interface Insides {
  /** As after this window attached to a daemon. */
  attached(): Promise<void>;
  daemon: Daemon;
  history: History;
  inserted: InsertedLines;
  marks: Marks;
  panes: DiffPanes;
  reviews: Reviews;
  reviewView: ReviewView;
  sessions: Sessions;
  stale: StaleFiles;
  status: Status;
  unkept: UnkeptList;
  unkeptMarks: UnkeptMarks;
}

let leave: (() => Promise<void>) | undefined;

export function activate(context: vscode.ExtensionContext): FileopsApi {
  const log = vscode.window.createOutputChannel('Fileops', { log: true });
  const panes = new DiffPanes();
  const marks: Marks = new Marks(context, sessionId => sessions.nameOf(sessionId));
  const calls = new EditCalls();
  const inserted = new InsertedLines();
  const reviews: Reviews = new Reviews(panes, inserted, log, context.workspaceState, {
    decide: params => saysIfLate(daemon.request('fileops/decideReview', params), 'your decision'),
    allow: async session_id => { await daemon.request('fileops/setApprovalMode', { session_id, mode: 'auto_edit' }); },
    isOwn: sessionId => calls.isOwn(sessionId),
  });
  const corrections = new Corrections(log);
  const daemon = new Daemon(context, log, {
    confirmEdit: (params, token) => reviews.ask(params, token),
    confirmCommand: (params, token) => reviews.askCommand(params, token),
    correctEdit: (params, token) => corrections.ask(params, token),
  });
  const sessions = new Sessions(daemon, log, sessionId => calls.isOwn(sessionId));
  const stale = new StaleFiles(sessions);
  const reviewView = new ReviewView(reviews, sessions);
  const history = new History(daemon, panes, sessions);
  const unkept = new UnkeptList(daemon);
  const unkeptMarks = new UnkeptMarks(unkept, inserted);
  const status = new Status(daemon, reviews, stale, sessions, unkeptMarks);
  const applied = new AppliedEdits(daemon, marks, unkept, panes, log);

  let isLeaving = false;
  context.subscriptions.push(
    log, panes, inserted, marks, stale, reviewView, reviews, daemon, sessions, status, history, new ManualCommands(daemon, panes),
    unkept, unkeptMarks, new UnkeptActions(unkept, () => unkeptMarks.atCursor()), new UnkeptView(unkept, panes, context.workspaceState), explainOnce(unkept, context.globalState),
    new Turns(daemon, unkept, panes), new Follow(unkept, sessions),
    daemon.on('fileops/didBecomeStale')(event => {
      stale.add(event);
      reviews.noteStale(event);
    }),
    daemon.on('fileops/didRead')(event => stale.clear(event.file_path, event.session_id)),
    daemon.on('fileops/didEdit')(event => {
      stale.clear(event.file_path, event.session_id);
      if (!calls.isOwn(event.session_id)) void applied.notified(event, calls.wasAccepted(event.session_id, event.file_path));
    }),
    daemon.on('fileops/didChangeReviews')(params => reviews.update(params)),
    reviews.onDidAccept(review => calls.accepted(review)),
    daemon.onDidSend(call => calls.began(call)),
    daemon.onDidAnswer(({ call, result, error }) => {
      const { method, params } = call;
      if (error) return;
      if (method === 'fileops/edit' || method === 'fileops/multiEdit' || method === 'fileops/write') {
        const { session_id, file_path } = params as EditParams;
        applied.answered(params as EditParams, result as ToolResult<EditDetails>, calls.wasAccepted(session_id ?? 'default', file_path));
      }
      applied.undone(result as Partial<ToolResult<UndoDetails>> | null);
      if (method === 'fileops/closeSession' || method === 'fileops/resetSession') {
        stale.clearSession((params as SessionParams).session_id ?? 'default');
      }
      if (method === 'fileops/closeSession') corrections.closeSession((params as SessionParams).session_id ?? 'default');
    }),
    daemon.onDidCrash(() => void showCrash(reviews.waiting.map(review => review.name), log)),
    daemon.onDidChangeState(state => {
      if (state === 'running') void attachedTo(daemon, reviews, log);
      if (state === 'running' || state === 'starting' || isLeaving) return;
      void reviews.detach(daemon.sharing.kind === 'shared'
        ? 'this window has lost its daemon; what still waits is shown again.'
        : 'the daemon ended, and with it what waited. Nothing was written.');
      stale.clearAll();
      calls.forget();
    }),
    vscode.commands.registerCommand('fileops.restart', () => daemon.restart()),
    vscode.commands.registerCommand('fileops.showLog', () => log.show()),
    vscode.commands.registerCommand('fileops.closeDiffs', () => panes.closeViews()),
    vscode.workspace.onDidChangeConfiguration(event => {
      if (RESTARTING_SETTINGS.some(setting => event.affectsConfiguration(setting))) void daemon.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void daemon.restart()),
  );
  void onDidSelectInterpreter(log, () => {
    if (!vscode.workspace.getConfiguration('fileops').get('interpreter')) void daemon.restart();
  }).then(disposable => disposable && context.subscriptions.push(disposable));

  leave = async () => {
    isLeaving = true;
    reviews.leave();
    await daemon.stop();
  };
  void panes.closeOrphans().catch((error: unknown) => log.error(String(error))).then(() => daemon.start());
  return Object.defineProperty(apiOf(daemon, corrections), '_insides', {
    value: { attached: () => attachedTo(daemon, reviews, log), daemon, history, inserted, marks, panes, reviews, reviewView, sessions, stale, status, unkept, unkeptMarks } satisfies Insides, enumerable: false,
  });
}

/** The editor closes: that decides nothing. A private daemon ends; a shared one keeps what waits for the next view. */
export async function deactivate(): Promise<void> {
  await leave?.();
}
