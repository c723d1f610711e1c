"""Anonymize on an engine: the same rows for any files, order, threads and engine; k counted; attacks exact."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr
from tests.engines.conftest import coarsen_files, cut

import shoal
from shoal.conform import prepare
from shoal.engine import Inputs, duckdb, open_engine
from shoal.engine.duckdb import DuckDBEngine
from shoal.engine.engine import Relation
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, GuaranteeError, InputError, ParameterError
from shoal.frame import series
from shoal.recipe import Anonymization
from shoal.release.on_engine import cells, conform, sampled_attack
from shoal.release.on_engine.cells import CELL, GROUP, Learnt, Plan, by_cells
from shoal.release.on_engine.cells import cut as cut_cells
from shoal.release.on_engine.conform import prepare_relation
from shoal.release.on_engine.make import release_files, repeat_files

PLAN = Plan(rows=400, sample=1000)
KEY = "3c" * 32
BASE = {"quasi": ["age", "zip", "ill"], "sensitive": ["cost"], "other": ["rate"]}
SCHEMAS = {
    "rows": shoal.Schema.of(identifier=["who"], **BASE),
    "persons": shoal.Schema.of(unit="who", **BASE),
}
RECIPES = {
    "mdav-centroid": Anonymization.of(shoal.MDAV(k=5), shoal.Centroid()),
    "k-member-dither": Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither()),
    "chain": Anonymization.of(shoal.MDAV(k=4), [shoal.Resample(), shoal.GaussianDither(exact=True)]),
    "mst-perturb": Anonymization.of(shoal.MST(k=5), shoal.MicroPerturb(noise="exact")),
}


def made(engine, inputs, schema, recipe, target, **given):
    return release_files(engine, inputs, schema, recipe, target, seed=7, key=KEY, plan=PLAN, **given)


def released(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("part-*.parquet"))])


def multiset(frame):
    return frame.sort(frame.columns, nulls_last=True)


@pytest.mark.parametrize("schema", list(SCHEMAS))
@pytest.mark.parametrize("recipe", list(RECIPES))
def test_every_engine_writes_the_same_bytes(visits, tmp_path, schema, recipe):
    found = {}
    for number, (name, n_files, threads) in enumerate([("memory", 1, 0), ("duckdb", 2, 1), ("duckdb", 7, 2)]):
        shuffled = visits.sample(fraction=1, shuffle=True, seed=number)
        inputs = Inputs.of(cut(shuffled, tmp_path / f"in{number}", n_files))
        engine = MemoryEngine() if name == "memory" else DuckDBEngine(threads=threads, spill=tmp_path)
        with engine:
            found[number] = made(engine, inputs, SCHEMAS[schema], RECIPES[recipe], tmp_path / f"out{number}")
    assert found[0].parts == found[1].parts == found[2].parts
    assert found[0].claims == found[1].claims == found[2].claims
    assert found[0].k >= RECIPES[recipe].k
    assert found[0].n_rows == len(visits)


@pytest.mark.parametrize("batch", [1, 97])
def test_batches_do_not_matter(visits, tmp_path, monkeypatch, batch):
    inputs = Inputs.of(cut(visits.head(200), tmp_path / "in", 2))
    expected = made(MemoryEngine(), inputs, SCHEMAS["persons"], RECIPES["mdav-centroid"], tmp_path / "memory")
    monkeypatch.setattr("shoal.engine.duckdb._BATCH", batch)
    with DuckDBEngine(spill=tmp_path) as engine:
        found = made(engine, inputs, SCHEMAS["persons"], RECIPES["mdav-centroid"], tmp_path / "out")
    assert found.parts == expected.parts


def test_the_joint_distribution_is_kept_exactly_cell_by_cell(engine, visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    recipe = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither(exact=True))
    made(engine, inputs, SCHEMAS["rows"], recipe, tmp_path / "out")
    names = ["age", "zip", "ill"]
    assert multiset(released(tmp_path / "out").select(names)).equals(multiset(visits.select(names)))
    kept = ["cost", "rate"]
    plain = visits.select(kept).with_columns(pl.col("rate").fill_nan(None))
    assert multiset(released(tmp_path / "out").select(kept)).cast(pl.Float64).equals(multiset(plain + 0.0))


def test_centroids_are_k_anonymous_and_verified_so(engine, visits, tmp_path):
    out = tmp_path / "out"
    made(engine, Inputs.of(cut(visits, tmp_path / "in", 2)), SCHEMAS["rows"], RECIPES["mdav-centroid"], out)
    assert shoal.risk.classes(released(out), shoal.Schema.of(**BASE)).k >= 5
    found = shoal.verify(out, engine=engine)
    assert found.exit_code == 5
    (k,) = [check for check in found.checks if check.name == "k-anonymity 5"]
    assert (k.standing, k.holds) == ("recomputed", True)
    again = shoal.verify(out, original=tmp_path / "in", engine=engine)
    assert again.exit_code == 0


def test_a_run_is_repeated_by_another_engine(visits, tmp_path):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    with open_engine("duckdb", spill=tmp_path) as engine:
        first = made(engine, inputs, SCHEMAS["persons"], RECIPES["k-member-dither"], tmp_path / "out")
    again = repeat_files(MemoryEngine(), tmp_path / "out.internal" / "replay.toml", tmp_path / "again")
    assert again.parts == first.parts
    visits.head(100).write_parquet(tmp_path / "in" / "0.parquet")
    with pytest.raises(InputError, match="exact input files"):
        repeat_files(MemoryEngine(), tmp_path / "out.internal" / "replay.toml", tmp_path / "third")


def test_nothing_of_a_cell_is_in_the_release(engine, visits, tmp_path):
    out = tmp_path / "out"
    done = made(engine, Inputs.of(cut(visits, tmp_path / "in", 2)), SCHEMAS["persons"], RECIPES["chain"], out)
    assert released(out).columns == ["age", "zip", "rate", "ill", "cost"]
    words = json.loads((out / "manifest.json").read_text())
    assert {part.name: part.sha256 for part in done.parts} == {
        name: digest for name, digest in words["files"].items() if name != "report.html"
    }
    assert {path.name for path in out.iterdir()} == {"manifest.json", *words["files"]}
    text = (out / "manifest.json").read_text()
    assert KEY not in text
    assert '"seed"' not in text
    (note,) = [note for note in words["notes"] if "cell by cell" in note]
    assert "no second pass" in note
    assert not [note for note in words["notes"] if any(letter.isdigit() for letter in note)]  # how many is for inside
    assert note in (out / "report.html").read_text()
    assert (tmp_path / "out.internal" / "replay.toml").stat().st_mode & 0o777 == 0o600


def labelled(engine, table, schema, recipe, plan=PLAN):
    settled = prepare_relation(engine, engine.of(table), schema)
    placed = cut_cells(engine, settled, recipe.k, KEY, plan)
    return engine.collect(by_cells(engine, Learnt.of(settled), placed, recipe, 7, KEY)), placed


def test_persons_are_not_split_and_groups_hold_k_of_them(engine, visits):
    rows, placed = labelled(engine, visits, SCHEMAS["persons"], RECIPES["k-member-dither"])
    assert placed.n_cells > 3
    known = rows.drop_nulls("who")
    assert known.group_by("who").agg(pl.col(CELL).n_unique(), pl.col(GROUP).n_unique())[CELL].max() == 1
    nobody = rows["who"].is_null().sum()
    persons = rows.group_by(CELL, GROUP).agg(pl.col("who").drop_nulls().n_unique() + pl.col("who").is_null().sum())
    assert persons["who"].min() >= 5
    assert int(persons["who"].sum()) == visits["who"].drop_nulls().n_unique() + nobody


def test_small_cells_join_and_overfull_ones_are_cut(engine):
    table = pl.DataFrame({"q": [1] * 3000 + [2] * 3, "x": range(3003)})
    schema, recipe = shoal.Schema.of(quasi=["q"], other=["x"]), Anonymization.of(shoal.MDAV(k=5), shoal.Resample())
    rows, placed = labelled(engine, table, schema, recipe, Plan(rows=300, sample=3003))
    sizes = rows.group_by(CELL).len()["len"]
    assert placed.n_cells > 5
    assert sizes.max() < 900
    assert sizes.min() >= 10


@pytest.mark.parametrize("schema", list(SCHEMAS))
def test_the_attack_on_everybody_is_that_of_one_machine(engine, visits, monkeypatch, schema):
    monkeypatch.setattr(sampled_attack, "TARGETS", 10_000)
    rules, recipe = SCHEMAS[schema], RECIPES["chain"]
    table = visits.with_columns(pl.Series("rate", np.arange(len(visits)) * 1.0))  # no two rows are equal
    settled = prepare_relation(engine, engine.of(table), rules)
    placed = cut_cells(engine, settled, recipe.k, KEY, PLAN)
    masked = engine.keep(by_cells(engine, Learnt.of(settled), placed, recipe, 7, KEY))
    found = sampled_attack.attack(engine, settled, placed.relation, masked, cells.branch_key(KEY, "sample"))
    rows = engine.collect(masked).sort("rate")
    expected = shoal.risk.reidentification(table, rows.select(*rules.quasi, "cost", "rate"), rules)
    assert found.n_targets == len(table)
    assert found.expected == pytest.approx(expected.expected, rel=1e-9)


def test_the_attack_on_a_sample_covers_everybodys_rate(visits, monkeypatch):
    rules, recipe, engine = SCHEMAS["rows"], RECIPES["k-member-dither"], MemoryEngine()
    settled = prepare_relation(engine, engine.of(visits), rules)
    placed = cut_cells(engine, settled, recipe.k, KEY, PLAN)
    masked = by_cells(engine, Learnt.of(settled), placed, recipe, 7, KEY)
    key = cells.branch_key(KEY, "sample")
    monkeypatch.setattr(sampled_attack, "TARGETS", 10_000)
    everybody = sampled_attack.attack(engine, settled, placed.relation, masked, key)
    monkeypatch.setattr(sampled_attack, "TARGETS", 500)
    some = sampled_attack.attack(engine, settled, placed.relation, masked, key)
    assert some.sampled
    assert not everybody.sampled
    assert some.interval[0] <= everybody.expected <= some.interval[1]
    assert everybody.expected <= 1 / 5


@pytest.mark.parametrize("rule", ["drop", "median", 30])
def test_missing_numbers_by_rule(engine, visits, tmp_path, rule):
    table = visits.with_columns(pl.when(pl.col("cost") == 0).then(None).otherwise("age").alias("age"))
    schema = shoal.Schema.of(identifier=["who"], missing={"age": rule}, **BASE)
    recipe = Anonymization.of(shoal.MDAV(k=5), shoal.GaussianDither(exact=True))
    done = made(engine, Inputs.of(cut(table, tmp_path / "in", 2)), schema, recipe, tmp_path / "out")
    expected = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=shoal.GaussianDither(exact=True))
    found = released(tmp_path / "out")
    assert multiset(found.select("age", "zip")).equals(multiset(expected.in_file_types().select("age", "zip")))
    assert [str(fact) for fact in done.facts][:1] == [str(fact) for fact in expected.facts][:1]


def test_csv_is_read_as_parquet_is(engine, visits, tmp_path):
    schema, recipe = SCHEMAS["rows"], RECIPES["k-member-dither"]
    first = made(engine, Inputs.of(cut(visits, tmp_path / "p", 2)), schema, recipe, tmp_path / "one")
    second = made(engine, Inputs.of(cut(visits, tmp_path / "c", 3, "csv")), schema, recipe, tmp_path / "two")
    assert first.parts == second.parts


@pytest.mark.parametrize(
    ("schema", "recipe", "error", "rule"),
    [
        (SCHEMAS["rows"], Anonymization.of(shoal.MDAV(), shoal.PushBack()), ParameterError, "own row"),
        (SCHEMAS["rows"], Anonymization.of(shoal.MDAV(k=4000), shoal.Centroid()), GuaranteeError, "at least k = 4000"),
        (shoal.Schema.of(quasi=["age"]), RECIPES["mdav-centroid"], InputError, "has no role"),
        (
            shoal.Schema.of(identifier=["who"], bounds={"age": (0, 30), "cost": (0, 100)}, **BASE),
            RECIPES["mdav-centroid"],
            InputError,
            "'age'(.|\n)*'cost'",
        ),
        (
            shoal.Schema.of(identifier=["who"], quasi=["age", "rate"], sensitive=["cost"], other=["zip", "ill"]),
            RECIPES["mdav-centroid"],
            ColumnError,
            "'rate'.*missing numbers",
        ),
    ],
)
def test_bad_input_leaves_nothing(engine, visits, tmp_path, schema, recipe, error, rule):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 2))
    with pytest.raises(error, match=rule):
        made(engine, inputs, schema, recipe, tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_a_cell_that_fails_is_named_by_its_number_and_shows_no_value(engine, visits, tmp_path, monkeypatch):
    run = cells._run

    def failing(recipe, settled, rows, seed, key):
        if CELL in rows.columns and rows[CELL][0].startswith("1"):
            raise GuaranteeError("MDAV", "must hold", got="SENTINEL")
        return run(recipe, settled, rows, seed, key)

    monkeypatch.setattr(cells, "_run", failing)
    with pytest.raises(GuaranteeError, match=r"^cell [0-9]+: must hold\.$"):
        made(engine, Inputs.of(cut(visits, tmp_path / "in", 2)), SCHEMAS["rows"], RECIPES["chain"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def unsorted(self, relation, cell, function, types):
    """Mutation: cells come as they lie."""
    made = [function(rows) for rows in relation.plan.partition_by(cell, maintain_order=True)]
    frame = pl.concat(made)
    return Relation(plan=frame, types=dict(frame.schema))


def by_number(seed, *names):
    """Mutation: seeds by the place of a cell, which shifts when cells join."""
    by_number.calls += 1
    return seed + by_number.calls


@pytest.mark.parametrize("mutation", ["no sort in the cell", "seed by number"])
def test_mutations_change_what_is_written(visits, tmp_path, monkeypatch, mutation):
    """What the promise rests on: without it, the order of the rows shows."""
    by_number.calls = 0
    if mutation == "seed by number":
        monkeypatch.setattr(cells, "branch", by_number)
    else:
        monkeypatch.setattr(MemoryEngine, "apply", unsorted)
    seen = set()
    for number in range(3):
        shuffled = visits.sample(fraction=1, shuffle=True, seed=number)
        inputs = Inputs.of(cut(shuffled, tmp_path / f"in{number}", 1))
        out = tmp_path / f"out{number}"
        seen.add(made(MemoryEngine(), inputs, SCHEMAS["rows"], RECIPES["k-member-dither"], out).parts)
    assert len(seen) > 1


def test_a_lost_row_is_no_release(engine, visits, tmp_path, monkeypatch):
    write = type(engine).write

    def lossy(self, relation, folder, format):
        (part,) = write(self, relation, folder, format)
        pl.read_parquet(folder / part.name).head(-1).write_parquet(folder / part.name)
        return (part,)

    monkeypatch.setattr(type(engine), "write", lossy)
    with pytest.raises(GuaranteeError, match="exactly the released rows"):
        made(engine, Inputs.of(cut(visits, tmp_path / "in", 2)), SCHEMAS["rows"], RECIPES["chain"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def landing(x, n_cells, k=5, alpha=1 / 3):
    """P(a dithered value lands in its own group), straight from the mixture of each cell: groups of k on a line."""
    x = np.sort((x - x.mean()) / x.std())
    total = 0.0
    for cell in np.array_split(x, n_cells):
        groups = cell[: len(cell) // k * k].reshape(-1, k)
        center, spread = groups.mean(1), np.sqrt(groups.var(1) + alpha)
        t = np.linspace(center.min() - 6, center.max() + 6, 4001)
        mixture = ndtr((t[:, None] - center) / spread).mean(1)
        edges = np.interp(np.arange(len(center) + 1) / len(center), mixture, t)
        edges[0], edges[-1] = -np.inf, np.inf
        total += k * (ndtr((edges[1:] - center) / spread) - ndtr((edges[:-1] - center) / spread)).sum()
    return total / len(x)


def test_values_that_can_not_leave_their_cell_are_found_more_often():
    """Rows on a line: P(land) = .012, .018, .061, .26, 1 with 1, 4, 20, 100, 400 cells, and a hit is a fifth of it."""
    x = np.random.default_rng(0).normal(size=2000)
    assert [landing(x, n) for n in (1, 4, 20, 100, 400)] == pytest.approx([0.012, 0.018, 0.061, 0.26, 1.0], abs=0.003)
    schema, recipe = shoal.Schema.of(quasi=["x"]), Anonymization.of(shoal.MDAV(k=5), shoal.GaussianDither(alpha=1 / 3))
    engine = MemoryEngine()
    settled = prepare_relation(engine, engine.of(pl.DataFrame({"x": x})), schema)
    for rows, n_cells in ((2000, 1), (100, 16), (14, 128)):
        placed = cut_cells(engine, settled, recipe.k, KEY, Plan(rows=rows, sample=2000))
        assert placed.n_cells == n_cells
        masked = by_cells(engine, Learnt.of(settled), placed, recipe, 7, KEY)
        found = sampled_attack.attack(engine, settled, placed.relation, masked, cells.branch_key(KEY, "sample"))
        expected = landing(x, n_cells) / 5
        assert found.expected == pytest.approx(expected, abs=4 * np.sqrt(expected / len(x)))


@pytest.mark.parametrize("sums", ["whole numbers", "floats"])
def test_what_is_learnt_of_numbers_is_the_same_to_the_last_bit(tmp_path, monkeypatch, sums):
    """Scales decide who is near whom: sums of floats would depend on files, order and batches, and are not taken."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=4000) * 10.0 ** rng.integers(-3, 4, 4000)
    if sums == "floats":
        monkeypatch.setattr(conform, "_fixed", _by_floats)
        monkeypatch.setattr(conform, "_sums", _float_sums)
    found = set()
    for seed, batch in ((1, 97), (2, 1000), (3, 100_000)):
        monkeypatch.setattr(duckdb, "_BATCH", batch)
        table = pl.DataFrame({"x": x}).sample(fraction=1, shuffle=True, seed=seed)
        with DuckDBEngine(spill=tmp_path, threads=1) as engine:
            inputs = Inputs.of(cut(table, tmp_path / f"in{seed}", seed))
            (coding,) = prepare_relation(engine, engine.scan(inputs), shoal.Schema.of(quasi=["x"])).codings
        found.add((coding.center.hex(), coding.scale.hex()))
    assert (len(found) == 1) == (sums == "whole numbers")


