import os
import shutil
from pathlib import Path

import pytest

from shoal.errors import FileError, ParameterError
from shoal.release.folders import inside_of, replaced, staged


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def release(target, text, overwrite=False):
    """Write something like a release."""
    with staged(target, overwrite=overwrite) as (outside, inside):
        (outside / "manifest.json").write_text(text)
        (inside / "replay.toml").write_text(text)


def texts(folder):
    return [(folder / "out/manifest.json").read_text(), (folder / "out.internal/replay.toml").read_text()]


def test_both_folders_appear_whole(tmp_path):
    with staged(tmp_path / "out", overwrite=False) as (outside, inside):
        (outside / "a").write_text("x")
        (inside / "b").write_text("y")
        assert inside.stat().st_mode & 0o777 == 0o700
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "out.internal").exists()
    assert (tmp_path / "out" / "a").read_text() == "x"
    assert (tmp_path / "out.internal" / "b").read_text() == "y"
    assert names(tmp_path) == ["out", "out.internal"]


def test_inside_files_are_the_owners_only(tmp_path):
    before = os.umask(0o002)
    try:
        release(tmp_path / "out", "x")
    finally:
        os.umask(before)
    inside = tmp_path / "out.internal"
    assert inside.stat().st_mode & 0o777 == 0o700
    assert (inside / "replay.toml").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o775


@pytest.mark.parametrize("given", ["out", "out/", "./out", "deep/../out", "deep/out", "deep/out/"])
def test_however_the_folder_is_given(tmp_path, monkeypatch, given):
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path)
    release(Path(given), "x")
    home = tmp_path / "deep" if given.startswith("deep/out") else tmp_path
    assert texts(home) == ["x", "x"]


def test_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "out" / "below").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "below")
    assert inside_of("..") == tmp_path / "out.internal"
    assert inside_of(".") == tmp_path / "out" / "below.internal"
    monkeypatch.chdir(tmp_path / "out")
    (tmp_path / "out" / "below").rmdir()
    release(Path("."), "x")
    assert texts(tmp_path) == ["x", "x"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_a_failure(tmp_path, error):
    def fail():
        with staged(tmp_path / "out", overwrite=False) as (outside, inside):
            (outside / "a").write_text("x")
            (inside / "a").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_older_release(tmp_path):
    release(tmp_path / "out", "old")
    with pytest.raises(ValueError, match="no"), staged(tmp_path / "out", overwrite=True):
        raise ValueError("no")
    assert texts(tmp_path) == ["old", "old"]


def test_overwriting_replaces_both(tmp_path):
    release(tmp_path / "out", "old")
    (tmp_path / "out.internal" / "model.json").write_text("old")
    release(tmp_path / "out", "new", overwrite=True)
    assert texts(tmp_path) == ["new", "new"]
    assert names(tmp_path / "out.internal") == ["replay.toml"]
    assert names(tmp_path) == ["out", "out.internal"]


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("nth", range(1, 5))
def test_a_failing_rename_is_undone(tmp_path, monkeypatch, older, nth):
    if older:
        release(tmp_path / "out", "old")
    rename, calls = Path.rename, iter(range(1, 20))

    def failing(self, target):
        if next(calls) == nth:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    fails = nth <= (4 if older else 2)
    if fails:
        with pytest.raises(OSError, match="Input"):
            release(tmp_path / "out", "new", overwrite=True)
    else:
        release(tmp_path / "out", "new", overwrite=True)
    kept = ["old", "old"] if older else None
    assert (texts(tmp_path) if (tmp_path / "out").exists() else None) == (kept if fails else ["new", "new"])
    assert names(tmp_path) == (["out", "out.internal"] if older or not fails else [])


@pytest.mark.parametrize("nth", range(1, 5))
def test_a_run_killed_between_renames_is_rolled_back(tmp_path, nth):
    release(tmp_path / "out", "old")
    pid = os.fork()
    if pid == 0:
        rename, calls = Path.rename, iter(range(1, 20))
        Path.rename = lambda self, target: os._exit(9) if next(calls) == nth else rename(self, target)
        release(tmp_path / "out", "new", overwrite=True)
        os._exit(0)
    os.waitpid(pid, 0)
    with pytest.raises(FileError, match="already holds"):
        release(tmp_path / "out", "newer")
    assert texts(tmp_path) == ["old", "old"]
    release(tmp_path / "out", "newer", overwrite=True)
    assert texts(tmp_path) == ["newer", "newer"]
    assert names(tmp_path) == ["out", "out.internal"]


def test_a_killed_signing_is_rolled_back(tmp_path):
    release(tmp_path / "out", "old")
    pid = os.fork()
    if pid == 0:
        rename, calls = Path.rename, iter(range(1, 20))
        Path.rename = lambda self, target: os._exit(9) if next(calls) == 2 else rename(self, target)
        with replaced(tmp_path / "out") as stage:
            (stage / "manifest.json").write_text("signed")
        os._exit(0)
    os.waitpid(pid, 0)
    assert not (tmp_path / "out").exists()
    release(tmp_path / "out", "new", overwrite=True)
    assert texts(tmp_path) == ["new", "new"]


def test_inside_files_of_another_release_are_named(tmp_path):
    release(tmp_path / "out", "old")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    with pytest.raises(FileError, match="not next to it"):
        release(tmp_path / "out", "new")
    assert (tmp_path / "out.internal" / "replay.toml").read_text() == "old"
    release(tmp_path / "out", "new", overwrite=True)
    assert texts(tmp_path) == ["new", "new"]


def test_overwrite_replaces_a_release_only(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.doc").write_text("precious")
    with pytest.raises(FileError, match="already holds"), staged(tmp_path / "out", overwrite=False):
        pass
    with pytest.raises(ParameterError, match="manifest"), staged(tmp_path / "out", overwrite=True):
        pass
    assert (tmp_path / "out" / "thesis.doc").read_text() == "precious"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_stranger_beside_is_spared(tmp_path, overwrite):
    release(tmp_path / "out", "old")
    (tmp_path / "out.internal" / "thesis.doc").write_text("precious")
    with pytest.raises((FileError, ParameterError), match=r"already holds|nothing else"):
        release(tmp_path / "out", "new", overwrite=overwrite)
    shutil.rmtree(tmp_path / "out")
    with pytest.raises((FileError, ParameterError), match=r"not next to|nothing else"):
        release(tmp_path / "out", "new", overwrite=overwrite)
    assert (tmp_path / "out.internal" / "thesis.doc").read_text() == "precious"


def test_overwrite_spares_a_folder_with_other_files(tmp_path):
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "manifest.json").write_text("{}")
    with pytest.raises(ParameterError, match="nothing else"), staged(tmp_path / "web", overwrite=True):
        pass
    assert (tmp_path / "web" / "src").is_dir()


def test_leftovers_of_dead_processes_are_swept(tmp_path):
    dead, alive = tmp_path / ".o[1].partial-999999999", tmp_path / f".o[1].partial-{os.getppid()}"
    dead.mkdir()
    alive.mkdir()
    with staged(tmp_path / "o[1]", overwrite=False):
        pass
    assert not dead.exists()
    assert alive.exists()


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(FileError, match="folder"), staged(tmp_path / "out", overwrite=True):
        pass
    with pytest.raises(FileError, match="written to"), staged(tmp_path / "out" / "deeper", overwrite=True):
        pass
    (tmp_path / "new.internal").write_text("x")
    with pytest.raises(FileError, match="folder"), staged(tmp_path / "new", overwrite=True):
        pass
    assert not (tmp_path / "new").exists()
