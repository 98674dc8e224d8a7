# `make refresh` and `make test` set up what they need on a machine with Python, pip, make and apt.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
FAULTLINE_HOME ?= data
HOME_DIR := $(FAULTLINE_HOME)
BIN := .venv/bin
PIN := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
export FAULTLINE_HOME DO_NOT_TRACK=1

.PHONY: help refresh test lint docs wheel ui clean lock slow installed containers spark postgres slurm soak recovery \
	calibration proof studies bench lint-types lint-style
help:
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# $(call packages,ENVIRONMENT,LOCK FILE): make an environment if it is missing, and install a lock file's packages.
# uv compiles modules here, as pip does. With PYTHONDONTWRITEBYTECODE, each process would compile them again (10 s).
define packages
@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(1) \
		&& uv pip install --quiet --compile-bytecode --python $(1)/bin/python --no-deps --require-hashes -r $(2) ; \
	else \
		{ test -x $(1)/bin/python || $(PYTHON) -m venv $(1) ; } \
		&& $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(2) ; \
	fi
endef

# $(call install,PACKAGE,TEST,USE): install a Debian package unless the test succeeds.
define install
@$(2) >/dev/null 2>&1 && exit 0; \
	echo "installing $(1) for $(3)"; \
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1); } >/dev/null \
	|| { echo "$(1) is missing and apt-get could not install it; install it, then run make again" >&2; exit 1; }
endef

# Install the project as editable, so that a change of its files needs no new installation.
.venv/.installed: requirements.lock.txt pyproject.toml
	$(call packages,.venv,requirements.lock.txt)
	@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
	@touch $@

# Environments of their own: .venv-containers, .venv-spark, .venv-supply.
.venv-%/.installed: requirements-%.lock.txt
	$(call packages,.venv-$*,$<)
	@touch $@

# Make demo clusters only if there are no sources but the committed capture.
$(HOME_DIR)/sources/.demo: .venv/.installed
	@mkdir -p $(@D)
	@if [ -z "$$(find $(@D) -mindepth 1 -maxdepth 1 -type d ! -name testbed)" ]; then \
		$(BIN)/faultline simulate demo --out $(HOME_DIR); \
	fi
	@touch $@

refresh: .venv/.installed $(HOME_DIR)/sources/.demo  ## Set up, refresh, print the report's path.
	@$(BIN)/faultline refresh

test: .venv/.installed  ## Set up and run every test of a push: code, dbt, expectations, report in a browser.
	$(call install,chromium,command -v chromium chromium-browser google-chrome,the report's browser test)
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

lint: lint-types lint-style  ## Check style, types, imports between rooms, and SQL; `make -j2 lint` is faster.

lint-types: .venv/.installed
	@$(BIN)/mypy
lint-style: .venv/.installed
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.lint.words
	@$(BIN)/sqlfluff lint --disable-progress-bar dbt_project/models dbt_project/data_tests

docs: .venv/.installed  ## Generate pages from the code, and build the offline site: build/site/index.html.
	@$(BIN)/python -m tests.docs.writers docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo build/site/index.html

wheel: .venv/.installed  ## Build the wheel of the files that git tracks: dist/.
	@$(BIN)/python -m tests.installation.wheel dist

ui: .venv/.installed  ## Open Dagster's web UI with the nightly schedule.
	@$(BIN)/faultline ui

clean:  ## Remove the output of refreshes and builds, never the sources.
	rm -rf $(HOME_DIR)/work $(HOME_DIR)/publications $(HOME_DIR)/warehouse $(HOME_DIR)/reports $(HOME_DIR)/dagster build

lock:  ## Pin every dependency again, with hashes and without addresses.
	$(PIN) pyproject.toml --extra postgres --group dev --no-strip-extras -o requirements.lock.txt
	$(PIN) pyproject.toml --extra postgres --group build -c requirements.lock.txt -o requirements-runtime.lock.txt
	for group in spark supply containers; do \
		$(PIN) --group $$group --no-strip-extras -o requirements-$$group.lock.txt || exit 1; done
	for group in axe studies; do $(PIN) --group $$group --no-deps -o requirements-$$group.lock.txt || exit 1; done

slow: .venv/.installed  ## Run the tests at full scale as well; takes many minutes.
	$(call install,strace,command -v strace,the tests of faults)
	$(call packages,.venv,requirements-axe.lock.txt -r requirements-studies.lock.txt)
	@$(BIN)/python -m pytest -m slow

installed: .venv/.installed  ## Use the wheel in read-only environments of each Python on this machine.
	@$(BIN)/python -m pytest -m slow tests/installation

containers: .venv/.installed .venv-containers/.installed  ## Check the files for containers, and build the image.
	@$(BIN)/python -m pytest -m containers tests/installation

spark: .venv/.installed .venv-spark/.installed  ## Build the dbt project on DuckDB and on Spark and compare every mart.
	$(call install,default-jre-headless,command -v java,Spark)
	@$(BIN)/python -m pytest -m spark tests/spark

postgres: .venv/.installed  ## Test Dagster's history in Debian's PostgreSQL, which the test starts.
	$(call install,postgresql,ls -d /usr/lib/postgresql/*/bin,the test of Dagster's history)
	@$(BIN)/python -m pytest -m postgres tests/orchestration/test_postgres.py

slurm: .venv/.installed  ## Pull from a real Slurm with planted faults (FAULTLINE_SLURM_TESTBED; needs root).
	@$(BIN)/python -m pytest -m slurm -n 0 tests/slurm

soak: .venv/.installed  ## Run sixty nights with every kind of fault; SOAK='--out DIR --nights 5'.
	$(call install,faketime,command -v faketime,the night on which the clock steps back)
	@$(BIN)/python -m tests.soak $(or $(SOAK),--out $$(mktemp -d)/soak)

recovery: .venv/.installed  ## Refresh simulated logs and compare with what was planted; writes docs/recovery.md.
	@$(BIN)/python -m tests.recovery --write docs/recovery.md

calibration: .venv/.installed  ## Compare simulated clusters with the paper; writes docs/calibration.md.
	@$(BIN)/python -m tests.calibration --write docs/calibration.md

proof: .venv/.installed  ## Measure the coverage of every estimator; writes docs/estimators.md.
	@$(BIN)/python -m tests.proof --write docs/estimators.md

studies: .venv/.installed  ## Recompute published studies (FAULTLINE_STUDIES_DATA); writes docs/studies.md.
	$(call packages,.venv,requirements-studies.lock.txt)
	@$(BIN)/python -m tests.studies --write docs/studies.md

bench: .venv/.installed  ## Measure time, memory and disk; writes docs/benchmarks.md; BENCH='--scale 1/16' prints.
	@$(BIN)/python -m tests.benchmarks $(or $(BENCH),--write docs/benchmarks.md)
