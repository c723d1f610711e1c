"""A dataframe library is a fixture: one test body runs on every one of them."""

import os

os.environ.setdefault("NUMBA_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of several workers would spin against each other
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl
import pytest
from hypothesis import HealthCheck, settings

common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("shoal", derandomize=True, max_examples=25, **common)  # the same examples on every run
settings.register_profile("explore", max_examples=100, **common)  # new ones each time: HYPOTHESIS_PROFILE=explore
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shoal"))


@pytest.fixture(scope="module", autouse=True)
def _own_ledger_of_a_module(tmp_path_factory):
    """Releases of one module are unknown to the next: its user has a ledger of their own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("user")))
        yield


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path_factory, monkeypatch):
    """And so are those of one test to the next."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("user")))


LONGEST = ("faces", "web", "comparison", "study", "ledger")  # begin with those that start browsers and processes


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: not any(part in item.path.parts for part in LONGEST))


def _duckdb(frame):
    import duckdb

    return duckdb.from_arrow(frame.to_arrow())


FRAMES = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": _duckdb,
}


@pytest.fixture(params=list(FRAMES))
def make_frame(request):
    """Turns a Polars frame into each of the supported types."""
    return FRAMES[request.param]


@pytest.fixture
def people():
    """A small mixed table with its schema's columns."""
    return pl.DataFrame(
        {
            "name": [f"SENTINEL-{i}" for i in range(24)],
            "age": [20 + 2 * i for i in range(24)],
            "sex": ["f", "m"] * 12,
            "town": ["Alba", "Boro", None, "Cove"] * 6,
            "education": ["none", "school", "college"] * 8,
            "cost": [float((7 * i) % 24) * 100 for i in range(24)],
            "ill": ["no", "no", "yes"] * 8,
        }
    )


@pytest.fixture
def people_schema():
    from shoal import Schema

    return Schema.of(
        identifier=["name"],
        quasi=["age", "sex", "town", "education"],
        sensitive=["cost", "ill"],
        kinds={"education": "ordinal"},
        levels={"education": ["none", "school", "college"]},
    )
