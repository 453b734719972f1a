# make demo: set up, train three agents side by side on GridWorld, write a table and two pictures.
# make test: set up, run all tests.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PEERS := $(VENV)/.peers
DOCS_VENV := .venv-docs
DOCS := $(DOCS_VENV)/.installed

.PHONY: board setup demo test lint types bench docs docs-setup lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "hcdyna needs Python 3.11 or newer; '$(PYTHON)' is older or missing. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "'$(PYTHON) -m venv' does not work here; on Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest

lint: $(STAMP)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# The peers of the benchmark, never needed by the library itself; hcdyna bench names those missing.
$(PEERS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check stable-baselines3==2.9.2
	@touch $@

bench: $(PEERS)
	$(BIN)/hcdyna bench

board: $(PEERS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "gymnasium[box2d]"
	$(BIN)/python benchmarks/board.py

# The tools of the site, in an environment of their own: they read the sources and import nothing.
$(DOCS): pyproject.toml
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
	  print(*extras["docs"], sep="\n")' > $(DOCS_VENV)/requirements.txt
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $(DOCS_VENV)/requirements.txt
	@touch $@

docs-setup: $(DOCS)

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	$(DOCS_VENV)/bin/python docs/dead_links.py site
	@echo "site/index.html"

# Needs uv; the lock files hold hashes and no addresses.
lock:
	for extra in core dev; do \
	  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-emit-find-links --no-header --no-annotate pyproject.toml \
	    $$( [ $$extra = core ] || echo --extra $$extra ) -o requirements/$$extra.lock; done

clean:
	rm -rf $(VENV) $(DOCS_VENV) site demo build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
