#!/usr/bin/env bash
# `agent-ls run` against aimock, which plays OpenAI and Anthropic and what can go wrong with them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
npm_lane aimock 'the mocked models' 'Node.js 20.15 or later with npm'
# Node resolves packages from where the file is: the test runs beside them.
cp "$here/aimock.test.mjs" "$bed/aimock/"
cd "$bed/aimock"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The mock goes on with slow answers when nobody listens any more; that is not waited for.
TMPDIR=$work timeout 240 node --test --test-force-exit --test-reporter=spec aimock.test.mjs
