// node window.mjs floor|new OUT VSIX [IMAGES]: a person beside agents from outside, in one workbench: what is counted and
// listed (lists.mjs), a host with its own tools (hosts.mjs), a window with two folders (roots.mjs), and in it a host that
// is asked before each edit (hosts.mjs) and who decides a review (reload.mjs). Environment as in mocha.mjs and room.mjs.
import { askedBeforeItsEdit, besideUnsavedText } from './hosts.mjs';
import { countedAlike } from './lists.mjs';
import { endPainter, onlyAPersonDecides } from './reload.mjs';
import { shop } from './room.mjs';
import { severalFolders } from './roots.mjs';
import { play } from './workbench.mjs';

async function story() {
  await countedAlike();
  await besideUnsavedText();
  await severalFolders();
  await askedBeforeItsEdit();
  await onlyAPersonDecides();
}

await play(shop.workbench, shop.out, story, endPainter);
