// Puts the wheel of fileops-server and of what it needs into bundled/wheels.
//
//   node scripts/bundle.mjs [PLATFORM]     PLATFORM: linux-x64, linux-arm64, darwin-x64, darwin-arm64
//
// Without a platform: the wheels that fit any; the others (README.md names them) come from the package index on first
// start. With one: also those, for every Python that they are built for; works without a network.
// PYTHON: the interpreter whose pip is used (3.11 or newer; default python3). PYTHONS: the versions to serve.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const PYTHON = process.env.PYTHON ?? 'python3';
const PYTHONS = (process.env.PYTHONS ?? '3.11 3.12 3.13 3.14').split(' ');
const PLATFORMS = {
  'linux-x64': ['manylinux_2_28_x86_64', 'manylinux_2_17_x86_64', 'manylinux2014_x86_64'],
  'linux-arm64': ['manylinux_2_28_aarch64', 'manylinux_2_17_aarch64', 'manylinux2014_aarch64'],
  'darwin-x64': ['macosx_11_0_x86_64', 'macosx_10_13_x86_64', 'macosx_10_9_x86_64'],
  'darwin-arm64': ['macosx_11_0_arm64'],
};

const root = path.resolve(import.meta.dirname, '../../..');
const wheels = path.resolve(import.meta.dirname, '../bundled/wheels');
const platform = process.argv[2];
if (platform && !PLATFORMS[platform]) throw new Error(`unknown platform ${platform}; one of ${Object.keys(PLATFORMS).join(', ')}`);

function pip(...args) {
  const done = spawnSync(PYTHON, ['-m', 'pip', '--quiet', '--disable-pip-version-check', ...args], { encoding: 'utf8' });
  return done.status === 0 ? undefined : done.stderr || String(done.error);
}

fs.rmSync(wheels, { recursive: true, force: true });
fs.mkdirSync(wheels, { recursive: true });
let failure = pip('wheel', '--no-deps', '--wheel-dir', wheels, root);
if (failure) throw new Error(failure);
const own = `${path.join(wheels, fs.readdirSync(wheels)[0])}[regex]`; // the extra has a wheel for each platform here

if (platform) {
  let n = 0;
  for (const version of PYTHONS) { // a Python for which a dependency has no wheel yet is left out
    failure = pip('download', '--dest', wheels, '--only-binary', ':all:', '--implementation', 'cp', '--python-version', version,
      ...PLATFORMS[platform].flatMap(tag => ['--platform', tag]), own);
    if (failure) console.log(`Python ${version}: not bundled (${failure.trim().split('\n').pop()})`);
    else n++;
  }
  if (n === 0) throw new Error('no Python could be served');
} else {
  failure = pip('download', '--dest', wheels, '--only-binary', ':all:', own);
  if (failure) throw new Error(failure);
  for (const name of fs.readdirSync(wheels)) if (!name.endsWith('-none-any.whl')) fs.rmSync(path.join(wheels, name));
}
const names = fs.readdirSync(wheels);
const bytes = names.reduce((sum, name) => sum + fs.statSync(path.join(wheels, name)).size, 0);
console.log(`${names.length} wheels, ${(bytes / 1e6).toFixed(1)} MB${platform ? ` for ${platform}` : ', pure Python only'}`);
