"""PeGS on an engine: the counts of memory, noise and charge once, rows that don't depend on who draws them."""

import json

import numpy as np
import polars as pl
import pytest
from tests.engines.conftest import cut

import shoal
from shoal.dp import Account, Budget
from shoal.engine import Inputs
from shoal.engine.memory import MemoryEngine
from shoal.errors import ColumnError, GuaranteeError, InputError, ParameterError
from shoal.recipe import Synthesis
from shoal.recipe.paid_model import PaidModel
from shoal.release.on_engine import synthesize
from shoal.release.on_engine.make import release_files
from shoal.release.on_engine.synthesize import EngineCounts, _tabulated
from shoal.rng import stream

PUBLIC = {
    "levels": {"zip": [f"0{z}" for z in range(100, 106)], "ill": ["no", "flu", "cancer"]},
    "bounds": {"age": (20, 60), "cost": (0, 400), "rate": (0, 1)},
}
ROWS = shoal.Schema.of(identifier=["who"], quasi=["age", "zip", "ill"], sensitive=["cost"], other=["rate"], **PUBLIC)
PERSONS = shoal.Schema.of(unit="who", quasi=["age", "zip", "ill"], sensitive=["cost"], other=["rate"], **PUBLIC)
FAR = 1e7  # epsilon: no noise to speak of


def counted(engine, relation, schema, pegs):
    return _tabulated(engine, relation, schema, pegs).counts


def test_an_engine_counts_what_memory_counts(engine, visits, tmp_path):
    pegs = shoal.PeGS(bins=8)
    relation = engine.scan(Inputs.of(cut(visits, tmp_path / "in", 3)))
    found = counted(engine, relation, ROWS, pegs)
    expected = pegs._encoded(visits, ROWS, stream(1, "x"), public=True).counts
    for one, other in zip(found.one_way(), expected.one_way(), strict=True):
        assert one.tolist() == other.tolist()
    for i in range(5):
        for j in range(i + 1, 5):
            assert found.pair(i, j).tolist() == expected.pair(i, j).tolist()
    assert found.blocks(2, (0, 1)).tolist() == expected.blocks(2, (0, 1)).tolist()  # counted when asked for
    for i, table in found.fine.items():
        sizes = synthesize.parts_of(pegs.public_table(ROWS).domain)[i]
        assert table.tolist() == expected.parts(i, sizes).tolist()


@pytest.mark.parametrize("m", [1, 2])
def test_a_person_keeps_as_many_rows_as_are_paid_for(engine, visits, tmp_path, m):
    pegs = shoal.PeGS(rows_per_person=m)
    relation = engine.scan(Inputs.of(cut(visits, tmp_path / "in", 3)))
    found = int(counted(engine, relation, PERSONS, pegs).one_way()[0].sum())
    held = visits["who"].drop_nulls().value_counts()["count"].to_list()
    assert found == sum(min(m, n) for n in held) + visits["who"].null_count()


def test_every_row_of_a_person_is_as_likely_as_any_other(monkeypatch):
    """Nine equal rows and one other: the other is kept once in ten times, not every second time."""
    n = 4000
    table = pl.DataFrame({"who": np.repeat(np.arange(n), 10), "ill": (["no"] * 9 + ["flu"]) * n})
    schema = shoal.Schema.of(unit="who", quasi=["ill"], levels={"ill": ["no", "flu"]})
    monkeypatch.setattr(synthesize, "fresh_key", lambda: "ab" * 32)
    engine = MemoryEngine()
    share = counted(engine, engine.of(table), schema, shoal.PeGS()).one_way()[0] / n
    assert abs(share[1] - 0.1) < 0.02  # four standard deviations


def test_without_noise_the_rows_have_the_tables_of_the_data(engine, visits, tmp_path):
    recipe = Synthesis.of(shoal.PeGS(epsilon=FAR, bins=8), rows=3000)
    release_files(engine, Inputs.of(cut(visits, tmp_path / "in", 3)), ROWS, recipe, tmp_path / "out")
    (file,) = (tmp_path / "out").glob("part-*.parquet")
    rows = pl.read_parquet(file)
    assert rows.columns == ["age", "zip", "ill", "cost", "rate"]
    for name in ("zip", "ill"):
        shares = [frame[name].value_counts(normalize=True).sort(name)["proportion"] for frame in (visits, rows)]
        assert abs(shares[0] - shares[1]).max() < 0.02
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [claim["kind"] for claim in manifest["claims"]] == ["epsilon-DP"]
    assert (tmp_path / "out.internal" / "model.json").exists()
    assert shoal.verify(tmp_path / "out", engine=engine, original=tmp_path / "in").holds


