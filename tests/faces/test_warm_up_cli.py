"""`shoal warm-up` as a person runs it."""

from types import SimpleNamespace

import typer
from numba.core import event
from typer.testing import CliRunner

import shoal
from shoal.cli.warm_up import EXAMPLES, warm_up
from shoal.group import packs
from shoal.recipe import Coarsening
from shoal.release.compiled import cache_folder, is_warm, seems_compiled

app = typer.Typer(pretty_exceptions_enable=False)
app.command("warm-up", epilog=EXAMPLES)(warm_up)


def test_says_where_kernels_are_kept_and_leaves_a_release_nothing_to_compile():
    done = CliRunner().invoke(app, [])
    assert done.exit_code == 0
    assert str(cache_folder()) in done.stdout.replace("\n", "")
    assert cache_folder().is_dir()
    table, schema = shoal.datasets.health_survey(90, seed=2), shoal.datasets.health_survey_schema()
    larger = shoal.datasets.health_survey(1600, seed=2)  # too many for all pairs
    with event.install_recorder("numba:compile") as compiled:
        shoal.anonymize(table, schema, group=shoal.KMember(k=3), seed=1)
        assert shoal.coarsen(larger, schema, shoal.Mondrian(k=3), seed=1).risk
    assert not compiled.buffer


def test_kernels_kept_elsewhere_are_found(monkeypatch, tmp_path):
    kernel = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path / "group_1")))
    monkeypatch.setattr(packs, "distances", kernel)
    assert cache_folder() == tmp_path


def test_a_place_without_kernels_is_cold(monkeypatch, tmp_path):
    kernel = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    monkeypatch.setattr(packs, "distances", kernel)
    assert not is_warm("k-member", 10_000)
    (tmp_path / "packs.distances-1.py311.nbi").touch()
    assert is_warm("k-member", 10_000)


def test_a_recipe_seems_compiled_by_the_files_alone(monkeypatch, tmp_path):
    monkeypatch.setattr("shoal.release.compiled._PACKAGE", tmp_path / "installed")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    recipe = Coarsening.of(shoal.Mondrian(k=5))
    assert not seems_compiled(recipe, 10_000)
    (tmp_path / "cache" / "coarsening_1").mkdir(parents=True)
    (tmp_path / "cache" / "coarsening_1" / "partition.propose_cuts-1.py311.nbi").touch()
    assert seems_compiled(recipe, 10_000)
    assert seems_compiled(Coarsening.of(shoal.Suppress(k=5)), 10_000)  # has none that is waited for
