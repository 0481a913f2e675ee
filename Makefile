# Transformers, step by step. `make help` lists the targets.

PYTHON ?= python3
LESSON ?=
SUBMISSIONS ?=
EXERCISE ?=
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.stamp
CLASSROOM := $(VENV)/.classroom
PYTEST := $(PY) -m pytest -p no:cacheprovider -n 2
UNIT := $(PYTEST) --dist loadgroup --no-loadscope-reorder
NBVAL := --nbval-lax --nbval-current-env --nbval-cell-timeout=600 \
         --nbval-kernel-startup-timeout=120 --nbval-sanitize-with=tests/sanitize.cfg
# What may depend on the code path that torch takes on a processor.
PROCESSOR := -m processor tests/test_checks.py tests/test_engine.py \
             tests/test_transcripts.py tests/test_models_*.py
# Of these `make test` puts some to each exercise, in turn.
BAD := tests/test_checks.py::test_a_bad_answer_ends_in_a_clear_outcome \
       tests/test_checks.py::test_the_right_result_in_another_dtype_ends_in_an_outcome
BEYOND_AVX2 := import sys, torch; \
               sys.exit(torch.backends.cpu.get_cpu_capability() != "AVX512")

# An environment knows where it stands: set it up again when the folder was moved.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(shell rm -f $(STAMP))
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help lab setup test quick lint format check suite unit solutions students browser \
        processors build guide slides site kill-matrix deep hostile hunt transcripts bench \
        progress export pretrain finetune clean release grade

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

lab: setup  ## set up, copy missing notebooks to work/ and open JupyterLab on them
	@$(PY) -m tools.lab $(ARGS)

setup: $(STAMP)  ## create .venv and install what the course needs
	@:

# The browser first: it installs what the unit tests of the slides need.
test: setup  ## run everything that CI runs, and print what each part took
	@$(PY) -m tools.proofs.parts lint check browser suite processors

quick: lint  ## lint, check and fast unit tests; LESSON=02 for one lesson
	$(PY) -m tools.build --check $(LESSON)
	COURSE_QUICK=1 COURSE_LESSON=$(LESSON) $(UNIT) $(if $(LESSON),-n 0) \
	  -m "not notebooks and not slow and not browser"

lint: setup  ## check style and layout of the code
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: setup  ## sort imports and lay out the code
	$(PY) -m ruff check --select I --fix .
	$(PY) -m ruff format .

