PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Deep enough for editable installs to be redone when the dependencies change, cheap enough to check on every call.
RUN_STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: demo test test-slow lint install clean fuzz soak audit licences

demo: $(RUN_STAMP)
	@$(BIN)/skill-router demo

test: $(DEV_STAMP)
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest -m "not slow"

test-slow: $(DEV_STAMP)
	@$(BIN)/python -m pytest -m slow

lint: $(DEV_STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

install: $(DEV_STAMP)

fuzz: $(DEV_STAMP)
	@$(BIN)/python -m eval.fuzz --inputs 100000 --seed 3

soak: $(DEV_STAMP)
	@$(BIN)/python -m eval.soak --seconds 600

# Needs the network: pip-audit asks an advisory database about every installed package.
audit: $(DEV_STAMP)
	@$(BIN)/bandit --quiet --recursive --configfile pyproject.toml roster router eval
	@$(BIN)/pip-audit --progress-spinner off --skip-editable

licences: $(DEV_STAMP)
	@$(BIN)/python -m eval.licences

$(RUN_STAMP): pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(DEV_STAMP): pyproject.toml
	@test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV), with the tools for development and training ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,train]"
	@touch $(RUN_STAMP) $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
