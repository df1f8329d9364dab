#!/usr/bin/env bash
# package.sh [TARGET]
# Builds agent-ls for a platform, bundles the extension and packages both into dist/agent-ls-TARGET.vsix at the root of
# the project. TARGET is a platform as VS Code calls it (linux-x64, darwin-arm64, win32-x64, …); default: this machine's.
# Needs Go, Node 20 or later and npm. Prints the path of the package as its last line.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)

for tool in go node npm; do
  command -v "$tool" >/dev/null || { echo "package.sh: $tool is missing; it is needed to build the extension" >&2; exit 1; }
done

target=${1:-}
if [ -z "$target" ]; then
  target=$(node -p '`${process.platform}-${process.arch}`')
fi
case ${target%%-*} in
  linux) goos=linux ;;
  darwin) goos=darwin ;;
  win32) goos=windows ;;
  *) echo "package.sh: no such target: $target (linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64, win32-arm64)" >&2; exit 2 ;;
esac
case ${target#*-} in
  x64) goarch=amd64 ;;
  arm64) goarch=arm64 ;;
  *) echo "package.sh: no such target: $target (the second part is x64 or arm64)" >&2; exit 2 ;;
esac

# Installs what the lock file says, once for each version of it.
lock=$(node -p 'require("crypto").createHash("sha256").update(require("fs").readFileSync("package-lock.json")).digest("hex")')
if [ "$(cat node_modules/.installed 2>/dev/null || true)" != "$lock" ]; then
  npm ci --no-audit --no-fund --loglevel=error
  echo "$lock" > node_modules/.installed
fi

rm -rf bin && mkdir -p bin
binary=agent-ls
if [ "$goos" = windows ]; then binary=agent-ls.exe; fi
version=$(git -C "$root" describe --tags --always --dirty 2>/dev/null || echo dev)
(cd "$root" && CGO_ENABLED=0 GOOS=$goos GOARCH=$goarch go build -trimpath -ldflags "-s -w -X main.version=$version" -o "editors/vscode/bin/$binary" ./cmd/agent-ls)

node esbuild.mjs extension
cp "$root/LICENSE" LICENSE
mkdir -p "$root/dist"
out=$root/dist/agent-ls-$target.vsix
node node_modules/@vscode/vsce/vsce package --no-dependencies --allow-missing-repository --skip-license --target "$target" --out "$out" >/dev/null
echo "$out"
