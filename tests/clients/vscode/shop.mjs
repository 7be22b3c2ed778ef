// The folder in which the stories happen, with its workbench, the agents and the person: what each story begins with.
import fs from 'node:fs';
import path from 'node:path';
import { agentsAt } from './agents.mjs';
import { HERE } from './paths.mjs';
import { personAt } from './person.mjs';
import { PATIENCE_MS, freePort, openWorkbench, until } from './workbench.mjs';

export const PRICES = `"""What a basket costs."""

from decimal import Decimal

VAT = Decimal("0.19")


def net(basket):
    total = 0
    for item in basket:
        total += item.price * item.count
    return total


def discount(total, customer):
    if customer.is_regular:
        return total * 0.95
    return total


def gross(basket, customer):
    amount = discount(net(basket), customer)
    return round(amount + amount * VAT, 2)
`;

/**
 * Opens a workbench for `node STORY.mjs floor|new OUT VSIX [IMAGES]`. settings: beside the interpreter's.
 * prepare: called with the folder before the editor starts. isCovered: in "new", the run counts for the extension's coverage.
 */
export async function openShop({ files, settings = {}, isCovered = false, prepare }) {
  const [name, outGiven, vsix, images] = process.argv.slice(2);
  const out = path.resolve(outGiven);
  fs.rmSync(out, { recursive: true, force: true });
  fs.mkdirSync(out, { recursive: true });
  const agentPort = await freePort();
  const workbench = await openWorkbench(name, {
    out, vsix: path.resolve(vsix), prepare, preinstall: [path.join(HERE, 'agent')], files,
    settings: { 'fileops.interpreter': process.env.FILEOPS_PYTHON, ...settings },
    env: { FILEOPS_AGENT_PORT: String(agentPort), ...(isCovered && name === 'new' ? { NODE_V8_COVERAGE: path.join(out, 'coverage') } : {}) },
  });
  workbench.page.setDefaultTimeout(PATIENCE_MS);
  const agents = agentsAt(agentPort, workbench.workspace);
  const disk = basename => fs.readFileSync(agents.file(basename), 'utf8');
  const person = personAt(workbench, images && path.resolve(images));
  /** As a person presses it: what VS Code shows, the extension has learned, and the keys for it work. */
  async function pressKeyOf(command) {
    await until(() => agents.agent(null, 'caughtUp').then(() => true, () => false), 'the keys work');
    await person.pressKeyOf(command);
  }
  /** A command of VS Code itself. */
  const run = command => until(() => agents.agent(null, 'run', { command }).then(() => true, () => false), command);
  /** What is being saved is still unsaved for VS Code, which would ask. */
  async function closeEditors() {
    await run('workbench.action.files.saveAll');
    await run('workbench.action.closeAllEditors');
  }
  /** Not by VS Code's own box, which is no subject here. The tab of a review names its file too. */
  async function openFile(basename) {
    const isIn = async () => {
      const label = await person.focused();
      return label.includes(path.basename(basename)) && !label.includes('waits for you');
    };
    await until(async () => {
      await agents.agent(null, 'open', { path: agents.file(basename) }).catch(() => undefined); // that window is about to begin
      return isIn();
    }, 'the file has the keyboard');
  }
  async function goToLine(line) {
    await agents.agent(null, 'open', { line });
    await person.status(`Ln ${line}, Col 1`).waitFor();
  }
  return { out, workbench, ...workbench, ...agents, disk, run, closeEditors, person: { ...person, pressKeyOf, openFile, goToLine } };
}
