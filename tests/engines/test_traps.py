"""What engines do differently, and why no result rests on it; numbers of the method, computed again."""

import datetime
import hashlib
import math
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import shoal
from shoal.engine import PERSONS, Inputs, open_engine
from shoal.engine import duckdb as duckdb_engine
from shoal.engine.marks import total
from shoal.engine.memory import MemoryEngine
from shoal.engine.parts import write_part
from shoal.errors import ShoalError
from shoal.recipe import Anonymization
from shoal.release.on_engine.cells import Plan
from shoal.release.on_engine.make import release_files
from shoal.risk.uncertainty import wilson

KEY = "5a" * 32


def sql(query):
    return duckdb.sql(query).fetchall()


def test_a_sum_of_rounded_sums_is_not_exact():
    parts = [1.0, 2.0**-53, 2.0**-53]
    assert math.fsum(parts) - 1 == 2.0**-52
    assert math.fsum([math.fsum(parts[:2]), parts[2]]) - 1 == 0


def test_thirty_hits_of_twenty_thousand():
    low, high = wilson(30 / 20_000, 20_000)
    assert (round(low, 5), round(high, 5)) == (0.00105, 0.00214)


def test_cells_lower_the_variance_of_a_count():
    """Two cells of 50 with p = 0.2 and 0.8 against 100 rows with p = 0.5."""
    assert sum(50 * p * (1 - p) for p in (0.2, 0.8)) == pytest.approx(16)
    assert 100 * 0.5 * 0.5 == 25


def test_whole_persons_are_left_out_until_nothing_changes_and_rows_only_once():
    """A {1, 2}, B {2, 3}, C {3}, k = 2: rows lose C's row, whole persons lose everybody."""
    rows = {("A", 1), ("A", 2), ("B", 2), ("B", 3), ("C", 3)}

    def rare(left):
        return {c for c, _ in left if len({who for own, who in left if own == c}) < 2}

    assert {row for row in rows if row[0] not in rare(rows)} == rows - {("C", 3)}
    left = set(rows)
    while gone := {who for c, who in left if c in rare(left)}:
        left = {row for row in left if row[1] not in gone}
    assert left == set()


