#!/usr/bin/env bash
# Real Neovims for the tests, beside the system and never in it.
#   install.sh [PREFIX]      default: $FILEOPS_EDITORS, else ~/.cache/fileops-editors
# Gives PREFIX/nvim-floor (0.10, Debian trixie), PREFIX/nvim-new (0.12, Debian forky) and PREFIX/stylua.
# apt itself resolves and verifies every package, with its own state folders and an empty package status;
# dpkg-deb unpacks; patchelf points the binary at the libc that came along. The system's libc stays as it is.
# Only luacheck, tmux, patchelf, Emacs, Chromium and a font come from the system's own apt (root needed if missing).
set -euo pipefail
PREFIX=${1:-${FILEOPS_EDITORS:-$HOME/.cache/fileops-editors}}
STYLUA=2.5.2
export DEBIAN_FRONTEND=noninteractive
mkdir -p "$PREFIX"; PREFIX=$(cd "$PREFIX" && pwd)

missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need patchelf patchelf; need tmux tmux; need luacheck lua-check; need emacs emacs-nox; need chromium chromium; need npm npm
[ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || missing+=(fonts-dejavu-core)
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
if [ ${#missing[@]} -gt 0 ]; then
  echo "apt: ${missing[*]}"
  apt-get -qq -o DPkg::Lock::Timeout=300 update
  apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

# the mirror that this machine already uses, or $DEBIAN_MIRROR
mirror=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
  grep -v '^#' | grep -oE '[a-z]+://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)}
[ -n "$mirror" ] || { echo "no Debian mirror in the apt sources; set DEBIAN_MIRROR" >&2; exit 1; }

neovim() { # SUITE DEST [EXTRA PACKAGES…]
  local suite=$1 dest=$2 work deb; shift 2
  local key; key="$suite $* $(sha256sum <"${BASH_SOURCE[0]}")"
  [ "$(cat "$dest/.complete" 2>/dev/null)" = "$key" ] && { echo "kept: $dest"; return; }
  rm -rf "$dest"; mkdir -p "$dest/bin"
  work=$(mktemp -d)
  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,etc/preferences.d,etc/trusted.gpg.d}
  : >"$work/state/status"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/etc/sources.list"
  local apt=(apt-get -qq -o Dir::State="$work/state" -o Dir::State::status="$work/state/status"
    -o Dir::Cache="$work/cache" -o Dir::Etc::sourcelist="$work/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o APT::Install-Recommends=false
    -o APT::Sandbox::User=root -o Acquire::Languages=none
    -o Acquire::Check-Valid-Until=false)  # a mirror may be a frozen copy; the signatures are still checked
  "${apt[@]}" update
  "${apt[@]}" -y --download-only install neovim "$@"
  for deb in "$work"/cache/archives/*.deb; do dpkg-deb -x "$deb" "$dest"; done
  rm -rf "$work"
  local loader; loader=$(find "$dest" \( -name 'ld-linux-*.so.?' -o -name 'ld-linux-*.so.??' \) -type f | head -1)
  local libs; libs=$(dirname "$(find "$dest" -name 'libuv.so.1' | head -1)")
  patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libs:$(dirname "$loader")" "$dest/usr/bin/nvim"
  # The runtime's place is compiled in as /usr/share/nvim: point it at this tree.
  printf '#!/bin/sh\nexport VIM="%s/usr/share/nvim" VIMRUNTIME="%s/usr/share/nvim/runtime"\nexec "%s/usr/bin/nvim" "$@"\n' \
    "$dest" "$dest" "$dest" >"$dest/bin/nvim"
  chmod +x "$dest/bin/nvim"
  "$dest/bin/nvim" --version | head -1
  echo "$key" >"$dest/.complete"
}

neovim trixie "$PREFIX/nvim-floor"
neovim forky "$PREFIX/nvim-new"

if [ "$("$PREFIX/stylua/bin/stylua" --version 2>/dev/null)" != "stylua $STYLUA" ]; then
  npm install --silent --no-audit --no-fund --prefix "$PREFIX/stylua" --global "@johnnymorganz/stylua-bin@$STYLUA"
fi
"$PREFIX/stylua/bin/stylua" --version
