#!/usr/bin/env bash
# tsc and eslint over the VS Code extension; installs what its lock file says.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
eval "$("$here/install.sh")"
export PATH=$vscode_node/bin:$PATH
cd "$root/editors/vscode"
[ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error
npm run --silent check
