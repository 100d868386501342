# `make` lists the targets. Go is all that any of them needs, but for the race
# detector of `make test`, which needs a C compiler.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c

FUZZTIME ?= 30s
ARGS     ?=

# The tools module pins the linter. `go tool` builds it once for each version of
# it and of Go, and keeps it in Go's build cache.
LINT := go tool -modfile=hack/tools/go.mod golangci-lint

# Turns the API types into their methods and CRDs, the operator's markers into
# its role.
GENERATE := go tool -modfile=hack/tools/controller-gen/go.mod controller-gen object crd rbac:roleName=acclaim-operator paths=./api/v1alpha1 paths=./operator/... output:crd:dir=config/crd output:rbac:dir=config/rbac

# The race detector needs cgo. A machine without a C compiler tests without it
# and says so; in CI that is an error.
CC   := $(shell go env CC)
RACE := $(if $(shell command -v $(firstword $(CC))),-race)

.PHONY: help build run test generate check-generate lint fuzz bench bench-operator fmt clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the program, bin/acclaim
	go build -trimpath -o bin/acclaim ./services

run: ## Run everything on this machine; ARGS adds flags of `serve`
	go run ./services serve $(ARGS)

test: ## Run all tests with the race detector; ACCLAIM_SIM_SEEDS asks for more simulations
ifndef RACE
	@echo 'make test: no C compiler ($(CC)), so the race detector is off' >&2
	@test "$${CI:-false}" != true
endif
	@# Built before the tests, whose time limit it would use up on a new machine.
	assets=$$(go run ./hack/envtest) && CGO_ENABLED=$(if $(RACE),1,0) KUBEBUILDER_ASSETS=$$assets go test $(RACE) ./...

generate: ## Write what is generated from the API types: methods, CRDs, RBAC
	$(GENERATE)

check-generate: generate ## Fail when what is generated is not what is committed
	@test -z "$$(git status --porcelain -- api config)" || { git status --short -- api config; git diff -- api config; exit 1; } >&2

lint: ## Run golangci-lint; the first run builds it, which takes a minute or two
	$(LINT) run ./...

fuzz: ## Run every fuzz target for FUZZTIME, 30s by default
	@grep -rEo '^func Fuzz\w+' --include='*_test.go' . | while IFS=: read -r file func; do \
		(set -x; go test -run='^$$' -fuzz="^$${func#func }$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=20x "$$(dirname "$$file")") </dev/null; \
	done

bench: ## Measure throughput against the ceiling; ARGS adds flags, see ARGS=-help; MONGODB_URI names a cluster
	go run ./hack/bench $(ARGS)

bench-operator: ## Measure the operator with 10,000 Polls; ARGS adds flags, see ARGS=--help
	go run ./hack/scale $(ARGS)

fmt: ## Format the code
	$(LINT) fmt

clean: ## Remove what was built; acclaim-data is left alone
	rm -rf bin
