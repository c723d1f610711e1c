import os

import pytest

from shoal.errors import FileError, ParameterError
from shoal.release.staging import staged


def test_folder_appears_whole(tmp_path):
    with staged(tmp_path / "out", overwrite=False) as stage:
        (stage / "a").write_text("x")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out" / "a").read_text() == "x"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_a_failure(tmp_path, error):
    def fail():
        with staged(tmp_path / "out", overwrite=False) as stage:
            (stage / "a").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_failure_keeps_the_older_release(tmp_path):
    with staged(tmp_path / "out", overwrite=False) as stage:
        (stage / "manifest.json").write_text("old")
    with pytest.raises(ValueError, match="no"), staged(tmp_path / "out", overwrite=True):
        raise ValueError("no")
    assert (tmp_path / "out" / "manifest.json").read_text() == "old"


def test_overwrite_replaces_a_release_only(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.doc").write_text("precious")
    with pytest.raises(FileError, match="already holds"), staged(tmp_path / "out", overwrite=False):
        pass
    with pytest.raises(ParameterError, match="manifest"), staged(tmp_path / "out", overwrite=True):
        pass
    assert (tmp_path / "out" / "thesis.doc").read_text() == "precious"


def test_overwrite_spares_a_folder_with_other_files(tmp_path):
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "manifest.json").write_text("{}")
    with pytest.raises(ParameterError, match="nothing else"), staged(tmp_path / "web", overwrite=True):
        pass
    assert (tmp_path / "web" / "src").is_dir()


def test_leftovers_of_dead_processes_are_swept(tmp_path):
    dead, alive = tmp_path / ".out.partial-999999999", tmp_path / f".out.partial-{os.getppid()}"
    dead.mkdir()
    alive.mkdir()
    with staged(tmp_path / "out", overwrite=False):
        pass
    assert not dead.exists()
    assert alive.exists()


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(FileError, match="folder"), staged(tmp_path / "out", overwrite=True):
        pass
    with pytest.raises(FileError, match="written to"), staged(tmp_path / "out" / "deeper", overwrite=True):
        pass
