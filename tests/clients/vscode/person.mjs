// What a person does with a workbench and sees of it, for the stories: tabs, rows, keys, pictures.
import fs from 'node:fs';
import path from 'node:path';
import { EXTENSION } from './paths.mjs';
import { until, VISIBLE } from './workbench.mjs';

const MANIFEST = JSON.parse(fs.readFileSync(path.join(EXTENSION, 'package.json'), 'utf8'));

/** images: a folder for the pictures of the documentation, where they are to be renewed. */
export function personAt({ page, workspace }, images) {
  const tab = label => page.locator('.tabs-container .tab', { hasText: label });
  const waiting = label => tab(new RegExp(`${label}: edit( by .+)? waits for you`));
  const status = text => page.locator('.statusbar-item', { hasText: text });
  /** A row of Source Control; group: that of a group. */
  const row = text => page.locator('.scm-view .monaco-list-row', { hasText: text });
  /** Lines of the proposed side. */
  const proposal = part => page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: part });
  const editorOf = label => page.locator('.editor-group-container', { has: tab(label) });
  const titleButton = label => editorOf('waits for you').locator(`.editor-actions a[aria-label*="${label}"]`);
  /** Where a rejection or an undo may get its reason. */
  const reasonBox = page.locator('.quick-input-widget', { hasText: /Enter (rejects|undoes) (it|them)/ });
  const toast = text => page.locator('.notification-toast', { hasText: text });
  /** In the list of notifications, where one stays that is no toast any more. */
  const notice = text => page.locator('.notifications-center .notification-list-item-message', { hasText: text });
  /** What the notifications on the screen say. */
  const toasts = () => page.locator('.notification-toast .notification-list-item-message').allInnerTexts();
  /** Whether a text stands after a line, where it is no part of the document. */
  const namedInText = name => page.evaluate(wanted => [...document.querySelectorAll('.view-line span')]
    .some(span => getComputedStyle(span, '::after').content.replaceAll('\u00a0', ' ').includes(wanted)), name);
  const focused = () => page.evaluate(() => {
    const group = document.activeElement?.closest('.editor-group-container');
    return group?.querySelector('.tab.active')?.textContent ?? '';
  });

  /** Presses what the extension binds to its command; a chord is several strokes. */
  async function pressKeyOf(command) {
    const { key } = MANIFEST.contributes.keybindings.find(binding => binding.command.replace(/ByKey$/, '') === `fileops.${command}`);
    for (const stroke of key.split(' ')) {
      await page.keyboard.press(stroke.split('+').map(part => ({ ctrl: 'Control' })[part] ?? part[0].toUpperCase() + part.slice(1)).join('+'));
    }
  }

  /** Opens the box at the top. The key is lost if another box just closes, and is pressed again. */
  async function openBox(key) {
    const box = page.locator('.quick-input-widget input').first();
    await box.waitFor({ state: 'hidden' });
    await until(async () => {
      await page.keyboard.press(key);
      return box.waitFor({ timeout: 4_000 }).then(() => true, () => false);
    }, `${key} opens the box`);
    return box;
  }

  async function palette(command) {
    const box = await openBox('F1');
    await box.fill(`>${command}`);
    // Enter runs what is chosen, which at first is a command of the unfiltered list.
    await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: command }).first().waitFor();
    await page.keyboard.press('Enter');
  }

  /** The person chooses that each edit waits for them. It holds once the list of the choices says so. */
  async function askBeforeEachEdit() {
    const command = 'Agent Changes: Ask Before Each Edit';
    const box = page.locator('.quick-input-widget');
    const choice = box.locator('.monaco-list-row', { hasText: 'Every edit of every agent waits for you' });
    await palette(command);
    await choice.click();
    await until(async () => {
      await box.waitFor({ state: 'hidden' });
      await palette(command);
      const isSet = (await choice.innerText()).includes('now'); // beside its name, without a blank
      await page.keyboard.press('Escape');
      return isSet;
    }, 'agents are asked');
    await box.waitFor({ state: 'hidden' });
  }

  async function setWorkspace(settings) {
    fs.writeFileSync(path.join(workspace, '.vscode/settings.json'), JSON.stringify(settings));
  }

  /** The page as it is once it has come to rest: two pictures in a row that are the same. */
  async function picture() {
    let last;
    return until(async () => {
      const now = await page.screenshot({ animations: 'disabled', style: VISIBLE });
      const isSame = last?.equals(now);
      last = now;
      return isSame ? now : undefined;
    }, 'the page comes to rest');
  }

  /** Clicks until it has had its effect, as a person does: a view that is redrawn under the mouse loses a click. */
  async function click(target, effect) {
    await until(async () => {
      await target.hover();
      await target.click();
      return effect.waitFor({ timeout: 4_000 }).then(() => true, () => false);
    }, 'the click has its effect');
  }

  /** In both themes; nothing where no pictures are wanted. drawAgain: what VS Code does not draw in another theme by itself. */
  async function shoot(title, settings = {}, drawAgain = () => undefined) {
    if (!images) return;
    await page.mouse.move(700, 780); // no tooltip in the picture
    for (const [theme, label, selector] of [['light', 'Default Light Modern', '.monaco-workbench.vs'], ['dark', 'Default Dark Modern', '.monaco-workbench.vs-dark']]) {
      await setWorkspace({ ...settings, 'workbench.colorTheme': label });
      await page.locator(selector).waitFor();
      await drawAgain();
      fs.writeFileSync(path.join(images, `vscode-${title}-${theme}.png`), await picture());
    }
    await setWorkspace(settings);
    await picture(); // a click while the theme changes may meet another button
  }

  return { namedInText, reasonBox, tab, waiting, status, row, proposal, titleButton, focused, pressKeyOf, palette, askBeforeEachEdit, setWorkspace, click, shoot, toast, toasts, notice };
}
