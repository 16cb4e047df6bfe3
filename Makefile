PYTHON ?= python3
VENV := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup demo test check chaos fix snippets bench wheels release-check

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## make .venv from uv.lock; needs Python >= 3.11 (PYTHON=python3.12), git and make
	@$(PYTHON) tools/bootstrap.py

demo: setup  ## a Worker is killed in mid-tool and another one finishes its Run
	@$(VENV) tools/demo.py

test: setup  ## the whole gate
	@$(VENV) tools/gate.py

check: setup  ## its fast half: lock, style, imports, house, types, unit
	@$(VENV) tools/gate.py --only lock,style,imports,house,types,unit

chaos: setup  ## Runs through a real LiteLLM proxy, in an environment of its own, .chaos
	@$(VENV) tools/chaos.py

fix: setup  ## format, and fix what ruff can
	@$(VENV) -m ruff check --fix --exit-zero --quiet .
	@$(VENV) -m ruff format .

snippets: setup  ## write into documents and skills what their blocks print
	@$(VENV) -m tests.kit.snippet_writer

bench: setup  ## measure, as ratios of bare work (ONLY=commit,fold)
	@$(VENV) -m benchmarks.run $(if $(ONLY),--only $(ONLY))

wheels: setup  ## every wheel and sdist, into dist/
	@$(VENV) tools/release_check.py --build-only

release-check: setup  ## the same, and install them from there alone into empty environments
	@$(VENV) tools/release_check.py
