# Every target sets up what it needs in .venv, and is quick when that is there.
PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.installed-dev
CLIENTS := tests/clients
UIS := tests/chat_uis
REAL_LLM := tests/real_llm
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
LOCK := $(BIN)/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-package torch --custom-compile-command 'make lock'

.PHONY: demo serve test test-llm lint format docs pictures axe wheel lock clients matrix chat-uis clean

demo: $(RUN)  ## index the examples, serve them, ask a question, print the cited reply
	@$(BIN)/vouch demo

serve: $(RUN) index/manifest.json  ## serve the examples' index, or what config.yaml says
	@$(BIN)/vouch serve

test: $(DEV)  ## all tests: no network, no GPU, no key
	@$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-llm: $(DEV)  ## a real, very small LLM behind Vouch; skipped where its packages can't be installed
	@$(MAKE) --silent $(REAL_LLM)/.venv/.installed || echo "The packages of $(REAL_LLM)/requirements.txt can't be installed here."
	@$(BIN)/python -m pytest -m real_llm $(REAL_LLM)

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

axe: tests/web/node_modules/.package-lock.json  ## axe-core, with which the tests look for barriers in the page where it is there

pictures: $(DEV) index/manifest.json  ## screenshots of the page and of the chat UIs that are installed, in Chromium, with the embedded demo
	@PYTHONPATH=. $(BIN)/python docs/screenshots.py

chat-uis: $(addprefix $(UIS)/.venv-,$(addsuffix /.installed,open-webui gradio chainlit))  ## the chat UIs (3 GB) that the tests run where they are there

docs: $(DEV)  ## the documentation as a site, in site/; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(DEV)  ## sdist and wheel, in dist/
	@$(BIN)/python -m build --no-isolation --outdir dist

lock: $(DEV)  ## write the locks anew; the newest versions: make lock UPGRADE=--upgrade
	@$(LOCK) $(UPGRADE) --extra all --extra build --output-file requirements.lock
	@$(LOCK) $(UPGRADE) --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean:
	rm -rf $(CLIENTS)/.venv $(CLIENTS)/node_modules $(UIS)/.venv-* tests/web/node_modules $(REAL_LLM)/.venv
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache build dist site

index/manifest.json: | $(RUN)
	@$(BIN)/vouch index examples/corpus --out index

# The lock has an exact version and hashes for all but torch, which its own file installs.
$(RUN): pyproject.toml requirements.lock requirements-base.txt requirements-torch.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Vouch needs Python 3.11 or newer; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (once, some minutes) ..."
	@$(PIP) --no-deps --retries 1 --requirement requirements-torch.txt
	@$(PIP) --no-deps --require-hashes --requirement requirements.lock
	@$(PIP) --no-deps --require-hashes --retries 1 --requirement requirements-base.txt || echo "The larger checker can't be installed here: the small one decides."
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(RUN) requirements-dev.lock
	@$(PIP) --no-deps --require-hashes --requirement requirements-dev.lock
	@touch $@

# In an environment of their own: they want other versions than Vouch does.
$(CLIENTS)/.venv/.installed: $(CLIENTS)/requirements.txt
	@$(PYTHON) -m venv $(CLIENTS)/.venv
	@$(CLIENTS)/.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# torch first, without CUDA: Open WebUI asks for it.
$(UIS)/.venv-%/.installed: $(UIS)/requirements-%.txt
	@$(PYTHON) -m venv $(UIS)/.venv-$*
	@test $* != open-webui || $(UIS)/.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-torch.txt
	@$(UIS)/.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(REAL_LLM)/.venv/.installed: $(REAL_LLM)/requirements.txt
	@$(PYTHON) -m venv $(REAL_LLM)/.venv
	@$(REAL_LLM)/.venv/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --no-deps --requirement $<
	@touch $@

tests/web/node_modules/.package-lock.json: tests/web/package-lock.json
	@npm ci --prefix tests/web --silent --no-audit --no-fund
	@touch $@

$(CLIENTS)/node_modules/.package-lock.json: $(CLIENTS)/package-lock.json
	@npm ci --prefix $(CLIENTS) --silent --no-audit --no-fund
	@touch $@
