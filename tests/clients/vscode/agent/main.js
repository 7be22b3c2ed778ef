// An agent that lives in the editor, as another extension: it uses the exported API of Fileops and nothing else.
// The test's program controls it over HTTP: POST {session, method, params}; hanging up takes the call back.
// The method `visible` answers with the paths of the files that extensions know to be visible.
// `askBeforeEachEdit` sets `fileops.ask`, and begins anew with it.
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
async function askBeforeEachEdit() {
  await vscode.workspace.getConfiguration('fileops').update('ask', 'each_edit', vscode.ConfigurationTarget.Global);
  await vscode.commands.executeCommand('fileops.restart');
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
      const own = { state: () => fileops.state, visible, caughtUp, askBeforeEachEdit, inReview: () => inReview(fileops) }[method];
      const result = own ? await own() : await target[method](params, cancel.token);
      response.end(JSON.stringify({ result: result ?? null }));
    } catch (error) {
      response.end(JSON.stringify({ error: { code: error.code ?? null, message: String(error.message) } }));
    }
  });
  server.listen(Number(process.env.FILEOPS_AGENT_PORT), '127.0.0.1');
  context.subscriptions.push({ dispose: () => server.close() });
};
