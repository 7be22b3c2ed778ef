// A client in plain Node: reads a file and edits it, and shows what the daemon notifies of. No package is needed.
//
//     node node_client.mjs FILE OLD_STRING NEW_STRING
//
// FILEOPS_SERVER names the program if `fileops-server` is not on the PATH.
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

class Client {
  #server;
  #received = Buffer.alloc(0);
  #waiting = new Map(); // id -> {resolve, reject}
  #lastId = 0;

  constructor(command, { onNotification }) {
    this.onNotification = onNotification;
    this.#server = spawn(command, ['--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.exited = new Promise((resolve, reject) => {
      this.#server.on('error', reject);
      this.#server.on('exit', resolve);
    });
    this.exited.then(status => this.#fail(new Error(`the daemon ended with status ${status}`)), error => this.#fail(error));
    this.#server.stdout.on('data', chunk => this.#receive(chunk));
  }

  request(method, params) {
    const id = ++this.#lastId;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  async close() {
    await this.request('shutdown');
    this.notify('exit');
    return this.exited;
  }

  #send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    this.#server.stdin.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  #receive(chunk) {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const head = this.#received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const size = Number(/content-length: *(\d+)/i.exec(this.#received.toString('ascii', 0, head))[1]); // in bytes
      const end = head + 4 + size;
      if (this.#received.length < end) return;
      const message = JSON.parse(this.#received.toString('utf8', head + 4, end));
      this.#received = this.#received.subarray(end);
      this.#take(message);
    }
  }

  #take(message) {
    if (message.method === undefined) { // an answer
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) waiting?.reject(new Error(`${message.error.message} (${message.error.code})`));
      else waiting?.resolve(message.result);
    } else if (message.id === undefined) {
      this.onNotification(message.method, message.params);
    } else { // a request of the daemon: this client has announced that it answers none
      this.#send({ id: message.id, error: { code: -32601, message: `${message.method} is not served` } });
    }
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

const [file, oldString, newString] = process.argv.slice(2);
const filePath = path.resolve(file);
const folder = path.dirname(filePath);
const client = new Client(process.env.FILEOPS_SERVER ?? 'fileops-server', {
  onNotification: (method, params) => console.log(`${method} ${params.file_path ?? ''}`),
});
const greeting = await client.request('initialize', {
  processId: process.pid,
  workspaceFolders: [{ uri: pathToFileURL(folder).href, name: path.basename(folder) }],
  capabilities: {},
});
if (greeting.capabilities.experimental.fileops.protocol_version !== 1) throw new Error('another version of the protocol');
client.notify('initialized', {});

const read = await client.request('fileops/read', { file_path: filePath });
if (read.status === 'success') {
  const edited = await client.request('fileops/edit', { file_path: filePath, old_string: oldString, new_string: newString });
  console.log(edited.output); // the text for the model, also if the edit was refused
  process.exitCode = edited.status === 'success' ? 0 : 1;
} else {
  console.log(read.output);
  process.exitCode = 1;
}
await client.close();
