import os
import signal
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import FileError
from shoal.web.workspace import Workspace, plain_name

LEFT = """
import sys, time
from pathlib import Path
from shoal.web.workspace import Workspace
workspace = Workspace.create(Path(sys.argv[1]))
workspace.receive("x.csv").write_text("a\\n1\\n")
print(workspace.path, flush=True)
time.sleep(60)
"""


def test_room_is_private_and_goes(tmp_path):
    with Workspace.create(tmp_path) as workspace:
        assert stat.S_IMODE(workspace.path.stat().st_mode) == 0o700
        place = workspace.receive("people.csv")
        place.write_text("a\n1\n")
        assert workspace.holds(place)
        assert not workspace.holds(tmp_path / "people.csv")
        assert workspace.sessions.begin().id
    assert list(tmp_path.iterdir()) == []
    workspace.close()  # once more does no harm


def test_only_what_the_room_made_is_removed(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    Workspace.create(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\x.csv", "/abs/people.csv", ".hidden.csv", "a\0b.csv", "", "..", "x" * 500 + ".csv"],
)
def test_names_without_tricks(tmp_path, name):
    with Workspace.create(tmp_path) as workspace:
        place = workspace.receive(name)
        place.write_text("a\n")
        assert place.parent.parent == workspace.uploads
        assert not place.name.startswith(".")
        assert workspace.receive(name) != place


@given(st.text(max_size=300))
def test_plain_names(name):
    made = plain_name(name)
    assert made
    assert made not in (".", "..")
    assert not set(made) & set("/\\\0")
    assert len(made.encode()) <= 480
    assert plain_name(made) == made


def test_ending_stays():
    assert plain_name("C:\\data\\people 2024.csv.gz") == "people 2024.csv.gz"
    assert plain_name("x" * 500 + ".parquet").endswith(".parquet")


def test_forget_one_and_all(tmp_path):
    with Workspace.create(tmp_path) as workspace:
        first, second = workspace.receive("a.csv"), workspace.receive("b.csv")
        first.write_text("x")
        second.write_text("x")
        outside = tmp_path / "keep.csv"
        outside.write_text("x")
        workspace.forget(outside)
        workspace.forget(workspace.path / "uploads")
        assert outside.exists()
        assert second.exists()
        workspace.forget(first)
        assert not first.parent.exists()
        assert second.exists()
        workspace.forget()
        assert not second.exists()
        assert workspace.receive("c.csv").parent.is_dir()


def test_room_of_a_killed_process_is_removed_and_a_living_one_stays(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", LEFT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    path = process.stdout.readline().strip()
    try:
        Workspace.create(tmp_path).close()
        assert os.path.isdir(path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert os.path.isdir(path)
        Workspace.create(tmp_path).close()
        assert not os.path.exists(path)
    finally:
        process.kill()
        process.stdout.close()


def test_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="folder"):
        Workspace.create(tmp_path / "file")
