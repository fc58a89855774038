# Every target sets up what it needs: a virtual environment in .venv with locked dependencies.
.PHONY: setup demo test check bench clean

PYTHON ?= python3
READY = .venv/.ready

setup: $(READY)

$(READY): requirements/lock.txt pyproject.toml scripts/setup
	PYTHON=$(PYTHON) scripts/setup
	touch $(READY)

demo: $(READY)
	.venv/bin/shoal demo

test: $(READY)
	.venv/bin/python -m pytest -n 2

check: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: $(READY)
	.venv/bin/python -m benchmarks

clean:
	rm -rf .venv demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
