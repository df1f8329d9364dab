#!/usr/bin/env bash
# Node's own protocol client against the real binary: a client with no plugin, and one that knows us.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
command -v node >/dev/null || missing "Node's protocol client" 'Node.js 20 or later with npm' 'install Node.js and put it on PATH'

packages() {
  cp "$here/package.json" "$here/package-lock.json" "$1/"
  (cd "$1" && npm ci --no-audit --no-fund --loglevel=error >&2)
}
once node-client "$(digest "$here/package-lock.json")" packages
# Node resolves packages from where the file is: the test runs beside them.
cp "$here/client.test.mjs" "$bed/node-client/"
cd "$bed/node-client"
WORKSPACE=$here/../workspace timeout 200 node --test --test-reporter=spec client.test.mjs
