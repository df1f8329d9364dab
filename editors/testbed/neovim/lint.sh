#!/bin/bash
# luacheck and stylua over the Neovim plugin; installs them where the machine lacks them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls-testbed/stylua
if ! command -v luacheck >/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get -qq update && apt-get -qq install -y --no-install-recommends lua-check >/dev/null
  else
    echo "neovim lane: luacheck is missing; install it (Debian: lua-check) and run this again" >&2
    exit 1
  fi
fi
mkdir -p "$cache"
cp "$here/package.json" "$here/package-lock.json" "$cache/"
(cd "$cache" && { [ -d node_modules ] && npm ls >/dev/null 2>&1 || npm ci --no-audit --no-fund >/dev/null; })
cd "$here/../../neovim"
luacheck --quiet --no-color .
"$cache/node_modules/.bin/stylua" --check .
