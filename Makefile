# agent-ls: `make demo` runs the main job, `make test` passes every test.
# Each target says in one line what it does; `make` prints them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
export CGO_ENABLED ?= 0

.PHONY: help build demo test needs test-core test-editors lint lint-editors cross bench docs vsix clean

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

build: ## build bin/agent-ls
	go build -ldflags '$(LDFLAGS)' -o bin/agent-ls ./cmd/agent-ls

demo: build ## run the main job in a scratch workspace (DEMO_YES=1 answers its questions)
	bin/agent-ls demo

test: needs test-core test-editors ## every test, the editors' included; installs what they need

test-core: lint cross ## without the editors: lint, all platforms, unit, golden, script and race tests
	tools/gotest.sh

needs: ## install what the tests need beside Go
	tools/needs.sh

test-editors: build ## real VS Code, Neovim, Emacs and Node clients against the real binary
	editors/testbed/run.sh

lint: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l cmd lsp hooks loop)" || { echo "not gofmt'ed:"; gofmt -l cmd lsp hooks loop; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...

lint-editors: ## tsc, eslint, luacheck, stylua; installs them
	editors/testbed/neovim/lint.sh
	editors/testbed/vscode/lint.sh

cross: ## build and vet for linux, darwin and windows on amd64 and arm64
	@set -e; for p in $(PLATFORMS); do echo "build and vet $$p"; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} go build -o /dev/null ./cmd/agent-ls; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./...; done

bench: ## the benchmarks, each beside its target and what it is compared with
	tools/bench.sh

docs: ## write the generated reference pages anew
	go generate ./...

vsix: ## an installable VS Code package with the binary in it
	editors/vscode/package.sh

clean: ## remove what was built here
	rm -rf bin dist editors/vscode/dist editors/vscode/bin editors/vscode/node_modules shots
