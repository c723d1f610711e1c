# On a fresh machine with Python 3.11+ and make: `make demo` does the main job, `make test` runs every check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := .[all]
# Bytecode is written whatever the shell says: the tests start hundreds of processes, and each would compile all again.
export PYTHONDONTWRITEBYTECODE =
# The versions that the tests passed with (constraints.txt); where one can't be had, as on another Python, the newest.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt $(1) || \
	(echo "constraints.txt can't be met here: taking the newest versions" && $(BIN)/uv pip install --quiet --python $(BIN)/python $(1))
APT := (apt-get update -qq >/dev/null 2>&1 || true) && apt-get install -y -qq

.PHONY: demo test test-full test-spark test-r test-matrix test-newest check kernels collected postgres chromium minisign nginx bench bench-all docs dist sbom \
	changelog constraints coverage mutants types clean help

help:
	@echo "make demo   run the main job on built-in data and say where the report is"
	@echo "make test   lint, types, layers, then all tests"
	@echo "make test-full  the same, with ten times as many faults"
	@echo "make test-spark  the engine on Spark, with tasks that fail and workers that die"
	@echo "make test-r  the script for R, in R"
	@echo "make check  lint, types and layers only"
	@echo "make bench  speed and quality against the peers in one run, for the page of numbers; make bench-all goes deeper, for hours"
	@echo "make docs   regenerate the reference from the code, then build the site into site/"
	@echo "make dist   wheel and sdist, the same bytes each time; make sbom lists what they bring (CycloneDX)"
	@echo "make test-matrix  the wheel in clean environments: Python 3.11 to 3.14, and the oldest packages"
	@echo "make test-newest  the tests on the newest packages; make constraints then pins them for everybody"
	@echo "make coverage     lines and branches that the tests reach; make types asks a second type checker"
	@echo "make mutants      a sample of changes that the tests should notice; make changelog moves its fragments in"

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(call INSTALL,-e "$(EXTRAS)" --group dev)
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/shoal demo --out demo-release --overwrite

test: postgres chromium minisign nginx
	$(MAKE) --jobs 3 check kernels collected
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder tests

test-full:
	SHOAL_KILLS=200 HYPOTHESIS_PROFILE=explore $(MAKE) test

# The engine on Spark: needs Java 17, which is installed where it is missing and can be.
test-spark: $(STAMP)
	@command -v java >/dev/null || (test "$$(id -u)" = 0 && $(APT) openjdk-17-jre-headless >/dev/null)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e ".[spark]"
	SHOAL_SPARK=1 $(BIN)/pytest tests/engines/test_spark.py tests/engines/test_verbs.py tests/engines/test_synthesize.py tests/engines/test_traps.py \
		tests/engines/test_faults.py -k "spark and (scan or not csv)"

# The script for R, run in R: reticulate is installed where it is missing and can be; elsewhere its test is skipped.
RETICULATE := Rscript -e 'library(reticulate)' >/dev/null 2>&1
test-r: $(STAMP)
	@$(RETICULATE) || (test "$$(id -u)" = 0 && $(APT) --no-install-recommends r-cran-reticulate >/dev/null 2>&1) || true
	if $(RETICULATE); then export SHOAL_R=1; fi; $(BIN)/pytest tests/faces/test_from_r.py

# The ledger is tested on a real PostgreSQL; where it can't be installed those tests are skipped and say so.
postgres:
	@command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || \
		(test "$$(id -u)" = 0 && $(APT) postgresql >/dev/null 2>&1) || true

# The pages are tried in a real browser; where it can't be installed those tests are skipped and say so.
chromium:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		(test "$$(id -u)" = 0 && $(APT) chromium >/dev/null 2>&1) || true

# Signatures are tried against minisign itself; where it can't be installed those tests are skipped and say so.
minisign:
	@command -v minisign >/dev/null || \
		(test "$$(id -u)" = 0 && $(APT) minisign >/dev/null 2>&1) || true

