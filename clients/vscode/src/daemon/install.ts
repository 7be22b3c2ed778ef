/**
 * The daemon in a virtual environment of its own, for a Python without fileops-server: created once per version from
 * the wheels in this extension, under the extension's global storage. A compiled wheel that this build lacks for the
 * machine comes from the index that pip is configured for.
 */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { environment, find, hasServer, INSTALL_BY_HAND, type Interpreter, type Launch, launchOf, probe, ServerMissing } from './locate';

/** The daemon's program: an existing one, else this extension's. Raises: ServerMissing. */
export async function findLaunch(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): Promise<Launch> {
  const bundled = await bundledVersion(context.extensionPath);
  const { version } = context.extension.packageJSON as { version: string };
  const found = await find(context.extensionPath, version, log);
  if (!('python' in found)) return found;
  if (hasServer(found, version)) return launchOf(found);
  if (bundled === undefined) {
    throw new ServerMissing(`No fileops-server ${version} or newer was found, and this build of the extension has none. ${INSTALL_BY_HAND}`, 'fileops.path');
  }
  return privateServer(context, found, bundled, log);
}

/** Version of the wheel in this extension; undefined in a tree where none was built. */
async function bundledVersion(extensionPath: string): Promise<string | undefined> {
  const names = await fs.readdir(wheels(extensionPath)).catch(() => []);
  return names.map(name => /^fileops_server-([^-]+)-/.exec(name)?.[1]).find(version => version !== undefined);
}

const wheels = (extensionPath: string): string => path.join(extensionPath, 'bundled', 'wheels');

const pythonIn = (folder: string): string => path.join(folder, 'bin', 'python');

/** Raises: ServerMissing, with what pip or venv said in the log. */
async function privateServer(
  context: vscode.ExtensionContext, base: Interpreter, version: string, log: vscode.LogOutputChannel,
): Promise<Launch> {
  const [major, minor] = base.python;
  const folder = path.join(context.globalStorageUri.fsPath, 'server', `${version}-python${major}.${minor}`);
  const origin = `the bundled server on ${base.origin}`;
  const ready = await probe(pythonIn(folder), origin, context.extensionPath);
  if (ready?.server === version) return launchOf(ready);

  log.info(`Setting up fileops-server ${version} in ${folder}`);
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: 'Fileops: setting up the daemon (once)', cancellable: true },
    (progress, token) => install(context.extensionPath, base, version, folder, log, progress, token));
  const made = await probe(pythonIn(folder), origin, context.extensionPath);
  if (made?.server !== version) throw new ServerMissing('The daemon was set up but cannot be run; see the log.');
  return launchOf(made);
}

async function install(
  extensionPath: string, base: Interpreter, version: string, folder: string, log: vscode.LogOutputChannel,
  progress: vscode.Progress<{ message?: string }>, token: vscode.CancellationToken,
): Promise<void> {
  await fs.mkdir(path.dirname(folder), { recursive: true });
  const draft = await fs.mkdtemp(`${folder}.`); // two windows may install at once; the first to finish wins
  try {
    progress.report({ message: 'making a virtual environment' });
    await tool(base.command, ['-m', 'venv', draft], extensionPath, log, token,
      `${path.basename(base.command)} could not make a virtual environment: see the log. On Debian and Ubuntu, install python3-venv.`);
    const pip = ['-m', 'pip', 'install', '--progress-bar', 'off', '--disable-pip-version-check', '--only-binary', ':all:',
      '--find-links', wheels(extensionPath), `fileops-server[regex]==${version}`];
    progress.report({ message: 'installing' });
    const report = (text: string): void => {
      for (const [, step, what] of text.matchAll(/^(Collecting|Downloading|Processing|Installing) (\S+)/gm)) {
        progress.report({ message: step === 'Installing' ? 'installing the packages' : `${step!.toLowerCase()} ${path.basename(what!)}` });
      }
    };
    try {
      await tool(pythonIn(draft), [...pip, '--no-index'], extensionPath, log, token, '', undefined, report);
    } catch (error) {
      if (token.isCancellationRequested) throw error;
      log.info('This build does not hold every compiled package for this machine; asking the package index.');
      progress.report({ message: 'downloading what this build does not hold' });
      await tool(pythonIn(draft), pip, extensionPath, log, token,
        `fileops-server ${version} could not be set up: see the log. ${INSTALL_BY_HAND}`, 'fileops.path', report);
    }
    const program = path.join(draft, 'bin', 'fileops-server'); // agents' hooks start it; pip wrote the draft's Python into it
    await fs.writeFile(program, (await fs.readFile(program, 'utf8')).replaceAll(draft, folder));
    await fs.rm(folder, { recursive: true, force: true }); // an unfinished or broken one
    await fs.rename(draft, folder);
  } catch (error) {
    await fs.rm(draft, { recursive: true, force: true });
    throw error;
  }
}

function tool(
  command: string, args: string[], cwd: string, log: vscode.LogOutputChannel, token: vscode.CancellationToken, failure: string,
  setting?: string, report?: (text: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: environment(), stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
    const cancel = token.onCancellationRequested(() => child.kill());
    const say = (data: Buffer): void => {
      const text = data.toString().trimEnd();
      log.info(text);
      report?.(text);
    };
    child.stdout.on('data', say);
    child.stderr.on('data', say);
    child.on('error', error => { cancel.dispose(); reject(new ServerMissing(`${failure} (${error.message})`, setting)); });
    child.on('close', code => {
      cancel.dispose();
      if (token.isCancellationRequested) reject(new ServerMissing('Setting up the daemon was cancelled.'));
      else if (code === 0) resolve();
      else reject(new ServerMissing(failure, setting));
    });
  });
}
