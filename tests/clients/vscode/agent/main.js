// An agent that lives in the editor, as another extension: it uses the exported API of Fileops and nothing else.
// The test's program controls it over HTTP: POST {session, method, params}; hanging up takes the call back.
// The method `visible` answers with the paths of the files that extensions know to be visible.
// `ask` sets `fileops.ask`, or removes it, and begins anew with that.
// `run` and `open` are VS Code's own acts for a person whose keys are no subject of the story: a command; a file, at a line.
// `nFolders` answers with how many folders the window has.
// `caughtUp` answers once the keys of what the window shows work; `inReview` then, with the id of the review in front.
// With {kill: PID} the daemon is killed first, so that the editor sends the call before it can notice.
const fs = require('node:fs');
const http = require('node:http');
const vscode = require('vscode');

function killAndWait(pid) {
  process.kill(pid, 'SIGKILL');
  const isGone = () => {
    try {
      const hasEnded = / [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
      return hasEnded && fs.readdirSync(`/proc/${pid}/task`).length === 1; // its last thread closes the pipes
    } catch {
      return true;
    }
  };
  while (!isGone());
}

const visible = () => vscode.window.visibleTextEditors.map(({ document }) => document.uri.fsPath);

/** To the window and back, twice: Fileops has learned what the window showed, and the window has what Fileops then set. */
async function caughtUp() {
  for (const turn of [1, 2]) await vscode.commands.executeCommand('setContext', 'agent.caughtUp', turn);
}

/** The person's setting, with which the window begins anew. */
async function ask({ when }) {
  await vscode.workspace.getConfiguration('fileops').update('ask', when, vscode.ConfigurationTarget.Global);
  await vscode.commands.executeCommand('fileops.restart');
}

/** line: where the cursor is to be; without a path, in the editor that is in use. */
async function open({ path, line }) {
  const editor = path ? await vscode.window.showTextDocument(vscode.Uri.file(path), { preview: false }) : vscode.window.activeTextEditor;
  if (!path) await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
  if (line === undefined) return;
  const start = new vscode.Position(line - 1, 0);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(editor.selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

async function run({ command }) {
  await vscode.commands.executeCommand(command);
}

async function inReview(fileops) {
  await caughtUp();
  return fileops._insides.reviews.current?.id;
}

exports.activate = async context => {
  const fileops = await vscode.extensions.getExtension('fileops.fileops').activate();
  const server = http.createServer(async (request, response) => {
    response.setHeader('Connection', 'close'); // else a call may meet the end of an idle connection: "fetch failed"
    let body = '';
    for await (const chunk of request) body += chunk;
    const { session, method, params, kill } = JSON.parse(body);
    const cancel = new vscode.CancellationTokenSource();
    response.on('close', () => cancel.cancel());
    const target = session ? fileops.session(session) : fileops;
    try {
      if (kill) killAndWait(kill);
      const nFolders = () => vscode.workspace.workspaceFolders?.length ?? 0;
      const own = { state: () => fileops.state, visible, nFolders, caughtUp, ask, run, open, inReview: () => inReview(fileops) }[method];
      const result = own ? await own(params) : await target[method](params, cancel.token);
      response.end(JSON.stringify({ result: result ?? null }));
    } catch (error) {
      response.end(JSON.stringify({ error: { code: error.code ?? null, message: String(error.message) } }));
    }
  });
  const listen = () => server.listen(Number(process.env.FILEOPS_AGENT_PORT), '127.0.0.1');
  server.on('error', () => setTimeout(listen, 100)); // the host of the window before is about to end
  listen();
  context.subscriptions.push({ dispose: () => server.close() });
};
