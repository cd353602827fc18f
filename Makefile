# `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help prerequisites check test demo bench bench-cluster generate lint deny install fuzz packaging plugin render e2e e2e-full e2e-up e2e-smoke e2e-install e2e-down

help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

prerequisites: ## Install bubblewrap and python3-venv where that is allowed, else say what to run
	@scripts/install-prerequisites

check: ## Type-check everything
	cargo check --locked --workspace --all-targets

lint: ## rustfmt and clippy, as the continuous integration runs them
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

test: ## Run every test
	@scripts/install-prerequisites --tests
	@tests/cluster/tool registry >/dev/null
	scripts/cargo-test --locked --workspace --no-fail-fast

KUBECTL_CODEGEN ?= cargo run --locked --bin kubectl-codegen --

demo: prerequisites ## Build, then run a real task on real data with recorded replies
	@rm -rf codegen-out/demo
	$(KUBECTL_CODEGEN) local -k examples/penguins \
	  --replay examples/penguins/replies.jsonl --output codegen-out/demo

bench: prerequisites ## Measure the figures of docs/benchmarks.md
	cargo build --locked --release --bin kubectl-codegen
	scripts/bench

bench-cluster: ## Measure the operator on the cluster of e2e-up and e2e-install (STOP_OPERATOR=1: the one in it may be stopped)
	cargo build --locked --release --workspace --bin codegen-operator --bin codegen-interpreter
	scripts/bench-cluster $(if $(STOP_OPERATOR),--stop-operator)

packaging: ## Lint and test charts, deploy/ and release files with Helm, kustomize and the engines of Argo CD and Flux
	@tests/cluster/packaging

plugin: ## Build kubectl-codegen with its interpreter, man page and completions, as a release packs them
	@scripts/plugin

e2e-up: ## A cluster for the end-to-end tests: KUBECONFIG's, else kind, else our own
	@tests/cluster/up

e2e-smoke: ## Look whether that cluster does what the tests need
	@tests/cluster/smoke

e2e-install: ## Put the operator of this source tree into that cluster, with Helm
	@tests/cluster/install

e2e: e2e-up e2e-install ## A cluster, the operator in it, and the end-to-end tests against it
	@tests/cluster/test

e2e-full: e2e-up e2e-install ## The whole set, about an hour: also kills, fifty tasks, both Helms, simulated nodes (PARTS="kills fifty" chooses)
	@tests/cluster/full $(PARTS)

e2e-down: ## Remove the cluster and all that it left
	@tests/cluster/down

render: ## Write again what Helm makes of the chart for deploy/
	@tests/cluster/packaging --render

generate: ## Write again what is generated: crds/ and its copies, values of the charts, docs/model-protocol.md
	cargo run --locked --quiet --bin codegen-operator -- crds --output crds
	cp crds/*.yaml charts/codegen-operator/files/crds/
	cp crds/*.yaml charts/codegen-operator-crds/files/crds/
	cargo run --locked --quiet --bin codegen-operator -- crds > deploy/base/crds.yaml
	scripts/chart-values
	cargo run --locked --quiet --bin codegen-operator -- config-schema | scripts/chart-schema
	cargo run --locked --quiet --bin kubectl-codegen -- docs model-protocol > docs/model-protocol.md

deny: ## Licences, sources, bans and advisories of the dependencies
	@scripts/deny

FUZZ_TARGETS ?= delimited json text parquet arrow excel gzip packed checks outputs manifest context schema
FUZZ_SECONDS ?= 600

# The compiler is the pinned stable one; RUSTC_BOOTSTRAP lets it take the flags that fuzzing needs.
fuzz: ## Fuzz every parser for FUZZ_SECONDS each (needs cargo-fuzz and g++; see CONTRIBUTING.md)
	@set -e; for target in $(FUZZ_TARGETS); do \
	  mkdir -p fuzz/corpus/$$target; \
	  RUSTC_BOOTSTRAP=1 cargo fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	    -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -malloc_limit_mb=256 -rss_limit_mb=2048; \
	done

install: ## Put kubectl-codegen, codegen-operator and their interpreter of programs into ~/.cargo/bin
	cargo install --locked --path .
	cargo install --locked --path crates/interpreter-worker
