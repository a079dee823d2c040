# Every target works on a fresh clone: what it needs is made first, in .venv.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadscope

# Tests start many Pythons, on Spark for each query: all but the first load what that one compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup check check-types check-rest format test test-all demo cluster-demo bench-setup clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with the pinned packages, and see to it that there is a Java

$(READY): pyproject.toml constraints.txt scripts/setup.sh scripts/java.sh
	@scripts/setup.sh $(VENV)
	@scripts/java.sh $(BIN)/python
	@touch $@

check: $(READY) ## formatting, lint, types, which room imports which, names, imports of tests
	@$(MAKE) --no-print-directory -j 2 --output-sync=target check-types check-rest

check-types: $(READY) ## the part of check that is mypy
	$(BIN)/python -m mypy

check-rest: $(READY) ## the part of check that is not
	$(BIN)/python -m ruff format --check --quiet .
	$(BIN)/python -m ruff check --quiet .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python scripts/check_names.py
	$(BIN)/python scripts/check_imports.py

format: $(READY) ## format the code and mend what ruff can mend
	$(BIN)/python -m ruff format .
	$(BIN)/python -m ruff check --fix .

test: check ## check, then the tests and doctests, without the slow ones
	$(PYTEST) -m "not slow"

test-all: check ## check, then all tests
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-all} $(PYTEST)

demo: $(READY) ## two million rows of IP traffic through examples/traffic.cql on local Spark
	$(BIN)/windrow demo

cluster-demo: $(READY) ## the demo on a cluster of two workers on loopback, one of which is killed
	$(BIN)/python -m tests.cluster

bench-setup: $(READY) ## install the engines that the benchmarks compare with
	@scripts/bench.sh $(BIN)/python

clean: ## remove caches, builds and the demo's files; .venv stays
	rm -rf build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
