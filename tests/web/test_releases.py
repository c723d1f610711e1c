"""The list of releases: those of the user's register, and those that the account of an open file holds."""

from pathlib import Path

import polars as pl
import pytest
from workbench_here import Here

from shoal.errors import ParameterError
from shoal.web.access import Access
from shoal.web.controller import Controller
from shoal.web.handover import write_release
from shoal.web.jobs import Jobs
from shoal.web.releases import left_before, withdraw
from shoal.web.workspace import Workspace

PATIENCE = 120
SYNTHETIC = {"synthesize": {"method": "marginal-bootstrap", "epsilon": "0.5", "rows": "40"}}


def test_a_synthetic_release_is_listed_like_the_others(tmp_path):
    """It is charged to the account of its file and entered in the ledger of the account."""
    file = tmp_path / "people.csv"
    pl.DataFrame({"sex": ["f", "m"] * 150}).write_csv(file)
    with Workspace.create(tmp_path) as workspace:
        jobs = Jobs(workspace, warm=False, spawn=Here)
        controller = Controller(workspace=workspace, jobs=jobs, access=Access.of("127.0.0.1"))
        session = controller.open(file).id
        jobs.wait(controller.session(session).notes["opening"], PATIENCE)
        controller.opened(session)
        controller.change_column(session, "sex", {"role": "quasi", "levels": ["f", "m"]})
        controller.change_recipe(session, SYNTHETIC)
        job = jobs.wait(controller.run(session), PATIENCE)
        assert job.state == "done", job.error
        assert left_before(controller.files()) == ()  # it hasn't left yet
        write_release(controller, session, job, str(tmp_path / "out"))
        (left,) = left_before(controller.files())
        assert (left.data, left.rows, left.withdrawn) == ("people.csv", 40, "")
        assert left_before() == ()  # nobody knows of a ledger beside a file that isn't open
        with pytest.raises(ParameterError, match="in the register"):
            withdraw(left.release, "it never left")
        withdraw(left.release, "it never left", controller.files())
        assert left_before(controller.files())[0].withdrawn == "it never left"
        assert controller.files() == (Path(file),)
