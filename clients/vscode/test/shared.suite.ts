import * as assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { FileopsApi } from '../src/api';
import type { Insides } from '../src/extension';
import type { Session } from '../src/protocol';
import { McpAgent } from './mcpAgent';
import { closeAll, disk, file, once, open, type Review, set, shownDiffs, typeInto, until, world } from './world';

export function sharedSuite(): void {
  describe('one daemon for this window and agents outside of it', () => {
    let api: FileopsApi;
    let insides: Insides;
    let agent: McpAgent;
    before(async () => {
      ({ api, insides } = await world());
      agent = await McpAgent.start(await api.mcpServer(), 'painter');
    });
    beforeEach(closeAll);
    after(async () => {
      if (agent) await agent.end();
      await closeAll();
    });

    const painter = (): Promise<Session> =>
      until(() => insides.agents.all.find(session => session.host === 'painter'), 'the agent is listed');
    const shown = (): Promise<Review> => until(() => {
      const [review] = insides.reviews.waiting;
      return review?.kind === 'edit' && insides.panes.isShown(review.pane) ? review : undefined;
    }, 'a review is shown');
    const tooltip = (): string => String(insides.changes.groups[0]?.resourceStates[0]?.decorations?.tooltip);
    const edit = (path: string, old_string: string, new_string: string) =>
      agent.call('Edit', { file_path: path, old_string, new_string });

    /** Types, and waits until the daemon knows of it: agents come to it another way, and may be faster. */
    async function type(editor: vscode.TextEditor, line: number, column: number, text: string): Promise<void> {
      await typeInto(editor, change => change.insert(new vscode.Position(line, column), text));
      await api.tools();
    }

    it('shows that it is shared', () => {
      assert.equal(insides.daemon.sharing.kind, 'shared');
    });

    it('lists an agent with what it has read', async () => {
      const path = file('a = 1\n');
      await agent.call('Read', { file_path: path });
      const session = await until(async () => {
        const found = await painter();
        return found.n_reads > 0 ? found : undefined;
      }, 'its read is counted');
      assert.match(insides.agents.nameOf(session.session_id), /painter/);
      assert.ok(session.connected);
    });

    it('an agent sees unsaved text', async () => {
      const path = file('a = 1\n');
      const editor = await open(path);
      await type(editor, 0, 0, 'unsaved = 0\n');
      const { text } = await agent.call('Read', { file_path: path });
      assert.match(text, /1→unsaved = 0/);
      assert.ok(await editor.document.save());
    });

    it('is saved before an agent\'s own tool reads it, if the user wants that', async () => {
      const path = file('a = 1\n');
      const editor = await open(path);
      const { command, args } = await api.mcpServer();
      const hook = (): Promise<string> => new Promise((resolve, reject) => {
        const asking = {
          hook_event_name: 'PreToolUse', session_id: 's1', transcript_path: '/t', prompt_id: 'p', cwd: vscode.workspace.workspaceFolders![0]!.uri.fsPath,
          tool_name: 'Read', tool_input: { file_path: path }, tool_use_id: 'toolu_1',
        };
        const front = args.slice(0, args.indexOf('mcp'));
        const run = execFile(command, [...front, 'mcp', 'hook', 'claude', '--mode', 'companion'], (error, stdout) =>
          error ? reject(error) : resolve(stdout));
        run.stdin!.end(JSON.stringify(asking));
      });
      await type(editor, 0, 0, 'unsaved = 0\n');
      assert.equal(await hook(), '');
      assert.ok(editor.document.isDirty); // "keep" is the default
      await set('unsaved', 'save');
      try {
        await until(async () => {
          assert.equal(await hook(), ''); // it waits for a second at most, which a busy machine may need for more
          return !editor.document.isDirty;
        }, 'it is saved');
        assert.equal(disk(path), 'unsaved = 0\na = 1\n');
      } finally {
        await set('unsaved', undefined);
      }
    });

    it('a formatter that runs on save does not force the agent to read again', async () => {
      const text = (...changed: number[]) => Array.from({ length: 30 }, (_, i) => `line ${i + 1}${changed.includes(i + 1) ? ' !' : ''}\n`).join('');
      const path = file(text(), 'formatted.md'); // a unique name: no earlier text of it is loaded late
      const formats = vscode.languages.registerDocumentFormattingEditProvider({ language: 'markdown' }, {
        provideDocumentFormattingEdits: document =>
          document.lineAt(24).text.endsWith('!') ? [] : [vscode.TextEdit.insert(document.lineAt(24).range.end, ' !')],
      });
      const settings = vscode.workspace.getConfiguration('editor');
      await settings.update('formatOnSave', true, vscode.ConfigurationTarget.Workspace);
      try {
        const editor = await open(path);
        await agent.call('Read', { file_path: path });
        await type(editor, 1, 6, ' !');
        assert.ok(await editor.document.save());
        assert.equal(disk(path), text(2, 25));
        await api.tools(); // as in `type`

        const answer = edit(path, 'line 12\n', 'line twelve\n');
        const review = await shown();
        assert.match(tooltip(), /rebased over 2 changes by you/);
        await insides.reviews.decide(review, 'accept');
        const result = await answer;
        assert.equal(result.isError, false, result.text);
        assert.equal(disk(path), text(2, 25).replace('line 12\n', 'line twelve\n'));
      } finally {
        await settings.update('formatOnSave', undefined, vscode.ConfigurationTarget.Workspace);
        formats.dispose();
      }
    });

    it('its edit waits here with its name, and is in the history once accepted', async () => {
      const path = file('a = 1\nb = 2\n');
      await open(path);
      await agent.call('Read', { file_path: path });
      const answer = edit(path, 'a = 1', 'a = 3');
      const review = await shown();
      assert.equal(review.agent, (await painter()).label);
      assert.ok(vscode.window.tabGroups.all.flatMap(group => group.tabs).some(tab => tab.label.includes(`edit by ${review.agent} waits`)));
      assert.ok(tooltip().includes(review.agent), tooltip());
      assert.equal(disk(path), 'a = 1\nb = 2\n');
      await insides.reviews.decide(review, 'accept');
      assert.equal((await answer).isError, false);
      assert.equal(disk(path), 'a = 3\nb = 2\n');
      const session = await painter();
      const [entry] = await api.history({ file_path: path });
      assert.equal(entry!.session_id, session.session_id);
      await insides.list.settled;
      assert.deepEqual(insides.list.changesOf(path, ''), [], 'what was accepted is not to be kept');
      const recorded = (await insides.history.entries(session.session_id)).find(({ edit_id }) => edit_id === entry!.edit_id);
      await insides.history.undoEntry(recorded!);
      assert.equal(disk(path), 'a = 1\nb = 2\n');
    });

    it('a rejection reaches the agent', async () => {
      const path = file('a = 1\n');
      await agent.call('Read', { file_path: path });
      const answer = edit(path, 'a = 1', 'a = 3');
      await insides.reviews.decide(await shown(), 'reject');
      assert.equal((await answer).isError, true);
      assert.equal(disk(path), 'a = 1\n');
    });

    it('the mode of one agent is set in the view', async () => {
      const path = file('a = 1\n');
      await agent.call('Read', { file_path: path });
      const { session_id } = await painter();
      const setTo = (mode: string) => until(() => insides.agents.all.some(s => s.session_id === session_id && s.approval_mode === mode), `the mode is ${mode}`);
      await api.request('fileops/setApprovalMode', { session_id, mode: 'auto_edit' });
      await setTo('auto_edit');
      assert.equal((await edit(path, 'a = 1', 'a = 3')).isError, false);
      assert.equal(disk(path), 'a = 3\n');
      await api.request('fileops/setApprovalMode', { session_id, mode: 'default' });
      await setTo('default');
    });

    it('an agent that leaves withdraws its review, and stays listed as gone', async () => {
      const path = file('a = 1\n');
      const guest = await McpAgent.start(await api.mcpServer({ session: 'short visit' }), 'guest');
      await guest.call('Read', { file_path: path });
      const answer = guest.call('Edit', { file_path: path, old_string: 'a', new_string: 'b' }).catch(() => undefined);
      await shown();
      await guest.end();
      await answer;
      await until(() => insides.reviews.waiting.length === 0 && shownDiffs().length === 0, 'the review is gone');
      assert.equal(disk(path), 'a = 1\n');
      await until(() => insides.agents.all.some(session => session.host === 'guest' && !session.connected), 'it is listed as gone');
    });

    /** The daemon itself, not this window's connection to it. */
    async function status(): Promise<{ pid: number }> {
      const { command, args } = await api.mcpServer();
      const front = args.slice(0, args.indexOf('mcp'));
      return JSON.parse(execFileSync(command, [...front, 'status', '--json'], { encoding: 'utf8' })) as { pid: number };
    }

    it('a shared daemon that is killed is restarted, and the agent continues', async () => {
      const path = file('a = 1\n');
      const { pid } = await status();
      const noticed = once(api.onDidChangeState, state => state !== 'running');
      process.kill(pid, 'SIGKILL');
      await noticed;
      await until(() => api.state === 'running', 'it runs again');
      assert.equal(insides.daemon.sharing.kind, 'shared', JSON.stringify(insides.daemon.sharing));
      assert.notEqual((await status()).pid, pid);
      assert.match((await agent.call('Read', { file_path: path })).text, /1→a = 1/);
      await painter();
      await vscode.commands.executeCommand('fileops.restart'); // crashes are counted from here
      await vscode.commands.executeCommand('notifications.clearAll');
    });

    it('a shared daemon that is stopped is not started here, and the next one is noticed', async () => {
      const server = await api.mcpServer();
      const front = server.args.slice(0, server.args.indexOf('mcp'));
      await agent.end(); // it needs a daemon, and would start the next one
      let n_crashes = 0;
      const subscription = insides.daemon.onDidCrash(() => n_crashes++);
      execFileSync(server.command, [...front, 'status', '--stop', '--now']);
      await until(() => api.state === 'stopped', 'it is noticed');
      assert.throws(() => execFileSync(server.command, [...front, 'status']), 'nothing has started one');
      assert.match(insides.status.text, /circle-slash/);
      agent = await McpAgent.start(server, 'painter');
      await until(() => api.state === 'running', 'this window has attached to the one of the agent');
      assert.equal(insides.daemon.sharing.kind, 'shared', JSON.stringify(insides.daemon.sharing));
      await agent.call('Read', { file_path: file('a = 1\n') });
      await painter();
      assert.equal(n_crashes, 0);
      subscription.dispose();
      await vscode.commands.executeCommand('notifications.clearAll');
    });

    it('if the shared daemon cannot be used, the window has a private one and reports why', async () => {
      const socket = process.env.FILEOPS_SOCKET!;
      const unsafe = path.join(path.dirname(file('')), 'open');
      fs.mkdirSync(unsafe, { mode: 0o755 });
      fs.chmodSync(unsafe, 0o755);
      process.env.FILEOPS_SOCKET = path.join(unsafe, 'arbiter.sock');
      try {
        await vscode.commands.executeCommand('fileops.restart');
        await until(() => api.state === 'running', 'a private one runs');
        const { sharing } = insides.daemon;
        assert.ok(sharing.kind === 'private' && sharing.reason?.includes(unsafe), JSON.stringify(sharing));
        assert.equal((await api.read({ file_path: file('a = 1\n') })).status, 'success');
        assert.deepEqual(insides.agents.all, []);
        assert.match(insides.status.text, /private daemon/);
        assert.ok(insides.status.tooltip.replace(/\\/g, '').includes(unsafe), insides.status.tooltip);
      } finally {
        process.env.FILEOPS_SOCKET = socket;
        await vscode.commands.executeCommand('fileops.restart');
        await until(() => api.state === 'running', 'it runs');
        await vscode.commands.executeCommand('notifications.clearAll');
      }
      assert.equal(insides.daemon.sharing.kind, 'shared');
      assert.doesNotMatch(insides.status.text + insides.status.tooltip, /private/);
    });

    it('if its encodings differ from those of the shared daemon, the status item says that it has a private one, and names the setting', async () => {
      const config = vscode.workspace.getConfiguration('fileops');
      try {
        await config.update('encodings', [{ glob: '**/*.ini', encoding: 'latin-1' }], vscode.ConfigurationTarget.Global); // restarts it
        await until(() => api.state === 'running' && insides.daemon.sharing.kind === 'private', 'a private one runs');
        assert.match(insides.status.text, /private daemon/);
        assert.match(insides.status.tooltip.replace(/\\|&nbsp;/g, ''), /fileops\.encodings/);
      } finally {
        await config.update('encodings', undefined, vscode.ConfigurationTarget.Global);
        await until(() => api.state === 'running' && insides.daemon.sharing.kind === 'shared', 'it is shared again');
        await vscode.commands.executeCommand('notifications.clearAll');
      }
    });
  });
}
