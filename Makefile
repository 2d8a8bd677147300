# Every target sets up what it needs in .venv, and is quick when that is there.
PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.installed-dev
CLIENTS := tests/clients
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo serve test lint format benchmark clients matrix clean

demo: $(RUN)  ## index the examples, serve them, ask a question, print the cited reply
	@$(BIN)/vouch demo

serve: $(RUN) index/manifest.json  ## serve the examples' index, or what config.yaml says
	@$(BIN)/vouch serve

test: $(DEV)  ## all tests: no network, no GPU, no key
	@$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

lint: $(DEV)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(DEV)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

clients: $(CLIENTS)/.venv/.installed $(CLIENTS)/node_modules/.package-lock.json  ## the clients that the tests run where they are there

matrix: $(DEV) clients  ## run them, and write docs/clients.md's table
	@$(BIN)/python -m tests.clients.matrix

clean:
	rm -rf $(CLIENTS)/.venv $(CLIENTS)/node_modules
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist

index/manifest.json: | $(RUN)
	@$(BIN)/vouch index examples/corpus --out index

# torch first and by its exact version: it is the one dependency whose newest build may be gigabytes of CUDA.
$(RUN): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Vouch needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once, some minutes) ..."
	@$(PIP) torch==2.13.0
	@$(PIP) --editable .
	@touch $@

$(DEV): $(RUN)
	@$(PIP) --editable '.[dev]'
	@touch $@

# In an environment of their own: they want other versions than Vouch does.
$(CLIENTS)/.venv/.installed: $(CLIENTS)/requirements.txt
	@$(PYTHON) -m venv $(CLIENTS)/.venv
	@$(CLIENTS)/.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	@npm ci --prefix $(CLIENTS) --silent --no-audit --no-fund
	@touch $@
