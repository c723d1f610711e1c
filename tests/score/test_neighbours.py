"""Certified models against their definition: two tables that differ in one record, and the same noisy results for both.

The first fit is recorded: what went into each noise and what came out. The second, on the table with one record more,
is given the recorded results whatever goes in. Then (1) the two models must be equal in everything that is saved, or
something reached the model around the noise; and (2) the prices of what went in differently must add up to at most ε:
|difference| / scale for counts, ε of the choice × (largest difference of a score) / sensitivity for choices. Together
these are the proof, step by step, on the case at hand.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Schema
from shoal.dp import noise
from shoal.errors import InputError
from shoal.score import CertifiedForest, CertifiedRegressor, CertifiedTree
from shoal.score.model_file import to_dict

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "children": {"role": "quasi", "bounds": [0, 12], "missing": "drop"},
            "weight": {"role": "quasi", "bounds": [0.0, 150.5], "missing": 70.0},
            "sex": {"role": "quasi", "kind": "nominal", "levels": ["f", "m"]},
            "stage": {"role": "quasi", "kind": "ordinal", "levels": [1, 2, 3]},
            "dose": {"role": "quasi", "edges": [0, 1, 5, 10]},
            "ill": {"role": "sensitive", "levels": ["no", "yes"]},
        }
    }
)
THREE = ("no", "later", "yes")
COLUMNS = ("children", "weight", "sex", "stage", "dose")
MODELS = {
    "histogram": CertifiedForest(1.0, SCHEMA, random_state=1),
    "histogram at small epsilon": CertifiedForest(0.05, SCHEMA, random_state=1),
    "histogram at large epsilon": CertifiedForest(2000.0, SCHEMA, random_state=1),
    "two features": CertifiedForest(1.0, SCHEMA, max_features=2, cuts=3, random_state=1),
    "weighted": CertifiedForest(1.0, SCHEMA, weights={"sex": 3.0}, calibration_share=0.3, random_state=1),
    "random": CertifiedForest(1.0, SCHEMA, design="random", n_trees=4, max_depth=3, random_state=1),
    "private": CertifiedForest(1.0, SCHEMA, design="private", n_trees=3, max_depth=2, random_state=1),
    "tree": CertifiedTree(1.0, SCHEMA, max_depth=3),
    "three classes": CertifiedForest(1.0, SCHEMA, classes=THREE, random_state=1),
    "three classes, random": CertifiedForest(1.0, SCHEMA, classes=THREE, design="random", n_trees=3, random_state=1),
    "three classes, tree": CertifiedTree(1.0, SCHEMA, classes=THREE, max_depth=2),
    "number": CertifiedRegressor(1.0, SCHEMA, bounds=(10, 90), random_state=1),
    "number, random": CertifiedRegressor(1.0, SCHEMA, bounds=(10, 90), design="random", n_trees=3, random_state=1),
    "number, private": CertifiedRegressor(1.0, SCHEMA, bounds=(10, 90), design="private", max_depth=2, random_state=1),
}

whole = st.integers(0, 12)
number = st.one_of(st.none(), whole, st.floats(-1e6, 1e6))
record = st.tuples(
    number,
    number,
    st.sampled_from(["f", "m", None]),
    st.sampled_from([1, 2, 3, None]),
    st.one_of(whole, st.floats(-100, 100)),
    st.sampled_from(["no", "yes"]),
)
plain = st.tuples(whole, whole, st.just("f"), st.sampled_from([1, 2, 3]), whole, st.sampled_from(["no", "yes"]))


class Tape:
    """Noise that is recorded once and then played back, adding up what the differences going in cost."""

    def __init__(self, patch):
        self.taken, self.place, self.playing, self.cost = [], 0, False, 0.0
        self._laplace, self._choose = noise.discrete_laplace, noise.noisy_max
        patch.setattr(noise, "discrete_laplace", self.laplace)
        patch.setattr(noise, "noisy_max", self.choose)

    def laplace(self, counts, scale):
        return self._step(np.asarray(counts), scale, lambda: self._laplace(counts, scale))

    def choose(self, scores, sensitivity, epsilon, **rest):
        assert not rest
        draw = lambda: self._choose(scores, sensitivity, epsilon)  # noqa: E731
        return self._step(np.asarray(scores), (sensitivity, epsilon), draw)

    def _step(self, exact, price, draw):
        if not self.playing:
            self.taken.append((exact.copy(), price, draw()))
            return self.taken[-1][2]
        before, same_price, result = self.taken[self.place]
        self.place += 1
        assert price == same_price
        assert before.shape == exact.shape
        difference = np.abs(exact - before)
        if isinstance(price, tuple):
            assert difference.max() <= price[0]
            self.cost += price[1] * float(difference.max()) / price[0]
        else:
            self.cost += float(difference.sum()) / price
        return result

    def play(self):
        self.playing = True


def fitted(model, records):
    """A fit on a table whose column types are those that its values suggest, as a file would have them."""
    columns = {name: [entry[j] for entry in records] for j, name in enumerate(COLUMNS)}
    frame = pl.DataFrame({name: pl.Series(name, values, strict=False) for name, values in columns.items()})
    frame = frame.with_columns(pl.col("sex").cast(pl.String), pl.col(["children", "weight"]).fill_nan(None))
    return model.fit(frame, outcome(model, records))


def outcome(model, records):
    """Classes, or numbers of which some lie outside their bounds."""
    if isinstance(model, CertifiedRegressor):
        return np.array([100.0 * entry[4] / 12 if entry[5] == "yes" else 41.0 for entry in records])
    if model.classes is not None:
        return np.array(["later" if entry[3] == 2 else entry[5] for entry in records])
    return pl.Series("ill", [entry[5] for entry in records])


@pytest.mark.parametrize("name", list(MODELS))
@settings(max_examples=15)
@given(records=st.lists(st.one_of(plain, record), min_size=1, max_size=12), more=record)
def test_one_record_more_costs_epsilon_and_shows_nowhere_else(name, records, more):
    model = MODELS[name]
    with pytest.MonkeyPatch.context() as patch:
        tape = Tape(patch)
        first = to_dict(fitted(model, records))
        tape.play()
        second = to_dict(fitted(model, [*records, more]))
    assert tape.place == len(tape.taken)
    assert second == first
    assert tape.cost <= model.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("name", ["histogram", "two features", "weighted", "random", "three classes", "number"])
def test_the_price_is_used_up(name):
    """A record that is not dropped costs all of ε in these designs: none of it is wasted."""
    model = MODELS[name]
    with pytest.MonkeyPatch.context() as patch:
        tape = Tape(patch)
        fitted(model, [(1, 60.5, "f", 1, 2, "no")] * 5)
        tape.play()
        fitted(model, [(1, 60.5, "f", 1, 2, "no")] * 5 + [(3, 71.5, "m", 2, 7, "yes")])
    assert tape.cost == pytest.approx(model.epsilon, rel=1e-6)


@pytest.mark.parametrize("model", [CertifiedForest(1.0, SCHEMA), CertifiedTree(1.0, SCHEMA)])
def test_classes_are_never_read_from_the_data(model):
    table = pl.DataFrame({"children": [1, 2, 3]})
    with pytest.raises(InputError, match="public"):
        model.fit(table, np.array(["well", "well", "ill"]))
    with pytest.raises(InputError, match="public"):
        model.fit(table, np.array([1, 2, 1]))
    for y in ([0, 1, 1], [0.0, 1.0, 1.0], [False, True, True]):
        assert model.fit(table, np.array(y)).classes_.dtype == np.int64  # one person's 1.0 would show in the type


def test_cuts_do_not_follow_the_type_of_the_column():
    one, other = (
        CertifiedTree(1.0, SCHEMA).fit(pl.DataFrame({"children": values}), [0, 1, 1]).features.axes[0].cuts
        for values in ([1, 2, 3], [1.0, 2.0, 3.5])
    )
    assert one == other
    declared = Schema.from_dict({"columns": {"share": {"role": "quasi", "bounds": [0, 1], "whole": False}}})
    model = CertifiedTree(1.0, declared).fit(pl.DataFrame({"share": [0, 1]}), [0, 1])
    assert len(model.features.axes[0].cuts) == 9


@pytest.mark.parametrize("epsilon", [1e-15, 1e-6, 1e6])
def test_any_epsilon_gives_risks(epsilon):
    model = fitted(CertifiedForest(epsilon, SCHEMA), [(1, 60.5, "f", 1, 2, "no"), (3, 71.5, "m", 2, 7, "yes")] * 3)
    person = {"children": -5, "weight": 1e9, "sex": None, "stage": 3, "dose": 11}
    assert 0 < model.risk(person) < 1
    assert np.isfinite(model.feature_importances_).all()
