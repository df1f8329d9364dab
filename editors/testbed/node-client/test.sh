#!/bin/bash
# Node's own protocol client against the real binary: a client with no plugin, and one that knows us.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v node >/dev/null || { echo "node lane: node and npm are missing; install Node.js 20 or later and run this again" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls-testbed/node-client
mkdir -p "$cache"
cp "$here/package.json" "$here/package-lock.json" "$cache/"
(cd "$cache" && { [ -d node_modules ] && npm ls >/dev/null 2>&1 || npm ci --no-audit --no-fund >/dev/null; })
# Node resolves packages from where the file is: the test runs beside them.
cp "$here/client.test.mjs" "$cache/"
cd "$cache"
WORKSPACE=$here/../workspace timeout 120 node --test --test-reporter=spec client.test.mjs
