# `make` lists the targets. Go is all that any of them needs, but for the race
# detector of `make test`, which needs a C compiler.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c

FUZZTIME ?= 30s
ARGS     ?=

# The tools module pins the linter. `go tool` builds it once for each version of
# it and of Go, and keeps it in Go's build cache.
LINT := go tool -modfile=hack/tools/go.mod golangci-lint

# The race detector needs cgo. A machine without a C compiler tests without it
# and says so; in CI that is an error.
CC   := $(shell go env CC)
RACE := $(if $(shell command -v $(firstword $(CC))),-race)

.PHONY: help build run test lint fuzz bench fmt clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "%-8s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the program, bin/acclaim
	go build -trimpath -o bin/acclaim ./services

run: ## Run everything on this machine; ARGS adds flags of `serve`
	go run ./services serve $(ARGS)

test: ## Run all tests with the race detector; ACCLAIM_SIM_SEEDS asks for more simulations
ifndef RACE
	@echo 'make test: no C compiler ($(CC)), so the race detector is off' >&2
	@test "$${CI:-false}" != true
endif
	CGO_ENABLED=$(if $(RACE),1,0) go test $(RACE) ./...

lint: ## Run golangci-lint; the first run builds it, which takes a minute or two
	$(LINT) run ./...

fuzz: ## Run every fuzz target for FUZZTIME, 30s by default
	@grep -rEo '^func Fuzz\w+' --include='*_test.go' . | while IFS=: read -r file func; do \
		(set -x; go test -run='^$$' -fuzz="^$${func#func }$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=20x "$$(dirname "$$file")") </dev/null; \
	done

bench: ## Measure throughput against the ceiling; ARGS adds flags, see ARGS=-help
	go run ./hack/bench $(ARGS)

fmt: ## Format the code
	$(LINT) fmt

clean: ## Remove what was built; acclaim-data is left alone
	rm -rf bin
