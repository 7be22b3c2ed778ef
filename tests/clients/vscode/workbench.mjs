// A real VS Code for a test: its server with the Node extension host, and the workbench in a headless Chromium.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { gatedCopy } from './gated.mjs';
import { EDITORS, EXTENSION } from './paths.mjs';
import { statusOf, stopDaemon } from './daemon.mjs';

const { chromium } = createRequire(EXTENSION + '/')('playwright-core');
// The shell has the same engine without the browser's own windows, at four fifths of the processor time.
const CHROMIUM = process.env.CHROMIUM
  ?? ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find(program => fs.existsSync(program));

const started = Date.now();
export const say = message => console.log(`[${((Date.now() - started) / 1000).toFixed(1)}s] ${message}`);

export async function freePort() {
  return new Promise(resolve => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

export const PATIENCE_MS = Number(process.env.FILEOPS_PATIENCE_MS ?? 300_000); // of a wait, which ends with its event: for machines that are busy with something else

const START_MS = 300_000; // of the editor itself, also where a test has little patience with the extension

export async function until(check, what, ms = PATIENCE_MS) {
  const end = Date.now() + ms;
  for (;;) {
    const began = Date.now();
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
    const gap = Math.min(1000, Math.max(25, 3 * (Date.now() - began))); // else a check that starts a process takes what the awaited needs
    await new Promise(resolve => setTimeout(resolve, gap));
  }
}

/** Removes a folder in which processes that are ending may still write: as often as it is not empty. */
function removeFolder(folder) {
  return until(() => {
    try {
      fs.rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== 'ENOTEMPTY') throw error;
    }
    return !fs.existsSync(folder);
  }, `nothing writes in ${folder} any more`, START_MS);
}

const SETTINGS = {
  'security.workspace.trust.enabled': false, 'telemetry.telemetryLevel': 'off', 'workbench.startupEditor': 'none',
  'chat.disableAIFeatures': true, 'chat.commandCenter.enabled': false, 'workbench.layoutControl.enabled': false,
  'window.commandCenter': false, 'editor.cursorBlinking': 'solid', 'editor.minimap.enabled': false, 'git.enabled': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden', 'editor.scrollBeyondLastLine': false, 'update.showReleaseNotes': false, 'workbench.tips.enabled': false, 'workbench.enableExperiments': false, 'workbench.reduceMotion': 'on',
  'remote.autoForwardPorts': false, // which looks through all processes of the machine, again and again
};

/** Of the hundred extensions that VS Code has, those that a story meets: the others take a fifth of a start. */
const BUILT_IN = ['git', 'git-base', 'ipynb', 'json', 'notebook-renderers', 'python', 'shellscript', 'theme-defaults', 'theme-seti'];

/** A folder with links to them. */
function builtIn(code, folder) {
  fs.mkdirSync(folder);
  for (const name of BUILT_IN) fs.symlinkSync(path.join(code, 'extensions', name), path.join(folder, name));
  return folder;
}

/** A sheet for a picture of the page. */
export const VISIBLE = 'html { opacity: 1 !important; }';

/** In the page. A progress bar that moves, as one does while a review waits, makes a frame of the window each 17 ms. */
function stopAnimations() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, ::before, ::after { animation: none !important; transition: none !important; }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** In the page. What is transparent is laid out, and not drawn: nobody looks. */
function hide() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('html { opacity: 0; }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** In the page. A message for the window is a blob, which another process of the browser keeps until the window asks for it. */
function readMessagesHere() {
  const { readAsArrayBuffer } = FileReader.prototype;
  FileReader.prototype.readAsArrayBuffer = function read(message) {
    if (message instanceof ArrayBuffer) queueMicrotask(() => this.onload({ target: { result: message } }));
    else readAsArrayBuffer.call(this, message);
  };
  globalThis.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      this.binaryType = 'arraybuffer';
    }
  };
}

