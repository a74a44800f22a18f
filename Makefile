# Two commands: `make report` builds the monthly report, `make test` runs everything. `make help` lists the rest.
# Both install what they need into .venv/ and, where allowed, with apt; a second run installs nothing.

PYTHON ?= python3
SCENARIO ?= scenarios/monthly-procurement.yaml
T ?= tests
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help report test lint types imports bench fuzz wheel clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## */make \1\t/' | expand -t 16

report: $(VENV)/report  ## build SCENARIO (the monthly procurement report) into out/ and print its files
	@$(PYTHON) .ci/system.py report
	@echo "building $(SCENARIO): workbook, PDFs and data into out/, usually less than a minute"
	@$(BIN)/gpubook build $(SCENARIO)

test: $(VENV)/dev  ## catalogs and scenarios checked, then all tests; T=tests/test_wheel.py for one file
	@$(PYTHON) .ci/system.py test
	@$(BIN)/gpubook check --quiet \
	  || { echo "make test stopped: no test can run on catalogs or scenarios that cannot be read. Mend the lines above."; exit 1; }
	@$(BIN)/python -m pytest -n auto --dist loadscope $(T)

lint: $(VENV)/dev  ## ruff
	@$(BIN)/ruff check .

types: $(VENV)/dev  ## mypy on the package
	@$(BIN)/mypy

imports: $(VENV)/dev  ## import contracts
	@$(BIN)/lint-imports --no-logo

bench: $(VENV)/report  ## candidates, simulated requests, a fleet plan, PDF pages and rows per second, appended to the tables in tests/bench
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/bench/bench_matrix.py
	@$(BIN)/python tests/bench/bench_simulate.py
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/bench/bench_fleet.py
	@$(BIN)/python tests/bench/bench_pdf.py
	@$(BIN)/python tests/bench/bench_workbook.py

fuzz: $(VENV)/dev  ## the property tests again, with many more examples
	@HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n auto -m property tests

wheel: $(VENV)/dev  ## dist/gpubook-*.whl, catalogs and templates inside
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

clean:  ## remove .venv, caches, dist (reports in out/ stay)
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) --version 2>&1): make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) .ci/system.py venv
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/report: pyproject.toml | $(BIN)/python
	@echo "installing gpubook into $(VENV) (once, about a minute)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/dev: pyproject.toml | $(BIN)/python
	@echo "installing gpubook and its development tools into $(VENV) (once, about a minute)"
	@$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/report
