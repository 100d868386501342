# `make` lists the targets. Go is all that any of them needs, but for the race
# detector of `make test`, which needs a C compiler.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c

FUZZTIME ?= 30s
DURATION ?= 1h
NODES    ?= 1
SEEDS    ?= 100000
WORLDS   ?= 1000
ARGS     ?=
# Those with tests that use a database.
PACKAGES ?= ./services/internal/store/mongostore ./services/internal/process/app ./services/purchase ./services

# Each clone has a cluster of its own in hack/cluster; CLUSTER names another one.
ifdef CLUSTER
export ACCLAIM_CLUSTER := $(CLUSTER)
endif

# The tools module pins the linter. `go tool` builds it once for each version of
# it and of Go, and keeps it in Go's build cache.
LINT := go tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint

# Turns the API types into their methods and CRDs, the operator's markers into
# its role.
GENERATE := go tool -modfile=hack/tools/controller-gen/go.mod controller-gen object crd rbac:roleName=acclaim-operator paths=./api/contract paths=./api/v1alpha1 paths=./operator/... output:crd:dir=config/crd output:rbac:dir=config/rbac

GENERATED := api config charts operator services/docs/pictures

# Draws the pictures of the documents, light and dark in one file.
D2 := go tool -modfile=$(CURDIR)/hack/tools/d2/go.mod d2 --layout dagre --theme 0 --dark-theme 200 --pad 16

# The race detector needs cgo. A machine without a C compiler tests without it
# and says so; in CI that is an error.
CC   := $(shell go env CC)
RACE := $(if $(shell command -v $(firstword $(CC))),-race)

# The version and the commit that `acclaim version` prints, as hack/image sets
# them.
VERSION  = $(or $(shell git describe --tags --always --dirty --abbrev=12 2>/dev/null),dev)
REVISION = $(shell git rev-parse HEAD 2>/dev/null)
CLI     := github.com/acclaim-dev/acclaim/services/internal/process/cli
STAMP    = -X $(CLI).version=$(VERSION) -X $(CLI).commit=$(REVISION)

# It asks the database that GOVULNDB names, https://vuln.go.dev by default, and fails
# where that does not answer.
VULNCHECK := go tool -modfile=$(CURDIR)/hack/tools/govulncheck/go.mod govulncheck $(if $(GOVULNDB),-db $(GOVULNDB))

# Modules of their own that are tested and linted like the program.
MODULES := hack/image

# The commit of the version before this one. A release sets it to that of the last.
PREVIOUS ?= 71a309da8473ba6a903968bf6bb83dd253350945

.PHONY: help build plugin image dist npm-package manifest push-chart check-dist check-release check-deb check-install check-version publish check-image check-argocd check-chart check-dex check-peers run test test-mongodb mixed has-previous simulate generate check-generate site checker browser extension clients lint vulncheck fuzz abuse defects soak bench bench-peers bench-audience bench-operator cluster-up cluster-down e2e e2e-run e2e-images e2e-previous e2e-kind add-ons fmt clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the program, bin/acclaim
	go build -trimpath -ldflags '$(STAMP)' -o bin/acclaim ./services

plugin: ## Build the plugin of kubectl, bin/kubectl-acclaim; kubectl finds it in any folder of PATH
	go build -trimpath -ldflags '-X main.version=$(VERSION) -X main.commit=$(REVISION)' -o bin/kubectl-acclaim ./operator/kubectl-acclaim

image: ## Write the image without Docker, bin/acclaim-image.tar; ARGS adds flags
	mkdir -p bin
	go -C hack/image run . acclaim --docker-archive $(CURDIR)/bin/acclaim-image.tar $(ARGS)

# The flags with which hack/cluster builds Helm, so that Go builds it once.
HELMS := CGO_ENABLED=0 GOFLAGS=-trimpath

# What a release at tag v1.2.3 is called: 1.2.3 is the tag of the image and the
# version of the chart, which must be a semantic version and else keeps its own.
RELEASE  = $(VERSION:v%=%)
CHART    = $(if $(filter v%,$(VERSION)),--version $(RELEASE)) --app-version $(RELEASE)
DIST    := $(CURDIR)/bin/dist
# Evaluated when a recipe runs: the chart has the only such name with a digit after it.
CHART_FILE = $(wildcard $(DIST)/acclaim-[0-9]*.tgz)
PROCESSORS ?= amd64 arm64
# Of the programs in archives. A Debian package takes its program from one.
PLATFORMS  ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

