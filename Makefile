# `make help` lists the targets.
.DEFAULT_GOAL := help
.PHONY: help prerequisites check test demo bench generate lint deny install

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

prerequisites: ## Install bubblewrap and python3-venv where that is allowed, else say what to run
	@scripts/install-prerequisites

check: ## Type-check everything
	cargo check --locked --all-targets

lint: ## rustfmt and clippy, as the continuous integration runs them
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings

test: ## Run every test
	@scripts/install-prerequisites --tests
	cargo test --locked --no-fail-fast

demo: prerequisites ## Build, then run a real task on real data with recorded replies
	@rm -rf codegen-out/demo
	cargo run --locked --bin kubectl-codegen -- local -k examples/penguins \
	  --replay examples/penguins/replies.jsonl --output codegen-out/demo

bench: prerequisites ## Measure the figures of docs/benchmarks.md
	cargo build --locked --release --bin kubectl-codegen
	scripts/bench

generate: ## Write again what is generated: crds/, docs/model-protocol.md
	cargo run --locked --quiet --bin codegen-operator -- crds --output crds
	cargo run --locked --quiet --bin kubectl-codegen -- docs model-protocol > docs/model-protocol.md

deny: ## Licences, advisories and sources of the dependencies (needs cargo-deny)
	cargo deny check

install: ## Put kubectl-codegen and codegen-operator into ~/.cargo/bin
	cargo install --locked --path .