# The sample of a proxy is started; where nginx can't be installed that test is skipped and says so.
nginx:
	@command -v nginx >/dev/null || \
		(test "$$(id -u)" = 0 && $(APT) nginx-light >/dev/null 2>&1) || true

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

# Compiled once, while the other core checks types; the tests would each compile them anew.
kernels: $(STAMP)
	$(BIN)/python tests/kernels.py

# The tests' own bytecode, once: each worker would rewrite and compile all of them.
collected: $(STAMP)
	$(BIN)/pytest --collect-only -qq tests >/dev/null

# In an environment of its own: peers ask for older packages than the tests.
bench: $(STAMP)
	test -x .venv-bench/bin/python || $(BIN)/uv venv --quiet --python $(BIN)/python .venv-bench
	$(BIN)/uv pip install --quiet --python .venv-bench/bin/python -e "$(EXTRAS)" --group bench
	.venv-bench/bin/python benchmarks/peers.py
	$(BIN)/python docs/generate.py

# Every script that measures one family in depth: hours.
bench-all: bench
	for script in benchmarks/speed/*.py benchmarks/quality/*.py; do .venv-bench/bin/python $$script || exit 1; done

docs: $(STAMP)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/floor_plan.py
	$(call INSTALL,--group docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html"

changelog: $(STAMP)
	$(BIN)/python docs/changelog.py

# Two builds of one commit are equal byte for byte: times come from the commit, not from the clock.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1700000000)
dist: $(STAMP)
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist
	@cd dist && sha256sum shoal-*

# What an installation of the wheel with everything brings, beside the wheel.
sbom: dist
	rm -rf dist/env && $(BIN)/uv venv --quiet --python $(BIN)/python dist/env
	$(BIN)/uv pip install --quiet --python dist/env "$$(ls $(CURDIR)/dist/*.whl)[all]"
	$(BIN)/uvx --quiet --from cyclonedx-bom cyclonedx-py environment dist/env/bin/python --output-reproducible \
		--pyproject pyproject.toml --output-file dist/shoal.cdx.json
	rm -rf dist/env

# A Python that is not to be had is unpacked from Debian's packages, where these two are.
test-matrix: dist
	@command -v mmdebstrap >/dev/null && command -v patchelf >/dev/null || \
		(test "$$(id -u)" = 0 && $(APT) mmdebstrap patchelf >/dev/null 2>&1) || true
	$(BIN)/python tests/matrix.py dist/*.whl --uv $(CURDIR)/$(BIN)/uv

# In an environment of its own, which may upgrade to whatever came out last.
test-newest:
	test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv
	.venv-newest/bin/uv pip install --quiet --upgrade --python .venv-newest/bin/python -e "$(EXTRAS)" --group dev
	.venv-newest/bin/pytest -n 3 --dist loadfile tests

# What `make test-newest` has just passed with, for developers and CI from now on.
constraints:
	.venv-newest/bin/uv pip install --quiet --python .venv-newest/bin/python --group docs
	@echo "# Made by \`make constraints\`: versions that the tests passed with. The Makefile installs them." > constraints.txt
	.venv-newest/bin/uv pip freeze --quiet --python .venv-newest/bin/python --exclude-editable | grep '==' >> constraints.txt

coverage: $(STAMP)
	$(call INSTALL,coverage pytest-cov)
	$(BIN)/pytest -n 2 --dist loadfile --cov=shoal --cov-branch --cov-report=term:skip-covered --cov-report=html:site-coverage tests

# Which changes of the code do the tests of its room not notice? A sample; tests/mutants.py --help says more.
mutants: $(STAMP)
	nice -n 10 $(BIN)/python tests/mutants.py

# The public names as another type checker sees them.
types: $(STAMP)
	$(BIN)/uvx --quiet pyright --pythonpath $(BIN)/python src/shoal/__init__.py

clean:
	rm -rf $(VENV) .venv-newest .venv-bench dist site site-coverage demo-release demo-release.internal .mypy_cache .ruff_cache .hypothesis
