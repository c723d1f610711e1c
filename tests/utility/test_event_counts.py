"""How columns go with numbers of events: the formulas, and what exchanges do to them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.pair import Pair
from shoal.release.hierarchical_risk import hierarchy_of
from shoal.utility.event_counts import event_counts

SCHEMA = shoal.Schema.of(quasi=["age", "region"], kinds={"age": "numeric", "region": "nominal"})


@given(st.lists(st.tuples(st.integers(20, 60), st.sampled_from("NSW"), st.integers(0, 6)), min_size=4, max_size=30))
def test_correlation_and_ratio_are_those_of_their_definitions(people):
    age, region, visits = (list(column) for column in zip(*people, strict=True))
    table = pl.DataFrame({"age": age, "region": region})
    found = event_counts(Pair.of(table, table, SCHEMA), {"visits": np.array(visits)}, {"visits": np.array(visits)})
    by_name = {one.column: one for one in found}
    if len(set(age)) == 1 or len(set(visits)) == 1:
        assert by_name["age"].before is None
    else:
        spread = np.std(age) * np.std(visits)
        assert by_name["age"].before == pytest.approx(
            np.mean((age - np.mean(age)) * (visits - np.mean(visits))) / spread
        )
    if len(set(region)) == 3 and len(set(visits)) > 1:
        means = {place: np.mean([v for r, v in zip(region, visits, strict=True) if r == place]) for place in "NSW"}
        between = np.mean([(means[place] - np.mean(visits)) ** 2 for place in region])
        assert by_name["region"].before == pytest.approx(np.sqrt(between / np.var(visits)), abs=1e-9)
        assert not by_name["region"].ordered
    assert all(one.before == one.after for one in found)


@pytest.fixture(scope="module")
def tables():
    """Older people have more visits."""
    made = shoal.datasets.clinic(400, seed=4)
    order = made["patients"].sort("born")["patient"].to_list()
    seen = {who: 1 + (400 - place) // 60 for place, who in enumerate(order)}
    rows = [who for who, n in seen.items() for _ in range(n)]
    visits = pl.DataFrame({"visit": range(1, len(rows) + 1), "patient": rows, "cost": 1.0})
    return {"patients": made["patients"].drop("household"), "visits": visits}


def of(tables, **how):
    words = shoal.datasets.clinic_schema().to_dict()["tables"]
    people = words["patients"]
    people["columns"].pop("household")
    people.pop("birth", None)
    visits = {"key": "visit", "parent": "patients", "link": "patient", "columns": {"cost": {"role": "sensitive"}}}
    schema = shoal.LinkedSchema.of(patients=people, visits=visits)
    release = shoal.anonymize(tables, schema, group=shoal.MDAV(k=40), mask=shoal.Resample(), seed=2, **how)
    return release, {(one.column, one.table): one for one in hierarchy_of(release)["event_counts"]}


def test_dealing_loosens_what_groups_do_not_share_and_the_page_says_so(tables, tmp_path):
    release, kept = of(tables)
    assert abs(kept["born", "visits"].before) > 0.9
    assert abs(kept["born", "visits"].after) < abs(kept["born", "visits"].before)
    assert kept["born", "visits"].reading.verdict == "watch"
    assert kept["born", "visits"].reading.chance == pytest.approx(0.1 * (1 - kept["born", "visits"].before ** 2))
    release.write(tmp_path / "out")
    page = (tmp_path / "out.internal" / "report.html").read_text()
    assert "born and the number of visits" in page
    assert "born and the number of visits" not in (tmp_path / "out" / "report.html").read_text()
