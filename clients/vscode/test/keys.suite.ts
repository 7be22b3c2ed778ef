import * as assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { closeAll } from './world';

interface Binding {
  key: string;
  command: string;
  when?: string;
}

/** Inputs outside of text editors, where `editorTextFocus` does not hold. */
const ELSEWHERE = /\b(inQuickInput|inChatInput)\b/;

export function keysSuite(): void {
  describe('the keys of this extension', () => {
    after(closeAll);

    it('are free in VS Code, or have another meaning only in an input outside of text editors', async () => {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse('vscode://defaultsettings/keybindings.json'));
      const text = document.getText();
      const all = JSON.parse(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1).replace(/^\s*\/\/.*$/gm, '')) as Binding[];
      const manifest = vscode.extensions.getExtension('fileops.fileops')!.packageJSON as { contributes: { keybindings: Binding[] } };
      const own = manifest.contributes.keybindings;
      const names = new Set(own.map(({ command }) => command));
      assert.equal(all.filter(({ command }) => names.has(command)).length, own.length, 'the list has all');
      for (const { key, command, when } of own) {
        const others = all.filter(binding => binding.key === key && !names.has(binding.command));
        const conflicts = when?.includes('editorTextFocus') ? others.filter(other => !ELSEWHERE.test(other.when ?? '')) : others;
        assert.deepEqual(conflicts, [], command);
      }
    });
  });
}
