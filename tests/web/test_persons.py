"""Who is a person, in the workbench: the question stands beside the column, with a press that answers it."""

import polars as pl

from shoal.web.inspect import open_file
from shoal.web.pages.column_grid import Grid


def drawn(opened, words):
    grid = Grid(session="s", table="", opened=opened, found={}, words=words, entry={}, query={}, typed={}, wrong={})
    return str(grid.draw())


def test_a_hospitals_number_is_asked_about_and_the_answer_is_one_press(tmp_path):
    path = tmp_path / "d.csv"
    pl.DataFrame({"hospitalid": [f"H{i % 150}" for i in range(600)], "sex": ["f", "m", "m"] * 200}).write_csv(path)
    opened = open_file(path)
    words = dict(opened.proposal["schema"]["columns"])
    assert words["hospitalid"]["role"] == "quasi"
    page = drawn(opened, words)
    assert "Does one value of hospitalid stand for one person?" in page
    assert "Yes, it is the unit" in page
    answered = {**words, "hospitalid": {"role": "unit"}}
    assert "stand for one person?" not in drawn(opened, answered)
