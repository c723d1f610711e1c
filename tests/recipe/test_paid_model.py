"""A model that was paid for is used once, whatever stops the run: one charge, one draw of noise."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.dp import Account, Budget
from shoal.errors import GuaranteeError
from shoal.files import read_source
from shoal.recipe import Synthesis
from shoal.release.make import make

SCHEMA = shoal.Schema.of(quasi=["age", "sex"], bounds={"age": (0, 100)}, levels={"sex": ["f", "m"]})
RECIPE = Synthesis.of(shoal.PeGS(epsilon=1.0), rows=200)


@pytest.fixture
def bought(tmp_path):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"age": rng.integers(0, 100, 300), "sex": rng.choice(["f", "m"], 300)})
    table.write_csv(tmp_path / "people.csv")
    account = Account.open(tmp_path / "people.csv", limit=Budget(epsilon=1))

    def run(**given):
        source = read_source(tmp_path / "people.csv")
        return make(source, SCHEMA, RECIPE, account=account, keeps_paid=True, **given)

    return account, run


def kept(tmp_path):
    return [path.name for path in tmp_path.iterdir() if ".paid-" in path.name]


@pytest.mark.parametrize("step", ["drawing", "writing", "verifying", "reporting"])
def test_a_run_that_stops_after_the_charge_is_not_charged_again(bought, tmp_path, step):
    account, run = bought

    def stopping(name):
        if name == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(progress=stopping).write(tmp_path / "out", progress=stopping)
    assert not (tmp_path / "out").exists()
    assert len(account.entries) == 1
    (file,) = kept(tmp_path)
    assert (tmp_path / file).stat().st_mode & 0o777 == 0o600
    release = run()  # the account is exhausted: a second draw could not be paid
    assert len(account.entries) == 1
    assert any("nothing was charged" in str(fact) for fact in release.facts)
    release.write(tmp_path / "out")
    assert kept(tmp_path) == []
    assert shoal.verify(tmp_path / "out").holds


def test_a_release_that_was_written_is_paid_for_again(bought, tmp_path):
    account, run = bought
    run().write(tmp_path / "out")
    with pytest.raises(GuaranteeError):
        run()
    assert len(account.entries) == 1


def test_a_charge_without_a_stored_model_stays(bought, tmp_path, monkeypatch):
    """Stopped between the charge and the store: nobody knows whether the noise was seen."""
    from shoal.recipe.paid_model import PaidModel

    account, run = bought

    def stopping(self, model):
        raise KeyboardInterrupt

    monkeypatch.setattr(PaidModel, "keep", stopping)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.undo()
    with pytest.raises(GuaranteeError):
        run()
    assert len(account.entries) == 1


def test_in_python_each_call_is_charged(bought, tmp_path):
    account, _ = bought
    shoal.synthesize(pl.read_csv(tmp_path / "people.csv"), SCHEMA, method=shoal.PeGS(epsilon=0.4), account=account)
    shoal.synthesize(pl.read_csv(tmp_path / "people.csv"), SCHEMA, method=shoal.PeGS(epsilon=0.4), account=account)
    assert len(account.entries) == 2
    assert kept(tmp_path) == []
