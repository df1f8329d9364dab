#!/bin/bash
# Runs every editor's lane against bin/agent-ls and adds up what they say. A lane that cannot install what it needs says
# what is missing and how to get it, and fails; the others still run.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ -x "$root/bin/agent-ls" ] || { echo "bin/agent-ls is missing; run make build first" >&2; exit 1; }
export PATH=$root/bin:$PATH AGENT_LS=$root/bin/agent-ls
log=$(mktemp); trap 'rm -f "$log"' EXIT
passed=0 failed=0 lanes=${*:-node-client mcp conformance aimock eglot neovim vscode}
for lane in $lanes; do
  echo "── $lane"
  "$here/$lane/test.sh" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  # The last count that the lane printed, in its own or in Node's words.
  p=$(grep -oE '^([0-9]+) passed|^ℹ pass [0-9]+' "$log" | grep -oE '[0-9]+' | awk "{n += \$1} END {print n + 0}")
  f=$(grep -oE '[0-9]+ failed$|^ℹ fail [0-9]+' "$log" | grep -oE '[0-9]+' | awk "{n += \$1} END {print n + 0}")
  [ "$status" = 0 ] || [ "${f:-0}" != 0 ] || f=1
  [ "${p:-0}" != 0 ] || [ "${f:-0}" != 0 ] || f=1
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0}))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
