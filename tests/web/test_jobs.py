import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from workbench_here import Here

from shoal import Mondrian
from shoal.errors import FileError, ParameterError
from shoal.processes import Child
from shoal.recipe import Coarsening
from shoal.release.verify import verify
from shoal.web.inspect import stamp_of
from shoal.web.job import ENTRY, Job, read_job, to_compare, to_look, to_open, to_release
from shoal.web.job_process import Progress
from shoal.web.jobs import Jobs, spawn_child
from shoal.web.workspace import Workspace

PATIENCE = 120
MONDRIAN = Coarsening.of(Mondrian(k=5)).to_dict()

ORPHAN = """
import sys, time
from pathlib import Path
from shoal.web.jobs import Jobs
from shoal.web.workspace import Workspace
workspace = Workspace.create(Path(sys.argv[1]))
jobs = Jobs(workspace, warm=False)
id = jobs.start("open", {"path": sys.argv[2]})
while not jobs.get(id).step:
    time.sleep(0.001)
print(jobs._children[id].pid, flush=True)
time.sleep(60)
"""


def left_in(folder):
    return {path.name for path in folder.iterdir()}


def limit_files(child, size):
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (size, size))


def is_running(pid):
    """Whether a process is there and no mere entry of the table."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_open_tells_what_it_found(survey):
    opened, _ = survey
    assert (opened.n_rows, opened.stage) == (300, "full")
    assert opened.copy is not None


def test_release_is_written_and_verified(released, survey):
    result = released.result
    assert (result["rows"], result["rows_before"], result["synthetic"]) == (300, 300, False)
    assert result["claims"][0]["kind"] == "k-anonymity"
    view = result["view"]
    assert all(line["name"] and line["verdict"] for line in [*view["risk"], *view["use"]])
    assert all(Path(path).is_file() for path in result["files"].values())
    assert Path(result["files"]["table"]).suffix == ".csv"
    assert verify(released.folder / "release").holds
    written = {
        name for name in left_in(released.folder) if not name.endswith(".zip")
    }  # bundles are made when asked for
    assert written == {"job.json", "request.json", "result.json", "release", "release.internal"}
    assert released.words["recipe"] == MONDRIAN
    assert released.seconds > 0
    assert (released.step, released.step_share) == ("", 1.0)
    json.dumps(result)
    assert Job.from_dict(released.to_dict(), released.folder) == released


def test_what_is_measured_is_measured_once(jobs, survey, monkeypatch):
    """Also where a release is held against a register, and entered in it later."""
    from shoal.release import release as module

    asked = []
    for name in ("assess_risk", "assess_utility"):
        own = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, own=own, name=name, **b: asked.append(name) or own(*a, **b))
    words = to_release(*survey, MONDRIAN, register={})
    job = jobs.wait(jobs.start("release", words), PATIENCE)
    assert job.state == "done", job.error
    assert (job.folder / ENTRY).exists()
    assert sorted(asked) == ["assess_risk", "assess_utility"]


def test_synthesis_charges_the_account(jobs, survey, workspace):
    from shoal.web.forms import read_words

    opened, _ = survey
    schema = {"columns": {"gender": {"role": "quasi", "levels": ["female", "male"]}}}
    others = [column.name for column in opened.columns if column.name != "gender"]
    schema["columns"] |= {name: {"role": "identifier"} for name in others}
    words = {"synthesize": {"method": "marginal-bootstrap", "epsilon": "0.5", "rows": "40"}}
    recipe = read_words(words).to_dict()
    job = jobs.wait(jobs.start("release", to_release(opened, schema, recipe, limit=1.0, format="parquet")), PATIENCE)
    assert job.state == "done", job.error
    assert (job.result["rows"], job.result["synthetic"]) == (40, True)
    assert job.result["claims"][0]["kind"] == "epsilon-DP"
    assert "0.5" in job.result["account"]["spent"]
    assert Path(job.result["files"]["table"]).suffix == ".parquet"
    over = Path(opened.path + ".budget.json").read_text()
    dear = read_words({"synthesize": {**words["synthesize"], "epsilon": 0.9}}).to_dict()
    job = jobs.wait(jobs.start("release", to_release(opened, schema, dear)), PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "guarantee")
    assert Path(opened.path + ".budget.json").read_text() == over


def test_a_promise_that_cannot_be_met(jobs, survey):
    words = to_release(*survey, MONDRIAN, preset="public-20")  # which wants 20 where Mondrian gives 5
    job = jobs.wait(jobs.start("release", words), PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "guarantee")
    assert "preset public-20" in job.error.message
    assert left_in(job.folder) == {"job.json", "request.json"}
    assert job.result is None


def test_wrong_words(jobs, survey):
    opened, schema = survey
    bad = to_release(opened, schema, {"group": {"method": "mdav", "k": 1}, "mask": [{"method": "centroid"}]})
    unknown = to_release(opened, {"columns": {"nothing": {"role": "quasi"}}}, MONDRIAN)
    first, second = (jobs.start("release", words) for words in (bad, unknown))
    job = jobs.wait(first, PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "parameter")
    assert "k must be" in str(job.error)
    job = jobs.wait(second, PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "input")
    with pytest.raises(ParameterError, match="kind"):
        jobs.start("nothing", {})
    with pytest.raises(ParameterError, match="belong to this workbench"):
        jobs.get("../../etc/passwd")


def test_bad_file_is_named_without_the_rooms_path(jobs, workspace):
    path = workspace.receive("people.parquet")
    path.write_bytes(b"SENTINEL" * 1000)
    job = jobs.wait(jobs.start("open", to_open(path)), PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "input")
    assert str(job.error) == "people.parquet: must be an intact Parquet file. Write it again."


def test_a_file_that_changed_since(jobs, workspace, survey):
    opened, schema = survey
    path = workspace.receive("survey.csv")
    path.write_bytes(Path(opened.path).read_bytes())
    copy = replace(opened, path=str(path), stamp=stamp_of(path))
    path.write_bytes(path.read_bytes() + b"\n")
    job = jobs.wait(jobs.start("release", to_release(copy, schema, MONDRIAN)), PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "input")
    assert str(job.error) == "survey.csv: has changed since it was opened. Open it again."


def test_a_stopped_job_leaves_no_note_of_a_fault(children, survey):
    """A library that is stopped in the middle may take it for a fault; the note could quote cells."""
    new = children.start("release", to_release(*survey, MONDRIAN))
    (children.get(new).folder / "fault.txt").write_text("SENTINEL")
    children.cancel(new)
    end = time.monotonic() + PATIENCE
    while new in children._children:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert children.get(new).state == "cancelled"
    assert left_in(children.get(new).folder) <= {"job.json", "request.json"}


@pytest.mark.parametrize("moment", ["queued", "starting", "measuring risk"])
def test_cancel_at_any_moment(children, survey, moment):
    words = to_release(*survey, MONDRIAN)
    others = [children.start("release", words) for _ in range(2 if moment == "queued" else 0)]
    new = children.start("release", words)
    end = time.monotonic() + PATIENCE
    while moment not in (children.get(new).step, children.get(new).state) and not children.get(new).is_over:
        assert time.monotonic() < end
        time.sleep(0.002)
    child = children._children.get(new)
    tabs = [threading.Thread(target=children.cancel, args=(new,)) for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    job = children.get(new)
    if child is not None:
        child.wait()
    end = time.monotonic() + PATIENCE
    while new in children._children:
        assert time.monotonic() < end
        time.sleep(0.01)
    with children._lock:
        pass  # the sweeping behind it is done
    if job.state == "cancelled":
        assert left_in(job.folder) <= {"job.json", "request.json"}
        assert read_job(job.folder).state == children.get(new).state == "cancelled"
        assert job.result is None
    else:  # it was quicker than the test: then it is whole
        assert job.state == "done"
        assert verify(job.folder / "release").holds
    assert children.cancel(new).state == job.state
    for other in others:
        children.remove(other)
        with pytest.raises(ParameterError, match="removed"):
            children.get(other)


def test_a_child_that_is_killed_becomes_a_failed_job(children, survey):
    new = children.start("release", to_release(*survey, MONDRIAN))
    os.kill(children._children[new].pid, signal.SIGKILL)
    job = children.wait(new, PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "internal")
    assert "by signal 9" in job.error.message
    assert "Memory" in job.error.message
    assert left_in(job.folder) <= {"job.json", "request.json"}


@pytest.mark.parametrize(
    ("kind", "size"), [("release", 4096), ("open", 4096), ("open", 16)], ids=["table", "result", "record"]
)
def test_a_full_disk_says_so_and_leaves_nothing(children, survey, kind, size):
    new = children.start(kind, to_open(survey[0].path) if kind == "open" else to_release(*survey, MONDRIAN))
    limit_files(children._children[new], size)
    job = children.wait(new, PATIENCE)
    assert job.state == "failed"
    assert job.error.message.startswith("the disk is full: free space under ")
    assert left_in(job.folder) <= {"job.json", "request.json"}


def test_a_disk_that_is_full_already_takes_no_job(jobs, workspace, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    before, known = left_in(workspace.jobs), jobs.all()
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(FileError, match="disk: is full. Free space under"):
        jobs.start("open", to_open("/nowhere.csv"))
    assert (left_in(workspace.jobs), jobs.all()) == (before, known)


def test_an_unexpected_fault_tells_its_type_only(jobs, survey):
    opened, schema = survey
    words = to_release(opened, schema, MONDRIAN)
    del words["opened"]["stamp"]
    job = jobs.wait(jobs.start("release", words), PATIENCE)
    assert (job.state, job.error.kind) == ("failed", "internal")
    assert job.error.message.startswith("internal fault: TypeError.")
    assert "Traceback" in (job.folder / "fault.txt").read_text()


def test_a_reload_finds_the_job_and_remove_forgets_it(jobs, released):
    assert jobs.get(released.id) == released
    assert released.id in [job.id for job in jobs.all()]
    new = jobs.start("open", to_open("/nowhere.csv"))
    folder = jobs.wait(new, PATIENCE).folder
    jobs.remove(new)
    assert not folder.exists()


def test_comparison_goes_on_where_it_was(jobs, survey, workspace):
    words = to_compare(*survey, [MONDRIAN], seed=workspace.seed, workers=1)
    job = jobs.wait(jobs.start("compare", words), PATIENCE)
    assert job.state == "done", job.error
    assert [one["state"] for one in job.result["outcomes"]] == ["done"]
    assert "mondrian" in job.result["recommendation"]
    assert (job.folder / "comparison" / "comparison.html").is_file()
    assert left_in(job.folder) == {"job.json", "request.json", "result.json", "comparison"}
    before = {path: path.stat().st_mtime_ns for path in workspace.compared.rglob("*") if path.is_file()}
    assert before
    again = jobs.wait(jobs.start("compare", words), PATIENCE)
    assert again.result["outcomes"] == job.result["outcomes"]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_job_that_waits_a_while_can_be_taken_back(jobs, survey):
    later = jobs.start("look", to_look(*survey), after=600.0)
    assert jobs.get(later).state == "queued"
    assert jobs.cancel(later).state == "cancelled"
    jobs._line_up(later)  # its time has come: nothing happens
    assert jobs.get(later).state == "cancelled"
    soon = jobs.wait(jobs.start("look", to_look(*survey), after=0.01), PATIENCE)
    assert soon.state == "done"


def test_closing_stops_everything(tmp_path):
    workspace = Workspace.create(tmp_path)
    jobs = Jobs(workspace, spawn=lambda: Child.spawn([sys.executable, "-c", "import time; time.sleep(600)"]))
    (ready,) = jobs._spares
    ids = [jobs.start("release", {"schema": {}}) for _ in range(4)]
    states = [jobs.get(one).state for one in ids]
    assert states.count("queued") == 2
    assert jobs._children[ids[0]] is ready
    opens = jobs.start("open", to_open("/nowhere.csv"))
    assert jobs.get(opens).state != "queued"  # a lane of its own
    children = [*jobs._children.values(), *jobs._spares]
    workspace.close()
    assert not any(child.is_alive for child in children)
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_has_looked_is_used_again(tmp_path, survey):
    opened, schema = survey
    with Workspace.create(tmp_path) as workspace:
        jobs = Jobs(workspace)
        (first,) = jobs._spares
        done = [jobs.wait(jobs.start("look", to_look(opened, schema)), PATIENCE) for _ in range(2)]
        assert [(job.state, job.result["records"]) for job in done] == [("done", 300)] * 2
        assert jobs._spares == [first]
        stopped = jobs.start("look", to_look(opened, schema))
        jobs.remove(stopped)
        first.wait()
        assert jobs.wait(jobs.start("look", to_look(opened, schema)), PATIENCE).state == "done"
    assert not first.is_alive


def test_children_end_with_the_workbench(tmp_path, survey):
    large = tmp_path / "large.csv"
    large.write_text("age,sex\n" + "30,f\n" * 3_000_000)
    command = [sys.executable, "-c", ORPHAN, str(tmp_path), str(large)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        child = int(process.stdout.readline())
        assert is_running(child)
        process.kill()
        process.wait()
        end = time.monotonic() + PATIENCE
        while is_running(child):
            assert time.monotonic() < end
            time.sleep(0.05)
    finally:
        process.kill()
        process.stdout.close()
    Workspace.create(tmp_path).close()
    assert left_in(tmp_path) == {"large.csv"}


def test_child_without_a_job_ends_quietly():
    child = spawn_child()
    child._process.stdin.close()
    assert child.wait() == 0
    child.close()


def test_a_job_that_counts_its_parts_never_falls_behind_them(tmp_path):
    """Each recipe of a comparison that ends is a step that no forecast knows."""
    progress = Progress(Job(id="0001-ab", kind="compare", folder=tmp_path, state="running"))
    progress("reading")
    progress("comparing")
    for n in range(1, 5):
        progress.heard(n / 4)
        progress(f"{n} of 4 recipes: mdav")
        assert read_job(tmp_path).step_share == n / 4


class Endless(Here):
    """A child whose count never comes: `shoal.processes.Child.reply` kills it at the limit, and says so."""

    def tell(self, folder):
        pass

    def reply(self, limit):
        self._ended.set()
        return None, True


def test_a_count_that_takes_too_long_is_ended_and_can_be_begun_again(tmp_path, survey):
    opened, schema = survey
    with Workspace.create(tmp_path) as workspace:
        made = Jobs(workspace, warm=False, spawn=Endless)
        job = made.wait(made.start("look", to_look(opened, schema)), PATIENCE)
        assert job.state == "failed"
        assert "counting took longer than" in str(job.error)
        assert "Memory" not in str(job.error)
