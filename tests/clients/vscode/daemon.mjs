// The shared daemon of a test: on a socket in a new folder, and ended with the test.
import { spawnSync } from 'node:child_process';
import net from 'node:net';

function server(socket, ...args) {
  return spawnSync(process.env.FILEOPS_PYTHON, ['-P', '-m', 'fileops', ...args], {
    encoding: 'utf8', env: { ...process.env, FILEOPS_SOCKET: socket } });
}

/** What `fileops-server status --json` prints. */
export function statusOf(socket) {
  return JSON.parse(server(socket, 'status', '--json').stdout);
}

/** Whether one runs. Asked without a process of Python, so it may be asked often. */
export function isRunning(socket) {
  return new Promise(resolve => {
    const probe = net.connect(socket, () => resolve(true)).once('error', () => resolve(false)).once('connect', () => probe.destroy());
  });
}

/** Whether an editor has told the daemon its folders and settings: of some, a daemon has those of the first that does. */
export async function hasEditor(socket) {
  return await isRunning(socket) && !!statusOf(socket).connections?.some(({ role, roots }) => role === 'editor' && roots.length > 0);
}

/** Ends it where one runs. Returns whether none runs; an extension host that still lives may have started it again. */
export async function stopDaemon(socket) {
  if (await isRunning(socket)) server(socket, 'status', '--stop', '--now');
  return !await isRunning(socket);
}
