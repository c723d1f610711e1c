"""A run that the gate refuses is settled column by column: dropped or allowed, undone, exported, and run again."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

from shoal.errors import IdentifierError
from shoal.web.access import Access
from shoal.web.controller import Controller
from shoal.web.error_text import Failure, explain
from shoal.web.jobs import Jobs
from shoal.web.pages.method import MethodPage
from shoal.web.pages.page import Act
from shoal.web.pages.result import ResultPage
from shoal.web.project import script_of
from shoal.web.workspace import Workspace

PATIENCE = 120
N = 300


@pytest.fixture(scope="module")
def controller(tmp_path_factory):
    with Workspace.create(tmp_path_factory.mktemp("gate")) as workspace:
        yield Controller(
            workspace=workspace, jobs=Jobs(workspace, warm=False, spawn=Here), access=Access.of("127.0.0.1")
        )


@pytest.fixture
def session(controller, tmp_path):
    """A file with record numbers and texts, as somebody has described it by hand."""
    people = pl.DataFrame(
        {
            "age": [20 + i * 7 % 60 for i in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "chart": [f"C{i:03d}" for i in range(N)],
            "mail": [f"p{i}@clinic.org" for i in range(N)],
        }
    )
    people.write_csv(tmp_path / "people.csv")
    made = controller.open(tmp_path / "people.csv")
    controller.jobs.wait(made.notes["opening"], PATIENCE)
    assert controller.opened(made.id).stage == "full"
    roles = {"age": "quasi", "sex": "quasi", "chart": "sensitive", "mail": "other"}
    controller.change_columns(made.id, {name: {"role": role} for name, role in roles.items()}, "roles")
    controller.choose_goal(made.id, "familiar")
    yield made.id
    controller.forget(made.id)


def ran(controller, session):
    return controller.jobs.wait(controller.run(session), PATIENCE)


def manifest(made):
    return json.loads((made.folder / "release" / "manifest.json").read_text())


def test_a_refusal_travels_with_its_reasons():
    error = IdentifierError("release", "must not", columns={"chart": "identifier: a run of numbers"})
    failure = explain(error)
    assert failure.naming == (("chart", "identifier: a run of numbers"),)
    assert Failure.from_dict(json.loads(json.dumps(failure.to_dict()))) == failure


def test_each_column_is_dropped_or_allowed_and_the_run_goes_on(controller, session):
    refused = ran(controller, session)
    assert {name for name, _ in refused.error.naming} == {"chart", "mail"}
    page = ResultPage(controller, session, job=refused.id)
    drawn = str(page.parts()["body"])
    assert "I have looked: release it" in drawn
    assert dict(refused.error.naming)["chart"].split(":")[0] in drawn
    assert "disabled" in drawn

    page.act(Act(do="drop", of="mail"))
    page.act(Act(do="allow", of="chart"))
    assert controller.schema(session)["mail"].role == "identifier"
    assert controller.allowed(session) == ("chart",)
    assert "disabled" not in str(ResultPage(controller, session, job=refused.id).parts()["body"])

    page.act(Act(do="run"))
    made = controller.jobs.wait(page.go.rpartition("/")[2], PATIENCE)
    assert made.state == "done", made.error
    words = manifest(made)
    assert words["allowed"] == ["chart"]
    assert "mail" not in words["columns"]
    assert "--allow chart" in script_of(controller.session(session))
    assert not controller.is_outdated(session, made)

    controller.hold_back(session, "chart")
    assert controller.is_outdated(session, made)


def test_what_was_settled_is_undone_step_by_step(controller, session):
    controller.drop(session, "mail")
    controller.allow(session, "chart")
    assert "--allow chart" in controller.command(session)
    controller.undo(session)
    assert controller.allowed(session) == ()
    assert "--allow" not in controller.command(session)
    controller.undo(session)
    assert controller.schema(session)["mail"].role == "other"


def test_the_method_page_lists_what_is_allowed_and_holds_it_back(controller, session):
    controller.allow(session, "chart")
    page = MethodPage(controller, session)
    assert "Hold it back" in str(page.parts()["body"])
    page.act(Act(do="hold-back", of="chart"))
    assert controller.allowed(session) == ()


@pytest.mark.parametrize("beside", ["chain", "masks"])
def test_steps_of_a_preset_let_stand_what_was_allowed(controller, session, beside):
    controller.choose_goal(session, "safe-harbor")
    if beside == "masks":
        controller.change_recipe(session, {"group": {"method": "mdav"}, "mask": [{"method": "centroid"}]})
        controller.change_column(session, "sex", {"role": "other"})
    controller.drop(session, "mail")
    controller.allow(session, "chart")
    made = ran(controller, session)
    assert made.state == "done", made.error
    assert controller.command(session).count("--allow chart") == 1
    assert manifest(made)["allowed"] == ["chart"]


def test_columns_of_linked_tables_are_settled_in_their_table(controller, tmp_path):
    folder = tmp_path / "clinic"
    folder.mkdir()
    n = 60
    persons = {"pid": range(n), "age": [20 + i % 40 for i in range(n)]}
    pl.DataFrame(persons).write_csv(folder / "persons.csv")
    visits = {"pid": range(n), "code": ["a", "b"] * (n // 2), "mail": [f"p{i}@clinic.org" for i in range(n)]}
    pl.DataFrame(visits).write_csv(folder / "visits.csv")
    made = controller.open(folder)
    controller.jobs.wait(made.notes["opening"], PATIENCE)
    assert controller.opened(made.id).stage == "full"
    assert controller.place_of(made.id, "visits.mail") == ("visits", "mail")
    assert controller.place_of(made.id, "age") == ("persons", "age")
    controller.change_column(made.id, "mail", {"role": "other"}, table="visits")
    refused = ran(controller, made.id)
    assert [name for name, _ in refused.error.naming] == ["visits.mail"]
    controller.allow(made.id, "visits.mail")
    assert "--allow visits.mail" in controller.command(made.id)
    controller.drop(made.id, "visits.mail")
    assert controller.session(made.id).columns("visits")["mail"]["role"] == "identifier"
    controller.forget(made.id)
