"""Child processes: told, answered, timed, stopped with all they started, gone with their parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.processes import Child, interpreter

PATIENCE = 30.0
ECHO = """
import json, sys, time
for line in sys.stdin:
    if line == "sleep\\n":
        time.sleep(60)
    print(line if line == "babble\\n" else json.dumps({"heard": line.strip()}), flush=True)
"""
WITH_CHILD = """
import json, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(json.dumps({"pid": child.pid}), flush=True)
time.sleep(60)
"""
PARENT = """
import sys, time
from shoal.processes import Child
child = Child.spawn([sys.executable, "-c", sys.argv[1]], answers=True)
print(child.pid, child.reply(30)[0]["pid"], flush=True)
time.sleep(60)
"""
FOLLOWER = """
import json, subprocess, sys, time
from shoal.processes import follow_parent
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
follow_parent()
print(json.dumps({"pid": child.pid}), flush=True)
time.sleep(60)
"""


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until_gone(*pids):
    end = time.monotonic() + PATIENCE
    while any(is_running(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def spawn():
    started = []

    def make(code, **options):
        started.append(Child.spawn([sys.executable, "-c", code], **{"answers": True, **options}))
        return started[-1]

    yield make
    for child in started:
        child.close()


def test_a_line_is_answered(spawn):
    child = spawn(ECHO)
    child.tell("hallo")
    assert child.reply(PATIENCE) == ({"heard": "hallo"}, False)
    child.tell("babble")
    assert child.reply(PATIENCE) == (None, False)
    assert child.is_alive
    assert child.code is None


def test_who_takes_too_long_is_killed(spawn):
    child = spawn(ECHO)
    child.tell("sleep")
    assert child.reply(0.2) == (None, True)
    assert child.wait() == -signal.SIGKILL
    child.tell("nobody hears it")
    assert child.reply(PATIENCE) == (None, False)


def test_stop_ends_it_with_all_it_started(spawn):
    child = spawn(WITH_CHILD)
    found, _ = child.reply(PATIENCE)
    child.stop()
    assert child.wait() == -signal.SIGKILL, "it did not listen when it was asked"
    until_gone(child.pid, found["pid"])


def test_a_child_and_its_own_follow_the_parent():
    parent = subprocess.Popen([sys.executable, "-c", PARENT, FOLLOWER], stdout=subprocess.PIPE, text=True)
    with parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert all(is_running(pid) for pid in pids)
        parent.kill()
    until_gone(*pids)


def test_the_environment_is_the_parents_and_more(spawn, monkeypatch):
    monkeypatch.setenv("SHOAL_A", "1")
    child = spawn("import json, os; print(json.dumps(dict(os.environ)))", environment={"SHOAL_B": "2"})
    words, _ = child.reply(PATIENCE)
    assert (words["SHOAL_A"], words["SHOAL_B"]) == ("1", "2")
    assert os.environ.get("SHOAL_B") is None


def test_the_interpreter_calls_main_and_finds_the_same_modules(tmp_path, monkeypatch):
    (tmp_path / "toy_main.py").write_text("import sys\ndef main():\n    return int(sys.argv[1])\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert subprocess.run(interpreter("toy_main", "7"), check=False).returncode == 7