/** Puts the extension of a package into a folder: at a tenth of the processor time of the editor's own command. */
function unpack(vsix, folder) {
  const done = spawnSync(process.env.FILEOPS_PYTHON, ['-m', 'zipfile', '-e', vsix, folder], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(done.stderr);
  return path.join(folder, 'extension');
}

/**
 * name: "floor" or "new"; with FILEOPS_GATED=1 proposed API is closed in it. Options: out (folder for logs), files (name → text, the workspace), preinstall (extension
 * folders), prepare (called with the workspace's folder before the editor starts), vsix (to be in its folder of extensions), install (a vsix, by the editor's own command), testDriver ({extension, tests}: run mocha in the extension host), env, settings, isWhole (with all extensions that VS Code has), isSeen (it draws).
 */
export async function openWorkbench(name, options) {
  const { out, files = {}, preinstall = [], vsix, install, testDriver, env = {}, settings = {}, isWhole = false, isSeen = false, prepare = () => undefined } = options;
  const node = path.join(EDITORS, `node-${name}`, 'bin/node');
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fileops-vscode-'));
  const editor = path.join(EDITORS, name, 'code-server/lib/vscode');
  const code = process.env.FILEOPS_GATED === '1' ? gatedCopy(editor, home) : editor;
  const data = path.join(home, 'data');
  const extensions = path.join(home, 'extensions');
  const workspace = path.join(home, 'shop');
  const run = path.join(home, 'run'); // mkdtemp made it ours alone
  fs.mkdirSync(run, { mode: 0o700 });
  const socket = path.join(run, 'arbiter.sock'); // never the user's own daemon
  for (const folder of ['Machine', 'data/Machine', 'data/User'].map(f => path.join(data, f))) {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'settings.json'), JSON.stringify({ ...SETTINGS, ...settings }));
  }
  fs.mkdirSync(extensions, { recursive: true });
  for (const [file, text] of Object.entries({ '.vscode/settings.json': '{}', ...files })) {
    fs.mkdirSync(path.dirname(path.join(workspace, file)), { recursive: true });
    fs.writeFileSync(path.join(workspace, file), text);
  }
  prepare(workspace);
  for (const folder of vsix ? [...preinstall, unpack(vsix, path.join(home, 'vsix'))] : preinstall) {
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    fs.cpSync(folder, path.join(extensions, `${manifest.publisher}.${manifest.name}-${manifest.version}`), { recursive: true });
  }

  const base = [path.join(code, 'out/server-main.js'), '--server-data-dir', data, '--extensions-dir', extensions, '--accept-server-license-terms',
    ...(isWhole ? [] : ['--builtin-extensions-dir', builtIn(code, path.join(home, 'built-in'))])];
  if (install) {
    const installed = spawnSync(node, [...base, '--install-extension', install], { encoding: 'utf8' });
    if (installed.status !== 0) throw new Error(`--install-extension: ${installed.stderr || installed.stdout}`);
  }
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const log = file => fs.openSync(path.join(out, file), 'w');
  const server = spawn(node, [...base, '--host', '127.0.0.1', '--port', String(port), '--without-connection-token',
    '--telemetry-level', 'off', '--disable-workspace-trust', ...(name === 'new' ? ['--disable-websocket-compression'] : []), ...(testDriver ? ['--enable-smoke-test-driver'] : [])],
  { stdio: ['ignore', log('server.log'), log('server.err')], env: { ...process.env, FILEOPS_SOCKET: socket, XDG_STATE_HOME: path.join(home, 'state'), ...env } });
  const stopped = new Promise(resolve => server.once('exit', resolve));

  let browser;
  const close = async () => {
    await browser?.close();
    server.kill('SIGTERM');
    await stopped;
    await until(() => stopDaemon(socket), 'the daemon has ended', START_MS);
    await removeFolder(home);
  };
  try {
    await until(() => fetch(`${origin}/version`).then(r => r.ok, () => false), 'the server answers', START_MS);
    const { version } = JSON.parse(fs.readFileSync(path.join(code, 'package.json'), 'utf8'));
    say(`VS Code ${version} on node ${spawnSync(node, ['-v'], { encoding: 'utf8' }).stdout.trim()}`);
    browser = await chromium.launch({
      executablePath: CHROMIUM, headless: true,
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
    const page = await browser.newPage({ viewport: testDriver ? { width: 1200, height: 700 } : { width: 1600, height: 900 } });
    for (const script of [stopAnimations, readMessagesHere, ...(isSeen ? [] : [hide])]) await page.addInitScript(script);
    // Playwright listens to each message between the window and its extensions, a tenth of the processor time of the suites.
    await page._connection.toImpl(page).delegate._mainFrameSession._client.send('Network.disable');
    const consoleLog = fs.createWriteStream(path.join(out, 'console.log'));
    page.on('console', message => consoleLog.write(`${message.type()} ${message.text()}\n`));
    const payload = [['skipWelcome', 'true'], ['skipReleaseNotes', 'true']];
    let finished;
    if (testDriver) {
      const address = file => `vscode-remote://127.0.0.1:${port}${file}`;
      payload.push(['extensionDevelopmentPath', address(testDriver.extension)], ['extensionTestsPath', address(testDriver.tests)]);
      finished = new Promise(resolve => void page.exposeFunction('codeAutomationExit', async exitCode => resolve(exitCode)));
      await page.exposeFunction('codeAutomationLog', (type, args) => {
        fs.appendFileSync(path.join(out, 'tests.log'), args.map(a => (typeof a === 'string' ? a : JSON.stringify(a))).join(' ') + '\n');
      });
    }
    /** Opens a folder, or a file `.code-workspace`, in the window. */
    const open = async place => {
      const kind = place.endsWith('.code-workspace') ? 'workspace' : 'folder';
      await page.goto(`${origin}/?${kind}=${place}&payload=${encodeURIComponent(JSON.stringify(payload))}`, { timeout: START_MS });
      await page.waitForSelector('.monaco-workbench', { timeout: START_MS });
    };
    await open(workspace);
    return { page, workspace, socket, finished, open, close, version, evidence: () => `${endsOfLogs(home)}\n${JSON.stringify(statusOf(socket))}` };
  } catch (error) {
    await close();
    throw error;
  }
}

const LOG_LINES = 60; // of each log, which a failure shows

/** What the daemon wrote last. The extension's log has no file here. */
function endsOfLogs(home) {
  const logs = fs.readdirSync(home, { recursive: true }).filter(name => /fileops-server\/[^/]*\.log$/.test(name));
  return logs.map(name => `${name}:\n${fs.readFileSync(path.join(home, name), 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n')}`).join('\n');
}

/** Runs the story of a script, and ends its process: with 0, or with 1, the fault and a picture of the window in `out`. */
export async function play(workbench, out, story, atEnd = () => undefined) {
  let exitCode = 1;
  try {
    await story();
    exitCode = 0;
  } catch (error) {
    console.log(`FAILED ${inspect(error).slice(0, 2000)}\n${workbench.evidence()}`);
    await workbench.page.screenshot({ path: path.join(out, 'failed.png'), style: VISIBLE }).catch(() => undefined);
  } finally {
    atEnd();
    await workbench.close();
  }
  process.exit(exitCode);
}
