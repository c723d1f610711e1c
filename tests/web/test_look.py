"""How exposed a table is by the roles as they stand: counted by a child, against a count by hand."""

import polars as pl
import pytest

from shoal.web.inspect import Opened
from shoal.web.job import to_look, to_open


def looked(jobs, file, columns, **cells):
    pl.DataFrame(cells).write_csv(file)
    opened = Opened.from_dict(jobs.wait(jobs.start("open", to_open(file))).result)
    return jobs.wait(jobs.start("look", to_look(opened, {"columns": columns})))


def test_who_is_alone(jobs, tmp_path):
    columns = {"age": {"role": "quasi"}, "sex": {"role": "quasi"}, "cost": {"role": "sensitive"}}
    ages, sexes = [30, 30, 30, 41, 52, 52], ["f", "f", "m", "m", "f", "f"]
    job = looked(jobs, tmp_path / "people.csv", columns, age=ages, sex=sexes, cost=range(6))
    assert job.state == "done"
    found = job.result
    assert (found["records"], found["n_alone"], found["alone"], found["smallest"]) == (6, 2, 2 / 6, 1)
    assert found["quasi"] == ["age", "sex"]
    assert found["problems"] == []
    assert dict(map(tuple, found["sizes"]))["alone"] == 2 / 6
    assert sum(share for _, share in found["sizes"]) == pytest.approx(1)
    assert sum(found["contribution"].values()) == pytest.approx(1)
    assert found["freed"] == {"age": 2, "sex": 1}  # without age both men are two, without sex 41 is still alone
    assert found["changes"][0]["n_freed"] > 0


def test_all_that_does_not_fit_is_said_at_once_column_by_column(jobs, tmp_path):
    columns = {
        "age": {"role": "quasi", "kind": "numeric"},
        "sex": {"role": "quasi", "levels": ["f"]},
        "cost": {"role": "quasi", "kind": "numeric"},
    }
    ages, sexes, costs = [30, None, 30, 41], ["f", "f", "m", "m"], [1, None, None, 4]
    job = looked(jobs, tmp_path / "people.csv", columns, age=ages, sex=sexes, cost=costs)
    assert job.state == "done"
    assert sorted(one["column"] for one in job.result["problems"]) == ["age", "cost", "sex"]
    said = {one["column"]: one["got"] for one in job.result["problems"]}
    assert (said["age"], said["cost"]) == ("1 missing", "2 missing")


def test_without_a_quasi_identifier_nothing_is_counted(jobs, tmp_path):
    job = looked(jobs, tmp_path / "people.csv", {"age": {"role": "other"}}, age=[1, 2])
    assert job.state == "done"
    assert "alone" not in job.result
