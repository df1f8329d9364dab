# Sourced by the scripts of this folder: where the test bed is, and how its parts get there once. What is installed lives
# in the user's cache folder, outside the clone, so that a new clone finds it.

bed=${AGENT_LS_TESTBED:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls-testbed}
testbed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$testbed/../.." && pwd)

# missing PART WHAT HOW: says which part of the tests cannot run, what it lacks and how to get that; ends the script.
missing() {
  printf 'missing: %s\n  it needs %s\n  to get it: %s\n' "$1" "$2" "$3" >&2
  exit 1
}

# can_apt: whether packages can be installed here.
can_apt() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]
}

# apt_packages PART PACKAGE...: installs packages of the system, or says that they are missing.
apt_packages() {
  local part=$1; shift
  if ! can_apt; then
    missing "$part" "the packages $*" "as root, on Debian or Ubuntu: apt-get install $*"
  fi
  apt-get -qq update >&2 || missing "$part" "the packages $*" "apt-get update failed: look at the network and the sources"
  DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null ||
    missing "$part" "the packages $*" "apt-get install $* failed: look at its messages above"
}

# digest FILE...: one word that changes when a file does.
digest() {
  cat "$@" | sha256sum | cut -c1-16
}

# once NAME DIGEST FUNCTION: runs FUNCTION with the folder $bed/NAME as its argument unless that was done for this digest.
# Two runs at the same time wait for each other; a run that was cut off leaves nothing that counts as installed.
once() {
  local name=$1 want=$2 install=$3 dir=$bed/$1
  mkdir -p "$bed"
  exec 9>"$bed/$name.lock"
  flock 9
  if [ "$(cat "$dir/.installed" 2>/dev/null || true)" != "$want" ]; then
    echo "installing $name into $dir" >&2
    rm -rf "$dir" && mkdir -p "$dir"
    "$install" "$dir"
    echo "$want" > "$dir/.installed"
  fi
  exec 9>&-
}

# npm_ci DIR: installs what the lock file in DIR says, without scripts' chatter.
npm_ci() {
  (cd "$1" && npm ci --no-audit --no-fund --loglevel=error)
}

# npm_lane NAME PART WHAT: installs into $bed/NAME what the lock file of the lane NAME says; PART and WHAT are for `missing`.
npm_lane() {
  command -v npm >/dev/null || missing "$2" "$3" 'install Node.js and put it on PATH'
  local lane=$testbed/$1
  locked() {
    cp "$lane/package.json" "$lane/package-lock.json" "$1/"
    npm_ci "$1" >&2
  }
  once "$1" "$(digest "$lane/package-lock.json")" locked
}
