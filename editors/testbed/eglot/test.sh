#!/usr/bin/env bash
# Emacs with eglot, in batch: an editor without a plugin of ours does the main job.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
emacs --batch --eval "(require 'eglot)" 2>/dev/null || apt_packages 'Emacs with eglot' emacs-nox elpa-eglot
base=$(mktemp -d); trap 'rm -rf "$base"' EXIT
mkdir -p "$base/home" "$base/ws"
cp -r "$here/../workspace/." "$base/ws/"
env HOME="$base/home" XDG_STATE_HOME="$base/home/state" XDG_CONFIG_HOME="$base/home/config" XDG_CACHE_HOME="$base/home/cache" \
  WORKSPACE="$base/ws" timeout 120 emacs --batch -l "$here/test.el"