def test_duckdb_and_polars_round_divide_and_cast_in_their_own_ways():
    assert sql("SELECT round(2.5), round(0.5)") == [(3, 1)]
    assert pl.Series([2.5, 0.5]).round(mode="half_to_even").to_list() == [2.0, 0.0]
    assert sql("SELECT 2.5::DOUBLE::INT, 2.7::DOUBLE::INT, 2.5::DECIMAL(2,1)::INT") == [(2, 3, 3)]
    assert sql("SELECT -7 % 3, -7 // 3") == [(-1, -2)]
    assert pl.select(pl.lit(-7) % 3, b=pl.lit(-7) // 3).row(0) == (2, -3)
    assert sql("SELECT 1e-7::DOUBLE::VARCHAR") == [("1e-07",)]
    assert sql("SELECT dayofweek(DATE '2024-06-09'), isodow(DATE '2024-06-09')") == [(0, 7)]
    assert sql("SELECT median(x), quantile_disc(x, 0.5) FROM (VALUES (1), (2), (3), (10)) t(x)") == [(2.5, 2)]
    few = pl.Series([1, 2, 3, 10])
    assert (few.median(), few.quantile(0.5)) == (2.5, 3.0)
    assert pl.Series([2.5, 2.7]).cast(pl.Int64).to_list() == [2, 2]
    assert pl.Series([1e-7]).cast(pl.String).to_list() == ["1e-7"]
    assert pl.Series([datetime.date(2024, 6, 9)]).dt.weekday().to_list() == [7]


def test_duckdb_and_polars_order_and_compare_missing_values_in_their_own_ways():
    assert [x for (x,) in sql("SELECT x FROM (VALUES (2), (NULL), (1)) t(x) ORDER BY x")] == [1, 2, None]
    assert pl.Series([2, None, 1]).sort().to_list() == [None, 1, 2]
    nan = pl.DataFrame({"x": [math.nan]})
    assert len(nan.join(nan, on="x")) == 0  # so NaN is missing on every engine, and missing keys match each other
    assert pl.Series([1.0, math.nan]).max() == 1.0
    assert math.isnan(sql("SELECT max(x) FROM (VALUES (1::DOUBLE), ('nan'::DOUBLE)) t(x)")[0][0])
    assert [x for (x,) in sql("SELECT x FROM (VALUES (2), (NULL), (1)) t(x) ORDER BY x DESC")] == [2, 1, None]
    assert pl.Series([2, None, 1]).sort(descending=True).to_list() == [None, 2, 1]
    assert sql("SELECT count(DISTINCT who) FROM (VALUES (1), (NULL)) t(who)") == [(1,)]
    assert sql("SELECT 0.1::FLOAT <= 0.1::DOUBLE") == [(False,)]
    assert (pl.Series([0.1], dtype=pl.Float32) <= 0.1).to_list() == [True]


def test_whole_numbers_overflow_silently_in_polars_and_not_in_the_sums_of_an_engine():
    most = 2**63 - 1
    assert pl.Series([most, 1]).sum() == -(2**63)
    assert sql(f"SELECT sum(x) FROM (VALUES ({most}::BIGINT), (1::BIGINT)) t(x)") == [(2**63,)]


def test_duckdb_reads_literals_keys_and_moments_in_its_own_ways():
    """So doubles are typed, joins null-safe, anti-joins take the place of NOT IN, and the zone is UTC."""
    assert sql(
        "SELECT typeof(0.000244140625) LIKE 'DECIMAL%', 0.1 + 0.2 = 0.3, 0.1::DOUBLE + 0.2::DOUBLE = 0.3::DOUBLE"
    ) == [(True, True, False)]
    assert sql("SELECT 1 WHERE 2 NOT IN (1, NULL)") == []
    assert sql("SELECT NULL = NULL, NULL IS NOT DISTINCT FROM NULL") == [(None, True)]
    assert sql("SELECT count(*) FROM (VALUES ('nan'::DOUBLE), ('nan'::DOUBLE)) t(x) GROUP BY x") == [(2,)]
    assert sql("SELECT count(*) FROM (VALUES (0.0::DOUBLE), (-0.0::DOUBLE)) t(x) GROUP BY x") == [(2,)]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    moment = "TIMESTAMPTZ '2024-01-01 00:30:00+00'"
    assert connection.execute(f"SELECT ({moment})::DATE").fetchall() == [(datetime.date(2023, 12, 31),)]
    connection.execute("SET TimeZone = 'UTC'")
    assert connection.execute(f"SELECT ({moment})::DATE").fetchall() == [(datetime.date(2024, 1, 1),)]


def test_hashes_and_texts_of_engines_are_their_own():
    assert sql("SELECT sha256('é')") == [(hashlib.sha256("é".encode()).hexdigest(),)]
    assert len({sql(f"SELECT hash({one})")[0][0] for one in ("1::BIGINT", "'1'", "1::DOUBLE")}) > 1
    assert sql("SELECT hash(1::BIGINT)")[0][0] != pl.Series([1]).hash()[0]


def test_text_is_ordered_by_its_bytes_on_every_engine(engine):
    """Neither by a collation nor by UTF-16, where the fish comes before the last sign of the basic plane."""
    texts = ["b", "B", "é", "z", "\uffee", "🐟"]
    found = engine.extremes(engine.of(pl.DataFrame({"x": texts[1:]})), ["x"])["x"].to_list()
    assert found == ["B", "🐟"]
    cell = engine.of(pl.DataFrame({"x": texts, "c": [1] * len(texts)}))
    ends = engine.apply(cell, "c", lambda rows: rows[[0, -1]].select("x"), {"x": pl.String()})
    assert sorted(engine.collect(ends)["x"]) == ["B", "🐟"]
    assert sorted(texts) == sorted(texts, key=str.encode) != sorted(texts, key=lambda text: text.encode("utf-16-be"))


def test_empty_cells_of_delimited_text_are_missing_quoted_or_not(engine, tmp_path):
    (tmp_path / "a.csv").write_text('a,b\n1,x\n2,\n3,""\n')
    found = engine.collect(engine.scan(Inputs.of(tmp_path / "a.csv"))).sort("a")
    assert found["b"].to_list() == ["x", None, None]


def test_approximate_counts_would_certify_a_false_k():
    """Classes of exactly 100 persons; engines count in two exact stages instead."""
    query = "SELECT approx_count_distinct(i) FROM range(20000) t(i) GROUP BY i // 100"
    found = {n for (n,) in sql(query)}
    fours = {n for (n,) in sql("SELECT approx_count_distinct(i) FROM range(20000) t(i) GROUP BY i // 4")}
    assert fours - {4}
    assert found != {100}
    assert max(found) > 100


def test_an_optimiser_calls_a_function_as_often_as_it_likes():
    calls = []

    def noise(x):
        calls.append(x)
        return 0.5

    connection = duckdb.connect()
    connection.create_function("noise", noise, ["BIGINT"], "DOUBLE")
    connection.execute("SELECT noise(7) FROM range(1000)").fetchall()
    assert len(calls) == 1  # so no noise is ever drawn by a function that is handed to an engine
    calls.clear()
    connection.execute("SELECT n FROM (SELECT noise(i) n FROM range(1000) t(i)) WHERE n > 0").fetchall()
    assert len(calls) == 2000


def test_persons_do_not_add_over_combinations(engine):
    """A {1, 2} and B {2, 3} are four persons apart and three together."""
    table = engine.of(pl.DataFrame({"q": list("AABB"), "who": [1, 2, 2, 3]}))
    combinations, sets = engine.person_sets(table, ["q"], "who")
    assert combinations[PERSONS].sum() == 4
    assert sets[PERSONS].sum() == 3


def test_missing_keys_match_each_other_and_nan_is_missing(engine):
    table = engine.of(pl.DataFrame({"x": [math.nan, None, 1.0]}))
    (missing,) = [rows for x, rows, _ in engine.collect(engine.count(table, ["x"])).iter_rows() if x is None]
    assert missing == 2
    assert len(engine.collect(engine.matching(table, pl.DataFrame({"x": [None]}, schema={"x": pl.Float64})))) == 2


def test_engines_neither_deal_rows_in_turn_nor_draw():
    """A stage that runs again after such a deal loses or doubles rows; what an engine draws can't be repeated."""
    folder = Path(shoal.__file__).parent / "engine"
    code = "\n".join(path.read_text() for path in folder.glob("*.py"))
    forbidden = ("repartition(", "coalesce(1", "rand(", "random()", "uuid()", "monotonically_increasing_id", "approx_")
    assert [word for word in forbidden if word in code] == []


def test_a_cell_sorted_by_the_engine_shows_in_the_rows(visits, tmp_path, monkeypatch):
    """A mutation of what the promise rests on: DuckDB's own order, missing last, gives other bytes."""
    visits.drop("who").write_parquet(tmp_path / "a.parquet")
    schema = shoal.Schema.of(quasi=["age", "zip", "ill"], other=["rate", "cost"])
    recipe, inputs = Anonymization.of(shoal.MDAV(k=5), shoal.GaussianDither()), Inputs.of(tmp_path / "a.parquet")
    words = {"seed": 7, "key": KEY, "plan": Plan(rows=700, sample=1500)}

    def by_engine(self, relation, cell, function, types):
        names = ", ".join(map(self._name, [cell, *(n for n in relation.columns if n != cell)]))
        ordered = self._batches(f"SELECT * FROM ({relation.plan}) ORDER BY {names}")
        return self._through(duckdb_engine._cells(ordered, cell), function, types)

    expected = release_files(MemoryEngine(), inputs, schema, recipe, tmp_path / "memory", **words).parts
    for name, same in (("ours", True), ("its own", False)):
        if not same:
            monkeypatch.setattr(duckdb_engine.DuckDBEngine, "apply", by_engine)
        with open_engine("duckdb", spill=tmp_path) as engine:
            found = release_files(engine, inputs, schema, recipe, tmp_path / name, **words).parts
        assert (found == expected) is same


ODD = {
    "missing": [None, 1, 2],
    "NaN and zeros": [math.nan, -0.0, 0.0],
    "extremes": [-(2**63), 2**63 - 1, 0],
    "large": pl.Series([2**64 - 1, 0, 1], dtype=pl.UInt64),
    "decimals": pl.Series(["1.10", "-0.05", None]).cast(pl.Decimal(10, 2)),
    "letters": ["é", "e\u0301", "🐟"],
    "empty": ["", None, " "],
    "float32": pl.Series([0.1, 1.5, None], dtype=pl.Float32),
    "nanoseconds": pl.Series([1, 10**18 + 1, None]).cast(pl.Datetime("ns")),
    "microseconds": pl.Series([1, 10**15 + 1, None]).cast(pl.Datetime("us")),
    "moments of a zone": pl.Series([1, 10**15 + 1, None]).cast(pl.Datetime("us", "America/New_York")),
    "days": pl.Series([-1, 0, 20_000], dtype=pl.Int32).cast(pl.Date),
    "times": pl.Series([0, 10**9 * 3661, None]).cast(pl.Time),
    "truths": [True, False, None],
    "bytes": [b"a", b"", None],
    "lists": [[1], [], None],
}


@pytest.mark.parametrize("name", list(ODD))
def test_odd_values_are_the_same_on_every_engine_or_refused(engine, tmp_path, name):
    pl.DataFrame({"odd": ODD[name]}).write_parquet(tmp_path / "a.parquet")
    inputs = Inputs.of(tmp_path / "a.parquet")
    assert digest_or_refusal(engine, inputs) in {digest_or_refusal(MemoryEngine(), inputs), "refused"}


def digest_or_refusal(engine, inputs):
    try:
        return total(engine.collect(engine.scan(inputs)), KEY)
    except ShoalError:
        return "refused"


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_two_attempts_at_one_file_leave_a_whole_one(tmp_path, format):
    """A speculative task writes beside the first: whoever ends last, the bytes are the same, and never half."""
    from concurrent.futures import ThreadPoolExecutor

    rows = pl.DataFrame({"a": np.arange(2000), "#mark": np.arange(2000)[::-1]})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: write_part(rows, 3, tmp_path, format), range(16)))
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [f"part-00003.{format}"]


def test_a_run_that_stops_at_any_step_leaves_nothing(visits, tmp_path):
    import shoal
    from shoal.recipe import Anonymization
    from shoal.release.on_engine.make import release_files

    visits.head(300).write_parquet(tmp_path / "a.parquet")
    schema = shoal.Schema.of(identifier=["who"], quasi=["age", "zip"], sensitive=["cost"], other=["rate", "ill"])
    inputs, recipe = Inputs.of(tmp_path / "a.parquet"), Anonymization.of(shoal.MDAV(k=5), shoal.Centroid())
    seen = []
    with open_engine("memory") as engine:
        release_files(engine, inputs, schema, recipe, tmp_path / "whole", progress=seen.append)
        for step in seen:

            def stopping(name, step=step):
                if name == step:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                release_files(engine, inputs, schema, recipe, tmp_path / "out", progress=stopping)
            assert not [path.name for path in tmp_path.iterdir() if "out" in path.name]
    assert seen[-1] == "reporting"
