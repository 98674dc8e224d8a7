# `make refresh` and `make test` set up what they need on a machine with Python, pip, make and apt.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
FAULTLINE_HOME ?= data
HOME_DIR := $(FAULTLINE_HOME)
BIN := .venv/bin
export FAULTLINE_HOME DO_NOT_TRACK=1

.PHONY: help wheel installed containers refresh test lint slow slurm soak postgres spark duckdb2 calibration recovery proof studies configuration tables statistics commands docs sbom audit ui bench lock clean
help:  ## Show the targets.
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# $(call packages,ENVIRONMENT,LOCK FILE): make an environment if there is none, and install what a lock file names.
# Modules are compiled here, as pip does. Where PYTHONDONTWRITEBYTECODE is set, each process would do it again (10 s).
define packages
@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(1) \
		&& uv pip install --quiet --compile-bytecode --python $(1)/bin/python --no-deps --require-hashes -r $(2) ; \
	else \
		{ test -x $(1)/bin/python || $(PYTHON) -m venv $(1) ; } \
		&& $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(2) ; \
	fi
endef
# $(call faultline,ENVIRONMENT): install this project, such that a change of its files needs no new installation.
define faultline
@if command -v uv >/dev/null 2>&1; then \
		uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation -e . ; \
	else \
		$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . ; \
	fi
endef

.venv/.installed: requirements.lock.txt pyproject.toml
	$(call packages,.venv,requirements.lock.txt)
	$(call faultline,.venv)
	@touch $@

# Demo clusters are made only where there is nothing but the committed capture.
$(HOME_DIR)/sources/.demo: .venv/.installed
	@mkdir -p $(@D)
	@if [ -z "$$(find $(@D) -mindepth 1 -maxdepth 1 -type d ! -name testbed)" ]; then \
		$(BIN)/faultline simulate demo --out $(HOME_DIR); \
	fi
	@touch $@

refresh: .venv/.installed $(HOME_DIR)/sources/.demo  ## Set up, make a demo cluster's logs if there are none, refresh, print the report's path.
	@$(BIN)/faultline refresh

test: .venv/.installed browser  ## Set up and run every test of a push: code, dbt, expectations, report in a browser.
	@$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

lint: .venv/.installed  ## Judge style, types, imports between rooms and SQL; `make -j2 lint` does two at a time.
	@$(MAKE) --no-print-directory lint-types lint-style

.PHONY: lint-types lint-style
lint-types:
	@$(BIN)/mypy
lint-style:
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/sqlfluff lint --disable-progress-bar dbt_project/models dbt_project/data_tests

bench: .venv/.installed  ## Measure time, memory and disk against a hand-written DuckDB script; writes docs/benchmarks.md. BENCH='--scale 1/16' prints.
	@$(BIN)/python -m tests.benchmarks $(or $(BENCH),--write docs/benchmarks.md)

configuration: .venv/.installed  ## Write docs/configuration.md from the code that reads the settings.
	@$(BIN)/python -m tests.docs.writers.configuration_page --write docs/configuration.md

tables: .venv/.installed  ## Write docs/tables.md from the descriptions of the tables.
	@$(BIN)/python -m tests.docs.writers.tables_page --write docs/tables.md

statistics: .venv/.installed  ## Write docs/statistics.md from the descriptions of estimates and their functions.
	@$(BIN)/python -m tests.docs.writers.statistics_page --write docs/statistics.md

commands: .venv/.installed  ## Write docs/commands.md from the commands themselves.
	@$(BIN)/python -m tests.docs.writers.commands_page --write docs/commands.md

docs: .venv/.installed  ## Build these docs as a site that needs no network: build/site/index.html.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo build/site/index.html

calibration: .venv/.installed  ## Compare the simulated clusters rsc1 and rsc2 with the paper; writes docs/calibration.md.
	@$(BIN)/python -m tests.calibration --write docs/calibration.md

recovery: .venv/.installed  ## Refresh simulated logs and compare with what was planted; writes docs/recovery.md.
	@$(BIN)/python -m tests.recovery --write docs/recovery.md

proof: .venv/.installed  ## Measure the coverage of every estimator; writes docs/estimators.md.
	@$(BIN)/python -m tests.proof --write docs/estimators.md

studies: .venv/.installed  ## Work published studies out again from their own data (FAULTLINE_STUDIES_DATA); writes docs/studies.md.
	@$(BIN)/python -m pip install -q --no-deps -r requirements-studies.lock.txt
	@$(BIN)/python -m tests.studies --write docs/studies.md

slow: .venv/.installed strace  ## Run the tests at full scale as well; takes many minutes.
	@$(BIN)/python -m pip install -q --no-deps -r requirements-axe.lock.txt -r requirements-studies.lock.txt
	@$(BIN)/python -m pytest -m slow

slurm: .venv/.installed  ## Pull from a real Slurm with planted faults, refresh, compare; needs root and the testbed that FAULTLINE_SLURM_TESTBED names.
	@$(BIN)/python -m pytest -m slurm -n 0 tests/slurm

