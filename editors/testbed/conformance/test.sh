#!/usr/bin/env bash
# The client scenarios of the MCP conformance suite, over HTTP, against the real binary as an editor runs it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
npm_lane conformance 'MCP conformance' 'Node.js 20 or later with npm'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
conformance() {
  timeout "$1" node --import "$here/globsync.mjs" "$bed/conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js" "${@:2}"
}
mapfile -t scenarios < <(conformance 60 list --client | sed -n 's/^  - \([^ ]*\).*/\1/p')
# The suite starts every client at once; the lock lets one after another do its work, so that none is late for a clock. The time
# limit is for the whole queue; the client has its own.
export TMPDIR=$work
conformance 280 client --suite all --timeout 270000 -o "$work/results" \
  --command "flock -o '$work/lock' node '$here/client.mjs'" >"$work/log" 2>&1 || true
if [ ! -d "$work/results" ]; then
  cat "$work/log"
  echo '0 passed, 1 failed'
  exit 1
fi
node "$here/judge.mjs" "$work/results" "$here/expected.json" "${scenarios[@]}"
