/** An agent outside the editor: the MCP server that the extension's API names, with a host's name, over stdio. */
import { type ChildProcess, spawn } from 'node:child_process';
import * as readline from 'node:readline';
import type { McpServer } from '../src/api';

export interface ToolAnswer {
  text: string;
  /** What follows it. */
  more: string[];
  isError: boolean;
}

interface Message {
  id?: number;
  method?: string;
  result?: { content?: { type: string; text?: string }[]; isError?: boolean };
  error?: { message: string };
}

export class McpAgent {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>();
  #count = 0;

  private constructor(server: McpServer, env: NodeJS.ProcessEnv) {
    this.#process = spawn(server.command, server.args, { stdio: ['pipe', 'pipe', 'inherit'], env });
    readline.createInterface({ input: this.#process.stdout! }).on('line', line => {
      const message = JSON.parse(line) as Message;
      if (message.method === undefined && message.id !== undefined) this.#waiting.get(message.id)?.resolve(message);
    });
    this.#process.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the MCP server ended'));
    });
  }

  static async start(server: McpServer, host: string): Promise<McpAgent> {
    const own = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
    const agent = new McpAgent(server, { ...process.env, ...own });
    await agent.#request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: host, version: '1' } });
    agent.#send({ method: 'notifications/initialized' });
    return agent;
  }

  /** Args: name: Read, Edit, MultiEdit. */
  async call(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    const { result, error } = await this.#request('tools/call', { name, arguments: args });
    if (!result) throw new Error(error?.message ?? 'no result');
    const [text = '', ...more] = (result.content ?? []).map(item => item.text ?? '');
    return { text, more, isError: result.isError ?? false };
  }

  /** As a host that is closed: the end of its input. */
  async end(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise(resolve => this.#process.once('exit', resolve));
    this.#process.stdin!.end();
    await ended;
  }

  #request(method: string, params: unknown): Promise<Message> {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  #send(message: object): void {
    this.#process.stdin!.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  }
}
