/** Loaded by the extension host for tests/bench/vscode.mjs: what queues and marks cost. Writes figures, and judges none. */
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { closeAll, file, makeFolders, open, set, until, world } from './world';

const N_REVIEWS = 200;
const N_SESSIONS = 20;
const N_OPEN = 20; // of the files with reviews
const N_LISTS = 6;
const N_LINES = 20_000;
const N_CHANGES = 1_000;
const N_MARKINGS = 6;
const N_KEYS = 20;

/** In milliseconds: how long it took, the processor time of the extension host, and that of the page with its parts. */
interface Cost extends Page {
  wall: number;
  cpu: number;
}

/** In milliseconds of the processor, since the page was opened. */
interface Page {
  page: number;
  script: number;
  layout: number;
  style: number;
}

const figures: Record<string, Cost[]> = {};

async function measured(name: string, act: () => Promise<unknown>, n = 1): Promise<void> {
  const before = await page();
  const [start, busy] = [performance.now(), process.cpuUsage()];
  await act();
  const [wall, { user, system }] = [performance.now() - start, process.cpuUsage(busy)];
  const after = await page();
  const cost: Cost = { wall: wall / n, cpu: (user + system) / 1000 / n, ...after };
  for (const part of ['page', 'script', 'layout', 'style'] as const) cost[part] = (after[part] - before[part]) / n;
  (figures[name] ??= []).push(cost);
}

const page = async (): Promise<Page> => await (await fetch(process.env.FILEOPS_PAGE!)).json() as Page;

/** Until nothing is left to do here: a round of the editor and back. */
const idle = (): Thenable<unknown> => vscode.commands.executeCommand('setContext', 'fileops.measured', true);

const lines = (n: number): string => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join('');

async function queue(): Promise<void> {
  const { api, insides } = await world();
  await set('openReviews', 'beside');
  const folder = path.dirname(file(''));
  const paths = Array.from({ length: N_REVIEWS }, (_, n) => path.join(folder, `${n}.py`));
  for (const made of paths) fs.writeFileSync(made, lines(200));
  for (const opened of paths.slice(0, N_OPEN)) await open(opened);
  const edits = paths.map(async (file_path, n) => {
    const session = api.session(`asks-${n % N_SESSIONS}`);
    await session.read({ file_path });
    return session.edit({ file_path, old_string: 'line 7\n', new_string: 'LINE 7\n' });
  });
  const { reviews } = insides;
  await until(() => reviews.waiting.length === N_REVIEWS, 'all edits wait');
  for (let n = 0; n < N_LISTS; n++) {
    await reviews.detach('');
    await idle();
    await measured(`list ${N_REVIEWS} waiting reviews`, () => insides.attached());
    await reviews.detach('');
    await idle();
    await measured(`list ${N_REVIEWS} waiting reviews, until the editor answers again`, async () => {
      await insides.attached();
      if (reviews.waiting.length !== N_REVIEWS) throw new Error(`${reviews.waiting.length} reviews are listed`);
      await idle();
    });
  }
  const editor = await open(paths[0]!);
  editor.selection = new vscode.Selection(100, 0, 100, 0);
  await measured(`a letter in a file with one of ${N_REVIEWS} reviews`, async () => {
    for (let n = 0; n < N_KEYS; n++) await vscode.commands.executeCommand('type', { text: 'x' });
  }, N_KEYS);
  await measured(`reject all ${N_REVIEWS}`, () => Promise.all([...reviews.waiting].map(review => reviews.decide(review, 'reject'))));
  await Promise.all(edits);
  await closeAll();
}

async function marks(): Promise<void> {
  const { api, insides } = await world();
  const marked = file(lines(N_LINES), 'marked.txt');
  const writer = api.session('writes');
  await writer.setApprovalMode('yolo');
  const editor = await open(marked);
  await writer.read({ file_path: marked, limit: 10 });
  const every = N_LINES / N_CHANGES;
  const [first, ...others] = Array.from({ length: N_CHANGES }, (_, n) => ({ old_string: `\nline ${n * every + 7}\n`, new_string: `\nLINE ${n * every + 7}\n` }));
  const { output, status } = await writer.multiEdit({ file_path: marked, edits: [first!, ...others] });
  if (status !== 'success') throw new Error(output);
  await until(() => insides.before.at(editor.document.uri).length === N_CHANGES, 'all changes are marked');
  for (let n = 0; n < N_MARKINGS; n++) {
    await idle();
    await measured(`the daemon lists ${N_CHANGES} changes`, () => insides.daemon.request('fileops/unkept', { file_path: marked }));
    const { keep_id } = await insides.daemon.request('fileops/keep', { file_path: marked });
    await until(() => insides.before.at(editor.document.uri).length === 0, 'all changes are kept');
    await insides.daemon.request('fileops/undoKeep', { keep_id: keep_id! });
    await measured(`mark ${N_CHANGES} changes, with that`, async () => {
      insides.list.refresh(marked);
      await insides.list.settled;
      await idle();
    });
    await until(() => insides.before.at(editor.document.uri).length === N_CHANGES, 'all changes are marked again');
  }
  await closeAll();
}

export async function run(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.closeSidebar');
  await makeFolders();
  await queue();
  await marks();
  fs.writeFileSync(process.env.MEASURED_JSON!, JSON.stringify(figures));
}