soak: .venv/.installed faketime  ## Sixty nights in which everything goes wrong, held against an empty home; SOAK='--out DIR --every 5'.
	@$(BIN)/python -m tests.soak $(or $(SOAK),--out $$(mktemp -d)/soak)

wheel: .venv/.installed  ## Build the wheel of the files that git tracks: dist/.
	@$(BIN)/python -m tests.installation.wheel dist

installed: .venv/.installed  ## Install the wheel into read-only environments of each Python that is there, and use it.
	@$(BIN)/python -m pytest -m slow tests/installation

.venv-containers/.installed: requirements-containers.lock.txt
	$(call packages,.venv-containers,requirements-containers.lock.txt)
	@touch $@

containers: .venv/.installed .venv-containers/.installed  ## Judge the Containerfile and compose.yaml; build the image where podman or docker and a base image are.
	@$(BIN)/python -m pytest -m containers tests/installation

.venv-spark/.installed: requirements-spark.lock.txt
	$(call packages,.venv-spark,requirements-spark.lock.txt)
	@touch $@

spark: .venv/.installed .venv-spark/.installed java  ## Build the dbt project on DuckDB and on Spark and compare every mart.
	@$(BIN)/python -m pytest -m spark tests/spark

postgres: .venv/.installed postgresql  ## Dagster's history in Debian's PostgreSQL, which the test starts.
	@$(BIN)/python -m pytest -m postgres tests/orchestration/test_postgres.py

.venv-duckdb2/.installed: requirements.lock.txt requirements-duckdb2.lock.txt pyproject.toml
	$(call packages,.venv-duckdb2,requirements.lock.txt)
	$(call packages,.venv-duckdb2,requirements-duckdb2.lock.txt)
	$(call faultline,.venv-duckdb2)
	@touch $@

duckdb2: .venv-duckdb2/.installed browser  ## Run the tests of a push on DuckDB 2, which the lock does not name yet.
	@.venv-duckdb2/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder --ignore tests/lint

.venv-supply/.installed: requirements-supply.lock.txt
	$(call packages,.venv-supply,requirements-supply.lock.txt)
	@touch $@

sbom: .venv/.installed .venv-supply/.installed  ## List every installed package with version and licence: build/sbom.cdx.json (CycloneDX).
	@mkdir -p build
	@.venv-supply/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --validate \
		--output-format JSON --output-file build/sbom.cdx.json $(BIN)/python
	@echo build/sbom.cdx.json

audit: .venv-supply/.installed  ## Hold the locked packages against the published advisories; needs the network. AUDIT='-s osv --osv-url URL' asks a mirror.
	@for lock in requirements*.lock.txt; do \
		echo "$$lock"; .venv-supply/bin/pip-audit --disable-pip --require-hashes -r "$$lock" $(AUDIT) || exit 1; \
	done

ui: .venv/.installed  ## Open Dagster's web UI with the nightly schedule.
	@$(BIN)/faultline ui

# $(call install,PACKAGE,PROGRAMS,WHAT FOR): install a Debian package unless one of the programs is there.
define install
@for program in $(2); do command -v $$program >/dev/null 2>&1 && exit 0; done; \
	echo "installing $(1) for $(3)"; \
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1); } >/dev/null \
	|| { echo "$(1) is missing and apt-get could not install it; install it, then run make again" >&2; exit 1; }
endef

.PHONY: browser strace faketime java postgresql
browser:
	$(call install,chromium,chromium chromium-browser google-chrome,the report's browser test)
strace:
	$(call install,strace,strace,the tests of faults)
faketime:
	$(call install,faketime,faketime,the night on which the clock steps back)
postgresql:
	@test -n "$$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null)" || { \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql >/dev/null; }
java:
	$(call install,default-jre-headless,java,Spark)

lock:  ## Pin every dependency again, with hashes and without addresses.
	uv pip compile pyproject.toml --extra postgres --group dev --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-header --no-annotate --quiet -o requirements.lock.txt
	uv pip compile pyproject.toml --extra postgres --group build -c requirements.lock.txt --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --quiet -o requirements-runtime.lock.txt
	uv pip compile --group spark --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-header --no-annotate --quiet -o requirements-spark.lock.txt
	uv pip compile --group duckdb2 --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-header --no-annotate --quiet -o requirements-duckdb2.lock.txt
	uv pip compile --group supply --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-header --no-annotate --quiet -o requirements-supply.lock.txt
	uv pip compile --group axe --no-deps --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet -o requirements-axe.lock.txt
	uv pip compile --group studies --no-deps --universal --python-version 3.11 --generate-hashes \
		--no-header --no-annotate --quiet -o requirements-studies.lock.txt
	uv pip compile --group containers --universal --python-version 3.11 --generate-hashes --no-strip-extras \
		--no-header --no-annotate --quiet -o requirements-containers.lock.txt

clean:  ## Remove what a refresh made, never the sources.
	rm -rf $(HOME_DIR)/work $(HOME_DIR)/publications $(HOME_DIR)/warehouse $(HOME_DIR)/reports $(HOME_DIR)/dagster build
