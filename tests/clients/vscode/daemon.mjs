// The shared daemon of a test: on a socket in a new folder, and ended with the test.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

function server(socket, ...args) {
  return spawnSync(process.env.FILEOPS_PYTHON, ['-P', '-m', 'fileops', ...args], {
    encoding: 'utf8', env: { ...process.env, FILEOPS_SOCKET: socket } });
}

/** What `fileops-server status --json` prints. */
export function statusOf(socket) {
  return JSON.parse(server(socket, 'status', '--json').stdout);
}

/** Ends it where one runs. Returns whether none runs; an extension host that still lives may have started it again. */
export function stopDaemon(socket) {
  if (!fs.existsSync(socket)) return true;
  return server(socket, 'status', '--stop', '--now').status === 0 && !statusOf(socket).running;
}