def _by_floats(name, center, unit, power):
    return lambda rows: ((rows[name] - center) ** power).sum() / unit


def _float_sums(engine, relation, functions):
    """What must not be done: the sums of a batch, added up as they come."""
    total = dict.fromkeys(functions, 0.0)
    for batch in engine._batches(relation.plan):
        total = {name: total[name] + of(batch) for name, of in functions.items()}
    return total


def test_a_duckdb_relation_comes_back_as_one(visits, tmp_path):
    import duckdb

    with duckdb.connect() as connection:
        own = connection.from_arrow(visits.to_arrow())
        given = {"group": shoal.MDAV(k=5), "mask": shoal.GaussianDither(exact=True), "seed": 3}
        with shoal.anonymize(own, SCHEMAS["rows"], engine="duckdb", **given) as release:
            assert isinstance(release.table, duckdb.DuckDBPyRelation)
            table = pl.from_arrow(release.table.to_arrow_table())
            assert [claim.kind for claim in release.claims] == [
                "re-identification bound",
                "re-identification frequency",
            ]
            done = release.write(tmp_path / "out")
    names = ["age", "zip", "ill"]
    assert multiset(table.select(names)).equals(multiset(visits.select(names)))
    assert released(tmp_path / "out").equals(table)  # in the same secret order
    assert done.n_rows == len(visits)


