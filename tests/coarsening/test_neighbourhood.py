"""The choices of levels around one, against a slow count of each."""

from itertools import product

import polars as pl
import pytest

import shoal
from shoal.coarsening.neighbourhood import MOST_NODES, neighbourhood
from shoal.conform import prepare


@pytest.fixture(scope="module")
def prepared():
    table = shoal.datasets.health_survey(300, seed=4)
    return prepare(table, shoal.datasets.health_survey_schema())


def written(prepared, name, level):
    from shoal.coarsening.default_hierarchies import ladder_for
    from shoal.frame import series

    return ladder_for(series(prepared.frame, name), prepared.schema[name]).written(level)


def test_every_choice_is_counted_as_by_hand(prepared):
    found = neighbourhood(prepared, shoal.Generalize(k=4), {})
    assert set(found.nodes) == set(product(*found.levels.values()))
    for node in list(found.nodes)[:: max(1, len(found.nodes) // 25)]:
        columns = [written(prepared, name, level) for name, level in zip(found.levels, node, strict=True)]
        sizes = pl.DataFrame(columns).group_by(list(found.levels)).len()["len"]
        assert found.nodes[node].smallest == sizes.min()
        assert found.nodes[node].suppressed_share == pytest.approx(sizes.filter(sizes < 4).sum() / 300)


def test_the_choice_that_was_made_is_among_them_with_its_loss(prepared):
    release = shoal.coarsen(prepared.frame.to_native(), prepared.schema, shoal.Generalize(k=5))
    [step] = release.steps
    found = neighbourhood(release.prepared, shoal.Generalize(k=5), step.details["levels"])
    node = found.nodes[tuple(step.details["levels"][name] for name in found.levels)]
    assert node.loss == pytest.approx(step.details["loss"])
    assert node.suppressed_share == pytest.approx(step.details["suppressed_share"])


def test_of_a_large_lattice_the_steps_around_are_counted():
    table = pl.DataFrame({f"c{j}": [(i * (j + 3)) % 16 for i in range(64)] for j in range(8)})
    schema = shoal.Schema.of(quasi=table.columns, bounds=dict.fromkeys(table.columns, (0, 16)))
    found = neighbourhood(prepare(table, schema), shoal.Generalize(k=2), {"c0": 1})
    assert len(found.nodes) <= MOST_NODES
    centre = (1, *[0] * 7)
    places = [{level: i for i, level in enumerate(levels)} for levels in found.levels.values()]
    steps = [
        sum(abs(place[a] - place[b]) for place, a, b in zip(places, node, centre, strict=True)) for node in found.nodes
    ]
    assert sorted(steps)[:10] == [0, *[1] * 9]  # up in each column, down in the first
    furthest = max(steps)
    assert furthest > 2  # a person can walk on from a step
    within = [node for node in product(*map(range, map(len, places))) if abs(node[0] - 1) + sum(node[1:]) <= furthest]
    assert len(found.nodes) == len(within)  # whole rounds


def test_of_many_combinations_one_round_is_counted(prepared, monkeypatch):
    monkeypatch.setattr("shoal.coarsening.neighbourhood.MOST_COUNTED", 1)
    found = neighbourhood(prepared, shoal.Generalize(k=4), {})
    assert len(found.nodes) == 1 + len(found.levels)
