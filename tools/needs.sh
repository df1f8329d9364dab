#!/bin/bash
# What the Go tests need beside Go: git, and on Linux the sandbox's program, Python for what the sandbox tests try, and a C compiler for
# the race detector. Installs them where it can; else says what is missing and how to get it, and fails.
set -uo pipefail
. "$(dirname "$0")/../editors/testbed/bed.sh"
need() { # PROGRAM PACKAGE...
  command -v "$1" >/dev/null || packages+=("${@:2}")
}
packages=()
need git git
if [ "$(uname -s)" = Linux ]; then
  need bwrap bubblewrap
  need python3 python3-minimal
  need "${CC:-cc}" gcc libc6-dev
fi
[ ${#packages[@]} = 0 ] || apt_packages 'the Go tests' "${packages[@]}"
