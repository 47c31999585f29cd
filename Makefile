# Every command of the project; `make` alone lists them.
# Nothing needs to be installed or activated before: each target sets up what it lacks, once.

# Another Python than .venv's, in an environment of its own, as in `make test PYTHON=3.13`.
PYTHON =
SETUP := ./scripts/setup.sh $(if $(PYTHON),--python $(PYTHON))
BIN := .venv$(if $(PYTHON),-$(PYTHON))/bin

# Taken as typed (`value`), so that a $ in the task is a $, and handed on in the environment, so
# that no quote in it ever meets a shell.
TASK ?= create a simple Python calculator with add, subtract, multiply, divide, and test it
override TASK := $(value TASK)
export TASK
# More options for the program behind a target, as in `make test ARGS='-k bash -x'`.
ARGS ?=
# Optional parts of the project to install, as in `make setup EXTRAS=anthropic,google`.
EXTRAS ?=
# One process per core, up to four: more only compete for the browser and the database.
WORKERS ?= --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder
# What an agent or a test runs may call make itself: it shall not inherit from this one.
ALONE := unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES;

COMPILE = $(SETUP) uv pip compile pyproject.toml --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-header --quiet $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help run test coverage check format bench dev docs setup pins clean
.SILENT: help run test coverage setup

help: ## list the commands
	awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: ## do a task: make run TASK="..." (without a model: play the bundled recording)
	$(SETUP) run
	$(ALONE) exec $(BIN)/manus run --workspace workspace --or-replay manus/recordings/calculator.jsonl -- "$$TASK"

test: ## run the whole test suite: make test ARGS="-k bash" PYTHON=3.13
	$(SETUP) browser
	# each process that a test starts would else compile everything anew
	$(ALONE) unset TASK PYTHONDONTWRITEBYTECODE; exec $(BIN)/python -m pytest $(WORKERS) $(ARGS)

coverage: ## the same with coverage of manus, child processes included: make coverage ARGS=tests/store
	$(SETUP) browser
	$(BIN)/coverage erase
	$(ALONE) unset TASK PYTHONDONTWRITEBYTECODE; $(BIN)/coverage run -m pytest $(WORKERS) $(ARGS); \
		code=$$?; $(BIN)/coverage combine --quiet && $(BIN)/coverage report && \
		$(BIN)/python scripts/package_coverage.py; exit $$code

check: ## lint, formatting, types, direction of imports
	$(SETUP) dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: ## format, and repair what the linter can repair
	$(SETUP) dev
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: ## what a step costs, against a plain loop, and the sandbox: make bench ARGS="..."
	$(SETUP) dev
	$(BIN)/python -m benchmarks.step_cost $(ARGS)
	$(BIN)/python -m benchmarks.sandbox

# Without reloading: it would begin anew whenever a run writes a Python file into ./workspace.
dev: ## the LangGraph server on this machine, for Studio: make dev ARGS="--port 2025"
	$(SETUP) dev
	$(BIN)/langgraph dev --no-browser --no-reload --n-jobs-per-worker 10 $(ARGS)

docs: ## write docs/reference/ anew from the code
	$(SETUP) dev
	$(BIN)/python scripts/write_reference.py

setup: ## make .venv ready for all of the above; other providers: make setup EXTRAS=anthropic
	$(SETUP) browser
	if [ -n "$(EXTRAS)" ]; then $(SETUP) extras "$(EXTRAS)"; fi

# One set of versions that suits all extras at once, and the two that are installed taken from it.
pins: ## bring requirements/ in line with pyproject.toml: make pins ARGS=--upgrade
	$(COMPILE) --group dev --all-extras --output-file requirements/all.txt
	$(COMPILE) --group dev --constraint requirements/all.txt --output-file requirements/dev.txt
	$(COMPILE) --constraint requirements/dev.txt --output-file requirements/run.txt

clean: ## remove .venv and caches; workspace/ and your threads stay
	rm -rf .venv .venv-3.* .langgraph_api .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage .coverage.* dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
