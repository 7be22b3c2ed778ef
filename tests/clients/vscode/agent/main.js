// An agent that lives in the editor, as another extension: it uses the exported API of Fileops and nothing else.
// The test's program tells it over HTTP what to do: POST {session, method, params}; hanging up takes the call back.
const http = require('node:http');
const vscode = require('vscode');

exports.activate = async context => {
  const fileops = await vscode.extensions.getExtension('fileops.fileops').activate();
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { session, method, params } = JSON.parse(body);
    const cancel = new vscode.CancellationTokenSource();
    response.on('close', () => cancel.cancel());
    const target = session ? fileops.session(session) : fileops;
    try {
      const result = method === 'state' ? fileops.state : await target[method](params, cancel.token);
      response.end(JSON.stringify({ result: result ?? null }));
    } catch (error) {
      response.end(JSON.stringify({ error: { code: error.code ?? null, message: String(error.message) } }));
    }
  });
  server.listen(Number(process.env.FILEOPS_AGENT_PORT), '127.0.0.1');
  context.subscriptions.push({ dispose: () => server.close() });
};
