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

    it('the commands to try it by hand work', async () => {
      const path = file('a = 1\n');
      const read = await vscode.commands.executeCommand<{ status: string }>('fileops.readFile', path);
      assert.equal(read.status, 'success');
      const preview = await vscode.commands.executeCommand<{ status: string }>('fileops.previewEdit', path, '1', '2');
      assert.equal(preview.status, 'success');
      assert.equal(fs.readFileSync(path, 'utf8'), 'a = 1\n');
      await vscode.commands.executeCommand('fileops.closeDiffs');
      await until(() => insides.panes.nDocuments === 0, 'nothing is left');
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
      await set('freshness', 'content');
      await stopped;
      await running();
      assert.notEqual(pid(), old);
      const again = once(api.onDidChangeState);
      await set('freshness', undefined);
      await again;
      await running();
    });

    it('one that is killed is started again, three times, and then no more', async () => {
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

    it('a program that is not there is named', () => under({ path: '/no/such/server' }, async () => {
      await until(() => api.state === 'failed', 'it fails');
      assert.match(insides.daemon.problem, /fileops\.path names \/no\/such\/server/);
    }));

    it('a program that is no daemon is told apart', () => under({ path: '/bin/false' }, async () => {
      await until(() => api.state === 'failed', 'it fails');
      assert.match(insides.daemon.problem, /did not start/);
    }));

    it('an interpreter that is none is named', () => under({ interpreter: '/bin/true' }, async () => {
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

    it('the interpreter of the Python extension is used where none is set', async function () {
      if (!vscode.extensions.getExtension('ms-python.python')) return this.skip();
      await under({ interpreter: ' ' }, async () => {
        await running();
        assert.match(insides.daemon.server!.origin, /the Python extension/);
      });
    });

    it('a Python without a server gets the bundled one, in a folder of its own', async function () {
      const bare = process.env.FILEOPS_BARE_PYTHON;
      if (!bare) return this.skip();
      this.timeout(180_000);
      await under({ interpreter: bare }, async () => {
        await until(() => api.state === 'running' || api.state === 'failed', 'it is set up');
        assert.equal(api.state, 'running', insides.daemon.problem);
        assert.match(insides.daemon.server!.origin, /bundled server/);
        assert.ok(insides.daemon.server!.command.startsWith(insides.daemon.context.globalStorageUri.fsPath));
        assert.equal((await api.tools()).length, 3);
      });
    });
  });
}
