"""How exposed a table is by the roles as they stand: counted by a child, against a count by hand."""

import polars as pl

from shoal.web.inspect import Opened
from shoal.web.job_request import to_look, to_open


def looked(jobs, file, columns, **cells):
    pl.DataFrame(cells).write_csv(file)
    opened = Opened.from_dict(jobs.wait(jobs.start("open", to_open(file))).result)
    return jobs.wait(jobs.start("look", to_look(opened, {"columns": columns})))


def test_who_is_alone(jobs, tmp_path):
    columns = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}, "cost": {"role": "sensitive"}}
    ages, sexes = [30, 30, 30, 41, 52, 52], ["f", "f", "m", "m", "f", "f"]
    job = looked(jobs, tmp_path / "people.csv", columns, age=ages, sex=sexes, cost=range(6))
    assert job.state == "done"
    assert job.result == {"records": 6, "alone": 2 / 6, "smallest": 1, "quasi": ["age", "sex"]}


def test_a_missing_number_is_said_before_anything_runs(jobs, tmp_path):
    columns = {"age": {"role": "quasi", "kind": "numeric"}, "sex": {"role": "quasi"}}
    job = looked(jobs, tmp_path / "people.csv", columns, age=[30, None, 30, 41], sex=["f", "f", "m", "m"])
    assert job.state == "failed"
    assert job.result is None
    assert "'age'" in str(job.error)
