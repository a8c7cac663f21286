# `make` alone tells what there is.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
# Flags for every `go test` of `make test`; CI sets -count=1.
TESTFLAGS ?=

# Packages that compile an SDK to the full, or import one that does, are tested
# without -race: the detector would cost minutes there. make prove races them. They
# wait for real servers most of the time, so they run beside the others.
SDK_PACKAGES := /(backends/(azurelease|gcslease|s3lease|open)|cmd/.*)$$

# Nested modules, each with a go.mod of its own. `go test ./...` skips them.
MODULES := $(patsubst %/go.mod,%,$(wildcard e2e/go.mod bench/go.mod contrib/*/go.mod examples/*/go.mod))

# Systems that the code is checked for; the tests run on this one.
SYSTEMS := linux darwin windows
# What is compiled for the others is only looked at: making it fast would take
# half of the time.
UNUSED_CODE := -gcflags='all=-N -l -dwarf=false'

GOLANGCI_VERSION := 2.15.0
GOLANGCI := $(CURDIR)/.bin/golangci-lint

.PHONY: help
help: ## what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## three processes, one leader, one kill, one pause: watch it
	$(GO) run ./examples/coordinator

.PHONY: build
build: ## compile everything, the nested modules too
	$(GO) build ./...
	@for m in $(MODULES); do echo "build $$m"; (cd "$$m" && $(GO) build ./...); done

.PHONY: test
test: vet unit modules ## everything that CI tests

.PHONY: vet
vet: ## go vet, tests included, for every system
	@for os in $(SYSTEMS); do echo "vet $$os"; \
	if [ $$os = "$$($(GO) env GOHOSTOS)" ]; then $(GO) vet ./...; else GOOS=$$os $(GO) vet $(UNUSED_CODE) ./...; fi; done

# Azurite and s3rver need Node and npm. Where they are missing the tests on them are
# skipped, and say so; CI has them. versitygw is Go, and compiled by the tests.
.PHONY: emulators
emulators: azurite/node_modules/.package-lock.json e2e/s3rver/node_modules/.package-lock.json ## install what tests start

%/node_modules/.package-lock.json: %/package-lock.json
	@if command -v npm >/dev/null; then npm ci --prefix $* --no-audit --no-fund --loglevel=error; \
	else echo "npm is missing: the tests on $* are skipped"; fi

.PHONY: unit
unit: emulators ## the tests of the root module, golden files included
	@packages=$$($(GO) list ./...); \
	raced=$$(grep -Ev '$(SDK_PACKAGES)' <<<"$$packages" || true); \
	plain=$$(grep -E '$(SDK_PACKAGES)' <<<"$$packages" || true); \
	if [ ! -d azurite/node_modules ]; then export BLOBLEASE_AZURITE=skip; fi; \
	log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	echo "go test, beside the others:" ./mutex $$plain; $(GO) test $(TESTFLAGS) ./mutex $$plain >$$log 2>&1 & beside=$$!; \
	failed=0; \
	echo "go test -race"; $(GO) test -race $(TESTFLAGS) $$raced || failed=1; \
	wait $$beside || failed=1; \
	echo "go test"; cat $$log; exit $$failed

.PHONY: modules
modules: emulators ## vet and test each nested module
	@for m in $(MODULES); do echo "module $$m"; \
	(cd "$$m" && $(GO) vet ./... && $(GO) test $(TESTFLAGS) ./...); done

.PHONY: bench
bench: ## benchmarks of the root module and of bench/
	$(GO) test -run '^$$' -bench . -benchmem ./...
	@if [ -f bench/go.mod ]; then cd bench && $(GO) test -run '^$$' -bench . -benchmem ./...; fi

.PHONY: prove
prove: ## the long proof: every seed, a million worlds, every mutant, the demo (hours)
	.ci/prove

.PHONY: golden
golden: ## rewrite the golden files; then read the diff
	$(GO) test ./internal/api -update

.PHONY: lint
lint: golangci ## tidy go.mod, formatting, linters
	$(GO) mod tidy -diff
	$(GOLANGCI) run ./...
	@for m in $(MODULES); do echo "lint $$m"; \
	(cd "$$m" && $(GO) mod tidy -diff && $(GOLANGCI) run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: fmt
fmt: golangci ## format the code
	$(GOLANGCI) fmt

# Building it takes some minutes, but only once per version.
.PHONY: golangci
golangci:
	@if [ "$$($(GOLANGCI) version --short 2>/dev/null || true)" != "$(GOLANGCI_VERSION)" ]; then \
		echo "installing golangci-lint $(GOLANGCI_VERSION)"; \
		GOBIN=$(CURDIR)/.bin GOFLAGS= $(GO) install -ldflags='-s -w' \
			github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION); \
	fi