check: setup  ## compare the committed notebooks with what the lessons build
	$(PY) -m tools.build --check
	@set -e; for folder in $(wildcard translations/*/); do \
	  $(PY) -m tools.build --check --language $$(basename $$folder); done

suite: $(CLASSROOM)  # unit, solutions and students at once: no worker waits between them
	$(UNIT) $(NBVAL) --durations=10 -m "not browser" tests solutions

unit: setup  ## run the unit tests
	$(UNIT) -m "not notebooks and not browser"

solutions: setup  ## execute every solution notebook and compare its outputs
	$(UNIT) $(NBVAL) --durations=5 solutions

students: setup  ## execute every untouched student notebook, training to the end
	COURSE_DEEP=1 $(UNIT) -m notebooks

processors: setup  ## repeat the tests of checks and models on other code paths of torch
	ATEN_CPU_CAPABILITY=default $(UNIT) $(PROCESSOR)
	@if $(PY) -c '$(BEYOND_AVX2)'; \
	  then ATEN_CPU_CAPABILITY=avx2 $(UNIT) $(PROCESSOR); \
	  else echo "torch takes AVX2 on this processor, or has none: proved by the suite."; fi

browser: $(CLASSROOM)  ## drive JupyterLab, slides and site in Chromium
	$(UNIT) -m browser -rs

build: setup  ## build notebooks/ and solutions/ from lessons/
	$(PY) -m tools.build $(ARGS)

guide: setup  ## write the usual mistakes, a page per lesson; LESSON=02 for one
	$(PY) -m tools.build.guide $(LESSON)

slides: $(CLASSROOM)  ## write a deck per lesson to slides/; LESSON=02 for one
	$(PY) -m tools.slides $(LESSON)

site: $(CLASSROOM)  ## write the course as web pages to site/, from the solutions
	$(PY) -m tools.site $(ARGS)

kill-matrix: setup  ## put right and wrong answers to their checks, over 20 seeds
	COURSE_SEEDS=20 $(UNIT) tests/test_checks.py -k "independent_solution or the_reference_passes"
	$(PY) -m tools.proofs.kill_matrix --jobs 2 $(ARGS)

deep: setup  ## first-edition notebooks in full, all bad answers, the judge
	COURSE_DEEP=1 $(UNIT) tests/test_first_edition.py tests/test_robustness.py \
	  tests/test_piped.py $(BAD)

hostile: $(CLASSROOM)  ## grade a class with bad intentions, and look at it in Chromium
	COURSE_DEEP=1 $(UNIT) tests/hostile

hunt: setup  ## hunt for wrong answers that pass; EXERCISE=2.B for one exercise
	$(PY) -m tools.proofs.hunt $(EXERCISE)

transcripts: setup  ## write what every check says, to be read; LESSON=02 for one lesson
	$(PY) -m tools.proofs.transcripts $(LESSON)

bench: setup  ## measure the course beside its peers; QUICK=1 for a first look
	$(PY) -m tools.bench $(if $(QUICK),--quick) $(ARGS)
	$(if $(QUICK),,$(PY) -m tools.build)

progress: setup  ## print what you have passed, by lesson; ARGS=--all for each exercise
	@$(PY) -m helpers.checks $(ARGS)

# With any Python: an environment that is broken must not keep anybody's work.
export:  ## pack work/ into one zip file to take away; ARGS="--to FOLDER"
	@$(PYTHON) -m tools.backup $(ARGS)

pretrain: setup  ## train the bundled language model again
	$(PY) -m tools.pretrain $(ARGS)

finetune: setup  ## fine-tune the encoder on the reviews (lesson 09), into build/
	$(PY) -m tools.finetune $(ARGS)

release: setup  ## lay out an nbgrader course in build/nbgrader; LESSON=02 for one
	$(PY) -m tools.grading.release $(LESSON) $(ARGS)

# Dask, if it was asked for.
grade: $(if $(findstring --scheduler,$(ARGS)),$(CLASSROOM),setup)  ## grade notebooks: SUBMISSIONS=folder; LESSON=02 for one lesson
	@$(PY) -m tools.grading --submissions "$(SUBMISSIONS)" \
	  $(foreach lesson,$(LESSON),--lesson $(lesson)) $(ARGS)

clean:  ## remove .venv and caches; never touches work/
	rm -rf $(VENV) .ruff_cache .pytest_cache .hypothesis build dist slides site *.egg-info
	find helpers lessons tools tests -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "The course needs Python 3.11, 3.12 or 3.13, and '$(PYTHON)' is not one of them:" \
	       "name another with 'make PYTHON=python3.11 $(or $(MAKECMDGOALS),setup)'." >&2; exit 1; }
	@$(PY) -m pip --version >/dev/null 2>&1 \
	  || $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	  || { $(PYTHON) -m venv --clear --without-pip $(VENV) \
	       && $(PYTHON) -m pip --quiet --python $(PY) install pip; } >/dev/null 2>&1 \
	  || { rm -rf $(VENV); echo "Could not create $(VENV): Python's venv module is incomplete." \
	       "On Debian or Ubuntu run 'sudo apt install python3-venv', then try again." >&2; exit 1; }
	@echo "Installing packages into $(VENV); the first time this takes some minutes."
	@$(PY) -m tools.install requirements.txt --course \
	  || { echo "The installation failed; when what is said above is fixed," \
	       "run 'make setup' again: it goes on where it stopped." >&2; exit 1; }
	@printf '%s\n' '$(CURDIR)' > $@
	@echo "Ready: $$($(PY) --version) in $(VENV)."

$(CLASSROOM): requirements-classroom.txt $(STAMP)
	@echo "Installing what only a classroom needs ..."
	@$(PY) -m tools.install requirements-classroom.txt \
	  || { echo "The installation failed, see the message above." >&2; exit 1; }
	@touch $@
