# The commands to begin with: `make audit` and `make test`. `make help` lists the rest.
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
# The names given on the command line, so that a mistyped one is told and not passed over.
export GPU_AUDIT_MAKE_GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))

# LANGUAGE is also what gettext reads ("de_DE:en"): from the environment only our own two words count.
ifeq ($(origin LANGUAGE),command line)
export GPU_AUDIT_MAKE_LANGUAGE := $(value LANGUAGE)
unexport LANGUAGE
else
export GPU_AUDIT_MAKE_LANGUAGE := $(filter en zh,$(value LANGUAGE))
endif

TOOLS := tests/tools

# The tool's file name follows. A Python that isn't there, doesn't run (a pyenv shim without its version) or is too old gets one clear line.
TOOL = @"$$GPU_AUDIT_MAKE_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 7))' 2> /dev/null || { \
	echo "make $@: PYTHON: $$GPU_AUDIT_MAKE_PYTHON is not there, does not run, or is older than 3.7. Name another: make $@ PYTHON=python3.12" >&2; exit 2; }; \
	exec "$$GPU_AUDIT_MAKE_PYTHON" $(TOOLS)/

.PHONY: help audit gate measure plan rejudge venv wheelhouse test clean

help: ## list what can be made
	$(TOOL)help.py

audit: ## audit this machine, or the hosts of INVENTORY, and write the report
	$(TOOL)audit.py audit

gate: ## the same, and exit non-zero when a host is below the gate (GATE=fail, unproven or warn)
	$(TOOL)audit.py gate

rejudge: ## judge a stored run again (RUN=folder, else the latest), touching no host
	$(TOOL)audit.py rejudge

measure: ## measure what EXTRA asks for on the hosts (EXTRA='-e measure_storage_path=/data'); the next audit judges it
	$(TOOL)audit.py measure

plan: ## estimate the VRAM of a job before a machine is rented (EXTRA='-e @model.yml'), touching no host
	$(TOOL)audit.py plan

venv: ## only make or repair .venv
	$(TOOL)audit.py venv

wheelhouse: ## fetch what an air-gapped machine needs (PYTHONS='3.11 3.12', ARCH=x86_64) into WHEELHOUSE (default: wheelhouse)
	$(TOOL)audit.py wheelhouse

test: ## run every test that this machine allows (STEPS='unit lint' selects)
	$(TOOL)run_tests.py

test-%: ## run one step of the tests: make test-unit, test-lint, test-sanity, ...
	$(TOOL)run_tests.py $*

clean: ## remove .venv, .cache and the tests' output; runs are kept, and so is a .venv that was not made here
	@if [ -L .venv ] || { [ -e .venv ] && [ ! -e .venv/gpu-audit.stamp ]; }; then echo ".venv was not made here and is left alone"; else rm -rf .venv; fi
	rm -rf .cache tests/output
