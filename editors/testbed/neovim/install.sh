#!/bin/bash
# neovim/install.sh prints the path of a Neovim that is new enough (0.11), installing one where the machine has none.
# Of Debian's packages it unpacks a newer suite's Neovim, with its own libraries, into the test bed's cache; nothing of the
# system's package state changes but patchelf and the linters.
set -euo pipefail
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-ls-testbed
enough() { "$1" --clean --headless +'lua io.stdout:write(vim.fn.has("nvim-0.11"))' +q 2>/dev/null | grep -q '^1'; }
missing() {
  echo "neovim lane: $1" >&2
  echo "  install Neovim 0.11 or later and put nvim on PATH, then run this again" >&2
  exit 1
}
for nvim in "$(command -v nvim || true)" "$cache/neovim/usr/bin/nvim"; do
  if [ -n "$nvim" ] && [ -x "$nvim" ] && enough "$nvim"; then echo "$nvim"; exit 0; fi
done
command -v apt-get >/dev/null || missing "no Neovim 0.11 on PATH, and no apt-get to install one with"
[ "$(id -u)" = 0 ] || missing "no Neovim 0.11 on PATH, and installing one needs root"

command -v patchelf >/dev/null || { apt-get -qq update && apt-get -qq install -y --no-install-recommends patchelf >/dev/null; }
mkdir -p "$cache"
dest=$cache/neovim state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
rm -rf "$dest"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | sort -u | head -1)
[ -n "$mirror" ] || missing "no Debian mirror is configured"
mkdir -p "$dest" "$state"/lists/partial "$state"/cache/archives/partial
: > "$state/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror forky main" > "$state/sources.list"
cat > "$state/apt.conf" <<CONF
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
Debug::NoLocking "true";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
export APT_CONFIG=$state/apt.conf
apt-get -qq update >&2
apt-get -qq -y --no-install-recommends --download-only install neovim >&2
mkdir -p "$dest"/usr/{bin,lib,lib64,sbin}
for dir in bin lib lib64 sbin; do ln -s "usr/$dir" "$dest/$dir"; done
for package in "$state"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$dest" --keep-directory-symlink
done
arch=$(uname -m)-linux-gnu
loader=$(find -L "$dest/usr/lib64" "$dest/usr/lib" -maxdepth 2 -name 'ld-linux-*.so.*' -print -quit)
patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$dest/usr/lib/$arch" "$dest/usr/bin/nvim"
ln -sfn "$arch/nvim" "$dest/usr/lib/nvim"
unset APT_CONFIG
enough "$dest/usr/bin/nvim" || missing "the Neovim that was installed does not start, or is older than 0.11"
echo "$dest/usr/bin/nvim"
