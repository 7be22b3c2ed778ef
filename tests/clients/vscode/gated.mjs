// An editor in which an extension that does not name proposed API cannot use it, as in VS Code. code-server opens that gate.
import fs from 'node:fs';
import path from 'node:path';

const FILES = ['server-main.js', 'vs/workbench/api/node/extensionHostProcess.js', 'vs/code/browser/workbench/workbench.js'];

/** A copy of an editor's folder, by links, in `folder`, with the gate put back. Throws if it is not found. */
export function gatedCopy(code, folder) {
  const copy = path.join(folder, 'gated');
  link(code, copy);
  for (const name of FILES) {
    const file = path.join(copy, 'out', name);
    const text = fs.readFileSync(file, 'utf8');
    const gates = [...text.matchAll(/function ([\w$]+)\((\w),(\w)\)\{return!0\}/g)]
      .filter(([, gate]) => new RegExp(`[^\\w$]${gate.replace('$', '\\$')}\\([^()]{1,60},"[a-zA-Z]+"\\)`).test(text));
    if (gates.length !== 1) throw new Error(`${name}: ${gates.length} functions look like isProposedApiEnabled`);
    const [[whole, gate, extension, proposal]] = gates;
    fs.rmSync(file); // it is a link
    fs.writeFileSync(file, text.replace(whole, `function ${gate}(${extension},${proposal}){return!!${extension}.enabledApiProposals?.includes(${proposal})}`));
  }
  return copy;
}

function link(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.name === 'out') linkAll(source, target);
    else fs.symlinkSync(source, target); // what is not changed is found where it is
  }
}

function linkAll(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) linkAll(source, target);
    else copyOrLink(source, target);
  }
}

function copyOrLink(from, to) {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if (error.code !== 'EXDEV') throw error;
    fs.copyFileSync(from, to);
  }
}
