# All commands of the project; `make` lists them.
# Nothing needs to be installed or activated first: each target sets up its requirements once.

# Another Python version, in its own environment: `make test PYTHON=3.13`.
PYTHON =
# The newest published versions instead of those in requirements/: `make test PYTHON=3.13 PINS=none`.
PINS ?=
export PINS
SETUP := ./scripts/setup.sh $(if $(PYTHON),--python $(PYTHON))
BIN := .venv$(if $(PYTHON),-$(PYTHON))/bin

# Taken literally (`value`), so that a $ is not expanded, and passed in the environment, so that no
# shell interprets its quotes.
TASK ?= create a simple Python calculator with add, subtract, multiply, divide, and test it
override TASK := $(value TASK)
export TASK
# Additional arguments for the program of a target: `make test ARGS='-k bash -x'`.
ARGS ?=
# Optional dependencies: `make setup EXTRAS=anthropic,google`.
EXTRAS ?=
# One more process than cores (`tests/conftest.py`), up to four: more would only compete for the
# browser and the database.
WORKERS ?= --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# Programs started by an agent or a test may call make, and must not inherit this make's flags.
ALONE := unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES;

COMPILE = $(SETUP) uv pip compile pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help run test coverage check format bench served consumers chaos faults measure real dev docs setup dist pins clean
.SILENT: help run test coverage setup

help: ## list the commands
	awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: ## run a task: make run TASK="..." (without a model: replay the bundled recording)
	$(SETUP) run
	$(ALONE) exec $(BIN)/manus run --workspace workspace --or-replay manus/recordings/calculator.jsonl -- "$$TASK"

test: ## run the whole test suite: make test ARGS="-k bash" PYTHON=3.13
	$(SETUP) browser
	# without bytecode, each process that a test starts would compile every module again
	$(ALONE) unset TASK PYTHONDONTWRITEBYTECODE; exec $(BIN)/python -m pytest $(WORKERS) $(ARGS)

coverage: ## run the tests and report coverage, child processes included: make coverage ARGS=tests/threads
	$(SETUP) browser
	$(BIN)/coverage erase
	$(ALONE) unset TASK PYTHONDONTWRITEBYTECODE; $(BIN)/coverage run -m pytest $(WORKERS) $(ARGS); \
		code=$$?; $(BIN)/coverage combine --quiet && $(BIN)/coverage report && \
		$(BIN)/python scripts/package_coverage.py; exit $$code

check: ## lint, formatting, types, direction of imports, language
	$(SETUP) dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_language.py

format: ## format the code, and apply the linter's fixes
	$(SETUP) dev
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: ## measure the cost per step, compared with other loops, and of the sandbox: make bench ARGS="..."
	$(SETUP) dev
	$(BIN)/python -m benchmarks.step_cost $(ARGS)
	$(BIN)/python -m benchmarks.sandbox

served: ## kill, stop and load two instances of Aegra, and report: make served ARGS="--load"
	$(SETUP) dev
	$(BIN)/python -m benchmarks.served $(ARGS)

consumers: ## run the agent in other people's frameworks: make consumers ARGS="harbor"
	$(SETUP) dev
	$(BIN)/python -m benchmarks.consumers $(ARGS)

chaos: ## kill runs at random moments and resume them: make chaos ARGS="--kills 50 --postgres URL"
	$(SETUP) dev
	$(BIN)/python -m benchmarks.chaos $(ARGS)

faults: ## compare what eight faults do to the calls of several agents: make faults ARGS="--trials 10"
	$(SETUP) dev
	$(BIN)/python -m benchmarks.faults $(ARGS)

measure: ## write docs/measurements.md: make measure ARGS="--only faults,sandbox"
	$(SETUP) browser
	$(BIN)/python -m benchmarks.measure $(ARGS)

real: ## run ten smoke tasks on a real, small model (fetches 320 MB once): make real
	$(SETUP) dev
	$(BIN)/python -m benchmarks.real

# No reloading: the server would restart whenever a run writes a Python file into ./workspace.
dev: ## start the LangGraph development server, for Studio: make dev ARGS="--port 2025"
	$(SETUP) dev
	$(BIN)/langgraph dev --no-browser --no-reload --n-jobs-per-worker 10 $(ARGS)

docs: ## generate docs/reference/ from the code
	$(SETUP) dev
	$(BIN)/python scripts/write_reference.py

setup: ## prepare .venv for all of the above; other providers: make setup EXTRAS=anthropic
	$(SETUP) browser
	if [ -n "$(EXTRAS)" ]; then $(SETUP) extras "$(EXTRAS)"; fi

dist: ## build a wheel and a source archive in dist/
	$(SETUP) uv build --out-dir dist

# One set of versions satisfies all extras; the two sets that are installed are subsets of it.
pins: ## compile requirements/ from pyproject.toml: make pins ARGS=--upgrade
	$(COMPILE) --group dev --all-extras --output-file requirements/all.txt
	$(COMPILE) --group dev --constraint requirements/all.txt --output-file requirements/dev.txt
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/run.txt

clean: ## remove .venv and caches; keep workspace/ and your threads
	rm -rf .venv .venv-3.* .venv-aegra .langgraph_api .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
