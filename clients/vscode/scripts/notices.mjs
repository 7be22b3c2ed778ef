// The licences of the packages that are bundled into the extension, as a text that goes with it.
import fs from 'node:fs';
import path from 'node:path';

const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE = /^(licen[cs]e|copying|notice|third-?party-?notices?)(\.(txt|md))?$/i;
const LINE = '-'.repeat(80);

/** inputs: the files that a bundle is made of, by their paths from `folder`. Throws where a package has no licence. */
export function notices(inputs, folder) {
  const places = new Set(inputs.flatMap(input => input.match(PACKAGE) ?? []));
  const packages = [...places].map(place => described(path.join(folder, place)));
  packages.sort((a, b) => (a.title < b.title ? -1 : 1));
  return `Packages that are bundled into dist/extension.js, and their licences. A wheel in bundled/wheels has its own inside.\n\n${
    packages.map(one => `${LINE}\n${one.title}\n${LINE}\n\n${one.text}\n`).join('\n')}`;
}

function described(place) {
  const { name, version, license } = JSON.parse(fs.readFileSync(path.join(place, 'package.json'), 'utf8'));
  const files = fs.readdirSync(place).filter(file => LICENCE.test(file)).sort();
  if (!files.some(file => /^(licen[cs]e|copying)/i.test(file))) throw new Error(`${name} ${version} has no file with its licence`);
  const text = files.map(file => fs.readFileSync(path.join(place, file), 'utf8').replace(/\r\n/g, '\n').trim()).join('\n\n');
  return { title: `${name} ${version} (${license})`, text };
}
