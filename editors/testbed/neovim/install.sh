#!/bin/bash
# neovim/install.sh prints the path of a Neovim that is new enough (0.11), installing one where the machine has none.
# Of Debian's packages it unpacks a newer suite's Neovim, with its own libraries, into the test bed's cache; nothing of the
# system's package state changes but patchelf and the linters.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../bed.sh"
enough() { "$1" --clean --headless +'lua io.stdout:write(vim.fn.has("nvim-0.11"))' +q 2>/dev/null | grep -q '^1'; }
for nvim in "$(command -v nvim || true)" "$bed/neovim/usr/bin/nvim"; do
  if [ -n "$nvim" ] && [ -x "$nvim" ] && enough "$nvim"; then echo "$nvim"; exit 0; fi
done
lacks() { missing 'the Neovim plugin' 'Neovim 0.11 or later' "$1"; }
can_apt || lacks 'install it and put nvim on PATH'
command -v patchelf >/dev/null || apt_packages 'the Neovim plugin' patchelf

mkdir -p "$bed"
dest=$bed/neovim state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
rm -rf "$dest"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | sort -u | head -1)
[ -n "$mirror" ] || lacks 'no Debian mirror is configured'
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
enough "$dest/usr/bin/nvim" || lacks 'the one that was unpacked does not start, or is older'
echo "$dest/usr/bin/nvim"
