# Two commands do everything on a fresh machine with Python 3.11:
#   make demo   set up, train every algorithm for a few seconds, render tables, curves and the report page
#   make test   set up, then ruff, mypy, all tests, the Snakemake lint and dry run
PYTHON ?= python3.11
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed
CORES ?= 2

.DELETE_ON_ERROR:
.PHONY: demo test setup lint types unit workflow watch clean help

help:  ## this list
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP)  ## the virtual environment, with everything pinned

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "error: $(PYTHON) not found; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing pinned packages into $(VENV) (a few minutes the first time) ..."
	@$(BIN)/python -m pip install --disable-pip-version-check -q --progress-bar on -e '.[dev]'
	@touch $@

demo: setup  ## train everything for seconds and render the report
	$(BIN)/snakemake --cores $(CORES) --configfile config/smoke.yaml
	@echo
	@echo "Tables:  results/smoke/tables/        (Markdown, LaTeX, CSV, HTML)"
	@echo "Figures: results/smoke/figures/       (PDF, SVG, PNG)"
	@echo "Report:  results/smoke/report/index.html   <- open this in a browser"

test: setup lint types unit workflow  ## everything that CI checks

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

unit: setup
	$(BIN)/python -m pytest -n $(CORES) --dist loadfile

workflow: setup
	$(BIN)/snakemake --lint
	$(BIN)/snakemake --cores 1 --dry-run --quiet rules
	$(BIN)/snakemake --cores 1 --dry-run --quiet rules --configfile config/smoke.yaml

watch: setup  ## watch a study live: make watch STUDY=paper
	$(BIN)/python -m algorithms.core.watch results/$(or $(STUDY),smoke)

clean:  ## delete the smoke results and caches (never other results)
	rm -rf results/smoke .pytest_cache .mypy_cache .ruff_cache .hypothesis
