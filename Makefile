# Everything this repository does, one word each: `make help`.
#
# Each interpreter has its own environment, .venv-3.11 and so on. The stamp files in it (.venv, .build, .demo, .test,
# .bench, .docs, .browser, .release, .extensions) say what has been done there, so that a second call does only what has changed since.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:

ifeq ($(filter demo generate test tests quick test-oldest test-distributed gaps errors agreement bench bench-check lint release-check docs docs-browser mutants coverage sanitize machines threads soak distributed fuzz accuracy,$(MAKECMDGOALS)),)
NEEDS_PYTHON :=
else
NEEDS_PYTHON := yes
endif

ifdef NEEDS_PYTHON
ifeq ($(strip $(PYTHON)),)
PYTHON := $(shell sh scripts/find_python.sh)
endif
ifeq ($(strip $(PYTHON)),)
$(error adjoint needs Python 3.11 or newer, and none on the PATH runs: install one, or say make PYTHON=/path/to/python3)
endif
PRINT_VERSION := import sys; v = sys.version_info; print(f"{v[0]}.{v[1]}{sys.abiflags}" * (v >= (3, 11)))
VERSION := $(shell $(PYTHON) -c '$(PRINT_VERSION)' 2>/dev/null)
ifeq ($(VERSION),)
$(error PYTHON=$(PYTHON) does not run here, or is older than the Python 3.11 that adjoint needs)
endif
endif

VENV := .venv-$(VERSION)
RUN := $(VENV)/bin/python
DECLARATIONS := $(shell find src -name '*.pxd')
HEADERS := $(shell find src -name '*.h')
COMPILED_FROM := $(HEADERS) $(DECLARATIONS) $(DECLARATIONS:.pxd=.py) src/adjoint/_compiled.py setup.py
PAGE_TESTS := tests/test_doc_pages.py tests/test_error_pages.py tests/test_reference.py
SITE := build/docs
CORE_TESTS := $(wildcard tests/core tests/rules tests/functions)

# Tests of a compiled environment must not pass by falling back on the sources; elsewhere the sources are asked for.
COMPILED := test -z "$$ADJOINT_DISABLE_EXT" && test -e $(VENV)/.extensions
FORM = env $$(if $(COMPILED); then echo ADJOINT_REQUIRE_EXT=1; else echo ADJOINT_DISABLE_EXT=1; fi)
# Two workers for two cores: more threads of BLAS than cores wait for each other by spinning.
PYTEST = OPENBLAS_NUM_THREADS=$${OPENBLAS_NUM_THREADS-1} $(RUN) -m pytest -q -n 2 $(ARGS)

.PHONY: help demo generate test tests quick test-oldest test-distributed gaps errors agreement bench bench-check lint
.PHONY: mutants coverage sanitize machines
.PHONY: test-gpu bench-gpu gpu-sources release-check docs docs-browser clean
.PHONY: threads soak distributed fuzz accuracy

help:
	@echo 'make demo     adjoint at work, in a minute or two'
	@echo 'make test     all the tests, the core compiled and as plain Python, then lint'
	@echo 'make quick    some cases of each test, in about a minute'
	@echo 'make test-distributed   gradients on several processes (installs an MPI library)'
	@echo 'make threads  threads, forks, pools, signals and exits (ARGS=--long: docs/trust.md)'
	@echo 'make soak     long runs, and memory that cannot be had'
	@echo 'make fuzz     random calls, programs, transforms and files (ARGS=--long; ARGS="--torch PYTHON")'
	@echo 'make distributed   ranks and workers killed while they train (installs an MPI library)'
	@echo 'make test-oldest   the tests with the oldest versions of what adjoint needs'
	@echo 'make generate   rewrite every generated file: stubs, pages of docs, tables'
	@echo 'make gaps     do the lists of what other array libraries lack hold for the versions installed?'
	@echo 'make errors   does a test exercise every raise statement?'
	@echo 'make agreement  how far adjoint agrees with PyTorch, entry by entry (installs it: large)'
	@echo 'make bench    speed beside other libraries (installs them: large)'
	@echo 'make bench-check  have the core paths become slower? counts instructions; needs valgrind'
	@echo 'make docs     the documentation site, with its gallery, in build/docs (installs Sphinx; some minutes)'
	@echo 'make docs-browser  every page of it in a browser, wide and narrow; needs chromium'
	@echo 'make test-gpu   rules and programs on a CUDA device, with the packages that GPU_PYTHON (python3) sees'
	@echo 'make bench-gpu  times on it, beside PyTorch and JAX; both write a page, and go on where they stopped'
	@echo 'make gpu-sources  C sources for a device machine without Cython, below build/cython'
	@echo 'make sanitize  the compiled modules under sanitizers of memory and undefined behaviour (ARGS=--long: all of it)'
	@echo 'make machines  other loops, and with ARGS=--long other compilers and emulated processors'
	@echo 'make mutants  plants faults, one at a time: do the tests find them? (ARGS=--long: after make coverage ARGS=--long)'
	@echo 'make coverage  does a test take every branch of the core, the rules and the transformations?'
	@echo 'make accuracy  errors of functions and slopes against mpmath, in units in the last place (ARGS=--long: docs/accuracy.md)'
	@echo 'make lint     ruff (rules and format) and mypy'
	@echo 'make release-check  build what a release needs, and check it (six minutes)'
	@echo 'make clean    remove all that was built'
	@echo
	@echo 'PYTHON=python3.13 chooses the interpreter; each has an environment of its own.'

