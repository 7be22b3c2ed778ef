/**
 * Where the daemon's program is found. The order, first hit wins:
 *   1. setting `fileops.path`                          a fileops-server program
 *   2. setting `fileops.interpreter`                   a Python
 *   3. the interpreter chosen in the Python extension  (ms-python.python), if it has a fileops-server
 *   4. fileops-server on the PATH, in ~/.local/bin     where pipx puts it: the one that agents' hosts start, too
 *   5. the interpreter of 3, python3, python on the PATH
 * Of 3 to 5, nothing inside a workspace folder is searched for or run: opening a folder runs none of its programs, even
 * if the Python extension has chosen a virtual environment there. A person can name one with 1 and 2.
 * A fileops-server older than this extension is skipped, and the log says so. For a Python of 3.11 or newer without
 * one, the bundled wheel is installed in a virtual environment of its own (install.ts).
 */
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';

const run = promisify(execFile);

/** What a person can do if no server was found. Every page says the same, because no package index has fileops-server. */
export const INSTALL_COMMAND = "pipx install '/path/to/fileops-server[review]'";
export const INSTALL_BY_HAND = `Install it from a copy of its sources: ${INSTALL_COMMAND}. Then choose Restart.`;

export const MIN_PYTHON: readonly [number, number] = [3, 11];
const PROBE_TIMEOUT_MS = 15_000; // a cold interpreter on a busy machine; longer means it hangs

/** How to start the daemon. origin: one phrase for people that says where it was found. */
export interface Launch {
  command: string;
  args: string[];
  origin: string;
  /** Of this installation, if known. A shared daemon may belong to another one. */
  version?: string;
}

export interface Interpreter {
  command: string;
  origin: string;
  python: readonly number[];
  /** Version of the fileops-server installed in it. */
  server: string | null;
}

/** No daemon can be started. The message is for the user; `setting` is where they can fix it. */
export class ServerMissing extends Error {
  constructor(message: string, readonly setting: string = 'fileops.interpreter') {
    super(message);
  }
}

/** -P: a folder `fileops` in the workspace must not run in place of the daemon. */
export function launchOf(interpreter: Interpreter): Launch {
  return {
    command: interpreter.command,
    args: ['-P', '-m', 'fileops'],
    ...(interpreter.server === null ? {} : { version: interpreter.server }),
    origin: `${interpreter.origin} (Python ${interpreter.python.join('.')}, fileops-server ${interpreter.server ?? '?'})`,
  };
}

export function expand(value: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  return value
    .replace(/^~(?=$|[/\\])/, os.homedir())
    .replaceAll('${workspaceFolder}', folder)
    .replaceAll('${userHome}', os.homedir());
}

const PROBE = [
  'import json, sys',
  'server = None',
  'if sys.version_info >= (3, 8):',
  '    from importlib import metadata',
  '    try: server = metadata.version("fileops-server")',
  '    except metadata.PackageNotFoundError: pass',
  'print(json.dumps({"python": list(sys.version_info[:3]), "server": server, "executable": sys.executable}))',
].join('\n');

/** What an interpreter is and has; undefined if it cannot be run. cwd: a folder without Python files. */
export async function probe(command: string, origin: string, cwd: string): Promise<Interpreter | undefined> {
  try {
    const { stdout } = await run(command, ['-c', PROBE], { cwd, env: environment(), timeout: PROBE_TIMEOUT_MS, windowsHide: true });
    const found = JSON.parse(stdout) as { python: number[]; server: string | null; executable?: string };
    // Absolute, so that another program can start it with any PATH.
    const absolute = path.isAbsolute(command) ? command : found.executable || command;
    return { command: absolute, origin, python: found.python, server: found.server };
  } catch {
    return undefined;
  }
}

export function isOldPython(interpreter: Interpreter): boolean {
  return olderThan(interpreter.python, MIN_PYTHON);
}

export function hasServer(interpreter: Interpreter, minVersion: string): boolean {
  return interpreter.server !== null && !olderThan(numbers(interpreter.server), numbers(minVersion));
}

const numbers = (version: string): number[] => version.split(/[.+a-z-]/).slice(0, 3).map(n => Number(n) || 0);

function olderThan(a: readonly number[], b: readonly number[]): boolean {
  for (let i = 0; i < b.length; i++) {
    if ((a[i] ?? 0) !== (b[i] ?? 0)) return (a[i] ?? 0) < (b[i] ?? 0);
  }
  return false;
}

/** The program named by `fileops.path`, checked. */
function programOf(setting: string): Launch {
  const command = expand(setting);
  if (!isExecutable(command)) {
    throw new ServerMissing(`fileops.path names ${command}, which cannot be run.`, 'fileops.path');
  }
  return { command, args: [], origin: 'fileops.path' };
}

/**
 * The interpreter or program to use. minVersion: for a fileops-server that the user did not choose. cwd: as for
 * `probe`. Raises: ServerMissing, even if the Python that the person chose is too old.
 */
