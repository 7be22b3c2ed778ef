/** Puts the parts together; the only file that knows all of them. */
import * as vscode from 'vscode';
import type { FileopsApi } from './api';
import { apiOf } from './apiImpl';
import { Corrections } from './corrections';
import { Daemon } from './daemon/daemon';
import { onDidSelectInterpreter } from './daemon/locate';
import { ManualCommands } from './manual';
import type { EditDetails, EditParams, SessionParams, ToolResult, UndoDetails } from './protocol';
import { EditCalls } from './review/calls';
import { fragments } from './review/hunks';
import { Reviews, type Waiting } from './review/queue';
import { ReviewView } from './review/view';
import { columnBeside, DiffPanes, VIEW_SCHEME } from './ui/diff';
import { History } from './ui/history';
import { Marks } from './ui/marks';
import { StaleFiles } from './ui/stale';
import { Status } from './ui/status';

const RESTARTING_SETTINGS = ['path', 'interpreter', 'freshness', 'confine', 'roots', 'approval', 'history', 'codeLens', 'bash', 'correction', 'encodings']
  .map(name => `fileops.${name}`);

/** For the tests of this extension only; not part of the API. */
export interface Insides {
  daemon: Daemon;
  history: History;
  marks: Marks;
  panes: DiffPanes;
  reviews: Reviews;
  reviewView: ReviewView;
  stale: StaleFiles;
  status: Status;
}

let leave: (() => Promise<void>) | undefined;

export function activate(context: vscode.ExtensionContext): FileopsApi {
  const log = vscode.window.createOutputChannel('Fileops', { log: true });
  const panes = new DiffPanes();
  const marks = new Marks(context);
  const stale = new StaleFiles();
  const reviews: Reviews = new Reviews(panes, log, async session_id => {
    await daemon.request('fileops/setApprovalMode', { session_id, mode: 'auto_edit' });
  });
  const reviewView = new ReviewView(reviews);
  const calls = new EditCalls(panes);
  const corrections = new Corrections(log);
  const daemon = new Daemon(context, log, {
    confirmEdit: (params, token) => reviews.ask(params, token),
    confirmCommand: (params, token) => reviews.askCommand(params, token),
    correctEdit: (params, token) => corrections.ask(params, token),
  });
  const status = new Status(daemon, reviews, stale);
  const history = new History(daemon, panes);

  context.subscriptions.push(
    log, panes, marks, stale, reviewView, reviews, daemon, status, history, new ManualCommands(daemon, panes),
    daemon.on('fileops/didBecomeStale')(event => {
      stale.add(event);
      reviews.noteStale(event);
    }),
    daemon.on('fileops/didRead')(event => stale.clear(event.file_path, event.session_id)),
    daemon.on('fileops/didEdit')(event => stale.clear(event.file_path, event.session_id)),
    reviews.onDidAccept(edit => calls.accepted(edit)),
    daemon.onDidSend(call => calls.began(call)),
    daemon.onDidAnswer(({ call, result, error }) => {
      const { method, params } = call;
      const wasReviewed = calls.ended(call, result as Partial<ToolResult> | undefined, error?.message);
      if (error) return;
      if (method === 'fileops/edit' || method === 'fileops/multiEdit') {
        void showApplied(params as EditParams, result as ToolResult<EditDetails>, marks, wasReviewed ? undefined : panes);
      }
      unmark(result as Partial<ToolResult<UndoDetails>> | null, marks);
      if (method === 'fileops/closeSession' || method === 'fileops/resetSession') {
        stale.clearSession((params as SessionParams).session_id ?? 'default');
      }
      if (method === 'fileops/closeSession') corrections.closeSession((params as SessionParams).session_id ?? 'default');
    }),
    daemon.onDidCrash(() => void tellCrash(reviews.waiting, log)),
    daemon.onDidChangeState(state => {
      if (state === 'running' || state === 'starting') return;
      void reviews.withdrawAll('The daemon ended, and this review with it. Nothing was written.');
      stale.clearAll();
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
    await reviews.withdrawAll();
    await daemon.stop();
  };
  void daemon.start();
  return Object.defineProperty(apiOf(daemon, corrections), '_insides', {
    value: { daemon, history, marks, panes, reviews, reviewView, stale, status } satisfies Insides, enumerable: false,
  });
}

/** The editor closes: what waits is refused, nothing is written, the daemon ends. */
export async function deactivate(): Promise<void> {
  await leave?.();
}

/** Once for each crash: what it means for the person and for agents. */
async function tellCrash(waiting: readonly Waiting[], log: vscode.LogOutputChannel): Promise<void> {
  const reviews = waiting.length === 1 ? ` The review of ${waiting[0]!.name} ended with it; nothing of it was written.`
    : waiting.length > 1 ? ` ${waiting.length} reviews ended with it; nothing of them was written.` : '';
  const showLog = 'Show Log';
  const chosen = await vscode.window.showWarningMessage(
    `Fileops: the daemon ended unexpectedly and is started again.${reviews} Agents have to read their files again.`, showLog);
  if (chosen === showLog) log.show();
}

/** An edit came through: mark its lines and, where wanted and not seen in a review before, show its diff. */
async function showApplied(
  params: EditParams, result: ToolResult<EditDetails>, marks: Marks, panes: DiffPanes | undefined,
): Promise<void> {
  const { ui_extra: change, details } = result;
  if (result.status !== 'success' || params.dry_run || !change || change.hunks.length === 0) return;
  marks.add(change.file_path, change.hunks, details.edit_id ?? '', params.session_id ?? 'default');
  if (!panes || !vscode.workspace.getConfiguration('fileops').get('diffAfterEdit', false)) return;
  const pane = panes.create({
    scheme: VIEW_SCHEME, filePath: change.file_path, ...fragments(change.hunks),
    title: `${change.file_path.split(/[/\\]/).pop() ?? ''}: agent's edit`,
  });
  await panes.show(pane, { viewColumn: columnBeside() });
}

/** Edits were taken back, by our request or by a command of the server's own: their lines are no longer an agent's. */
function unmark(result: Partial<ToolResult<UndoDetails>> | null, marks: Marks): void {
  const undone = result?.details?.undone;
  if (undone && !result.details?.dry_run) marks.remove(undone);
}
