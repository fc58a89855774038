# Every target sets up what it needs: a virtual environment in .venv with locked dependencies.
.PHONY: setup demo docs test test-fast checkers check fuzz mutants wheel bench reproduce clean

PYTHON ?= python3
READY = .venv/.ready
COMPILED = .venv/.compiled

setup: $(COMPILED)

$(READY): requirements/lock.txt pyproject.toml scripts/setup
	PYTHON=$(PYTHON) scripts/setup
	touch $(READY)

# Compiled code is kept on disk, so that no first run of a method has to wait for it.
$(COMPILED): $(READY) $(wildcard src/shoal/kernels/*.py src/shoal/bounds/kernels/*.py src/shoal/methods/*/kernels/*.py)
	.venv/bin/shoal compile
	touch $(COMPILED)

# The demo needs shoal and what it runs on: no Spark, no test tools. Where make setup was run, that will do.
DEMO = .venv-demo/.ready

$(DEMO): requirements/demo.txt scripts/setup
	PYTHON=$(PYTHON) scripts/setup .venv-demo requirements/demo.txt
	touch $(DEMO)

demo: $(if $(wildcard $(READY)),$(READY),$(DEMO))
	PYTHONPATH=src $(if $(wildcard $(READY)),.venv,.venv-demo)/bin/python -c 'from shoal.cli import main; main()' demo
	@echo "The whole way in a browser: make setup, then .venv/bin/shoal serve"

# The documentation site, in site/: links, also those to parts of pages, must lead somewhere, and nothing may be asked of
# other hosts. Its tools are apart, for neither shoal nor its tests need them.
DOCS = .venv-docs/.ready

$(DOCS): requirements/site-lock.txt scripts/setup
	PYTHON=$(PYTHON) scripts/setup .venv-docs requirements/site-lock.txt
	touch $(DOCS)

docs: $(DOCS)
	rm -rf site
	PYTHONPATH=src:. .venv-docs/bin/python -m sphinx -q -W --keep-going -E -b html -d docs/made/.doctrees docs site
	.venv-docs/bin/python -m docs.making.checking site
	@echo "Open site/index.html."

# All lanes: unit, integration (files, command line, engines on this machine), system (Spark, PostgreSQL, browser, kills).
# Three workers on two cores: a test that waits for a process leaves its core to another.
test: $(COMPILED) checkers
	scripts/java
	scripts/browser
	scripts/postgres
	.venv/bin/python -m pytest -n 3 --dist loadgroup

# The unit lane alone: no Java, browser, PostgreSQL or farms of subprocesses.
test-fast: $(COMPILED)
	.venv/bin/python -m pytest -n 2 tests/unit

# Fresh cases each time; what fails is kept in tests/corpus/, which the tests replay. make fuzz SECONDS=60 SEED=1
SECONDS ?= 600
fuzz: $(COMPILED)
	.venv/bin/python -m tools.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

# An HTML validator and an accessibility engine for the report, where npm is there; without them their tests are skipped.
checkers: tests/system/browser/node_modules/.ready

tests/system/browser/node_modules/.ready: tests/system/browser/package-lock.json
	@if command -v npm >/dev/null; then (cd tests/system/browser && npm ci --silent && touch node_modules/.ready) || true; fi

check: $(READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# Do the tests notice when a line is wrong? A seeded sample of small faults; status 1 where under 95 % are noticed.
# What is known from an earlier run is not run again, unless AFRESH=1 says so.
N ?= 300
mutants: SEED ?= 1
mutants: $(READY)
	.venv/bin/python -m tools.mutation --count $(N) --seed $(SEED) $(if $(ONLY),--only $(ONLY)) $(if $(AFRESH),--afresh)

# A wheel that brings compiled code along.
wheel: $(COMPILED)
	scripts/wheel

reproduce: $(COMPILED)
	.venv/bin/shoal reproduce --overwrite

bench: $(COMPILED)
	.venv/bin/python -m benchmarks

clean:
	rm -rf .venv .venv-demo .venv-docs site docs/made .mutants demo tests/system/browser/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
