/** The language client: what it announces to the daemon, which requests it answers and which notifications it knows. */
import type { ChildProcess } from 'node:child_process';
import * as vscode from 'vscode';
import {
  type CloseHandlerResult, ErrorAction, LanguageClient, RevealOutputChannelOn, type StaticFeature,
} from 'vscode-languageclient/node';
import {
  CONFIRM_COMMAND, type ConfirmCommandParams, type ConfirmCommandResult, CORRECT_EDIT, type Correction, type CorrectEditParams,
  APPLY_NOTEBOOK_EDIT, type ApplyNotebookEditParams, type ApplyNotebookEditResult, DIAGNOSTICS, type DiagnosticsAnswer,
  type DiagnosticsParams, type Notifications, SAVE_DOCUMENT, type SaveDocumentParams, type SaveDocumentResult,
} from '../protocol';
import { initializationOptions } from './options';

type Answer<Params, Result> = (params: Params, token: vscode.CancellationToken) => Promise<Result>;

/** Answers the daemon's questions. */
export interface Answers {
  confirmCommand: Answer<ConfirmCommandParams, ConfirmCommandResult>;
  correctEdit: Answer<CorrectEditParams, Correction | null>;
  diagnostics: Answer<DiagnosticsParams, DiagnosticsAnswer>;
  saveDocument: Answer<SaveDocumentParams, SaveDocumentResult>;
  notebookEdit: Answer<ApplyNotebookEditParams, ApplyNotebookEditResult>;
  /** Whether any corrector is registered. */
  readonly isCorrecting: boolean;
}

export const NOTIFICATIONS: readonly (keyof Notifications)[] = [
  'fileops/didRead', 'fileops/didEdit', 'fileops/didBecomeStale', 'fileops/didConflict', 'fileops/watcherHealth',
  'fileops/approvalMode', 'fileops/didChangeSessions', 'fileops/didChangeReviews', 'fileops/didChangeUnkept', 'fileops/didChangeAsk',
];

/** The reactions of a client's owner. */
export interface ClientHooks {
  spawn(): ChildProcess;
  /** The daemon ended without being asked to. */
  closed(client: LanguageClient): CloseHandlerResult;
  notified<M extends keyof Notifications>(method: M, params: Notifications[M]): void;
}

/** Tells the user nothing by itself: the end of a daemon is reported once, by the client's owner (`notices.ts`). */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export function makeClient(log: vscode.LogOutputChannel, answers: Answers, hooks: ClientHooks): LanguageClient {
  const client: LanguageClient = new QuietClient('fileops', 'Fileops', () => Promise.resolve(hooks.spawn()), {
    documentSelector: [{ scheme: 'file' }],
    outputChannel: log,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: { ...initializationOptions(), correction: answers.isCorrecting },
    initializationFailedHandler: () => false, // `start` rejects, and reports why in one place
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue }),
      closed: () => hooks.closed(client),
    },
  });
  client.registerFeature(announcesAnswers);
  client.onRequest(CONFIRM_COMMAND, answers.confirmCommand);
  client.onRequest(CORRECT_EDIT, answers.correctEdit);
  client.onRequest(DIAGNOSTICS, answers.diagnostics);
  client.onRequest(SAVE_DOCUMENT, answers.saveDocument);
  client.onRequest(APPLY_NOTEBOOK_EDIT, answers.notebookEdit);
  for (const method of NOTIFICATIONS) {
    client.onNotification(method, (params: unknown) => {
      log.debug(method, JSON.stringify(params));
      hooks.notified(method, params as never);
    });
  }
  return client;
}

const announcesAnswers: StaticFeature = {
  fillClientCapabilities(capabilities) {
    const fileops = {
      reviews: true, confirm_command: true, correct_edit: true, unkept: true, diagnostics: true, save_document: true, notebook_edits: true,
    };
    capabilities.experimental = { ...(capabilities.experimental as object | undefined), fileops };
  },
  preInitialize(capabilities) {
    // This extension has code actions of its own, which follow typing at once and say how to take them back.
    delete capabilities.codeActionProvider;
    delete capabilities.executeCommandProvider;
  },
  initialize: () => undefined,
  getState: () => ({ kind: 'static' }),
  clear: () => undefined,
};
