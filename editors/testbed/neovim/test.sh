#!/bin/bash
# The Neovim plugin in a real Neovim against the real binary: linters first, then editors/neovim/tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/lint.sh"
nvim=$("$here/install.sh" | tail -1)
"$nvim" --version | head -1
export SHOTS=$here/../../../shots
mkdir -p "$SHOTS"
timeout 400 "$nvim" --clean -l "$here/../../neovim/tests/run.lua"
