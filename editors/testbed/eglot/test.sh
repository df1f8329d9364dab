#!/bin/bash
# Emacs with eglot, in batch: an editor without a plugin of ours does the main job.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if ! emacs --batch --eval '(require (quote eglot))' 2>/dev/null; then
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get -qq update && apt-get -qq install -y --no-install-recommends emacs-nox elpa-eglot >/dev/null
  else
    echo "eglot lane: Emacs with eglot is missing; install it (Debian: emacs-nox elpa-eglot) and run this again" >&2
    exit 1
  fi
fi
base=$(mktemp -d); trap 'rm -rf "$base"' EXIT
mkdir -p "$base/home" "$base/ws"
cp -r "$here/../workspace/." "$base/ws/"
env HOME="$base/home" XDG_STATE_HOME="$base/home/state" XDG_CONFIG_HOME="$base/home/config" XDG_CACHE_HOME="$base/home/cache" \
  WORKSPACE="$base/ws" timeout 120 emacs --batch -l "$here/test.el"
