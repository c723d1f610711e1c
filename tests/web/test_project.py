"""A project as a file: it opens again where it was, holds no cell, and repeats as a script."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

import shoal
from shoal.errors import FileError, ParameterError
from shoal.release.verify import verify
from shoal.web.access import Access
from shoal.web.controller import Controller
from shoal.web.handover import sign_release, write_release
from shoal.web.jobs import Jobs
from shoal.web.pages.session_page import state_line
from shoal.web.project import Recent, read_project, script_of
from shoal.web.workspace import Workspace

PATIENCE = 120


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def file(home):
    table = shoal.datasets.health_survey(300, seed=2)
    path = home / "people.csv"
    table.with_columns(pl.Series("name", [f"SENTINEL-{i}" for i in range(len(table))])).write_csv(path)
    return path


@pytest.fixture
def begin(home):
    """Starts a workbench; all it holds is gone when the test is over."""
    workspaces = []

    def make():
        workspace = Workspace.create(home)
        workspaces.append(workspace)
        jobs = Jobs(workspace, warm=False, spawn=Here)
        return Controller(
            workspace=workspace, jobs=jobs, access=Access.of("127.0.0.1"), recent=Recent(home / "recent.json")
        )

    yield make
    for workspace in workspaces:
        workspace.close()


def opened(controller, session):
    controller.jobs.wait(session.notes["opening"], PATIENCE)
    assert controller.opened(session.id).stage == "full"
    return session.id


@pytest.fixture
def worked(begin, file, home):
    """A project with a change, a finished, signed and written release."""
    controller = begin()
    session = opened(controller, controller.open(file))
    place = controller.save_project(session, str(home / "work"))
    controller.change_column(session, "income", {"role": "other"})
    controller.choose_goal(session, "familiar")
    job = controller.jobs.wait(controller.run(session), PATIENCE)
    assert job.state == "done", job.error
    return controller, session, place, job


def test_a_project_opens_again_after_a_stop(worked, begin, home):
    controller, session, place, job = worked
    now = controller.session(session).now
    assert not controller.is_outdated(session, job)
    controller.change_column(session, "income", {"role": "sensitive"})
    assert controller.is_outdated(session, job)
    controller.undo(session)
    assert not controller.is_outdated(session, job)
    assert "not written" in state_line(controller, session, controller.opened(session))
    write_release(controller, session, job, str(home / "again"))
    controller.close()
    again = begin()
    assert again.recent.all()[0] == place
    other = opened(again, again.open_by_path(str(place)))
    assert again.session(other).now == now
    assert again.schema(other)["income"].role == "other"
    assert again.saved(other) == (str(place), True)
    assert f"written to {home / 'again'}" in state_line(again, other, again.opened(other))
    again.undo(other)
    assert again.goal(other).name == "distribution"
    assert again.session(other).log[0].what == "opened people.csv"


def test_a_project_holds_manifests_and_no_cell(worked):
    controller, session, place, _ = worked
    controller.save_project(session)
    text = place.read_text()
    assert "SENTINEL" not in text
    [result] = json.loads(text)["results"]
    assert result["manifest"]["claims"]
    assert result["lost"]["came"] == 300
    assert place.stat().st_mode & 0o077 == 0
    assert controller.saved(session) == (str(place), True)


def test_a_project_whose_file_is_gone_says_so(worked, begin, file, tmp_path):
    _, _, place, _ = worked
    words = json.loads(place.read_text())
    words["notes"]["path"] = str(tmp_path / "elsewhere.csv")
    moved = tmp_path / "moved.shoal"
    moved.write_text(json.dumps(words))
    with pytest.raises(FileError, match="must be there"):
        begin().open_by_path(str(moved))
    (tmp_path / words["notes"]["name"]).write_bytes(file.read_bytes())  # beside the project, where its place is lost
    controller = begin()
    session = controller.open_by_path(str(moved))
    controller.jobs.wait(session.notes["opening"], 60)
    assert controller.opened(session.id).path == str(tmp_path / words["notes"]["name"])


def test_no_name_of_a_column_becomes_a_command_of_the_script(begin, tmp_path):
    file = tmp_path / "odd.csv"
    pl.DataFrame({"age\ntouch owned\n": [1, 2, 3] * 20, "sex": ["f", "m"] * 30}).write_csv(file)
    controller = begin()
    session = opened(controller, controller.open(file))
    name = next(name for name in controller.session(session).schema["columns"] if "owned" in name)
    controller.change_column(session, name, {"role": "other"})
    script = script_of(controller.session(session))
    assert "touch owned" in script
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "owned").exists()


def test_a_project_leads_to_no_file_that_may_not_be_opened(worked, home, tmp_path):
    _, _, place, _ = worked
    with Workspace.create(tmp_path) as workspace:
        access = Access.of("0.0.0.0", data=tmp_path)
        other = Controller(workspace=workspace, jobs=Jobs(workspace, warm=False, spawn=Here), access=access)
        for path in (home / "people.csv", home / "nowhere.csv"):
            words = json.loads(place.read_text())
            words["notes"]["path"] = str(path)
            (tmp_path / "x.shoal").write_text(json.dumps(words))
            with pytest.raises(FileError, match="inside the folder given with --data"):
                other.open_by_path(str(tmp_path / "x.shoal"))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"shoal project": 1}', '{"shoal project": 2}'], ids=str)
def test_what_is_no_project_is_refused(tmp_path, text):
    path = tmp_path / "x.shoal"
    path.write_text(text)
    with pytest.raises(FileError, match="project"):
        read_project(path)


def test_signed_and_written_it_verifies_and_the_script_repeats_it(worked, home, tmp_path):
    controller, session, _, job = worked
    given = {"decision": "May be published.", "by": "R. Roe", "recipient": "ward", "key": str(tmp_path / "p.key")}
    target = write_release(controller, session, job, str(tmp_path / "out"))
    with pytest.raises(ParameterError, match="who decides"):
        sign_release(controller, session, job, {**given, "by": " "})
    assert not (tmp_path / "p.key").exists()
    sign_release(controller, session, job, {**given, "expires": "", "password": ""})
    assert verify(target, signer=tmp_path / "p.pub").exit_code == 0
    assert json.loads((target / "manifest.json").read_text())["decision"]["by"] == "R. Roe"
    assert "R. Roe" in (target / "report.html").read_text()
    notes = controller.session(session).notes
    assert notes["decisions"][job.id]["recipient"] == "ward"
    assert notes["written"] == {job.id: str(target)}

    controller.choose_goal(session, "fixed-bands")
    controller.jobs.wait(controller.run(session), PATIENCE)
    script = tmp_path / "again.sh"
    script.write_text(script_of(controller.session(session)))
    lines = [line for line in script.read_text().splitlines() if line.startswith("shoal ")]
    assert [line.split()[1] for line in lines] == ["coarsen", "sign"]
    assert "# not written: shoal coarsen" in script.read_text()  # tried afterwards, to another folder, and left here
    folder = tmp_path / "again"
    folder.mkdir()
    text = script.read_text().replace("\nshoal ", f"\n{sys.executable} -m shoal ")
    subprocess.run(["sh", "-c", text], cwd=folder, check=True, capture_output=True)
    assert verify(folder / "release", signer=tmp_path / "p.pub").exit_code == 0
