"""What is preserved of finished recipes, and when it still stands."""

import json
import os
import stat

import pytest

import shoal
from shoal.comparison.store import Store, stored_outcome, write_stored
from shoal.errors import FileError
from shoal.recipe import as_recipe
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age"])


def test_a_folder_keeps_its_key_and_seed(tmp_path):
    first, again = Store.open(tmp_path / "kept"), Store.open(tmp_path / "kept")
    assert (first.key, first.seed) == (again.key, again.seed)
    other = Store.open(tmp_path / "other")
    assert first.key != other.key
    assert stat.S_IMODE(os.stat(tmp_path / "kept" / "secret.json").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "kept").st_mode) == 0o700
    assert "Internal" in (tmp_path / "kept" / "README.txt").read_text()


def test_names_are_keyed_and_tell_everything_apart(tmp_path):
    store, other = Store.open(tmp_path / "a"), Store.open(tmp_path / "b")
    given = ("00", SCHEMA, {"x": 1}, 7)
    names = {
        store.path(*given).name,
        other.path(*given).name,
        store.path("01", *given[1:]).name,
        store.path("00", Schema.of(quasi=["sex"]), *given[2:]).name,
        store.path(*given[:2], {"x": 2}, 7).name,
        store.path(*given[:3], 8).name,
    }
    assert len(names) == 6
    assert store.path(*given) == store.path(*given)
    assert Store.open(None).path(*given) is None


def test_a_new_version_keeps_nothing_of_the_old(tmp_path, monkeypatch):
    from shoal.comparison import store as module

    store = Store.open(tmp_path)
    old = store.path("00", SCHEMA, {}, 1)
    monkeypatch.setattr(module, "__version__", "99")
    assert store.path("00", SCHEMA, {}, 1) != old


def test_what_is_finished_stands(tmp_path, make):
    recipe, path = as_recipe(shoal.Mondrian(k=5)), tmp_path / "one.json"
    assert stored_outcome(None, recipe, 120) is None
    assert stored_outcome(path, recipe, 120) is None
    for state, stands in {"done": True, "refused": True, "failed": False, "out of time": False}.items():
        one = make(recipe, 0.1, 0.9, state=state)
        write_stored(path, one.to_dict())
        assert stored_outcome(path, recipe, 120) == (one if stands else None)
    assert stored_outcome(path, recipe, 1.0) == one, "it had more time than it would have now"
    lists = as_recipe(shoal.SafeHarbor())
    write_stored(path, make(lists, 0.1, 0.9).to_dict())
    assert stored_outcome(path, lists, 120) == make(lists, 0.1, 0.9), "a list in a file is a tuple in a method"
    write_stored(path, make(recipe, 0.1, 0.9).to_dict())
    assert stored_outcome(path, as_recipe(shoal.Mondrian(k=6)), 120) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b"\xff", b'{"state": "done"}', b'{"state": "done", "recipe": {"coarsen": 3}}'],
    ids=["empty", "cut", "list", "bare", "bytes", "half", "odd"],
)
def test_a_damaged_file_is_as_none(tmp_path, content):
    path = tmp_path / "one.json"
    path.write_bytes(content)
    assert stored_outcome(path, as_recipe(shoal.Mondrian(k=5)), 120) is None


def test_strange_folders_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="folder"):
        Store.open(tmp_path / "file")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(FileError, match=r"secret\.json"):
        Store.open(mine)
