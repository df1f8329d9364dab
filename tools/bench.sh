#!/bin/bash
# Runs every benchmark and prints what each found beside its target: `tools/bench.sh [PATTERN]`. One package at a time, since
# they measure. Each takes a fixed number of samples; those that start processes or play long sessions take fewer of their own
# accord. The lines of the testing package are left in bin/bench.txt, for benchstat.
set -uo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
packages=$(grep -rl --include='*_test.go' '^func Benchmark' cmd hooks loop lsp | xargs -n1 dirname | sort -u | sed 's|^|./|')
go test -run '^$' -bench "${1:-.}" -benchtime 1000x -p 1 -vet=off -ldflags='-s' -timeout 15m $packages > bin/bench.txt
status=$?
grep -vE '^(Benchmark|goos|goarch|pkg|cpu|PASS|ok|\?)' bin/bench.txt >&2
echo "$(go version | cut -d' ' -f3-), $(nproc 2>/dev/null || echo '?') processors, load $(cut -d' ' -f1-3 /proc/loadavg 2>/dev/null || echo unknown)"
awk -f tools/bench.awk bin/bench.txt
exit "$status"
