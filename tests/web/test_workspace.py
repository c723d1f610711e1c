import os
import signal
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import FileError
from shoal.web.workspace import Room, plain_name

LEFT = """
import sys, time
from pathlib import Path
from shoal.web.workspace import Room
room = Room.create(Path(sys.argv[1]))
room.receive("x.csv").write_text("a\\n1\\n")
print(room.path, flush=True)
time.sleep(60)
"""


def test_room_is_private_and_goes(tmp_path):
    with Room.create(tmp_path) as room:
        assert stat.S_IMODE(room.path.stat().st_mode) == 0o700
        place = room.receive("people.csv")
        place.write_text("a\n1\n")
        assert room.holds(place)
        assert not room.holds(tmp_path / "people.csv")
        assert room.sessions.begin().id
    assert list(tmp_path.iterdir()) == []
    room.close()  # once more does no harm


def test_only_what_the_room_made_is_removed(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    Room.create(tmp_path).close()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\x.csv", "/abs/people.csv", ".hidden.csv", "a\0b.csv", "", "..", "x" * 500 + ".csv"],
)
def test_names_without_tricks(tmp_path, name):
    with Room.create(tmp_path) as room:
        place = room.receive(name)
        place.write_text("a\n")
        assert place.parent.parent == room.uploads
        assert not place.name.startswith(".")
        assert room.receive(name) != place


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
    with Room.create(tmp_path) as room:
        first, second = room.receive("a.csv"), room.receive("b.csv")
        first.write_text("x")
        second.write_text("x")
        outside = tmp_path / "keep.csv"
        outside.write_text("x")
        room.forget(outside)
        room.forget(room.path / "uploads")
        assert outside.exists()
        assert second.exists()
        room.forget(first)
        assert not first.parent.exists()
        assert second.exists()
        room.forget()
        assert not second.exists()
        assert room.receive("c.csv").parent.is_dir()


def test_room_of_a_killed_process_is_removed_and_a_living_one_stays(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", LEFT, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    path = process.stdout.readline().strip()
    try:
        Room.create(tmp_path).close()
        assert os.path.isdir(path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert os.path.isdir(path)
        Room.create(tmp_path).close()
        assert not os.path.exists(path)
    finally:
        process.kill()
        process.stdout.close()


def test_folder_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="folder"):
        Room.create(tmp_path / "file")