export async function find(cwd: string, minVersion: string, log: vscode.LogOutputChannel): Promise<Launch | Interpreter> {
  if (process.platform === 'win32') {
    throw new ServerMissing('fileops-server does not run on Windows. Open the folder in WSL, over SSH or in a container.', 'fileops.path');
  }
  const config = vscode.workspace.getConfiguration('fileops');
  const program = config.get('path', '').trim();
  if (program) return programOf(program);

  const chosen = config.get('interpreter', '').trim();
  if (chosen) {
    const command = expand(chosen);
    const found = await probe(command, 'fileops.interpreter', cwd);
    if (!found) throw new ServerMissing(`fileops.interpreter names ${command}, which is no Python that can be run.`);
    if (isOldPython(found)) throw tooOld(found);
    return found;
  }

  const seen = (found: Interpreter | undefined, origin: string): void =>
    log.info(`${origin}: ${found ? `Python ${found.python.join('.')}, fileops-server ${found.server ?? 'not installed'}` : 'not found'}`);
  const selected = outside(await selectedInterpreter(log));
  const origin = 'the Python extension';
  const chosenThere = selected ? await probe(selected, origin, cwd) : undefined;
  if (selected) seen(chosenThere, origin);
  if (chosenThere && !isOldPython(chosenThere) && hasServer(chosenThere, minVersion)) return chosenThere;

  const installed = await installedProgram(minVersion, cwd, log);
  if (installed) return installed;

  if (chosenThere && !isOldPython(chosenThere)) return chosenThere;
  let old = chosenThere;
  for (const name of ['python3', 'python']) {
    const command = searched().map(folder => path.join(folder, name)).find(file => isExecutable(file) && outside(file));
    const found = command ? await probe(command, `${name} on the PATH`, cwd) : undefined;
    seen(found, `${name} on the PATH`);
    if (found && !isOldPython(found)) return found;
    old ??= found;
  }
  throw old ? tooOld(old) : new ServerMissing(`No Python was found. Fileops needs Python ${MIN_PYTHON.join('.')} or newer.`);
}

/** The first `fileops-server` in the folders for programs that is not too old. */
async function installedProgram(minVersion: string, cwd: string, log: vscode.LogOutputChannel): Promise<Launch | undefined> {
  const folders = searched().map(folder => [folder, 'fileops-server on the PATH']);
  folders.push([path.join(os.homedir(), '.local', 'bin'), 'fileops-server in ~/.local/bin']);
  const tried = new Set<string>();
  for (const [folder, origin] of folders as [string, string][]) {
    const command = path.join(folder, 'fileops-server');
    if (tried.has(command) || !isExecutable(command) || !outside(command)) continue;
    tried.add(command);
    const version = await versionOf(command, cwd);
    const isFit = version !== undefined && !olderThan(numbers(version), numbers(minVersion));
    if (isFit) return { command, args: [], origin: `${origin} (${version})`, version };
    log.warn(`${command} is not used: ${version === undefined ? 'it cannot be run' : `it is version ${version}, and this extension needs ${minVersion} or newer`}.`);
  }
  return undefined;
}

/** The entries of a search path that are absolute and outside the workspace folders. */
export function searched(searchPath = process.env.PATH ?? ''): string[] {
  return searchPath.split(path.delimiter).filter(folder => path.isAbsolute(folder) && outside(folder));
}

/** The path, unless it or its target is inside a workspace folder. A folder that contains the home folder does not count. */
function outside(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => real(uri.fsPath));
  const places = [path.dirname(file), file].map(real);
  const isInside = folders.some(folder => !contains(folder, real(os.homedir())) && places.some(place => contains(folder, place)));
  return isInside ? undefined : file;
}

const contains = (folder: string, place: string): boolean => place === folder || place.startsWith(folder.replace(/\/?$/, '/'));

function real(file: string): string {
  try {
    return fs.realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}

/** The environment in which it runs: there, too, Python finds its modules outside the workspace. */
export function environment(): NodeJS.ProcessEnv {
  const { PYTHONPATH, ...rest } = process.env;
  return PYTHONPATH === undefined ? rest : { ...rest, PYTHONPATH: searched(PYTHONPATH).join(path.delimiter) };
}

/** Undefined if it cannot be run. */
async function versionOf(command: string, cwd: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, ['--version'], { cwd, env: environment(), timeout: PROBE_TIMEOUT_MS, windowsHide: true });
    return /^fileops-server (\d\S*)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function tooOld(found: Interpreter): ServerMissing {
  return new ServerMissing(
    `${path.basename(found.command)} (${found.origin}) is Python ${found.python.join('.')}; Fileops needs ${MIN_PYTHON.join('.')} or newer.`);
}

// --- the Python extension, where there is one -----------------------------------------------------------------

interface PythonApi {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(env: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(log: vscode.LogOutputChannel): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (!extension) return undefined;
  try {
    return await extension.activate();
  } catch (error) {
    log.warn(`The Python extension did not start: ${String(error)}`);
    return undefined;
  }
}

async function selectedInterpreter(log: vscode.LogOutputChannel): Promise<string | undefined> {
  const api = await pythonApi(log);
  if (!api) return undefined;
  const environment = await api.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath());
  return environment?.executable.uri?.fsPath;
}

/** Calls back when another interpreter is chosen in the Python extension. */
export async function onDidSelectInterpreter(log: vscode.LogOutputChannel, callback: () => void): Promise<vscode.Disposable | undefined> {
  return (await pythonApi(log))?.environments.onDidChangeActiveEnvironmentPath(callback);
}
