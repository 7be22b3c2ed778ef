import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import type { Insides } from '../src/extension';
import { type DiffPane, REVIEW_SCHEME } from '../src/ui/diff';
import { closeAll, once, until, world } from './world';

const TEXT = 'one\ntwo\n';

export function panesSuite(): void {
  describe('a pane that may be typed into', () => {
    let panes: Insides['panes'];
    let nBefore: number;
    before(async () => { ({ insides: { panes } } = await world()); });
    beforeEach(async () => {
      await closeAll();
      nBefore = panes.nDocuments;
    });
    after(closeAll);

    const documentOf = (pane: DiffPane) => vscode.workspace.textDocuments.find(d => d.uri.toString() === pane.after.toString());

    async function shown(): Promise<{ pane: DiffPane; document: vscode.TextDocument }> {
      const pane = panes.create({ scheme: REVIEW_SCHEME, filePath: '/demo.py', title: 'demo.py', before: TEXT, after: TEXT, isEditable: true });
      await panes.show(pane, { takesFocus: true });
      return { pane, document: await until(() => documentOf(pane), 'its document is there') };
    }

    /** As by the keyboard, which the pane has. */
    const type = (text: string): Thenable<unknown> => vscode.commands.executeCommand('type', { text });

    /** Types again as soon as a save is done: before what asked for the save hears of it. */
    async function typingAfterSaves(pane: DiffPane, act: () => Promise<unknown>): Promise<number> {
      const typed: Thenable<unknown>[] = [];
      const listening = vscode.workspace.onDidSaveTextDocument(({ uri }) => {
        if (uri.toString() === pane.after.toString()) typed.push(type('late '));
      });
      await act();
      listening.dispose();
      return (await Promise.all(typed)).length;
    }

    async function nothingLeft(pane: DiffPane): Promise<void> {
      assert.ok(!panes.isShown(pane));
      assert.equal(panes.nDocuments, nBefore);
      assert.ok(!documentOf(pane)?.isDirty, 'nothing is left to be saved');
      await until(() => vscode.workspace.textDocuments.every(d => d.uri.scheme !== REVIEW_SCHEME), 'no document is left');
    }

    for (const [encoding, shown] of [['utf8', 'utf8'], ['windows1252', 'utf8bom']] as const) {
      it(`shows its text, and as UTF-8, where files.encoding is ${encoding}`, async () => {
        const files = vscode.workspace.getConfiguration('files');
        await files.update('encoding', encoding, vscode.ConfigurationTarget.Workspace);
        try {
          const text = 'price = "5 €"\n';
          const pane = panes.create({ scheme: REVIEW_SCHEME, filePath: '/demo.py', title: 'demo.py', before: text, after: text, isEditable: true });
          await panes.show(pane, { takesFocus: true });
          const document = await until(() => documentOf(pane), 'its document is there');
          assert.deepEqual([document.getText(), document.encoding], [text, shown]);
          await panes.close(pane);
          await nothingLeft(pane);
        } finally {
          await files.update('encoding', undefined, vscode.ConfigurationTarget.Workspace);
        }
      });
    }

    it('of a file that begins with a byte order mark is shown as such', async () => {
      const pane = panes.create({ scheme: REVIEW_SCHEME, filePath: '/demo.py', title: 'demo.py', before: `\ufeff${TEXT}`, after: `\ufeff${TEXT}`, isEditable: true });
      await panes.show(pane, { takesFocus: true });
      const document = await until(() => documentOf(pane), 'its document is there');
      assert.deepEqual([document.getText(), document.encoding], [TEXT, 'utf8bom']);
      assert.equal(panes.proposed(pane), TEXT);
      await panes.close(pane);
    });

    for (const autoSave of ['off', 'afterDelay']) {
      it(`leaves nothing when it is closed while it is typed into, files.autoSave ${autoSave}`, async () => {
        const config = vscode.workspace.getConfiguration('files');
        await config.update('autoSave', autoSave, vscode.ConfigurationTarget.Workspace);
        try {
          for (const word of ['early ', 'again ']) {
            const { pane, document } = await shown();
            await type(word);
            assert.ok(document.isDirty);
            assert.ok(await typingAfterSaves(pane, () => panes.close(pane)) > 0);
            await nothingLeft(pane);
          }
        } finally {
          await config.update('autoSave', undefined, vscode.ConfigurationTarget.Workspace);
        }
      });
    }

    it('that is closed while it is being opened does not hold up what waits for it', async () => {
      for (let n = 0; n < 10; n++) {
        const pane = panes.create({ scheme: REVIEW_SCHEME, filePath: '/demo.py', title: 'demo.py', before: TEXT, after: TEXT, isEditable: true });
        const opened = once(vscode.window.tabGroups.onDidChangeTabs, () => panes.isShown(pane));
        const showing = panes.show(pane);
        await opened;
        await closeAll();
        await showing;
        await panes.close(pane);
        await nothingLeft(pane);
      }
    });

    it('shows another text that is put there while its document is being opened', async () => {
      const pane = panes.create({ scheme: REVIEW_SCHEME, filePath: '/demo.py', title: 'demo.py', before: TEXT, after: TEXT, isEditable: true });
      const opened = once(vscode.window.tabGroups.onDidChangeTabs, () => panes.isShown(pane));
      const showing = panes.show(pane);
      await opened;
      assert.equal(await panes.setProposed(pane, 'one\n'), true);
      await showing;
      assert.equal(documentOf(pane)?.getText(), 'one\n');
      await panes.close(pane);
      await nothingLeft(pane);
    });

    it('keeps what was typed while another text is put there, and says so', async () => {
      const { pane, document } = await shown();
      const changed = once(vscode.workspace.onDidChangeTextDocument, event => event.document === document);
      const typed = type('mine ');
      const isShown = await panes.setProposed(pane, 'one\ntwo and more\n'); // both are under way
      await typed;
      await changed;
      assert.equal(isShown, false);
      assert.equal(document.getText(), `mine ${TEXT}`);
      assert.ok(await document.save(), 'it can be saved');
      await panes.close(pane);
      await nothingLeft(pane);
    });

    it('shows another text though it was typed into, and can be saved', async () => {
      const { pane, document } = await shown();
      await type('mine ');
      assert.equal(await panes.setProposed(pane, 'one\ntwo and more\n'), true);
      assert.equal(document.getText(), 'one\ntwo and more\n');
      assert.ok(await document.save(), 'it can be saved');
      await panes.close(pane);
      await nothingLeft(pane);
    });
  });
}
