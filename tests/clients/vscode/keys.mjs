// node keys.mjs floor|new OUT VSIX [IMAGES]: a person's day by the keyboard, in one workbench: changes.mjs, then waiting.mjs.
// With IMAGES the pictures for the documentation are put there, in a dark and a light theme. Environment as in mocha.mjs.
import { changes, endAgents } from './changes.mjs';
import { shop } from './open.mjs';
import { waitingEdits } from './waiting.mjs';
import { play } from './workbench.mjs';

async function story() {
  await changes();
  await waitingEdits();
}

await play(shop.workbench, shop.out, story, endAgents);
