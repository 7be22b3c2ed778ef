// node window.mjs floor|new OUT VSIX [IMAGES]: a person beside agents from outside, in one workbench: what is counted and
// listed (lists.mjs), a host with its own tools (hosts.mjs), a person's day by the keyboard (changes.mjs, waiting.mjs), a
// window with two folders (roots.mjs), and in it a host that is asked before each edit (hosts.mjs) and who decides a review
// (reload.mjs). In "floor" the day by the keyboard. With IMAGES the pictures for the documentation are put there, in a dark
// and a light theme. Environment as in mocha.mjs and open.mjs.
import { changes, endAgents } from './changes.mjs';
import { askedBeforeItsEdit, besideUnsavedText } from './hosts.mjs';
import { countedAlike } from './lists.mjs';
import { git, shop } from './open.mjs';
import { endPainter, onlyAPersonDecides } from './reload.mjs';
import { severalFolders } from './roots.mjs';
import { waitingEdits } from './waiting.mjs';
import { play } from './workbench.mjs';

async function dayByTheKeyboard() {
  await changes();
  await waitingEdits();
}

async function story() {
  const { workspace, agent, closeEditors } = shop;
  await countedAlike();
  await besideUnsavedText();
  git(workspace, 'add', '--all', '.', ':!prices.py'); // in which the person has changed a line
  git(workspace, 'commit', '-qm', 'lists');
  await dayByTheKeyboard();
  endAgents();
  await closeEditors();
  await agent(null, 'ask'); // only where it has to
  await severalFolders();
  await askedBeforeItsEdit();
  await onlyAPersonDecides();
}

function end() {
  endAgents();
  endPainter();
}

await play(shop.workbench, shop.out, process.argv[2] === 'floor' ? dayByTheKeyboard : story, end);
