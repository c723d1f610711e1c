"""Workers: time limits, crashes, interruptions. A toy worker stands in for the real one."""

import os
import sys
import time
from contextlib import closing

import pytest

from shoal.comparison import processes

TOY = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    task = json.loads(line)
    if task["do"] == "sleep":
        time.sleep(60)
    if task["do"] == "die":
        os._exit(3)
    if task["do"] == "babble":
        print("no JSON", flush=True)
    print(json.dumps({"state": "done", "pid": os.getpid(), "did": task["do"]}), flush=True)
"""


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(processes, "worker_command", lambda job: [sys.executable, "-S", "-c", TOY])


def run(tasks, *, jobs=2, limit=30.0):
    found = processes.run_tasks(None, [{"do": task} for task in tasks], jobs=jobs, limit=limit)
    return {answer.place: answer for answer in found}


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("toy")
def test_every_task_has_its_answer_and_a_worker_serves_many():
    found = run(["a", "b", "c", "d"], jobs=1)
    assert [found[i].words["did"] for i in range(4)] == ["a", "b", "c", "d"]
    assert len({answer.words["pid"] for answer in found.values()}) == 1
    assert not is_alive(found[0].words["pid"])


@pytest.mark.usefixtures("toy")
def test_a_task_over_time_is_killed_and_the_others_go_on():
    found = run(["a", "sleep", "b"], jobs=1, limit=1.0)
    assert found[1].words["state"] == "out of time"
    assert "1 s" in found[1].words["reason"]
    assert found[1].seconds == 1.0
    assert found[0].words["state"] == found[2].words["state"] == "done"


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("how", ["die", "babble"])
def test_a_crash_is_one_failed_line(how):
    found = run([how, "a"], jobs=1)
    assert found[0].words["state"] == "failed"
    assert "worker" in found[0].words["reason"]
    assert found[1].words["state"] == "done"


@pytest.mark.usefixtures("toy")
def test_leaving_early_kills_the_workers():
    with closing(processes.run_tasks(None, [{"do": d} for d in ("a", "sleep", "b")], jobs=1, limit=60.0)) as answers:
        pid = next(answers).words["pid"]
        assert is_alive(pid)
        start = time.monotonic()
    assert not is_alive(pid)
    assert time.monotonic() - start < 30


def test_a_worker_that_can_not_start(monkeypatch):
    monkeypatch.setattr(processes, "worker_command", lambda job: [sys.executable, "-S", "-c", "raise SystemExit(1)"])
    assert run(["a"])[0].words["reason"] == "The worker process could not start."
    monkeypatch.setattr(processes, "worker_command", lambda job: ["/no/such/program"])
    found = run(["a", "b"])
    assert {answer.words["state"] for answer in found.values()} == {"failed"}


def test_no_task_no_worker():
    assert run([]) == {}
