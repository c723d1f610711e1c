"""The whole way: real workers, refusals, resuming, the same result for any number of workers."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import polars as pl
import pytest

import shoal
from shoal.comparison import Comparison, compare, default_recipes, measure, processes
from shoal.comparison.data import Data
from shoal.comparison.worker import answer
from shoal.errors import ColumnError, FileError, InputError, ParameterError, SchemaError
from shoal.recipe.linked import LinkedRecipe
from shoal.release import make
from shoal.rng import repeatable

RECIPES = [
    (shoal.MDAV(k=5), shoal.Centroid()),
    shoal.Mondrian(k=5),
    (shoal.MDAV(k=500), shoal.Centroid()),
    shoal.Suppress(k=5),
    (shoal.MDAV(k=5), shoal.Resample()),
]


def told(result):
    return [{**one, "seconds": None} for one in result.to_dict()["outcomes"]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return tmp_path_factory.mktemp("compare") / "kept"


@pytest.fixture(scope="module")
def interrupted(survey, survey_schema, kept):
    """Stopped as by Ctrl-C after the first recipe."""
    lines = []

    def stop(line):
        lines.append(line)
        raise KeyboardInterrupt

    private = kept.parent / "private"
    private.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(private))
        with pytest.raises(KeyboardInterrupt):
            compare(survey, survey_schema, RECIPES, seed=3, jobs=1, time_limit=900, folder=kept, progress=stop)
    assert list(private.iterdir()) == [], "the table is gone"
    return lines


@pytest.fixture(scope="module")
def resumed(survey, survey_schema, kept, interrupted):
    lines = []
    result = compare(survey, survey_schema, RECIPES, seed=3, jobs=2, time_limit=900, folder=kept, progress=lines.append)
    return result, lines


def test_an_interrupted_run_goes_on(interrupted, resumed):
    _, lines = resumed
    assert len(interrupted) == 1
    assert len(lines) == len(RECIPES)
    first = interrupted[0].removeprefix("1 of 5 recipes: ").removesuffix(" (done)")
    assert lines[0] == f"1 of 5 recipes: {first} (saved earlier)"
    assert sum("saved earlier" in line for line in lines) == 1


def test_outcomes_come_in_order_and_a_refusal_is_a_line(resumed):
    result, _ = resumed
    assert [one.name for one in result.outcomes] == [
        "mdav:k=5, then centroid",
        "mondrian:k=5",
        "mdav:k=500, then centroid",
        "suppress:k=5",
        "mdav:k=5, then resample",
    ]
    assert [one.state for one in result.outcomes] == ["done", "done", "refused", "done", "done"]
    assert "500" in result.outcomes[2].reason
    assert result.outcomes[0].bound == 0.2
    assert result.reference["found"] > 0.5
    assert result.front
    assert "mdav:k=500" not in result.recommendation(0.5).split("keeps most")[0]


def test_a_second_run_runs_nothing(survey, survey_schema, kept, resumed, monkeypatch):

    monkeypatch.setattr(processes, "worker_command", lambda job: ["/no/such/program"])
    again = compare(survey, survey_schema, RECIPES, seed=3, folder=kept)
    assert again == resumed[0]
    fewer = compare(survey, survey_schema, RECIPES[:2], seed=3, folder=kept)
    assert fewer.outcomes == resumed[0].outcomes[:2]
    other = compare(survey.reverse(), survey_schema, RECIPES[:1], seed=3, folder=kept)
    assert other.outcomes[0].state == "failed", "another table is another comparison"
    assert compare(survey, survey_schema, RECIPES[:1], seed=4, folder=kept).outcomes[0].state == "failed"


def test_the_same_seed_gives_the_same_whatever_the_workers(survey, survey_schema, resumed):
    alone = compare(survey.to_pandas(), survey_schema, RECIPES[::-1], seed=3, jobs=1, time_limit=900)
    assert told(alone)[::-1] == told(resumed[0])
    assert alone.reference == resumed[0].reference
    assert type(alone.table()).__module__.startswith("pandas")


def test_it_can_be_written(resumed, tmp_path):
    result, _ = resumed
    result.write(tmp_path / "out")
    assert Comparison.read(tmp_path / "out") == result
    assert "SENTINEL" not in (tmp_path / "out" / "comparison.html").read_text()


def test_what_is_kept_holds_no_cell_and_no_plain_hash(survey, kept, resumed):
    import hashlib
    import io

    content = io.BytesIO()
    survey.write_ipc(content, compression="uncompressed")
    digest = hashlib.sha256(content.getvalue()).hexdigest()
    for path in kept.iterdir():
        assert "SENTINEL" not in path.read_text()
        assert digest not in path.read_text() + path.name


def test_identifiers_do_not_leave_the_process(survey, survey_schema, monkeypatch):
    from shoal.comparison import run

    seen = []

    def look(job, tasks, **_more):
        seen.append((job / "table.arrow").read_bytes() + (job / "schema.json").read_bytes())
        yield from ()

    monkeypatch.setattr(run, "run_tasks", look)
    compare(survey, survey_schema, [shoal.Mondrian(k=5)])
    assert b"SENTINEL" not in seen[0]
    assert b"Alba" in seen[0]


def test_a_missing_seed_is_kept_with_the_folder(survey, survey_schema, tmp_path, monkeypatch):

    monkeypatch.setattr(processes, "worker_command", lambda job: ["/no/such/program"])
    recipe = [shoal.Mondrian(k=5)]
    compare(survey, survey_schema, recipe, folder=tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    compare(survey, survey_schema, recipe, folder=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize(
    "wrong",
    [
        {"jobs": 0},
        {"jobs": True},
        {"jobs": 1.5},
        {"time_limit": 0},
        {"time_limit": float("nan")},
        {"seed": -1},
        {"recipes": []},
    ],
    ids=lambda wrong: f"{next(iter(wrong))}={next(iter(wrong.values()))}",
)
def test_wrong_parameters_are_refused_before_any_work(survey, survey_schema, wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        compare(survey, survey_schema, **{"recipes": [shoal.Mondrian()], **wrong})


def test_a_table_that_does_not_fit_is_one_error(survey, survey_schema, tmp_path):
    with pytest.raises(SchemaError):
        compare(survey.drop("age"), survey_schema, [shoal.Mondrian()])
    with pytest.raises(ColumnError) as found:
        compare(survey.with_columns(age=survey["name"]), survey_schema, [shoal.Mondrian()])
    assert "SENTINEL" not in str(found.value)
    with pytest.raises(InputError):
        compare("people.csv", survey_schema, [shoal.Mondrian()])
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError):
        compare(survey, survey_schema, [shoal.Mondrian()], folder=tmp_path / "file")


def test_a_fault_says_where_and_quotes_nothing(survey, survey_schema, monkeypatch):

    def broken(*_given):
        raise ValueError(survey["name"][0])

    monkeypatch.setattr(measure, "release_of", broken)
    words = {"recipe": {"coarsen": [{"method": "mondrian", "k": 5}]}, "seed": 1, "measure": 1}
    found = answer(Data(tables={"table": survey}, schema=survey_schema), words)
    assert found["state"] == "failed"
    assert "ValueError in broken" in found["reason"]
    assert "SENTINEL" not in json.dumps(found)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_killed_parent_leaves_neither_workers_nor_the_table(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(
            """
            import shoal
            from shoal.comparison import compare
            table, schema = shoal.datasets.health_survey(300, seed=1), shoal.datasets.health_survey_schema()
            compare(table, schema, [shoal.Mondrian(k=5)], jobs=1, progress=lambda line: print(line, flush=True))
            """
        )
    )
    home = tmp_path / "tmp"
    home.mkdir()
    environment = {**os.environ, "TMPDIR": str(home), "PYTHONPATH": str(Path(shoal.__file__).parent.parent)}
    parent = subprocess.Popen([sys.executable, str(script)], env=environment)
    try:
        _wait(lambda: list(home.glob("shoal-*/schema.json")))
        _wait(lambda: _workers(home))
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    _wait(lambda: not _workers(home) and not list(home.glob("shoal-*/table.arrow")))


def _workers(home):
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    return [line for line in lines if str(home).encode() in line and b"shoal.comparison.worker" in line]


def _readable(path):
    try:
        path.read_bytes()
    except OSError:
        return False
    return True


def _wait(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came")


def test_linked_tables_are_compared_by_their_persons():
    tables, schema = shoal.datasets.clinic(80, seed=3), shoal.datasets.clinic_schema()
    known = default_recipes(schema, tables)
    assert {type(recipe) for recipe in known} == {LinkedRecipe}
    few = [recipe for recipe in known if recipe.title.startswith(("mdav:k=5, then centroid", "mondrian:k=5"))]
    found = compare(tables, schema, few, seed=1, jobs=1)
    assert [one.state for one in found.outcomes] == ["done", "done"]
    assert found.n_records == 80
    assert found.reference["second_sample"] > 0
    with repeatable(3):
        made = make(tables, schema, few[0], seed=3)
    assert found.outcomes[0].risks["one_event"] == pytest.approx(made.linked.joint.share_below("1"), abs=0.1)
    assert all(0 < one.risks["found"] < 0.5 for one in found.outcomes)
    again = Comparison.from_dict(json.loads(json.dumps(found.to_dict())))
    assert [one.recipe for one in again.outcomes] == few


def test_identifiers_of_linked_tables_stay_too(tmp_path):
    tables, schema = shoal.datasets.clinic(30, seed=3), shoal.datasets.clinic_schema()
    words = schema.to_dict()
    words["tables"]["patients"]["columns"]["called"] = {"role": "identifier"}
    tables["patients"] = tables["patients"].with_columns(called=pl.lit("SENTINEL"))
    data = Data.of(tables, shoal.LinkedSchema.from_dict(words), [])
    data.write(tmp_path)
    assert not any(b"SENTINEL" in file.read_bytes() for file in tmp_path.iterdir())
    assert Data.read(tmp_path).schema == data.schema
