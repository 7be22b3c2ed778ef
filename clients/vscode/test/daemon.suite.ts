import * as assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import { closeAll, file, once, set, until, world } from './world';

export function daemonSuite(): void {
  describe(`the daemon under VS Code ${vscode.version}, node ${process.version}`, () => {
    let api: FileopsApi;
    let insides: Insides;
    before(async () => { ({ api, insides } = await world()); });
    after(closeAll);

    const pid = (): number => insides.daemon.server!.pid!;
    const running = (): Promise<unknown> => until(() => api.state === 'running', 'the daemon runs');
    const isAlive = (id: number): boolean => {
      try {
        process.kill(id, 0);
        return true;
      } catch {
        return false;
      }
    };

    it('offers the three tools', async () => {
      assert.deepEqual((await api.tools()).map(tool => tool.method).sort(), ['fileops/edit', 'fileops/multiEdit', 'fileops/read']);
    });

    it('a wrong request rejects with its code, a tool failure is a result', async () => {
      await assert.rejects(Promise.resolve(api.read({ file_path: 3 } as never)), { code: -32602 });
      const missing = await api.read({ file_path: '/no/such/file' });
      assert.equal(missing.error?.code, 'not_found');
      assert.equal(missing.output, '<tool_use_error>File does not exist.</tool_use_error>');
    });

    it('sessions know nothing of each other', async () => {
      const path = file('a = 1\n');
      await api.session('one').read({ file_path: path });
      assert.equal((await api.session('one').tracked()).length, 1);
      const result = await api.session('two').edit({ file_path: path, old_string: '1', new_string: '2' });
      assert.equal(result.error?.code, 'not_read');
      await api.session('one').close();
    });

    it('an edit outside the workspace is refused', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'outside-'));
      const outside = path.join(folder, 'f.txt');
      fs.writeFileSync(outside, 'a\n');
      await api.read({ file_path: outside });
      const result = await api.edit({ file_path: outside, old_string: 'a', new_string: 'b' });
      assert.equal(result.error?.code, 'outside_roots');
      fs.rmSync(folder, { recursive: true });
    });

    it('restart gives a new one; the old one is gone', async () => {
      const old = pid();
      await vscode.commands.executeCommand('fileops.restart');
      await running();
      assert.notEqual(pid(), old);
      await until(() => !isAlive(old), 'the old one has ended');
    });

    it('a changed setting restarts it', async () => {
      const old = pid();
      const stopped = once(api.onDidChangeState);
      await set('confine', 'all');
      await stopped;
      await running();
      assert.notEqual(pid(), old);
      const again = once(api.onDidChangeState);
      await set('confine', undefined);
      await again;
      await running();
    });

    it('one that is killed ends its review, answers the agent, and lets the next call wait for the new one', async () => {
      const path = file('a = 1\n');
      const session = api.session('survivor');
      await session.read({ file_path: path });
      const edited = session.edit({ file_path: path, old_string: '1', new_string: '2' });
      await until(() => insides.reviews.waiting.length === 1, 'the review waits');
      let nCrashes = 0;
      const listening = insides.daemon.onDidCrash(() => nCrashes++);
      process.kill(pid(), 'SIGKILL');
      const result = await edited;
      assert.equal(result.error?.code, 'connection_lost');
      assert.match(result.output, /^<tool_use_error>.*ended before it answered.*Read the files again.*<\/tool_use_error>$/);
      const again = await session.read({ file_path: path }); // at once: it waits for the new one
      assert.equal(again.status, 'success', again.output);
      // A shared daemon may learn of the end of the old connection after the new one has asked what waits.
      await until(() => insides.reviews.waiting.length === 0, 'its review has ended');
      assert.equal(fs.readFileSync(path, 'utf8'), 'a = 1\n');
      assert.equal(nCrashes, 1);
      listening.dispose();
      await vscode.commands.executeCommand('fileops.restart'); // crashes are counted from here
      await vscode.commands.executeCommand('notifications.clearAll');
    });

    it('an unknown tool rejects with the reason', async () => {
      const asked = assert.rejects(Promise.resolve(api.history()), /daemon ended before it answered fileops\/history/);
      process.kill(pid(), 'SIGSTOP'); // the request is on its way; nothing answers it
      process.kill(pid(), 'SIGKILL');
      await asked;
      await running();
      await vscode.commands.executeCommand('fileops.restart');
      await vscode.commands.executeCommand('notifications.clearAll');
    });

    it('one that is killed is restarted three times at most', async () => {
      for (let n = 1; n <= 3; n++) {
        const old = pid();
        process.kill(old, 'SIGKILL');
        await until(() => pid() !== undefined && pid() !== old && api.state === 'running', `restart ${n}`);
        assert.equal((await api.tools()).length, 3);
      }
      process.kill(pid(), 'SIGKILL');
      await until(() => api.state === 'failed', 'it is given up');
      assert.match(insides.daemon.problem, /not started again/);
      assert.match(insides.status.text, /error/);
      await assert.rejects(Promise.resolve(api.tools()), /not running/);
      await vscode.commands.executeCommand('fileops.restart');
      await running();
      await vscode.commands.executeCommand('notifications.clearAll');
    });

    async function under(settings: Record<string, unknown>, check: () => Promise<void>): Promise<void> {
      for (const [name, value] of Object.entries(settings)) await set(name, value);
      try {
        await vscode.commands.executeCommand('fileops.restart');
        await check();
      } finally {
        for (const name of Object.keys(settings)) await set(name, undefined);
        await vscode.commands.executeCommand('fileops.restart');
        await running();
        await vscode.commands.executeCommand('notifications.clearAll');
      }
    }

    it('a missing program is named', () => under({ path: '/no/such/server' }, async () => {
      await until(() => api.state === 'failed', 'it fails');
      assert.match(insides.daemon.problem, /fileops\.path names \/no\/such\/server/);
    }));

    it('a program other than a daemon is recognized', () => under({ path: '/bin/false' }, async () => {
      await until(() => api.state === 'failed', 'it fails');
      assert.match(insides.daemon.problem, /did not start/);
    }));

    it('an invalid interpreter is named', () => under({ interpreter: '/bin/true' }, async () => {
      await until(() => api.state === 'failed', 'it fails');
      assert.match(insides.daemon.problem, /is no Python/);
    }));

    it('a Python that is too old is named with what is needed', async () => {
      const old = file('#!/bin/sh\necho \'{"python": [3, 8, 1], "server": null}\'\n', 'python3.8');
      fs.chmodSync(old, 0o755);
      await under({ interpreter: old }, async () => {
        await until(() => api.state === 'failed', 'it fails');
        assert.match(insides.daemon.problem, /Python 3\.8\.1; Fileops needs 3\.11 or newer/);
      });
    });

    it('a server that cannot be set up is reported once, with the command of the README', async () => {
      const fake = file('', 'python3.13');
      // Makes a "virtual environment" of itself; its pip fails.
      fs.writeFileSync(fake, [
        '#!/bin/sh',
        'case "$*" in',
        '-c*) echo \'{"python": [3, 13, 1], "server": null}\' ;;',
        '*venv*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;',
        '*) echo "no network" >&2; exit 1 ;;',
        'esac', '',
      ].join('\n'));
      fs.chmodSync(fake, 0o755);
      await under({ interpreter: fake }, async () => {
        await until(() => api.state === 'failed', 'it fails');
        assert.match(insides.daemon.problem, /pipx install '\/path\/to\/fileops-server\[review\]'/);
        assert.doesNotMatch(insides.daemon.problem, /pip install fileops-server/);
      });
    });

    it('on Windows it reports that it is not supported', async () => {
      const platform = Object.getOwnPropertyDescriptor(process, 'platform')!;
      await under({}, async () => {
        Object.defineProperty(process, 'platform', { ...platform, value: 'win32' });
        try {
          await insides.daemon.restart();
        } finally {
          Object.defineProperty(process, 'platform', platform);
        }
        assert.equal(api.state, 'failed');
        assert.match(insides.daemon.problem, /does not run on Windows.*WSL/);
      });
    });

    it('the interpreter of the Python extension is used if none is set', async function () {
      if (!vscode.extensions.getExtension('ms-python.python')) return this.skip();
      await under({ interpreter: ' ' }, async () => {
        await running();
        assert.match(insides.daemon.server!.origin, /the Python extension/);
      });
    });

    describe('where nothing is set', () => {
      const python = process.env.FILEOPS_PYTHON!;
      const saved = { PATH: process.env.PATH, HOME: process.env.HOME };
      /** Not in the workspace, in which no program is looked for. */
      const folder = (): string => fs.mkdtempSync(path.join(outside, 'bin-'));
      const server = (...at: string[]): string => program(at, `exec "${python}" -P -m fileops "$@"`);
      function program(at: string[], body: string): string {
        const made = path.join(...at, 'fileops-server');
        fs.mkdirSync(path.dirname(made), { recursive: true });
        fs.writeFileSync(made, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
        return made;
      }
      let outside: string;
      before(() => { outside = fs.mkdtempSync(path.join(os.tmpdir(), 'fileops-programs-')); });
      after(() => fs.rmSync(outside, { recursive: true }));
      beforeEach(() => {
        process.env.FILEOPS_PYTHON = ''; // none is chosen in the Python extension
        process.env.PATH = '/usr/bin:/bin';
        process.env.HOME = folder();
      });
      afterEach(() => Object.assign(process.env, saved, { FILEOPS_PYTHON: python }));

      async function used(command: string, origin: RegExp): Promise<void> {
        await under({ interpreter: ' ' }, async () => {
          await running();
          assert.equal(insides.daemon.server!.command, command);
          assert.match(insides.daemon.server!.origin, origin);
          assert.equal((await api.tools()).length, 3);
        });
      }

      it('the server on the PATH is used, not one that is too old or broken', async () => {
        const [old, broken, fit] = [folder(), folder(), folder()];
        program([old], 'echo fileops-server 0.0.9');
        program([broken], 'exit 1');
        process.env.PATH = `${old}:${broken}:${fit}:/usr/bin:/bin`;
        await used(server(fit), /^fileops-server on the PATH \(\d/);
      });

      it('no program of the workspace is run, or module imported', async () => {
        const workspace = vscode.workspace.workspaceFolders![0]!.uri.fsPath;
        const place = fs.mkdtempSync(path.join(os.tmpdir(), 'fileops-'));
        const mark = path.join(place, 'it-ran');
        process.env.HOME = place;
        const made = ['.venv/bin', 'bin', '.'].flatMap(at => ['fileops-server', 'python3', 'python'].map(name => path.join(workspace, at, name)));
        const modules = ['fileops/__init__.py', 'fileops/__main__.py', 'sitecustomize.py'].map(name => path.join(workspace, name));
        const linked = path.join(place, 'linked');
        const before = process.env.PYTHONPATH;
        try {
          for (const program of made) {
            fs.mkdirSync(path.dirname(program), { recursive: true });
            fs.writeFileSync(program, `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
          }
          for (const module of modules) {
            fs.mkdirSync(path.dirname(module), { recursive: true });
            fs.writeFileSync(module, `open('${mark}', 'w')\n`);
          }
          fs.symlinkSync(path.join(workspace, 'bin'), linked);
          process.env.PATH = `:.:bin:${workspace}/.venv/bin:${linked}:/usr/bin:/bin`;
          process.env.PYTHONPATH = `:.:${workspace}`;
          await used(server(place, '.local', 'bin'), /^fileops-server in ~\/\.local\/bin/);
          assert.equal(fs.existsSync(mark), false);
        } finally {
          if (before === undefined) delete process.env.PYTHONPATH;
          else process.env.PYTHONPATH = before;
          fs.rmSync(place, { recursive: true });
          for (const at of [...made, ...modules]) fs.rmSync(at, { force: true });
          for (const at of ['.venv', 'bin', 'fileops']) fs.rmSync(path.join(workspace, at), { recursive: true, force: true });
        }
      });

      it('the server in ~/.local/bin is used', () =>
        used(server(process.env.HOME!, '.local', 'bin'), /^fileops-server in ~\/\.local\/bin/));

      it('a shared daemon of another version is named', async () => {
        const bin = folder();
        process.env.PATH = `${bin}:/usr/bin:/bin`;
        program([bin], `[ "$1" = --version ] && echo fileops-server 99.0.0 || exec "${python}" -P -m fileops "$@"`);
        await under({ interpreter: ' ' }, async () => {
          await running();
          assert.match(insides.daemon.versionNote!, /shared daemon is fileops-server \d\S+, of another installation; this window found 99\.0\.0/);
        });
        assert.equal(insides.daemon.versionNote, undefined);
      });
    });
  });
}
