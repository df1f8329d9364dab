#!/bin/bash
# The Neovim plugin in a real Neovim against the real binary: linters first, then editors/neovim/tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plugin=$here/../../neovim
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls-testbed
nvim=$("$here/install.sh" | tail -1)
"$nvim" --version | head -1
if ! command -v luacheck >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get -qq update && apt-get -qq install -y --no-install-recommends lua-check >/dev/null
  else
    echo "neovim lane: luacheck is missing; install it (Debian: lua-check) and run this again" >&2
    exit 1
  fi
fi
mkdir -p "$cache/stylua"
cp "$here/package.json" "$here/package-lock.json" "$cache/stylua/"
(cd "$cache/stylua" && { [ -d node_modules ] && npm ls >/dev/null 2>&1 || npm ci --no-audit --no-fund >/dev/null; })
(cd "$plugin" && luacheck --quiet . && "$cache/stylua/node_modules/.bin/stylua" --check .)
mkdir -p "$here/../../../shots"
export SHOTS=$here/../../../shots
"$nvim" --clean -l "$plugin/tests/run.lua"