demo: $(VENV)/.demo $(VENV)/.extensions
	@$(FORM) $(RUN) -m adjoint.demo $(ARGS)

test: tests
	@$(MAKE) --no-print-directory lint PYTHON=$(PYTHON)

tests: $(VENV)/.test $(VENV)/.extensions
	@echo 'Testing'
	@$(FORM) $(PYTEST)
	@echo 'Testing the core, the rules and the functions as plain Python'
	@ADJOINT_REQUIRE_EXT= ADJOINT_DISABLE_EXT=1 $(PYTEST) $(CORE_TESTS)

quick: $(VENV)/.test $(VENV)/.extensions
	@$(FORM) $(PYTEST) --quick

test-oldest:
	@PIP_CONSTRAINT=$(CURDIR)/scripts/oldest.txt $(MAKE) --no-print-directory tests PYTHON=$(PYTHON) VENV=$(VENV)-oldest

test-distributed: $(VENV)/.distributed $(VENV)/.extensions
	@ADJOINT_TEST_DISTRIBUTED=1 $(FORM) $(RUN) -m pytest -q $(ARGS) tests/distributed

threads: $(VENV)/.threads $(VENV)/.extensions
	@$(FORM) $(RUN) -m trust.threads $(ARGS)

soak: $(VENV)/.test $(VENV)/.extensions
	@$(FORM) $(RUN) -m trust.soak $(ARGS)

fuzz: $(VENV)/.test $(VENV)/.extensions
	@$(FORM) $(RUN) -m trust.fuzz $(ARGS)

distributed: $(VENV)/.distributed $(VENV)/.extensions
	@$(FORM) $(RUN) -m trust.distributed $(ARGS)

generate: $(VENV)/.test $(VENV)/.extensions
	@$(RUN) scripts/generate.py $(ARGS)

gaps: $(VENV)/.test $(VENV)/.extensions
	@$(FORM) $(RUN) scripts/list_array_gaps.py --check $(ARGS)

errors: $(VENV)/.test
	@$(RUN) scripts/check_raises.py -n 2 $(ARGS)

agreement: $(VENV)/.bench $(VENV)/.extensions
	@$(RUN) -m agreement $(ARGS)

bench: $(VENV)/.bench $(VENV)/.extensions
	@$(RUN) -m benchmarks $(ARGS)

bench-check: $(VENV)/.test $(VENV)/.extensions
	@$(RUN) -m benchmarks.instructions $(ARGS)

# A device machine has no network: these take the interpreter as it is, and install nothing.
GPU_PYTHON ?= python3

test-gpu:
	@$(GPU_PYTHON) scripts/gpu.py tests $(ARGS)

bench-gpu:
	@$(GPU_PYTHON) scripts/gpu.py bench $(ARGS)

gpu-sources:
	@$(GPU_PYTHON) scripts/gpu.py sources

sanitize machines: $(VENV)/.test $(VENV)/.extensions
	@PYTHONPATH=$(CURDIR) $(RUN) -m trust.$@ $(ARGS)

accuracy: $(VENV)/.test $(VENV)/.extensions
	@$(FORM) $(RUN) -m trust.accuracy $(ARGS)

mutants coverage: $(VENV)/.test
	@PYTHONPATH=$(CURDIR) $(RUN) -m trust.$@ $(ARGS)

lint: $(VENV)/.test
	@echo 'Linting'
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy

# The programs of the pages run as tests; the gallery's run while Sphinx builds. A warning is an error.
docs: $(VENV)/.docs $(VENV)/.extensions
	@echo 'Running the programs of the pages'
	@$(FORM) $(PYTEST) $(PAGE_TESTS)
	@echo 'Building the pages'
	@OPENBLAS_NUM_THREADS=1 $(FORM) $(RUN) -m sphinx -q -W --keep-going -j 2 -d build/doctrees docs $(SITE)
	@$(RUN) docs/_extensions/check_site.py $(SITE)

docs-browser: docs $(VENV)/.browser
	@$(RUN) docs/_extensions/check_in_browser.py $(SITE) $(ARGS)

release-check: $(VENV)/.release
	@$(RUN) scripts/check_release.py $(ARGS)

clean:
	@rm -rf .venv-* build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -rf docs/errors docs/gallery docs/reference/names docs/how-it-works/repository docs/sg_execution_times.rst
	@find src tests scripts -name __pycache__ -prune -exec rm -rf {} +
	@find src -name '*.so' -exec rm -f {} +

$(VENV)/.venv:
	@sh scripts/make_venv.sh $(PYTHON) $(VENV)
	@touch $@

$(VENV)/.build $(VENV)/.demo $(VENV)/.test $(VENV)/.threads $(VENV)/.distributed $(VENV)/.bench $(VENV)/.docs $(VENV)/.browser $(VENV)/.release: pyproject.toml $(VENV)/.venv
	@sh scripts/install.sh $(RUN) $(@F:.%=%)
	@touch $@

$(VENV)/.demo $(VENV)/.test $(VENV)/.threads $(VENV)/.distributed $(VENV)/.bench $(VENV)/.docs $(VENV)/.browser $(VENV)/.release: $(VENV)/.build

$(VENV)/.extensions: $(COMPILED_FROM) $(VENV)/.build
	@$(RUN) scripts/build_extensions.py $@
