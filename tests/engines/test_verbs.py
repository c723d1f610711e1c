"""One contract over the engines: each verb against a slow, plain oracle, and the same from every engine."""

from collections import Counter

import polars as pl
import pytest
from tests.engines.conftest import cut

from shoal.engine import PERSONS, ROWS, Inputs
from shoal.engine.marks import marked, marks, total, with_marks
from shoal.engine.memory import MemoryEngine
from shoal.engine.parts import write_parts

KEY = "5a" * 32


def plain_rows(frame, names):
    clean = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    return [tuple(0.0 if cell == 0 else cell for cell in row) for row in clean.select(names).iter_rows()]


@pytest.fixture(params=["parquet", "csv"])
def relation(request, engine, visits, tmp_path):
    return engine.scan(Inputs.of(cut(visits, tmp_path / "visits", 3, request.param)))


def test_scan_reads_cells_as_the_readers_do(engine, relation, visits):
    names = visits.columns
    assert relation.columns == names
    assert relation.types["zip"] == pl.String  # codes with leading zeros stay text
    assert Counter(engine.collect(relation).rows()) == Counter(plain_rows(visits, names))


def test_count_by_rows_and_by_persons(engine, relation, visits):
    by = ["age", "rate", "ill"]
    rows, persons = Counter(), {}
    for i, (who, *cell) in enumerate(plain_rows(visits, ["who", *by])):
        rows[tuple(cell)] += 1
        persons.setdefault(tuple(cell), set()).add(("row", i) if who is None else who)
    found = engine.collect(engine.count(relation, by, "who"))
    assert {tuple(row[:3]): row[3:] for row in found.select([*by, ROWS, PERSONS]).rows()} == {
        cell: (n, len(persons[cell])) for cell, n in rows.items()
    }
    plain = engine.collect(engine.count(relation, by))
    assert plain[ROWS].equals(plain[PERSONS].alias(ROWS))
    assert int(plain[ROWS].sum()) == len(visits)


def test_persons_do_not_add_over_combinations_but_over_sets(engine, tmp_path):
    """A {1, 2} and B {2, 3}: the combinations' persons sum to 4, merged they are 3."""
    frame = pl.DataFrame({"who": [1, 2, 2, 3], "q": ["A", "A", "B", "B"]})
    combinations, sets = engine.person_sets(engine.scan(Inputs.of(cut(frame, tmp_path / "f", 2))), ["q"], "who")
    assert int(combinations[PERSONS].sum()) == 4
    assert int(sets[PERSONS].sum()) == 3
    assert sorted(map(len, sets["set"].to_list())) == [1, 1, 2]


def test_sets_count_every_person_once(engine, relation, visits):
    combinations, sets = engine.person_sets(relation, ["zip", "rate"], "who")
    assert int(sets[PERSONS].sum()) == visits["who"].drop_nulls().n_unique() + visits["who"].null_count()
    touched = Counter()
    for chosen, n in zip(sets["set"].to_list(), sets[PERSONS].to_list(), strict=True):
        touched.update(dict.fromkeys(chosen, n))
        assert chosen == sorted(set(chosen))
    assert [touched[i] for i in range(len(combinations))] == combinations[PERSONS].to_list()


def test_recode_rewrites_and_leaves_out_with_missing_values_equal(engine, relation, visits):
    table = pl.DataFrame({"from": [None, 0.0, 0.5, 1.0], "to": ["none", "low", "mid", "high"]})
    without = pl.DataFrame({"age": [20, 27], "ill": ["flu", None]})
    found = engine.collect(engine.recode(relation, {"rate": table}, without))
    words = dict(table.iter_rows())
    left = {(20, "flu"), (27, None)}
    rows = plain_rows(visits, ["age", "ill", "rate"])
    assert Counter(found.select("age", "ill", "rate").rows()) == Counter(
        (age, ill, words[rate]) for age, ill, rate in rows if (age, ill) not in left
    )


