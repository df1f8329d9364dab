#!/bin/bash
# Runs the Go tests, under the race detector where it can run, and counts them.
# The race detector needs a C compiler; without one the tests run plain and say so.
set -uo pipefail
flags=()
if command -v "${CC:-cc}" >/dev/null && [ "$(go env GOOS)" != windows ]; then
  export CGO_ENABLED=1
  flags=(-race)
else
  echo "no C compiler: the race detector is off; install gcc or clang to have it" >&2
fi
# Compile with all cores, then run one package at a time: tests that start
# editors' servers, sandboxes and compilers want the machine for themselves.
go test "${flags[@]}" -tags jsonrpc2poison -run '^$' "${@:-./...}" > /dev/null || true
log=$(mktemp); trap 'rm -f "$log"' EXIT
go test "${flags[@]}" -tags jsonrpc2poison -p 1 -timeout 15m -json "${@:-./...}" > "$log"
status=$?
# A line per package while it is read back, the output of what failed, and the sum.
awk -v status="$status" -f "$(dirname "$0")/gotest.awk" "$log"
if [ $# = 0 ] && [ "$status" = 0 ]; then
  # Ten thousand random hook scripts, without the race detector, which would make many minutes of them.
  CGO_ENABLED=0 go test -run '^TestRandomPrograms$' ./hooks -random 10000
  status=$?
fi
exit "$status"
