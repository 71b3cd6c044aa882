# Every target makes its own environment: nothing but Python 3.11, pip and make is needed.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Threads that wait in a busy loop slow each other down on shared cores
export OMP_WAIT_POLICY ?= PASSIVE
export OPENBLAS_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help demo test lint format types bench peers clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/demo.stamp ## Learn the embedded corpus, rescue its rare labels, write runs/demo/report.html
	$(BIN)/piran demo

test: $(VENV)/dev.stamp ## Run all tests and print their coverage
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(VENV)/dev.stamp ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/dev.stamp ## Put the code into its standard form
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

bench: $(VENV)/dev.stamp ## Run PIRAN over three seeds on the embedded corpus; measure speed and memory
	$(BIN)/piran bench encoders --only piran-tfidf
	$(BIN)/piran table encoders --table ablation
	$(BIN)/python benchmarks/lstm_speed.py
	$(BIN)/python benchmarks/stage2_memory.py
	$(BIN)/python benchmarks/network_speed.py
	$(BIN)/python benchmarks/linear_speed.py

peers: $(VENV)/dev.stamp ## Run the tools that people would pick instead on the embedded corpus
	$(BIN)/python benchmarks/peers/run.py --data debtags

clean: ## Remove the environment and what tools leave behind
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage src/*.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[plots]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/demo.stamp
