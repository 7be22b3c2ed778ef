// node vscode_keys.mjs floor|new OUT VSIX [N_CHANGES]: what a key costs beside 1,000 changes that are not kept, as with
// the extension off. Two windows show the same text, one with the extension and a daemon that has the changes, one
// without it. They are typed into in turn. Environment as in tests/clients/vscode/mocha.mjs, after a build with --test.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { EXTENSION } from '../clients/vscode/paths.mjs';
import { openWorkbench } from '../clients/vscode/workbench.mjs';

const N_LINES = 20_000;
const N_TURNS = 8;
const BETWEEN_KEYS_MS = 60;
const LETTERS = 'the quick brown fox jumps over the lazy dog and back again';
const PAGE = ['page', 'script', 'layout', 'style'];
const METRICS = { page: 'TaskDuration', script: 'ScriptDuration', layout: 'LayoutDuration', style: 'RecalcStyleDuration' };

const [name, outGiven, vsix, nGiven = '1000'] = process.argv.slice(2);
const out = path.resolve(outGiven);
const nChanges = Number(nGiven);
const places = Array.from({ length: nChanges }, (_, n) => Math.floor(n * N_LINES / nChanges) + 7);
const edits = { olds: places.map(line => `\nline ${line}\n`), news: places.map(line => `\nLINE ${line}\n`) };
const LINE = places[Math.floor(nChanges / 2)] + 3; // between two changes

/** In the page: how long after each key the frame with its letter is done, in milliseconds. */
function timeKeys() {
  window.fileopsKeys = [];
  document.addEventListener('keydown', () => {
    const pressed = performance.now();
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => window.fileopsKeys.push(performance.now() - pressed);
      port2.postMessage(undefined);
    });
  }, true);
}

/** One hands the turn to the other when its window has done with it. */
class Turns {
  #waiting = [];
  #isTaken = false;

  async take() {
    if (this.#isTaken) await new Promise(resolve => this.#waiting.push(resolve));
    this.#isTaken = true;
  }

  end() {
    const next = this.#waiting.shift();
    this.#isTaken = false;
    next?.();
  }
}

/** Opens a window and serves what its typing.ts asks for. Its figures: of each turn, name → milliseconds. */
async function opened(label, extension, turns) {
  const folder = path.join(out, label);
  fs.mkdirSync(folder, { recursive: true });
  const figures = [];
  let workbench, session, before, typed;
  const metrics = async () => {
    const { metrics: all } = await session.send('Performance.getMetrics');
    return Object.fromEntries(PAGE.map(part => [part, 1000 * all.find(({ name: metric }) => metric === METRICS[part]).value]));
  };
  const answers = {
    edits: () => edits,
    turn: async () => {
      if (figures.length === N_TURNS + 1) return { line: -1, keys: '' };
      await turns.take();
      return { line: LINE, keys: LETTERS };
    },
    typed: async ({ keys, counted }) => {
      if (counted) {
        before = await metrics();
        await workbench.page.evaluate(() => void (window.fileopsKeys = []));
      }
      await workbench.page.keyboard.type(keys, { delay: BETWEEN_KEYS_MS });
      return {};
    },
    paused: async () => {
      const now = await metrics();
      typed = Object.fromEntries(PAGE.map(part => [part, (now[part] - before[part]) / LETTERS.length]));
      typed.wall = median(await workbench.page.evaluate(() => window.fileopsKeys));
      before = now;
      return {};
    },
    done: async ({ typing, pause }) => {
      const now = await metrics();
      figures.push({ ...typed, host: Number(typing), pauseHost: Number(pause), pausePage: now.page - before.page });
      turns.end();
      return {};
    },
  };
  const server = http.createServer(async ({ url }, answer) => {
    const { what, ...more } = Object.fromEntries(new URL(url, 'http://page').searchParams);
    answer.end(JSON.stringify(await answers[what](more)));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  workbench = await openWorkbench(name, {
    out: folder, env: { FILEOPS_PAGE: `http://127.0.0.1:${server.address().port}` },
    files: { 'text.txt': Array.from({ length: N_LINES }, (_, n) => `line ${n + 1}\n`).join('') },
    testDriver: { extension, tests: path.join(EXTENSION, 'dist-test/typing') },
    settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off', 'editor.wordBasedSuggestions': 'off', 'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' } },
  });
  session = await workbench.page.context().newCDPSession(workbench.page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await workbench.page.evaluate(timeKeys);
  return { figures, workbench, server };
}

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = value => `${value.toFixed(2)} ms`;

fs.rmSync(out, { recursive: true, force: true });
const [unpacked, nothing] = ['vsix', 'nothing'].map(folder => path.join(out, folder));
for (const folder of [unpacked, nothing]) fs.mkdirSync(folder, { recursive: true });
const done = spawnSync(process.env.FILEOPS_PYTHON, ['-m', 'zipfile', '-e', path.resolve(vsix), unpacked], { encoding: 'utf8' });
if (done.status !== 0) throw new Error(done.stderr);
fs.writeFileSync(path.join(nothing, 'package.json'), JSON.stringify({ name: 'nothing', publisher: 'none', version: '1.0.0', engines: { vscode: '*' } }));

const turns = new Turns();
const windows = [await opened('on', path.join(unpacked, 'extension'), turns), await opened('off', nothing, turns)];
try {
  for (const { workbench } of windows) {
    const exitCode = await workbench.finished;
    if (exitCode !== 0) throw new Error(`a window ended with ${exitCode}: see ${out}`);
  }
} finally {
  for (const { workbench, server } of windows) {
    await workbench.close();
    server.close();
  }
}
const [on, off] = windows.map(({ figures }) => figures.slice(1)); // the first turn loads what typing needs
const WHAT = {
  wall: 'a key, until its frame is done', page: 'processor of the page for it', script: '  of that scripts', layout: '  layout', style: '  styles',
  host: 'processor of the extension host for it', pausePage: 'the pause after the typing: page', pauseHost: '  extension host',
};
for (const [kind, label] of Object.entries(WHAT)) {
  const [marked, plain] = [on, off].map(figures => figures.map(figure => figure[kind]));
  const range = `${ms(Math.min(...plain))} to ${ms(Math.max(...plain))}`;
  console.log(`${label}: ${ms(median(marked))} with ${nChanges} changes, ${ms(median(plain))} without the extension (${range}): ${(median(marked) / median(plain)).toFixed(2)} times`);
}
process.exit(0);
