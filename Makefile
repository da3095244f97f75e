# Everything here needs python3.11 (or later) and make, nothing else.
.DEFAULT_GOAL := help
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OUT := out

.PHONY: help setup demo claims test test-slow fuzz check format bench agreement docs golden clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY)  ## Make a virtual environment in .venv with all packages

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "python3.11 is needed and was not found"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet -c constraints.txt -e '.[lab,dev]'
	@touch $(READY)

demo: $(READY)  ## Run ten nodes, then ask which overlay suits the example (a minute)
	@mkdir -p $(OUT)
	@$(BIN)/orbweaver swarm 10 --seconds 10
	@$(BIN)/orbweaver advise --quick --store $(OUT)/advise --out $(OUT)/advise.html

PAPER := spidercast
claims: $(READY)  ## Run a paper's claims again (ten minutes and more); PAPER=vitis, magnet, omen, rappel
	@mkdir -p $(OUT)
	@$(BIN)/orbweaver reproduce $(PAPER) --store $(OUT)/store --out $(OUT)/$(PAPER).html

test: $(READY)  ## Run the tests (minutes)
	$(BIN)/python -m pytest -q -n 2

test-slow: $(READY)  ## Run the paper-scale tests too
	$(BIN)/python -m pytest -q -n 2 -m 'slow or not slow'

fuzz: $(READY)  ## Search for failures with new random examples; SECONDS=600, SEED=...
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

check: $(READY)  ## Check format, lint, types and import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

format: $(READY)  ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)  ## Run the benchmarks; each prints a table
	@for f in benchmarks/bench_*.py; do $(BIN)/python $$f || exit 1; done

agreement: $(READY)  ## Check whether simulated and deployed nodes agree (an hour)
	@mkdir -p $(OUT)
	$(BIN)/python studies/agreement.py --out $(OUT)/agreement.md --work $(OUT)/agreement.json

docs: $(READY)  ## Write the generated parts of the documentation again
	$(BIN)/python -m tests.generated_docs

golden: $(READY)  ## Write the golden files of the tests again; review the diff
	$(BIN)/python -m tests.golden.regenerate

clean:  ## Remove what was built
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
