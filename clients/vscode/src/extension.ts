/** Connects the parts; the only file that knows all of them. */
import * as vscode from 'vscode';
import { Agents } from './agents';
import type { FileopsApi } from './api';
import { apiOf } from './apiImpl';
import { AskSwitch } from './ask';
import { UnkeptActions } from './changes/actions';
import { Authors } from './changes/authors';
import { Before } from './changes/before';
import { Cells } from './changes/cells';
import { keepingPlaces } from './changes/cursor';
import { ChangeDiffs } from './changes/diffs';
import { ChangesHere } from './changes/here';
import { UnkeptList } from './changes/list';
import { AgentChanges } from './changes/source';
import { Turns } from './changes/turns';
import { Commands } from './commands';
import { Corrections } from './corrections';
import { Daemon } from './daemon/daemon';
import { onDidSelectInterpreter } from './daemon/locate';
import { showCrash } from './daemon/notices';
import { History } from './history';
import { Notebooks } from './notebooks';
import { OwnSessions } from './ownSessions';
import { Problems } from './problems';
import { saveDocument } from './saving';
import type { SessionParams } from './protocol';
import { attachedTo } from './review/attached';
import { Reviews } from './review/queue';
import { WaitingLine } from './review/waitingLine';
import { DiffPanes } from './ui/diff';
import { Status } from './ui/status';
import { Walkthrough } from './ui/walkthrough';

const RESTARTING_SETTINGS = ['path', 'interpreter', 'confine', 'roots', 'bash', 'encodings'].map(name => `fileops.${name}`);

/** For the tests of this extension only; not part of the API. */
export interface Insides {
  /** As after this window attached to a daemon. */
  attached(): Promise<void>;
  actions: UnkeptActions;
  agents: Agents;
  ask: AskSwitch;
  authors: Authors;
  before: Before;
  cells: Cells;
  changes: AgentChanges;
  daemon: Daemon;
  here: ChangesHere;
  history: History;
  list: UnkeptList;
  panes: DiffPanes;
  problems: Problems;
  reviews: Reviews;
  status: Status;
  turns: Turns;
  walkthrough: Walkthrough;
}

let leave: (() => Promise<void>) | undefined;

export function activate(context: vscode.ExtensionContext): FileopsApi {
  const log = vscode.window.createOutputChannel('Fileops', { log: true });
  const panes = new DiffPanes();
  const own = new OwnSessions();
  const corrections = new Corrections(log, () => void daemon.restart());
  const problems = new Problems();
  const notebooks = new Notebooks();
  const daemon: Daemon = new Daemon(context, log, {
    confirmCommand: (params, token) => reviews.askCommand(params, token),
    correctEdit: (params, token) => corrections.ask(params, token),
    diagnostics: (params, token) => problems.ask(params, token),
    saveDocument,
    notebookEdit: params => notebooks.apply(params),
    get isCorrecting() { return corrections.isUsed; },
  });
  const reviews = new Reviews(panes, log, context.workspaceState, {
    decide: params => keepingPlaces(() => daemon.request('fileops/decideReview', params)),
    isOwn: sessionId => own.has(sessionId),
  });
  const list = new UnkeptList(daemon);
  const before = new Before(list);
  const here = new ChangesHere(before);
  const actions = new UnkeptActions(list);
  const cells = new Cells(before, daemon);
  const diffs = new ChangeDiffs(before, cells, reviews, actions, log);
  const agents = new Agents(daemon, list, sessionId => own.has(sessionId));
  const changes = new AgentChanges(before, reviews, actions, agents, context.workspaceState);
  const turns = new Turns(daemon, list, panes, (rewindId, what) => actions.offerRedo(rewindId, what));
  const history = new History(daemon, panes, agents, actions);
  const ask = new AskSwitch(daemon);
  const authors = new Authors(daemon, agents, here, log);
  const walkthrough = new Walkthrough(daemon, agents, actions, reviews, context.globalState);
  const status = new Status(daemon, reviews, agents, list, here, actions, ask);

  let isLeaving = false;
  context.subscriptions.push(
    log, panes, reviews, daemon, problems, list, before, cells, here, actions, diffs, agents, changes, turns, ask, walkthrough, status,
    authors, new WaitingLine(reviews), new Commands({ list, here, actions, diffs, turns, reviews, agents, history, ask, status, log }),
    daemon.on('fileops/didChangeReviews')(params => reviews.update(params)),
    daemon.onDidSend(call => own.began(call)),
    daemon.onDidAnswer(({ call: { method, params }, error }) => {
      if (!error && method === 'fileops/closeSession') corrections.closeSession((params as SessionParams).session_id ?? 'default');
    }),
    daemon.onDidCrash(() => void showCrash(reviews.waiting.map(review => review.name), log)),
    daemon.onDidChangeState(state => {
      if (state === 'running') void attachedTo(daemon, reviews, log);
      if (state === 'running' || state === 'starting' || isLeaving) return;
      void reviews.detach(daemon.sharing.kind === 'shared'
        ? 'this window has lost its daemon; what still waits is shown again.'
        : 'the daemon ended, and with it what waited. Nothing was written.');
    }),
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
    value: { attached: () => attachedTo(daemon, reviews, log), actions, agents, ask, authors, before, cells, changes, daemon, here, history, list, panes, problems, reviews, status, turns, walkthrough } satisfies Insides, enumerable: false,
  });
}

/** The editor closes, which decides nothing. A private daemon ends; a shared one keeps what waits for the next view. */
export async function deactivate(): Promise<void> {
  await leave?.();
}
