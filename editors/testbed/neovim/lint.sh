#!/usr/bin/env bash
# luacheck and stylua over the Neovim plugin; installs them where the machine lacks them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
command -v luacheck >/dev/null || apt_packages 'the Neovim plugin' lua-check

stylua() {
  cp "$here/package.json" "$here/package-lock.json" "$1/"
  (cd "$1" && npm ci --no-audit --no-fund --loglevel=error >&2)
}
once stylua "$(digest "$here/package-lock.json")" stylua
cd "$root/editors/neovim"
luacheck --quiet --no-color .
"$bed/stylua/node_modules/.bin/stylua" --check .
