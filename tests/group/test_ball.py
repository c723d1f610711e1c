"""Ball (eq 2): every pair of a clique is near; the cover is the slow one's; who is near nobody is found."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.conform import prepare
from shoal.distance import Spaces
from shoal.distance.radius import radii_of, read_radius
from shoal.encode import Encoder
from shoal.errors import GuaranteeError, ParameterError
from shoal.group.ball import Ball, Scene
from shoal.group.ball_cover import cover
from shoal.params import build, to_dict
from shoal.schema import Schema

TOY = pl.DataFrame(
    {
        "zip": [13053, 13068, 13068, 13053, 14853],
        "age": [28, 29, 21, 23, 50],
        "nationality": ["Russian", "American", "Japanese", "American", "Indian"],
    }
)
TOY_SCHEMA = Schema.of(quasi=TOY.columns)
TOY_RADIUS = {"zip": 20, "age": 10, "nationality": 1}
RING = np.array([[min(abs(a - b), 5 - abs(a - b)) for b in range(5)] for a in range(5)], dtype=float)


def mixed(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "a": rng.normal(size=n).round(1),
            "b": rng.integers(0, 5, n),
            "sex": rng.choice(["f", "m"], n),
            "place": rng.choice(list("pqrst"), n),
        }
    )
    words = {
        "kind": "matrix",
        "rows": [["", *"pqrst"], *([p, *map(str, row)] for p, row in zip("pqrst", RING, strict=False))],
    }
    return table, Schema.of(quasi=table.columns, kinds={"b": "ordinal"}, metrics={"place": words})


def scene(table, schema):
    return Scene.of(prepare(table, schema), 3)


def slow_cover(spaces, x, radii, clique):
    """The cover as the sheet says it, from all pairs of distances."""
    d = np.array([s.distance(x[:, j][:, None], x[:, j][None, :]) for j, s in enumerate(spaces)])
    near = (d <= radii[:, None, None]).all(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.nan_to_num(np.where(d == 0, 0.0, d / radii[:, None, None])).max(axis=0)
    labels = np.full(len(x), -1)
    for seed in np.argsort(-near.sum(axis=1), kind="stable"):
        if labels[seed] >= 0:
            continue
        members = [seed]
        for row in np.argsort(ratio[seed], kind="stable"):
            if row != seed and near[seed, row] and labels[row] < 0 and (not clique or near[row, members].all()):
                members.append(row)
        labels[members] = labels.max() + 1
    return labels


@pytest.mark.parametrize("shape", ["clique", "ball"])
@pytest.mark.parametrize("radius", [0.0, 0.15, 0.3, 0.5, 1.0])
def test_cover_is_the_slow_one(shape, radius):
    s = scene(*mixed(250, seed=7))
    radii = radii_of(radius, s.spaces, "Ball")
    found = cover(s.positions, s.spaces.packed, radii, clique=shape == "clique")
    assert found.tolist() == slow_cover(s.spaces, s.positions, radii, shape == "clique").tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 120), st.integers(0, 10_000), st.floats(0, 0.9))
def test_every_pair_of_a_clique_is_near(n, seed, radius):
    s = scene(*mixed(n, seed))
    radii = radii_of(radius, s.spaces, "Ball")
    labels = cover(s.positions, s.spaces.packed, radii, clique=True)
    for group in range(labels.max() + 1):
        own = s.positions[labels == group]
        for j, space in enumerate(s.spaces):
            assert space.distance(own[:, j][:, None], own[:, j][None, :]).max() <= radii[j]


def test_own_units_are_respected():
    table, schema = mixed(300, seed=1)
    radius = {"a": 1.0, "b": 2, "sex": 0, "place": 1}
    labels = Ball(radius=radius).assign(table, schema, seed=5)
    place = table["place"].replace_strict(dict(zip("pqrst", range(5), strict=False))).to_numpy()
    for group in np.unique(labels):
        own = table.filter(labels == group)
        assert own["a"].max() - own["a"].min() <= 1.0
        assert own["b"].max() - own["b"].min() <= 2
        assert own["sex"].n_unique() == 1
        assert RING[np.ix_(place[labels == group], place[labels == group])].max() <= 1
    words = build(Ball, {"radius": "a=1/b=2/sex=0/place=1"})
    assert words.assign(table, schema, seed=5).tolist() == labels.tolist()


def test_order_of_the_file_does_not_matter():
    table, schema = mixed(200, seed=2)
    order = np.random.default_rng(0).permutation(200)
    labels = Ball(radius=0.3).assign(table, schema, seed=5)
    other = Ball(radius=0.3).assign(table[order], schema, seed=5)
    # rows with equal values may change places; groups as sets of values may not
    groups = [
        sorted(sorted(t.filter(x == g).rows()) for g in np.unique(x))
        for t, x in ((table, labels), (table[order], other))
    ]
    assert groups[0] == groups[1]


def test_toy_record_stands_out():
    ball = Ball(radius=TOY_RADIUS, minimum=4)
    assert ball.k == 4
    assert ball.leaves_small
    assert ball.assign(TOY, TOY_SCHEMA, seed=1).tolist() == [0, 0, 0, 0, 1]
    grouping = ball.group(prepare(TOY, TOY_SCHEMA), 1)
    assert grouping.notes["groups"] == 2
    assert grouping.notes["share of persons in small groups"] == "under 80.00%", "one person is not told of"


def test_suggested_radius_leaves_few_in_small_groups():
    table, schema = mixed(400, seed=3)
    radius = Ball.suggest(table, schema, minimum=5, share=0.1)

    def small(r):
        labels = Ball(radius=r).assign(table, schema, seed=0)
        sizes = np.bincount(labels)
        return sizes[sizes < 5].sum() / 400

    assert small(radius) <= 0.1 < small(radius - 1 / 64)
    notes = Ball().group(prepare(table, schema), 0).notes
    assert notes["radius from"] == "the data"


def test_persons_are_grouped_whole():
    table, schema = mixed(60, seed=4)
    table = table.with_columns(who=pl.Series(np.arange(60) // 3))
    schema = Schema.of(quasi=["a", "b", "sex", "place"], unit="who", kinds={"b": "ordinal"})
    labels = Ball(radius=0.5, minimum=3).assign(table, schema, seed=1)
    assert (labels.reshape(20, 3) == labels.reshape(20, 3)[:, :1]).all()


def test_bad_radii():
    table, schema = mixed(50)
    for radius, word in [
        ({"a": 1.0}, "none for 'b'"),
        ({"a": 1, "b": 1, "sex": 1, "place": 1, "zip": 1}, "'zip'"),
        ({"a": -1, "b": 1, "sex": 1, "place": 1}, "at least 0"),
        ({"a": float("nan"), "b": 1, "sex": 1, "place": 1}, "at least 0"),
        (1.5, "at most 1"),
        (float("nan"), "radius must"),
        (-0.1, "radius must"),
        ("near", "radius must"),
    ]:
        with pytest.raises(ParameterError, match=word):
            Ball(radius=radius).assign(table, schema)
    for text, word in [("near", "written column=radius"), ("2", "mapped units"), ("=1", "written"), ("a=x", "written")]:
        with pytest.raises(ParameterError, match=word):
            read_radius(text, "--radius")
    assert read_radius("a=1/b=0.5", "--radius") == {"a": 1, "b": 0.5}
    with pytest.raises(ParameterError, match="minimum"):
        Ball(radius=0.3, minimum=1).assign(table, schema)
    with pytest.raises(ParameterError, match="share"):
        Ball.suggest(table, schema, share=1.5)


def test_too_few_persons():
    with pytest.raises(GuaranteeError, match="minimum = 6"):
        Ball(radius=0.5, minimum=6).assign(TOY, TOY_SCHEMA)
    with pytest.raises(GuaranteeError, match="minimum = 6"):
        Ball.suggest(TOY, TOY_SCHEMA, minimum=6)


def test_too_tight_and_too_wide_name_a_radius_that_helps():
    table = pl.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0)[::-1] ** 2})
    schema = Schema.of(quasi=["a", "b"])
    with pytest.raises(GuaranteeError, match="common radius of 0.") as caught:
        Ball(radius=0.0).assign(table, schema, seed=3)
    helps = float(str(caught.value).split("radius of ")[1].split(" ")[0])
    labels = Ball(radius=helps).assign(table, schema, seed=3)
    sizes = np.bincount(labels)
    assert sizes[sizes < 5].sum() <= 5
    notes = Ball(radius=1.0).group(prepare(table, schema), 0).notes
    assert "would divide them" in notes["all persons share one group"]


@pytest.mark.parametrize("radius", [None, 0.3, {"a": 1.0, "b": 2.0}])
def test_words_give_the_method_back(radius):
    ball = Ball(radius=radius, shape="ball")
    assert build(Ball, to_dict(ball)) == ball
    assert build(Ball, {"radius": "0.25", "minimum": "7"}) == Ball(radius=0.25, minimum=7)


def test_positions_come_from_the_encoder():
    table, schema = mixed(30)
    prepared = prepare(table, schema)
    encoder = Encoder.fit(prepared, schema.quasi)
    spaces = Spaces.fit(prepared.schema, encoder, encoder.codes(prepared.frame))
    assert [s.shape for s in spaces] == ["line", "line", "equal", "table"]
