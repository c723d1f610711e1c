# On a fresh machine with Python 3.11+ and make: `make demo` does the main job, `make test` runs every check.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := .[all]
APT := (apt-get update -qq >/dev/null 2>&1 || true) && apt-get install -y -qq

.PHONY: demo test test-full test-spark check kernels postgres chromium minisign nginx bench docs clean help

help:
	@echo "make demo   run the main job on built-in data and say where the report is"
	@echo "make test   lint, types, layers, then all tests"
	@echo "make test-full  the same, with ten times as many faults"
	@echo "make test-spark  the engine on Spark, with tasks that fail and workers that die"
	@echo "make check  lint, types and layers only"
	@echo "make bench  speed and quality against the peers, as ratios in one run"
	@echo "make docs   regenerate the command reference and the floor plan from the code"

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e "$(EXTRAS)" --group dev
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/shoal demo --out demo-release --overwrite

test: postgres chromium minisign nginx
	$(MAKE) --jobs 2 check kernels
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder tests

test-full:
	SHOAL_KILLS=200 HYPOTHESIS_PROFILE=explore $(MAKE) test

# The engine on Spark: needs Java 17, which is installed where it is missing and can be.
test-spark: $(STAMP)
	@command -v java >/dev/null || (test "$$(id -u)" = 0 && $(APT) openjdk-17-jre-headless >/dev/null)
	$(BIN)/uv pip install --quiet --python $(BIN)/python -e ".[spark]"
	SHOAL_SPARK=1 $(BIN)/pytest tests/engines/test_spark.py tests/engines/test_verbs.py tests/engines/test_synthesize.py -k "spark and (scan or not csv)"

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

# Compiled once, while the other core checks types; the tests would each compile them anew.
kernels: $(STAMP)
	$(BIN)/python tests/kernels.py

bench: $(STAMP)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group bench
	for script in benchmarks/speed/*.py benchmarks/quality/*.py; do $(BIN)/python $$script || exit 1; done

docs: $(STAMP)
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/floor_plan.py

clean:
	rm -rf $(VENV) demo-release demo-release.internal .mypy_cache .ruff_cache .hypothesis
