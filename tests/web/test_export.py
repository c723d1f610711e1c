import errno
import json
import shutil
import zipfile
from dataclasses import replace

import pytest

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.release.verify import verify
from shoal.web import export
from shoal.web.error_text import explain
from shoal.web.export import bundle, hand_over

OUTSIDE = {"release.csv", "report.html", "manifest.json"}
INSIDE = {"report.html", "replay.toml"}


def files_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def copy(released, tmp_path):
    """The finished job in a folder of its own, for tests that harm it."""
    folder = tmp_path / "job"
    shutil.copytree(released.folder, folder)
    return replace(released, folder=folder)


def test_the_release_arrives_whole(released, tmp_path):
    target = tmp_path / "new" / "release"
    assert hand_over(released, target) == target
    inside = target.with_name("release.internal")
    assert files_in(target) == OUTSIDE
    assert files_in(inside) == INSIDE
    assert all(path.stat().st_mode & 0o077 == 0 for path in (inside, *inside.iterdir()))
    assert verify(target).holds
    for folder, names in {"release": OUTSIDE, "release.internal": INSIDE}.items():
        for name in names:
            assert (target.parent / folder / name).read_bytes() == (released.folder / folder / name).read_bytes()
    assert {path.name for path in target.parent.iterdir()} == {"release", "release.internal"}


def test_a_folder_in_use_is_kept(released, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="already holds files"):
        hand_over(released, tmp_path)
    with pytest.raises(ParameterError, match="nothing else"):
        hand_over(released, tmp_path, overwrite=True)
    assert files_in(tmp_path) == {"notes.txt"}
    hand_over(released, tmp_path / "release")
    hand_over(released, tmp_path / "release", overwrite=True)
    with pytest.raises(FileError):
        hand_over(released, tmp_path / "release")


def test_only_finished_releases_go(released, tmp_path):
    for job in (
        replace(released, state="cancelled"),
        replace(released, kind="open"),
        replace(released, folder=tmp_path),
    ):
        for way in (lambda job: hand_over(job, tmp_path / "x"), bundle):
            with pytest.raises(ParameterError, match="finished"):
                way(job)
    with pytest.raises(ParameterError, match="outside"):
        hand_over(released, released.folder / "release")


def test_a_full_disk_leaves_nothing(released, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export.shutil, "copyfile", full)
    with pytest.raises(FileError) as caught:
        hand_over(released, tmp_path / "release")
    assert explain(caught.value, tmp_path).message.startswith("the disk is full: free space under")
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_is_not_its_manifests_does_not_go(copy, tmp_path):
    table = copy.folder / "release" / "release.csv"
    table.write_text(table.read_text() + "1,2,3\n")
    with pytest.raises(GuaranteeError, match="manifest"):
        hand_over(copy, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bundles_hold_one_sort_only(released):
    outside, inside = bundle(released), bundle(released, internal=True)
    assert set(zipfile.ZipFile(outside).namelist()) == OUTSIDE
    assert set(zipfile.ZipFile(inside).namelist()) == {f"release.internal/{name}" for name in INSIDE}
    seed = f"seed = {_seed(released)}"
    with zipfile.ZipFile(outside) as archive:
        assert archive.testzip() is None
        text = b"".join(archive.read(name) for name in archive.namelist()).decode()
        assert str(_seed(released)) not in text
        assert json.loads(archive.read("manifest.json"))["output"]["file"] == "release.csv"
    with zipfile.ZipFile(inside) as archive:
        assert seed in archive.read("release.internal/replay.toml").decode()


def _seed(job):
    import tomllib

    return tomllib.loads((job.folder / "release.internal" / "replay.toml").read_text())["seed"]


def test_equal_releases_give_equal_bundles(released, copy):
    for internal in (False, True):
        assert bundle(copy, internal).read_bytes() == bundle(released, internal).read_bytes()


def test_no_internal_file_by_any_name(copy):
    inner = copy.folder / "release" / "internal" / "deep"
    inner.mkdir(parents=True)
    (inner / "report.html").write_text("SENTINEL")
    (copy.folder / "release" / "link.html").symlink_to(inner / "report.html")
    with pytest.raises(GuaranteeError, match="must not lie here; link.html: a link"):
        bundle(copy)


def test_a_changed_table_is_not_packed(copy):
    with (copy.folder / "release" / "release.csv").open("a") as table:
        table.write("one more\n")
    with pytest.raises(GuaranteeError, match=r"release\.csv"):
        bundle(copy)


def test_all_of_a_comparison_stays_inside(copy):
    (copy.folder / "release").rename(copy.folder / "comparison")
    job = replace(copy, kind="compare")
    with pytest.raises(ParameterError, match="at least one file"):
        bundle(job)
    assert bundle(job, internal=True).name == "comparison-internal.zip"
