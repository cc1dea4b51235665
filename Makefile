# The two commands: `make audit` and `make test`. `make help` lists the rest.
#
# A variable of the make command reaches the tools through the environment, under a name of its own and by its unexpanded value: no shell and no make
# function ever parses a path, so names with spaces, quotes and dollar signs survive.

SHELL := /bin/sh
.DEFAULT_GOAL := help
PYTHON ?= python3

export GPU_AUDIT_MAKE_PYTHON := $(value PYTHON)
export GPU_AUDIT_MAKE_INVENTORY := $(value INVENTORY)
export GPU_AUDIT_MAKE_LIMIT := $(value LIMIT)
export GPU_AUDIT_MAKE_POLICY := $(value POLICY)
export GPU_AUDIT_MAKE_OUT := $(value OUT)
export GPU_AUDIT_MAKE_RUN := $(value RUN)
export GPU_AUDIT_MAKE_FORKS := $(value FORKS)
export GPU_AUDIT_MAKE_GATE := $(value GATE)
export GPU_AUDIT_MAKE_EXTRA := $(value EXTRA)
export GPU_AUDIT_MAKE_WHEELHOUSE := $(value WHEELHOUSE)
export GPU_AUDIT_MAKE_PYTHONS := $(value PYTHONS)
export GPU_AUDIT_MAKE_ARCH := $(value ARCH)
export GPU_AUDIT_MAKE_STEPS := $(value STEPS)
unexport PYTHON INVENTORY LIMIT POLICY OUT RUN FORKS GATE EXTRA WHEELHOUSE PYTHONS ARCH STEPS

# LANGUAGE is also what gettext reads ("de_DE:en"): from the environment only our own two words count.
ifeq ($(origin LANGUAGE),command line)
export GPU_AUDIT_MAKE_LANGUAGE := $(value LANGUAGE)
unexport LANGUAGE
else
export GPU_AUDIT_MAKE_LANGUAGE := $(filter en zh,$(value LANGUAGE))
endif

TOOLS := tests/tools

.PHONY: help audit gate rejudge venv wheelhouse test clean

help: ## list what can be made
	@$(PYTHON) $(TOOLS)/help.py

audit: ## audit this machine, or the hosts of INVENTORY, and write the report
	@$(PYTHON) $(TOOLS)/audit.py audit

gate: ## the same, and exit non-zero when a host is below the gate (GATE=fail, unproven or warn)
	@$(PYTHON) $(TOOLS)/audit.py gate

rejudge: ## judge a stored run again (RUN=folder, else the latest), touching no host
	@$(PYTHON) $(TOOLS)/audit.py rejudge

venv: ## only make or repair .venv
	@$(PYTHON) $(TOOLS)/audit.py venv

wheelhouse: ## fetch what an air-gapped machine needs (PYTHONS='3.11 3.12', ARCH=x86_64) into WHEELHOUSE (default: wheelhouse)
	@$(PYTHON) $(TOOLS)/audit.py wheelhouse

test: ## run every test that this machine allows (STEPS='unit lint' selects)
	@$(PYTHON) $(TOOLS)/run_tests.py

test-%: ## run one step of the tests: make test-unit, test-lint, test-sanity, ...
	@$(PYTHON) $(TOOLS)/run_tests.py $*

clean: ## remove .venv, .cache and the tests' output; runs are kept
	rm -rf .venv .cache tests/output