def test_narrow_follows_the_values(engine, relation):
    made = engine.narrow(engine.keep(relation), ["cost", "rate", "age", "zip"])
    assert made.types["cost"] == pl.Int64
    assert made.types["rate"] == pl.Float64


def test_parts_keep_combinations_together(engine, relation, visits):
    parts = [part for part in engine.parts(engine.keep(relation), ["age"], 200) if len(part)]
    assert sum(map(len, parts)) == len(visits)
    seen = [set(part["age"].to_list()) for part in parts]
    assert sum(map(len, seen)) == len(set().union(*seen))


def test_the_sample_is_the_rows_of_least_mark(engine, relation, visits):
    found = engine.sample(relation, 50, KEY)
    everything = engine.collect(relation)
    ordered = everything[pl.Series(marks(everything, KEY)).arg_sort()]
    assert found.rows() == ordered.head(50).rows()


def test_apply_gets_each_cell_whole_and_sorted(engine, relation, visits):
    def first_of(rows):
        assert rows["zip"].n_unique() == 1
        assert rows.equals(rows.sort(rows.columns))
        return rows.head(1).with_columns(n=pl.lit(len(rows), dtype=pl.Int64))

    found = engine.collect(engine.apply(relation, "zip", first_of, {**relation.types, "n": pl.Int64()}))
    assert dict(found.select("zip", "n").iter_rows()) == dict(Counter(visits["zip"].to_list()))


def test_extremes(engine, relation):
    assert engine.extremes(relation, ["age", "rate"]).rows() == [(20, 0.0), (59, 1.0)]


@pytest.mark.parametrize("n_files", [1, 7])
def test_what_is_written_does_not_depend_on_files_or_order(engine, visits, tmp_path, n_files):
    shuffled = visits.sample(fraction=1, shuffle=True, seed=n_files)
    relation = engine.scan(Inputs.of(cut(shuffled, tmp_path / "in", n_files)))
    (out := tmp_path / "out").mkdir()
    (part,) = engine.write(with_marks(engine, relation, KEY), out)
    written = pl.read_parquet(out / part.name)
    expected = engine.collect(relation)
    assert written.rows() == expected[pl.Series(marks(expected, KEY)).arg_sort()].rows()
    again = MemoryEngine().of(pl.read_parquet(tmp_path / "in" / "*.parquet"))
    (other := tmp_path / "other").mkdir()
    memory = MemoryEngine()
    (same,) = memory.write(with_marks(memory, again, KEY), other)
    assert same.sha256 == part.sha256  # byte for byte, whatever the engine
    assert total(written, KEY) == total(expected, KEY) != total(expected.head(-1), KEY)


def test_the_file_of_a_row_follows_from_its_mark(tmp_path):
    frame = marked(KEY)(pl.DataFrame({"a": range(1000)})).sort("#mark")
    parts = write_parts([frame[:30], frame[30:170], frame[170:]], tmp_path, 1000, rows=100)
    assert [part.name for part in parts] == [f"part-{i:05d}.parquet" for i in range(10)]
    assert all(60 < part.rows < 140 for part in parts)
    assert pl.concat([pl.read_parquet(tmp_path / part.name) for part in parts]).equals(frame.drop("#mark"))
    edges = frame.select((pl.col("#mark").cast(pl.Int128) + 2**63) * 10 // 2**64).to_series()
    assert [part.rows for part in parts] == edges.value_counts().sort("#mark")["count"].to_list()


def test_marks_depend_on_key_and_content_alone():
    frame = pl.DataFrame({"a": [1, 1, None, 0], "b": [0.0, -0.0, float("nan"), None], "c": ["x", "x", None, ""]})
    found = marks(frame, KEY)
    assert found[0] == found[1]
    assert len(set(found.tolist())) == 3
    assert set(marks(frame, "00" * 32).tolist()).isdisjoint(found.tolist())
    assert marks(frame[::-1], KEY).tolist() == found[::-1].tolist()
