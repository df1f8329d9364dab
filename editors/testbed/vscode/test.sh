#!/usr/bin/env bash
# test.sh [--only unit|host|window]
# Everything there is to test about the VS Code extension: types and lint, unit tests, the packaged extension in the extension
# host of a real VS Code, and its window, all against the real server. Installs what it needs, once. Pictures of the window
# go to shots/ at the root of the project. The last line is "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"

installed=$("$here/install.sh")
eval "$installed"
export PATH=$vscode_node/bin:$PATH
extension=$root/editors/vscode

vsix=$("$extension/package.sh" | tail -1)
cd "$extension"
npm run --silent check
node esbuild.mjs unit host
mkdir -p "$root/shots"
exec node "$here/lanes.mjs" \
  --host "$vscode_host" --chromium "$chromium" --extension "$extension" --vsix "$vsix" --shots "$root/shots" "$@"
