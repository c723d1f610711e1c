"""One workspace with its jobs for all tests of a file; children of their own only where children are what is tested."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_here import Here

from shoal.web.inspect import Opened
from shoal.web.job import to_open
from shoal.web.jobs import Jobs
from shoal.web.workspace import Workspace

PATIENCE = 120


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    with Workspace.create(tmp_path_factory.mktemp("workspace")) as made:
        yield made


@pytest.fixture(scope="session")
def jobs(workspace):
    """Jobs that are done in this process."""
    made = Jobs(workspace, warm=False, spawn=Here)
    yield made
    made.close()


@pytest.fixture(scope="session")
def children(workspace):
    """Jobs that are done by children."""
    made = Jobs(workspace, warm=False)
    yield made
    made.close()


@pytest.fixture(scope="session")
def survey(workspace, jobs):
    """A small file, opened, and the words of its schema."""
    from shoal.datasets import health_survey, health_survey_schema

    path = workspace.receive("survey.csv")
    health_survey(300, seed=1).write_csv(path)
    job = jobs.wait(jobs.start("open", to_open(path)), PATIENCE)
    assert job.state == "done", job.error
    return Opened.from_dict(job.result), health_survey_schema().to_dict()


@pytest.fixture(scope="session")
def released(jobs, survey):
    """A finished release."""
    from shoal import Mondrian
    from shoal.recipe import Coarsening
    from shoal.web.job import to_release

    words = to_release(*survey, Coarsening.of(Mondrian(k=5)).to_dict())
    job = jobs.wait(jobs.start("release", words), PATIENCE)
    assert job.state == "done", job.error
    return job
