// An agent outside of the editor: `fileops-server mcp` over stdio, as a host starts it; and another editor.
import { execFile, spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { promisify } from 'node:util';

/** host: its name. options: of its server. Its calls wait for a review where windows show one. */
export async function agentOutside(socket, workspace, host, options = []) {
  // Below a process of its own, the host: what the editor does would else be taken for the agent's doing.
  const host_ = 'import subprocess, sys; sys.exit(subprocess.call([sys.executable, "-P", "-m", "fileops", "mcp", *sys.argv[1:]]))';
  const server = spawn(process.env.FILEOPS_PYTHON, ['-P', '-c', host_, ...options], {
    cwd: workspace, stdio: ['pipe', 'pipe', 'inherit'],
    // As the window has it: after the end of a daemon, the first of them starts the next one.
    env: { ...process.env, FILEOPS_SOCKET: socket, XDG_STATE_HOME: path.resolve(socket, '../../state') } });
  const waiting = new Map();
  let count = 0;
  readline.createInterface({ input: server.stdout }).on('line', line => {
    const message = JSON.parse(line);
    if (message.method === undefined) waiting.get(message.id)?.(message);
  });
  const send = message => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const request = (method, params) => new Promise(resolve => {
    waiting.set(++count, resolve);
    send({ id: count, method, params });
  });
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: host, version: '1' } });
  send({ method: 'notifications/initialized' });

  /** Returns {text, notices, isError}, notices being the texts beside the answer, and isAnswered at any time. */
  function call(name, basename, args = {}) {
    const state = { isAnswered: false };
    const answer = request('tools/call', { name, arguments: { file_path: path.join(workspace, basename), ...args } }).then(({ result, error }) => {
      state.isAnswered = true;
      if (error) throw new Error(error.message);
      const [text, ...notices] = result.content.map(part => part.text);
      return { text, notices, isError: result.isError ?? false };
    });
    return Object.assign(answer, { state });
  }
  return { call, end: () => server.stdin.end() };
}

const ACCEPT = `
import sys
from fileops_client.sync import FileOpsClient
with FileOpsClient.attach(socket=sys.argv[1], root=sys.argv[2], role="editor", host="another-editor") as editor:
    (review,) = editor.reviews()
    decided = editor.decide_review(review, "accept")
    assert (decided.state, decided.reason) == ("decided", None), decided
`;

/** Another editor of the daemon, which shows no reviews by itself, accepts the one that waits. */
export async function acceptElsewhere(socket, workspace) {
  await promisify(execFile)(process.env.FILEOPS_PYTHON, ['-P', '-c', ACCEPT, socket, workspace], { env: { ...process.env, FILEOPS_SOCKET: socket } });
}
