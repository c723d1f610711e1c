"""Flatten (eq 9): chosen columns become the group's medoid."""

import numpy as np
import polars as pl
import pytest

from shoal.conform import prepare
from shoal.encode import Encoder
from shoal.errors import ParameterError
from shoal.mask.aware import Masking
from shoal.mask.flatten import Flatten
from shoal.schema import Schema

TABLE = pl.DataFrame(
    {"age": [20, 21, 29, 50, 52, 60], "place": ["p", "q", "r", "p", "p", "r"], "ill": ["n", "n", "y", "y", "n", "y"]}
)
LINE = [["", "p", "q", "r"], ["p", "0", "1", "2"], ["q", "1", "0", "1"], ["r", "2", "1", "0"]]
SCHEMA = Schema.of(quasi=["age", "place"], sensitive=["ill"], metrics={"place": {"kind": "matrix", "rows": LINE}})
LABELS = np.array([0, 0, 0, 1, 1, 1])


def state(names=("age", "place")):
    prepared = prepare(TABLE, SCHEMA)
    encoder = Encoder.fit(prepared, names)
    return Masking(prepared=prepared, encoder=encoder, codes=encoder.codes(prepared.frame), labels=LABELS, minimum=3)


def read(done):
    return done.encoder.decode(done.codes, done.prepared.frame, done.prepared.frame).to_native()


def test_all_columns_become_medoids_of_their_own_metric():
    done = Flatten().apply(state(), np.random.default_rng(0))
    table = read(done)
    assert table["age"].to_list() == [21] * 3 + [52] * 3
    assert table["place"].to_list() == ["q"] * 3 + ["p"] * 3  # q lies between p and r, p is the mode
    assert done.records[0]["mask"] == "flatten"


def test_only_chosen_columns_change():
    before = state()
    for columns in (["age"], ("age",)):
        done = Flatten(columns=columns).apply(before, np.random.default_rng(0))
        assert (done.codes[:, 1] == before.codes[:, 1]).all()
        assert len(np.unique(done.codes[:, 0])) == 2
    assert "place" in Flatten(columns=["age"]).caveats(before)[0]
    assert Flatten(columns=["age", "place"]).caveats(before) == ()


@pytest.mark.parametrize("columns", [["zip"], [], ["ill"]])
def test_unknown_columns(columns):
    word = "No mask writes" if columns == ["ill"] else "Choose among: age, place"
    with pytest.raises(ParameterError, match=f"columns must be quasi-identifiers.*{word}"):
        Flatten(columns=columns).apply(state(), np.random.default_rng(0))


def test_a_text_is_not_a_list():
    with pytest.raises(ParameterError, match="columns must be a list"):
        Flatten(columns="age").apply(state(), np.random.default_rng(0))
