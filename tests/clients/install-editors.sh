#!/usr/bin/env bash
# Every editor that the client tests drive, on a bare Debian 12.
#   install-editors.sh [PREFIX]      default: $FILEOPS_EDITORS, else ~/.cache/fileops-editors
# Run it again at will: what is complete is kept. PREFIX is what a CI caches between runs.
set -euo pipefail
PREFIX=${1:-${FILEOPS_EDITORS:-$HOME/.cache/fileops-editors}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for editor in neovim vscode; do
  [ -x "$here/$editor/install.sh" ] || { echo "no installer for $editor" >&2; continue; }
  "$here/$editor/install.sh" "$PREFIX"
done