@pytest.mark.parametrize(("free", "kind"), [(10**6, "EngineRelease"), (10**10, "Release")])
def test_a_duckdb_relation_comes_to_memory_if_it_fits(visits, monkeypatch, free, kind):
    import duckdb

    monkeypatch.setattr("shoal.engine.choose.free_memory", lambda: free)
    with duckdb.connect() as connection:
        own = connection.from_arrow(visits.to_arrow())
        release = shoal.anonymize(own, SCHEMAS["rows"], mask=shoal.Centroid(), seed=1)
        assert type(release).__name__ == kind
        assert isinstance(release.table, duckdb.DuckDBPyRelation)


def test_an_engine_whose_table_can_not_be_read_is_closed(monkeypatch, tmp_path):
    import duckdb

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with duckdb.connect() as connection, pytest.raises(ColumnError, match="another type"):
        shoal.anonymize(connection.sql("SELECT [1] AS age"), shoal.Schema.of(quasi=["age"]), engine="duckdb")
    assert list(tmp_path.iterdir()) == []


def test_files_by_name_and_tables_of_other_types(visits, tmp_path):
    cut(visits, tmp_path / "in", 2)
    small = shoal.anonymize(str(tmp_path / "in"), SCHEMAS["rows"], mask=shoal.Centroid(), seed=1)
    assert isinstance(small, shoal.Release)
    with shoal.anonymize(tmp_path / "in", SCHEMAS["rows"], mask=shoal.Centroid(), engine="duckdb", seed=1) as large:
        assert large.claims[0].kind == "k-anonymity"
        assert "SENTINEL" not in repr(large)
    with pytest.raises(ParameterError, match="files or a table of the engine itself"):
        shoal.anonymize(visits, SCHEMAS["rows"], engine="duckdb")


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_mondrian_cuts_boxes_within_cells(visits, tmp_path, name):
    table, schema = visits.with_columns(pl.col("rate").fill_nan(None)), SCHEMAS[name]
    found = {}
    for number, n_files in enumerate((1, 3)):
        shuffled = table.sample(fraction=1, shuffle=True, seed=number)
        inputs = Inputs.of(cut(shuffled, tmp_path / f"in{number}", n_files))
        with open_engine("memory" if number == 0 else "duckdb") as engine:
            out = tmp_path / f"out{number}"
            found[number] = coarsen_files(engine, inputs, schema, shoal.Mondrian(k=5), out, seed=7, key=KEY, plan=PLAN)
            assert shoal.verify(out, engine=engine, original=tmp_path / f"in{number}").holds
    assert found[0].parts == found[1].parts
    assert [claim.kind for claim in found[0].claims] == ["k-anonymity", "re-identification bound"]
    assert found[0].k >= 5
    frame = released(tmp_path / "out0")
    assert frame.group_by("age", "zip", "ill").len()["len"].min() >= 5
    whole = shoal.coarsen(table, schema, shoal.Mondrian(k=5), seed=1).in_file_types()
    n_whole = whole.select("age", "zip", "ill").n_unique()
    assert frame.select("age", "zip", "ill").n_unique() > n_whole / 3  # cells cost some boxes, not most