dist: npm-package site ## Write a release into bin/dist: images and Debian packages for PROCESSORS, programs for PLATFORMS, chart, manifests, npm package, extension, site, bill of materials, checksums
	rm -rf $(DIST) && mkdir -p $(DIST)
	layouts=$$(mktemp -d) && trap 'rm -rf "$$layouts"' EXIT && for processor in $(PROCESSORS); do \
		go -C hack/image run . acclaim --version $(VERSION) --architecture $$processor --tag acclaim:$(RELEASE) --docker-archive $(DIST)/acclaim-$(RELEASE)-$$processor.tar --oci-layout "$$layouts/$$processor" || exit; \
	done && go -C hack/image run . index $(DIST)/acclaim-$(RELEASE)-oci.tar "$$layouts"/*
	@# `go tool` would ignore -trimpath and build Helm's library once more.
	$(HELMS) go -C hack/cluster/tools/helm run helm.sh/helm/v4/cmd/helm package $(CURDIR)/charts/acclaim $(CHART) --destination $(DIST)
	go -C hack/image run . archives --version $(VERSION) $(DIST) $(addprefix --platforms=,$(PLATFORMS))
	programs=$$(mktemp -d) && trap 'rm -rf "$$programs"' EXIT && go -C hack/image run . acclaim --version $(VERSION) --root "$$programs" && \
		tar -xzf "$$(ls $(DIST)/kubectl-acclaim-*.tar.gz | head -1)" -C "$$programs" && \
		go -C hack/image run . sbom --version $(VERSION) "$$programs/acclaim" "$$programs/operator" "$$programs"/kubectl-acclaim* >$(DIST)/acclaim-$(RELEASE).cdx.json
	program=$$(mktemp -d) && trap 'rm -rf "$$program"' EXIT && for processor in $(PROCESSORS); do \
		tar -xzf $(DIST)/acclaim-$(RELEASE)-linux-$$processor.tar.gz -C "$$program" acclaim && hack/release/deb $(RELEASE) $$processor "$$program/acclaim" $(DIST)/ || exit; \
	done
	cp bin/acclaim-client-*.tgz $(DIST)
	cp bin/acclaim-extension.zip $(DIST)/acclaim-extension-$(RELEASE).zip
	tar -czf $(DIST)/acclaim-site-$(RELEASE).tar.gz -C bin/site/dist acclaim
	$(MAKE) manifest
	cd $(DIST) && sha256sum * >SHA256SUMS

# The extension builds the client too, in the same folder, so this comes after it.
npm-package: extension ## Write the npm package of the TypeScript client, bin/acclaim-client-VERSION.tgz; needs node and npm
	mkdir -p bin && rm -f bin/acclaim-client-*.tgz
	cd api/clients/typescript && npm ci --no-audit --no-fund && npm run build && npm pack --ignore-scripts --pack-destination $(CURDIR)/bin

site: ## Write the documents as a site into bin/site/dist, for the path /acclaim/VERSION/ of a server; fails on dead links; needs node and npm
	rm -rf bin/site && mkdir -p bin/site/pages && cp -r hack/site/. bin/site
	git ls-files -z '*.md' '*.svg' '*.png' ':!.github' | tar --null --files-from=- -c | tar -x -C bin/site/pages
	cd bin/site && npm ci --no-audit --no-fund && SITE_VERSION='$(VERSION)' npm run build

MANIFEST_IMAGE ?= acclaim:$(RELEASE)

manifest: ## Write what installs the operator without Helm into bin/dist; MANIFEST_IMAGE=registry.example/acclaim:1.2.3 names its image
	mkdir -p $(DIST)
	for folder in default all-namespaces; do \
		$(HELMS) go -C charts/test run ./manifest/write $(CURDIR)/config $$folder '$(MANIFEST_IMAGE)' >$(DIST)/acclaim-$(RELEASE)-$$folder.yaml || exit; \
	done

push-chart: ## Push the chart of bin/dist to a registry as an OCI artifact; CHART_REGISTRY=oci://registry.example/charts names it
	@test -n "$(CHART_REGISTRY)" || { echo 'make push-chart: CHART_REGISTRY names no registry, such as oci://registry.example/charts' >&2; exit 1; }
	$(HELMS) go -C hack/cluster/tools/helm run helm.sh/helm/v4/cmd/helm push $(CHART_FILE) $(CHART_REGISTRY) $(ARGS)

check-dist: dist ## Fail when a file of the release is missing or differs from its checksum
	cd $(DIST) && sha256sum --check --strict SHA256SUMS && test "$$(wc -l <SHA256SUMS)" = \
		$(words chart bom default all-namespaces krew formula npm extension site oci $(foreach processor,$(PROCESSORS),archive deb) $(foreach platform,$(PLATFORMS),server plugin))

check-release: check-dist ## Push the release to a registry on loopback, sign it with a key made for that, verify and get all of it; the first run builds cosign and the registry
	hack/release/check $(DIST) $(RELEASE)

check-deb: ## Install the Debian package of bin/dist into a fresh system and vote there; needs root, debootstrap, curl and iproute2
	hack/release/chroot $(DIST)/acclaim_*_$(shell go env GOARCH).deb

check-install: ## Install the release of bin/dist into the cluster of `make cluster-up`, from a registry; needs root, and what `make dist e2e-images` has made
	go build -o bin/cluster ./hack/cluster
	bin/cluster load bin/mongod-image.tar
	bin/cluster run hack/release/install $(DIST) $(RELEASE)

check-version: ## Fail when the npm package or the chart has another version than the tag VERSION
	grep -q '"version": "$(RELEASE)"' api/clients/typescript/package.json && grep -qx 'version: $(RELEASE)' charts/acclaim/Chart.yaml || \
		{ echo 'make check-version: package.json or Chart.yaml has another version than $(RELEASE)' >&2; exit 1; }

publish: ## Push image and chart of bin/dist to REGISTRY, such as ghcr.io/acclaim-dev, and sign them; ARGS adds flags of cosign
	@test -n "$(REGISTRY)" || { echo 'make publish: REGISTRY names no registry, such as ghcr.io/acclaim-dev' >&2; exit 1; }
	hack/release/publish $(DIST) $(RELEASE) $(REGISTRY) $(ARGS)

check-image: image ## Fail when a copy of what is committed, built elsewhere, gives another image
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && git clone -q . "$$copy/tree" && \
		go -C "$$copy/tree/hack/image" run . acclaim --docker-archive "$$copy/image.tar" $(ARGS) && \
		cmp "$$copy/image.tar" bin/acclaim-image.tar

run: ## Run everything on this machine; ARGS adds flags of `serve`
	go run ./services serve $(ARGS)

test: ## Run all tests with the race detector; ACCLAIM_SIM_SEEDS asks for more simulations
ifndef RACE
	@echo 'make test: no C compiler ($(CC)), so the race detector is off' >&2
	@test "$${CI:-false}" != true
endif
	@# Built before the tests, whose time limit it would use up on a new machine. Beside
	@# other tests on two slow cores an API server takes longer than 20 seconds to start.
	@#
	@# A program with the race detector waits a second before it exits, for races that may
	@# yet happen; it reports those that it has found without that, and tests start hundreds.
	assets=$$(go run ./hack/envtest) && CGO_ENABLED=$(if $(RACE),1,0) KUBEBUILDER_ASSETS=$$assets GORACE=atexit_sleep_ms=0 \
		KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=3m go test -timeout 30m $(RACE) ./...
	@# It is brief with the race detector.
	CGO_ENABLED=0 go test -run='^TestRights$$' ./services
	for module in $(MODULES); do go -C $$module test ./...; done

has-previous:
	@git cat-file -e '$(PREVIOUS)^{commit}' 2>/dev/null || { echo 'make mixed: this clone lacks the commit $(PREVIOUS) of the version before: fetch the whole history' >&2; exit 1; }

test-mongodb: ## Run the tests over a database on the server that ACCLAIM_TEST_MONGODB_URI names; PACKAGES selects some
	@test -n "$${ACCLAIM_TEST_MONGODB_URI:-}" || { echo 'make test-mongodb: ACCLAIM_TEST_MONGODB_URI names no server' >&2; exit 1; }
	go test -count=1 -timeout 60m $(PACKAGES)

mixed: has-previous ## Run this version and the one before, of the commit PREVIOUS, side by side over one database
	previous=$$(mktemp -d) && trap 'rm -rf "$$previous"' EXIT && git archive $(PREVIOUS) | tar -x -C "$$previous" && \
		go -C "$$previous" build -o "$$previous/acclaim" ./services && \
		ACCLAIM_PREVIOUS_PROGRAM="$$previous/acclaim" go test -v -count=1 -run='^TestMixedVersions$$/^the_version_before$$' ./services

simulate: ## Run SEEDS simulations of the engine, 100000 by default, and WORLDS of the whole program, 1000 by default; damage a store in every way
	ACCLAIM_SIM_SEEDS=$(SEEDS) ACCLAIM_SIM_WORLDS=$(WORLDS) ACCLAIM_SIM_DAMAGE=all go test -count=1 -timeout=0 -run='^Test(Simulation|DamageEverywhere|Torn.*)$$' \
		./services/internal/engine/stream ./services/internal/process/app ./services/internal/store/pebblestore

generate: ## Write what is generated from the API types, the chart's values, the table of operations and the texts of pictures
	$(GENERATE)
	go run ./hack/chart
	go test ./services/internal/operation -run TestGenerated -count=1 -update
	for picture in services/docs/pictures/*.d2; do $(D2) "$$picture" "$${picture%.d2}.svg" || exit; done

check-generate: generate ## Fail when what is generated is not what is committed
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git status --short -- $(GENERATED); git diff -- $(GENERATED); exit 1; } >&2

check-argocd: ## Run config/argocd/health.lua as Argo CD does and hold the samples for Argo CD and Flux to their schemas; the first run builds its interpreter
	go -C hack/argocd vet ./...
	go -C hack/argocd test -count=1 ./...

check-dex: ## Sign people in at dex, an OpenID Connect issuer of others, in every way that the program knows; the first run builds dex
	cd hack/dex && $(LINT) run ./...
	go -C hack/dex test -count=1 ./...

check-peers: ## Lint and test the stores that bench-peers compares with; needs PostgreSQL and Redis from Debian where ACCLAIM_PEERS is set
	cd hack/bench/peers && $(LINT) run ./...
	go -C hack/bench/peers test -count=1 ./...

check-chart: ## Lint the chart and compare what it renders with charts/test/testdata; the first run builds Helm's library
	@# The linter that `make lint` has built, not one with Helm's flags.
	cd charts/test && linter=$$($(subst go tool,go tool -n,$(LINT))) && $(HELMS) $$linter run ./...
	@# The chart is outside of the module, so the cache of tests does not notice its changes.
	$(HELMS) go -C charts/test test -count=1 ./...

checker: ## Build the checker of votes, bin/acclaim-checker.html, and its module, and print its digest; needs node and npm
	mkdir -p bin && cd api/clients/checker && npm ci --no-audit --no-fund && npm run build && cp dist/acclaim-checker.html dist/acclaim-checker.js $(CURDIR)/bin

browser: extension checker ## Test the pages, the checker of votes and the hosted service's browser SDK in Chromium, from Debian or ACCLAIM_CHROMIUM; needs node and npm
	cd hack/browser && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund && npm test

# The extension builds the checker too, in the same folder, so this comes after it.
extension: checker ## Build and check the reference extension, bin/acclaim-extension.zip; needs node and npm
	mkdir -p bin && cd api/clients/extension && npm ci --no-audit --no-fund && npm test && cp extension.zip $(CURDIR)/bin/acclaim-extension.zip

clients: npm-package checker ## Test clients of others and of ours against the program; needs node and npm
	cd hack/clients && npm ci --no-audit --no-fund && npm test
	cd api/clients/checker && npm test
	cd api/clients/typescript && npm test

lint: ## Run golangci-lint, and actionlint on the workflows; the first run builds it, which takes a minute or two
	$(LINT) run ./...
	for module in $(MODULES); do (cd $$module && $(LINT) run ./...); done
	go tool -modfile=hack/tools/actionlint/go.mod actionlint -shellcheck= -pyflakes=

vulncheck: ## Look for known vulnerabilities in what the programs call; needs the Go vulnerability database, see GOVULNDB
	$(VULNCHECK) ./...
	for module in $(MODULES); do (cd $$module && $(VULNCHECK) ./...) || exit; done

fuzz: ## Run every fuzz target for FUZZTIME, 30s by default
	@grep -rEo '^func Fuzz\w+' --include='*_test.go' . | while IFS=: read -r file func; do \
		(set -x; go test -run='^$$' -fuzz="^$${func#func }$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=20x "$$(dirname "$$file")") </dev/null; \
	done

abuse: ## Attack the program beside ordinary viewers; fails if they notice. ARGS adds flags: ARGS=-list, ARGS="-only whispers"
	go run ./hack/abuse $(ARGS)

defects: ## Bring past defects back and demand that their tests fail. ARGS adds flags: ARGS=-list, ARGS="-slice 2/4", ARGS="-only lease"
	go run ./hack/defects $(ARGS)

soak: ## Run the histories over elections of a replica set for DURATION, 1h by default, with a new seed for each
	ACCLAIM_SOAK=$(DURATION) go test -v -count=1 -timeout=0 -run='Elections$$' ./services/internal/engine/stream ./services

bench: ## Measure throughput against the ceiling; ARGS adds flags, see ARGS=-help; MONGODB_URI names a cluster
	go run ./hack/bench $(ARGS)

bench-peers: ## Compare votes a second with PostgreSQL, Redis and PocketBase behind the same requests; needs Debian's postgresql and redis-server
	go run ./hack/bench peers $(ARGS)

bench-audience: ## Measure a public result behind a cache: answers a second, requests that reach the program, age; needs Debian's nginx-light
	go run ./hack/bench audience $(ARGS)

cluster-up: ## Start a Kubernetes cluster of NODES nodes on this machine, 1 by default, and this clone's or the one named CLUSTER; needs root, see hack/cluster
	go run ./hack/cluster up --nodes $(NODES)

cluster-down: ## End that cluster and remove what was its own
	go run ./hack/cluster down

# What the end-to-end suite is given. LABELS selects specs, such as `nodes`: those that a
# run with NODES=3 adds. One node cannot be taken away.
E2E := ACCLAIM_E2E_IMAGE=acclaim:dev ACCLAIM_E2E_PREVIOUS_IMAGE=acclaim:previous ACCLAIM_E2E_PREVIOUS_CHART=$(CURDIR)/bin/acclaim-previous.tgz ACCLAIM_E2E_DATABASE_IMAGE=acclaim-mongod:dev ACCLAIM_E2E_KILL_IMAGE=acclaim-kill:dev ACCLAIM_E2E_CLOCK_IMAGE=acclaim-clock:dev ACCLAIM_E2E_PLUGINS=$(CURDIR)/bin
E2E_IMAGES := $(addprefix bin/,acclaim-image.tar acclaim-previous-image.tar mongod-image.tar kill-image.tar clock-image.tar)
# Releases are tested beside each other by processes of their own.
E2E_RUN = $(CURDIR)/bin/ginkgo --procs=3 -v --timeout=40m $(if $(CI),--no-color) $(if $(LABELS),--label-filter='$(LABELS)') ./e2e.test
LABELS ?= $(if $(filter 1,$(NODES)),!power)

e2e: e2e-images ## Test the chart and the image in a cluster of NODES nodes on this machine, started if there is none; needs root
	$(MAKE) e2e-run

# With the images that e2e-images has made.
e2e-run:
	go build -o bin/cluster ./hack/cluster
	bin/cluster run true 2>/dev/null || $(MAKE) cluster-up
	bin/cluster load $(E2E_IMAGES)
	cd hack/e2e && $(E2E) ACCLAIM_E2E_POWER=$(CURDIR)/bin/cluster $(CURDIR)/bin/cluster run $(E2E_RUN)

# What takes nodes or the API server away needs hack/cluster, and the addresses of pods have no route from
# this machine.
e2e-kind: LABELS = !power && !control && !pods
e2e-kind: e2e-images ## The same on three nodes of kind, which needs Docker, kind, kubectl and helm. KIND_IMAGE names the image of its nodes
	go run ./hack/cluster add-ons bin/add-ons
	kind get clusters | grep -qx acclaim || kind create cluster --name acclaim --config hack/e2e/kind.yaml $(if $(KIND_IMAGE),--image $(KIND_IMAGE))
	for image in $(E2E_IMAGES) bin/add-ons/*.tar; do kind load image-archive --name acclaim $$image || exit; done
	kind get kubeconfig --name acclaim >bin/kind.kubeconfig
	KUBECONFIG=$(CURDIR)/bin/kind.kubeconfig $(MAKE) add-ons
	cd hack/e2e && $(E2E) KUBECONFIG=$(CURDIR)/bin/kind.kubeconfig $(E2E_RUN)

# Starts what `go run ./hack/cluster add-ons bin/add-ons` has written in the cluster of KUBECONFIG, whose nodes have the images.
add-ons:
	kubectl apply --server-side -f bin/add-ons/gateway-api
	kubectl wait --for=condition=Established --timeout=60s crd/gatewayclasses.gateway.networking.k8s.io
	kubectl apply -f bin/add-ons/manifests
	for workload in daemonset/skipper deployment/traefik deployment/metrics-server; do kubectl -n kube-system rollout status $$workload --timeout=3m || exit; done

# packed_chart is the chart of a commit, as Helm packs it.
packed_chart = git archive --format=tar.gz --prefix=acclaim/ -o bin/acclaim-previous.tgz $(1):charts/acclaim

# The chart and the image that the suite upgrades from are those of the version before. A
# clone without it has this version under another name.
e2e-previous:
	mkdir -p bin
	if $(MAKE) --silent has-previous; then \
		previous=$$(mktemp -d) && trap 'rm -rf "$$previous"' EXIT && git archive $(PREVIOUS) | tar -x -C "$$previous" && $(call packed_chart,$(PREVIOUS)) && \
			go -C hack/image run . acclaim --source "$$previous" --version previous --revision $(PREVIOUS) --tag acclaim:previous --docker-archive $(CURDIR)/bin/acclaim-previous-image.tar; \
	else \
		echo '== NOT RUN: the upgrade in the cluster from the version before, which this clone lacks: it goes from this version to itself' >&2; \
		$(call packed_chart,HEAD) && \
			go -C hack/image run . acclaim --tag acclaim:previous --docker-archive $(CURDIR)/bin/acclaim-previous-image.tar; \
	fi

e2e-images: image plugin e2e-previous
	CGO_ENABLED=0 go -C hack/mongod build -trimpath -o $(CURDIR)/bin/mongod .
	go -C hack/image run . pack --tag acclaim-mongod:dev --docker-archive $(CURDIR)/bin/mongod-image.tar $(CURDIR)/bin/mongod
	CGO_ENABLED=0 go build -trimpath -o bin/kill ./hack/e2e/kill
	go -C hack/image run . pack --tag acclaim-kill:dev --docker-archive $(CURDIR)/bin/kill-image.tar $(CURDIR)/bin/kill
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && overlay=$$(go run ./hack/e2e/clock "$$(go env GOROOT)" "$$folder") && \
		CGO_ENABLED=0 go build -trimpath -buildvcs=false -overlay "$$overlay" -o "$$folder/acclaim" ./services && \
		go -C hack/image run . pack --tag acclaim-clock:dev --docker-archive $(CURDIR)/bin/clock-image.tar "$$folder/acclaim"
	@# Its tests run in the folder that they are in.
	go test -c -o hack/e2e/e2e.test ./hack/e2e
	go build -o bin/ginkgo github.com/onsi/ginkgo/v2/ginkgo

bench-operator: ## Measure the operator with 10,000 Polls; ARGS adds flags, see ARGS=--help
	go run ./hack/scale $(ARGS)

fmt: ## Format the code
	$(LINT) fmt

clean: ## Remove what was built; acclaim-data is left alone
	rm -rf bin
