"""A dataframe library is a fixture: one test body runs on every one of them."""

import itertools
import os
from collections import Counter

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
FULL = os.environ.get("HYPOTHESIS_PROFILE") == "explore"  # `make test-full`


@pytest.fixture(scope="session")
def _new_user(tmp_path_factory):
    """Names a home that nobody has used. It is made by who needs it: pytest's own folders cost more with each one."""
    homes, count = tmp_path_factory.mktemp("users"), itertools.count()
    return lambda: str(homes / str(next(count)))


@pytest.fixture(scope="module", autouse=True)
def _own_ledger_of_a_module(_new_user):
    """Releases of one module are unknown to the next: its user has a ledger of their own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", _new_user())
        yield


@pytest.fixture(autouse=True)
def _own_ledger(_new_user, monkeypatch):
    """And so are those of one test to the next."""
    monkeypatch.setenv("XDG_DATA_HOME", _new_user())


LONGEST = ("faces", "web", "comparison", "study", "ledger")  # begin with those that start browsers and processes


def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: not any(part in item.path.parts for part in LONGEST))
    if not FULL:
        keep = _thinned(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in keep])
        items[:] = [item for item in items if item in keep]


def _thinned(items):
    """The tests without those that only `make test-full` runs: of a product marked ``thinned(n)``, one case in n stays.

    With an n that no length of the product's sides can be divided by, every value of every side is still met.
    """
    seen, keep = Counter(), set()
    for item in items:
        mark = item.get_closest_marker("thinned")
        case = item.nodeid.partition("[")[0]
        if mark is None or seen[case] % mark.args[0] == 0:
            keep.add(item)
        seen[case] += 1
    return keep


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