def test_free_text_is_refused_on_an_engine_until_a_person_allows_it(visits, tmp_path, engine):
    notes = [f"came on day {i} and spoke at length of nothing but the weather" for i in range(len(visits))]
    codes = [f"a code of many letters that says something of group {i % 9}" for i in range(len(visits))]
    table = visits.with_columns(note=pl.Series(notes), long_code=pl.Series(codes))
    inputs = Inputs.of(cut(table, tmp_path / "in", 2))
    schema = shoal.Schema.of(identifier=["who"], **BASE | {"other": ["rate", "note", "long_code"]})
    for run, recipe in ((release_files, RECIPES["mdav-centroid"]), (coarsen_files, shoal.Mondrian(k=5))):
        with pytest.raises(
            GuaranteeError, match=r"must not hold what names people.*got column 'note' \(free text"
        ) as caught:
            run(engine, inputs, schema, recipe, tmp_path / "out", plan=PLAN)
        assert "weather" not in str(caught.value)
        assert not (tmp_path / "out").exists()
    made(engine, inputs, schema, RECIPES["mdav-centroid"], tmp_path / "out", allow=["note"])
    assert "note" in released(tmp_path / "out").columns
    repeat_files(engine, tmp_path / "out.internal" / "replay.toml", tmp_path / "again")


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_suppress_blanks_within_cells(visits, tmp_path, name):
    table, schema = visits.with_columns(pl.col("rate").fill_nan(None)), SCHEMAS[name]
    found = {}
    for number, n_files in enumerate((1, 3)):
        shuffled = table.sample(fraction=1, shuffle=True, seed=number)
        inputs = Inputs.of(cut(shuffled, tmp_path / f"in{number}", n_files))
        with open_engine("memory" if number == 0 else "duckdb") as engine:
            out = tmp_path / f"out{number}"
            found[number] = coarsen_files(engine, inputs, schema, shoal.Suppress(k=5), out, seed=7, key=KEY, plan=PLAN)
            assert shoal.verify(out, engine=engine, original=tmp_path / f"in{number}").holds
    assert found[0].parts == found[1].parts
    assert found[0].facts == found[1].facts
    assert [claim.kind for claim in found[0].claims] == ["k-anonymity", "re-identification bound"]
    frame = released(tmp_path / "out0")
    assert found[0].k >= 5 <= frame.group_by("age", "zip", "ill").len()["len"].min()
    known = {name: set(table[name].to_list()) | {None, "*"} for name in ("age", "zip", "ill")}
    assert all(set(frame[name].to_list()) <= known[name] for name in known)  # what is left is true
    assert frame["cost"].sort().to_list() == table["cost"].sort().to_list()  # nobody is left out
    blank = sum(int((frame[name].cast(pl.String) == "*").sum()) for name in ("zip", "ill"))
    blank += frame["age"].null_count() - table["age"].null_count()
    (share,) = [fact.values["n"] for fact in found[0].facts if "share" in fact.values]
    assert share == blank > 0