def test_ranges_give_the_same_rows_on_every_engine(engine, visits, monkeypatch):
    model = shoal.PeGS(epsilon=FAR).fit(visits, ROWS, seed=1)
    monkeypatch.setattr(synthesize, "ROWS_OF_A_RANGE", 300)
    found = engine.collect(synthesize._drawn(engine, model, 1000, seed=5))
    memory = MemoryEngine()
    expected = memory.collect(synthesize._drawn(memory, model, 1000, seed=5))
    assert len(found) == 1000
    assert found.sort(found.columns).equals(expected.sort(expected.columns))
    assert found.n_unique() > 500  # ranges don't repeat each other


def test_the_account_is_charged_once_and_before_any_noise(engine, visits, tmp_path, monkeypatch):
    folder = cut(visits, tmp_path / "in", 2)
    account = Account.open(folder, limit=Budget(epsilon=1.5))
    recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=100)
    seen = []
    apart = synthesize.PeGS.fit_tabulated

    def watched(self, table, schema, account, rng):
        seen.append(len(account.account.entries))
        return apart(self, table, schema, account, rng)

    monkeypatch.setattr(synthesize.PeGS, "fit_tabulated", watched)
    made = release_files(engine, Inputs.of(folder), ROWS, recipe, tmp_path / "out", account=account)
    assert seen == [0]
    assert len(account.entries) == 1
    assert account.spent == Budget(epsilon=1.0)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["account"]["n_entries"] == 1
    with pytest.raises(GuaranteeError, match="must not exceed what is left"):
        release_files(engine, Inputs.of(folder), ROWS, recipe, tmp_path / "more", account=account)
    assert not (tmp_path / "more").exists()
    assert len(account.entries) == 1
    assert made.n_rows == 100


STEPS = ["checking the table", "fitting", "drawing", "writing", "verifying", "reporting"]


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_stops_at_any_step_is_charged_and_drawn_once(visits, tmp_path, monkeypatch, step):
    """Charge, draw, store, use: whoever starts it again gets what was paid for, or pays for the first time."""
    folder = cut(visits, tmp_path / "in", 2)
    account = Account.open(folder, limit=Budget(epsilon=5))
    recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=100)
    draws = []
    fit = synthesize.PeGS.fit_tabulated
    monkeypatch.setattr(
        synthesize.PeGS, "fit_tabulated", lambda *given: (draws.append(step), fit(*given))[1], raising=True
    )

    def stopping(name):
        if name == step:
            raise KeyboardInterrupt

    def run(**given):
        return release_files(
            MemoryEngine(), Inputs.of(folder), ROWS, recipe, tmp_path / "out", account=account, **given
        )

    with pytest.raises(KeyboardInterrupt):
        run(progress=stopping)
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]
    done = run()
    assert (len(account.entries), len(draws)) == (1, 1)
    assert done.n_rows == 100
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["account"]["n_entries"] == 1
    assert shoal.verify(tmp_path / "out", original=folder).holds
    assert not list(tmp_path.glob("*.paid-*"))  # the next run pays again
    run(overwrite=True)
    assert (len(account.entries), len(draws)) == (2, 2)


def test_a_run_that_stops_between_charge_and_store_stays_charged(visits, tmp_path, monkeypatch):
    """The safe side: what was drawn may have been seen, and is lost."""
    folder = cut(visits, tmp_path / "in", 2)
    account = Account.open(folder, limit=Budget(epsilon=5))
    recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=100)

    def dies(self, model):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(PaidModel, "keep", dies)
        with pytest.raises(KeyboardInterrupt):
            release_files(MemoryEngine(), Inputs.of(folder), ROWS, recipe, tmp_path / "out", account=account)
    assert account.spent == Budget(epsilon=1.0)
    assert not (tmp_path / "out").exists()
    release_files(MemoryEngine(), Inputs.of(folder), ROWS, recipe, tmp_path / "out", account=account)
    assert account.spent == Budget(epsilon=2.0)


