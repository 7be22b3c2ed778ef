// node vscode_keys.mjs floor|new OUT VSIX [N_CHANGES]: what a key costs beside 1,000 changes that are not kept, as with
// the extension off. Three windows show the same text: one with the extension and a daemon that has the changes, one
// without it, and one with an extension instead that only names a text before, so that VS Code draws the same bars, as it
// does for git. They are typed into in turn. Environment as in tests/clients/vscode/mocha.mjs, after a build with --test.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { statusOf } from '../clients/vscode/daemon.mjs';
import { EXTENSION } from '../clients/vscode/paths.mjs';
import { openWorkbench } from '../clients/vscode/workbench.mjs';

const N_LINES = 20_000;
const N_TURNS = 8;
const BETWEEN_KEYS_MS = 60;
const LETTERS = 'the quick brown fox jumps over the lazy dog and back again';
const PAGE = ['page', 'script', 'layout', 'style'];
const BARS = `const vscode = require('vscode');
const scheme = 'bars-before';
exports.activate = () => {
  const provideTextDocumentContent = uri => require('fs').readFileSync(uri.fsPath, 'utf8').replaceAll('LINE', 'line');
  vscode.workspace.registerTextDocumentContentProvider(scheme, { provideTextDocumentContent });
  const source = vscode.scm.createSourceControl('bars', 'Bars', vscode.Uri.file('/'));
  source.quickDiffProvider = { provideOriginalResource: uri => (uri.scheme === 'file' && uri.path.endsWith('text.txt') ? uri.with({ scheme }) : undefined) };
};
`;
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

/** By Linux, in milliseconds: how long the processes of a window ran and its page's main thread waited for a core, and the daemon ran. */
function scheduled(processes) {
  const sums = { window: 0, waited: 0, daemon: 0 };
  for (const [pid, type] of processes) {
    for (const thread of fs.readdirSync(`/proc/${pid}/task`)) {
      const [ran, waited] = timesOf(`/proc/${pid}/task/${thread}/schedstat`);
      sums[type === 'daemon' ? 'daemon' : 'window'] += ran;
      if (type === 'renderer' && thread === String(pid)) sums.waited += waited;
    }
  }
  return sums;
}

function timesOf(schedstat) {
  try {
    return fs.readFileSync(schedstat, 'utf8').split(' ').map(nanoseconds => Number(nanoseconds) / 1e6);
  } catch (error) {
    if (!['ENOENT', 'ESRCH'].includes(error.code)) throw error;
    return [0, 0]; // the thread has just ended
  }
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
  let workbench, session, browser, daemon, before, typed;
  const metrics = async () => {
    const { metrics: all } = await session.send('Performance.getMetrics');
    const { processInfo } = await browser.send('SystemInfo.getProcessInfo');
    if (label === 'on') daemon ??= [statusOf(workbench.socket).pid, 'daemon'];
    return {
      ...Object.fromEntries(PAGE.map(part => [part, 1000 * all.find(({ name: metric }) => metric === METRICS[part]).value])),
      ...scheduled([...processInfo.map(({ id, type }) => [id, type]), ...(daemon ? [daemon] : [])]),
    };
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
      typed = Object.fromEntries(Object.keys(now).map(part => [part, (now[part] - before[part]) / LETTERS.length]));
      typed.wall = median(await workbench.page.evaluate(() => window.fileopsKeys));
      before = now;
      return {};
    },
    done: async ({ typing, pause }) => {
      const now = await metrics();
      figures.push({ ...typed, host: Number(typing), pauseHost: Number(pause), pausePage: now.page - before.page, pauseDaemon: now.daemon - before.daemon });
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
    isSeen: true,
    out: folder, env: { FILEOPS_PAGE: `http://127.0.0.1:${server.address().port}` },
    files: { 'text.txt': Array.from({ length: N_LINES }, (_, n) => `line ${n + 1}\n`).join('') },
    testDriver: { extension, tests: path.join(EXTENSION, 'dist-test/typing') },
    settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, 'files.autoSave': 'off', 'editor.wordBasedSuggestions': 'off', 'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' } },
  });
  session = await workbench.page.context().newCDPSession(workbench.page);
  browser = await workbench.page.context().browser().newBrowserCDPSession();
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  await workbench.page.evaluate(timeKeys);
  return { figures, workbench, server };
}

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = value => `${value.toFixed(2)} ms`;

fs.rmSync(out, { recursive: true, force: true });
const [unpacked, bars, nothing] = ['vsix', 'with-bars', 'nothing'].map(folder => path.join(out, folder));
for (const folder of [unpacked, bars, nothing]) fs.mkdirSync(folder, { recursive: true });
const done = spawnSync(process.env.FILEOPS_PYTHON, ['-m', 'zipfile', '-e', path.resolve(vsix), unpacked], { encoding: 'utf8' });
if (done.status !== 0) throw new Error(done.stderr);
const manifest = { name: 'nothing', publisher: 'none', version: '1.0.0', engines: { vscode: '*' } };
fs.writeFileSync(path.join(nothing, 'package.json'), JSON.stringify(manifest));
fs.writeFileSync(path.join(bars, 'package.json'), JSON.stringify({ ...manifest, name: 'bars', engines: { vscode: '^1.90.0' }, main: './main.js', activationEvents: ['*'] }));
fs.writeFileSync(path.join(bars, 'main.js'), BARS);

const turns = new Turns();
const windows = [await opened('on', path.join(unpacked, 'extension'), turns), await opened('bars', bars, turns), await opened('off', nothing, turns)];
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
const [on, ofBars, off] = windows.map(({ figures }) => figures.slice(1)); // the first turn loads what typing needs
const WHAT = {
  wall: 'a key, until its frame is done', page: 'processor of the page for it', script: '  of that scripts', layout: '  layout', style: '  styles',
  host: 'processor of the extension host for it', daemon: 'processor of the daemon for it', window: 'processor of the browser for it, with all its processes',
  waited: 'how long the page waited for a core meanwhile', pausePage: 'the pause after the typing: page', pauseHost: '  extension host', pauseDaemon: '  daemon',
};
for (const [kind, label] of Object.entries(WHAT)) {
  const [marked, barred, plain] = [on, ofBars, off].map(figures => figures.map(figure => figure[kind]));
  const range = `${ms(Math.min(...plain))} to ${ms(Math.max(...plain))}`;
  const times = others => (median(others) > 0 ? `${(median(marked) / median(others)).toFixed(2)} times` : 'its own');
  console.log(`${label}: ${ms(median(marked))} with ${nChanges} changes, ${ms(median(barred))} with VS Code's bars alone: ${times(barred)}; ${ms(median(plain))} without the extension (${range}): ${times(plain)}`);
}
process.exit(0);