def test_what_coarseners_do_not_take_on_an_engine(visits, tmp_path):
    inputs, schema = Inputs.of(cut(visits, tmp_path / "in", 1)), SCHEMAS["rows"]
    with pytest.raises(ParameterError, match="suppress on an engine takes neither risk nor subsets"):
        coarsen_files(MemoryEngine(), inputs, schema, shoal.Suppress(k=5, subsets=2), tmp_path / "out")
    with pytest.raises(ParameterError, match="mondrian on an engine takes neither risk nor write=means"):
        coarsen_files(MemoryEngine(), inputs, schema, shoal.Mondrian(k=5, write="means"), tmp_path / "out")
    with pytest.raises(ParameterError, match="generalize, mondrian or suppress on an engine, alone or after"):
        coarsen_files(MemoryEngine(), inputs, schema, [shoal.Suppress(), shoal.Mondrian()], tmp_path / "out")


@pytest.mark.parametrize("missing", ["error", "level"])
def test_codes_for_an_absence_stay_apart_from_numbers(visits, tmp_path, engine, missing):
    """−8 and −9 are no incomes: they take no part in means, and are written as they came."""
    rng = np.random.default_rng(3)
    income = np.where(
        rng.random(len(visits)) < 0.15, rng.choice([-8.0, -9.0], len(visits)), rng.gamma(2, 900, len(visits))
    )
    table = visits.with_columns(income=pl.Series(np.round(income)), ill=pl.col("ill").fill_null("none"))
    if missing == "level":
        table = table.with_columns(pl.when(pl.col("age") == 33).then(None).otherwise("income").alias("income"))
    schema = shoal.Schema.of(
        identifier=["who"],
        quasi=["age", "zip", "income"],
        sensitive=["cost"],
        other=["rate", "ill"],
        missing={"income": missing} if missing == "level" else {},
        missing_codes={"income": {-8: "not applicable", -9: "unknown"}},
    )
    inputs = Inputs.of(cut(table, tmp_path / "in", 3))
    settled = prepare_relation(engine, engine.scan(inputs), schema)
    coding = next(c for c in settled.codings if c.name == "income")
    known = table["income"].filter(table["income"] >= 0)
    assert coding.center == pytest.approx(known.mean())
    assert coding.scale == pytest.approx(known.std(ddof=0))
    counts = [int((table["income"] == code).sum()) for code in (-8, -9)]
    assert coding.shares[-2:] == pytest.approx(np.array(counts) / len(table))
    recipe = Anonymization.of(shoal.MDAV(k=5), shoal.Resample(replace=False))
    made(engine, inputs, schema, recipe, tmp_path / "out")
    out = released(tmp_path / "out")["income"]
    assert out.null_count() == table["income"].null_count()
    assert [int((out == code).sum()) for code in (-8, -9)] == counts  # permuted within groups, never averaged
    assert out.drop_nulls().sort().to_list() == table["income"].drop_nulls().sort().to_list()


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["numeric", None])
@pytest.mark.parametrize("method", ["mask", "mondrian", "suppress", "generalize"])
def test_codes_that_are_texts_are_written_as_they_came(visits, tmp_path, engine, kind, method):
    rng = np.random.default_rng(3)
    spelled, number = rng.integers(0, 4, 3000), rng.integers(3, 30, 3000)
    texts = [("N", "DK", f"{n}.0", str(n))[how] for how, n in zip(spelled, number, strict=True)]
    table = visits.select("who", "age").with_columns(income=pl.Series(texts), debt=pl.Series(texts[::-1]))
    schema = shoal.Schema.of(
        identifier=["who"],
        quasi=["age", "income"],
        sensitive=["debt"],
        kinds=dict.fromkeys(["income", "debt"], kind) if kind else {},
        missing_codes={"income": {"N": "none", "DK": "unknown"}, "debt": {"N": "none", "DK": "unknown"}},
    )
    inputs = Inputs.of(cut(table, tmp_path / "in", 2))
    if method == "mask":
        recipe = Anonymization.of(shoal.MDAV(k=5), shoal.Resample(replace=False))
        made(engine, inputs, schema, recipe, tmp_path / "out")
    else:
        chosen = {"mondrian": shoal.Mondrian, "suppress": shoal.Suppress, "generalize": shoal.Generalize}[method]
        coarsen_files(engine, inputs, schema, chosen(k=5), tmp_path / "out", plan=PLAN)
    out = released(tmp_path / "out")
    plain = sorted(text.removesuffix(".0") for text in texts)
    assert method == "generalize" or sorted(out["debt"]) == plain
    if method == "mask":
        assert sorted(out["income"]) == plain  # permuted within groups, never averaged
    elif method == "generalize":
        expected = shoal.coarsen(table, schema, shoal.Generalize(k=5))
        assert multiset(out).equals(multiset(expected.in_file_types()))
    else:
        assert not [text for text in out["income"] if "00000000" in text]  # no number that stands for a text
        assert {"N", "DK"} <= set(out["income"])
    assert shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in").holds


@pytest.mark.parametrize(("rule", "filled"), [("drop", None), ("median", 16.0), (7, 7.0)])
def test_a_rule_for_missing_replaces_codes(visits, tmp_path, engine, rule, filled):
    table = visits.select("who", "age").with_columns(income=pl.Series(["N", "-1", "12", "20"] * 750))
    schema = shoal.Schema.of(
        identifier=["who"],
        quasi=["age", "income"],
        missing={"income": rule},
        missing_codes={"income": {"N": "none", -1: "unknown"}},
    )
    settled = prepare_relation(engine, engine.scan(Inputs.of(cut(table, tmp_path / "in", 2))), schema)
    in_memory = prepare(table, schema)
    found = engine.collect(engine.count(settled.relation, ["income"])).sort("income")
    assert dict(found.select("income", "#rows").rows()) == dict(series(in_memory.frame, "income").value_counts().rows())
    assert settled.facts == in_memory.facts
    assert (filled in found["income"].cast(pl.Float64)) == (filled is not None)