def test_what_was_paid_for_is_used_for_the_same_run_alone(visits, tmp_path):
    folder = cut(visits, tmp_path / "in", 2)
    account = Account.open(folder, limit=Budget(epsilon=5))
    recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=100)
    model = shoal.PeGS(epsilon=1.0).fit(visits, ROWS, seed=1)
    paid = PaidModel.of(account, recipe, ROWS, "a")
    paid.charge(Budget(epsilon=1.0), purpose="a test")
    paid.keep(model)
    assert paid.file.stat().st_mode & 0o777 == 0o600
    assert (
        PaidModel.of(account, Synthesis.of(shoal.PeGS(epsilon=1.0), rows=7), ROWS, "a").found().claims == model.claims
    )
    assert PaidModel.of(account, Synthesis.of(shoal.PeGS(epsilon=2.0), rows=100), ROWS, "a").found() is None
    assert PaidModel.of(account, recipe, ROWS, "b").found() is None
    words = json.loads(paid.file.read_text())
    words["paid"]["when"] = "2001-01-01T00:00:00+00:00"  # a charge that the account doesn't know
    paid.file.write_text(json.dumps(words))
    assert paid.found() is None


def test_a_synthesis_is_entered_in_the_register_without_people(visits, tmp_path):
    folder = cut(visits, tmp_path / "in", 2)
    account = Account.open(folder, limit=Budget(epsilon=5))
    register = shoal.Register.of(account.ledger, account.data_set).to("A. Reader")
    recipe = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=100)
    words = {"account": account, "register": register}
    release_files(MemoryEngine(), Inputs.of(folder), ROWS, recipe, tmp_path / "out", **words)
    (entry,) = register.releases()
    assert (entry["people"], entry["epsilon"], entry["recipient"]) == (0, 1.0, "A. Reader")


def test_an_account_of_a_folder_knows_its_files(visits, tmp_path):
    folder = cut(visits, tmp_path / "in", 2)
    Account.open(folder, limit=Budget(epsilon=1)).ledger.close()
    assert Account.open(folder).limit == Budget(epsilon=1)
    (folder / "0.parquet").rename(folder / "9.parquet")
    with pytest.raises(InputError, match="different content"):
        Account.open(folder)


def test_what_breaks_the_schema_is_told_without_numbers_of_a_batch(engine, visits, tmp_path):
    bad = visits.with_columns(pl.when(pl.col("age") == 33).then(pl.lit("SENTINEL")).otherwise("zip").alias("zip"))
    relation = engine.scan(Inputs.of(cut(bad, tmp_path / "in", 2)))
    with pytest.raises(ColumnError, match="zip") as caught:
        counted(engine, relation, ROWS, shoal.PeGS())
    assert "SENTINEL" not in str(caught.value)
    assert not any(letter.isdigit() for letter in caught.value.got)


@pytest.mark.parametrize("method", [shoal.PeGS(scope="sample"), shoal.MarginalBootstrap(epsilon=1.0)])
def test_methods_that_need_the_rows_are_refused(visits, tmp_path, method):
    inputs = Inputs.of(cut(visits, tmp_path / "in", 1))
    with pytest.raises(ParameterError, match="pegs with scope = dataset"):
        release_files(MemoryEngine(), inputs, ROWS, Synthesis.of(method, rows=10), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_relation_in_gives_a_relation_out(visits):
    import duckdb

    table = duckdb.from_arrow(visits.to_arrow())
    with shoal.synthesize(table, ROWS, shoal.PeGS(epsilon=1.0), rows=50, engine="duckdb") as release:
        assert isinstance(release.table, duckdb.DuckDBPyRelation)
        assert release.table.columns == ["age", "zip", "ill", "cost", "rate"]
        assert release.table.count("*").fetchall() == [(50,)]
        assert [claim.kind for claim in release.claims] == ["epsilon-DP"]


@pytest.mark.parametrize("design", ["graph", "pairs", "tree", "conditionals"])
def test_every_design_fits_to_counts_of_an_engine(visits, design):
    engine = MemoryEngine()
    pegs = shoal.PeGS(epsilon=5.0, design=design)
    table = _tabulated(engine, engine.of(visits), ROWS, pegs)
    assert isinstance(table.counts, EngineCounts)
    assert pegs.fit_tabulated(table, ROWS, None, stream(1, "x")).sample(20).shape == (20, 5)
