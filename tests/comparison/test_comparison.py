"""What a comparison says, shows and writes."""

import json
import re
from html.parser import HTMLParser

import polars as pl
import pytest

import shoal
from shoal.comparison import Comparison, page
from shoal.comparison.page import FILES
from shoal.errors import FileError, ParameterError
from shoal.files import atomic


def test_the_advice_names_the_best_within_the_limit(comparison):
    said = comparison.recommendation(0.05)
    assert said.startswith(
        "For a re-identification of at most 5%, mdav:k=10, then shuffle preserves most: 93% of the two-way "
        "distributions, with 4.5% of the records found."
    )
    assert "Nothing is proved about every person: the risk is only measured." in said
    assert "Of the recipes with a proof, mdav:k=10, then centroid (90% at 4%) preserves most." in said
    assert "blind masks, mdav:k=10, then centroid (90% at 4%); synthesis, pegs:epsilon=1 (85% at 1%)" in said
    assert "2 recipes of 7 were not measured" in said
    assert "without a seed" in said
    assert "secure environment" in said
    assert "25% of the errors of a guess" in said


def test_a_proved_choice_tells_its_bound(comparison):
    said = comparison.recommendation(0.04)
    assert "mdav:k=10, then centroid preserves most" in said
    assert "probability of at most 10%" in said
    assert "All rows cost ε = 1." in comparison.recommendation(0.02)
    assert "1% of the records counted as found" in comparison.recommendation(0.02)


def test_a_regression_is_told(make):
    from dataclasses import replace

    one = make(shoal.Mondrian(), 0.01, 0.9)
    one = replace(one, utilities={**one.utilities, "r_squared": 0.125, "r_squared_original": 0.25})
    assert "R² = 0.125 if fitted to the release and 0.25" in Comparison(outcomes=(one,)).recommendation()
    useless = replace(one, utilities={**one.utilities, "r_squared_original": -30.0})
    said = Comparison(outcomes=(useless,)).recommendation()
    assert "R²" not in said
    assert "no better than the mean" in said


def test_copies_of_unique_rows_are_told(make):
    said = Comparison(outcomes=(make(shoal.Mondrian(), 0.01, 0.9, copied_uniques=0.97),)).recommendation()
    assert "97% of its rows show a combination" in said


def test_nothing_within_the_limit(comparison):
    said = comparison.recommendation(0.001)
    assert said.startswith("None of the 5 recipes measured brings re-identification to 0.1% or less. pegs:epsilon=1")
    assert comparison.best(0.001) is None


def test_ties_are_told(make):
    two = Comparison(
        outcomes=(
            make(shoal.Mondrian(k=9), 0.03, 0.9),
            make(shoal.Mondrian(k=8), 0.04, 0.9),
            make(shoal.PeGS(), 0, 0.5),
        )
    )
    said = two.recommendation(0.05)
    assert "mondrian:k=9 preserves most" in said
    assert "About as much is preserved by mondrian:k=8 (90% at 4%)" in said


def test_nothing_could_be_run(make):
    none = Comparison(outcomes=(make(shoal.Mondrian(), state="failed", reason="x"),))
    assert none.recommendation().startswith("No recipe could be completed")
    assert none.front == ()
    assert "nothing to draw" in page_of(none)


def page_of(comparison, limit=0.05):
    from shoal.comparison.page import render

    return render(comparison, limit)


@pytest.mark.parametrize("limit", [-0.1, 1.1, float("nan"), True, "5%"], ids=["low", "high", "nan", "bool", "text"])
def test_a_limit_is_a_share(comparison, limit):
    with pytest.raises(ParameterError, match="limit"):
        comparison.recommendation(limit)


@pytest.mark.parametrize("limit", [0.001, 0.02, 0.05])
def test_no_word_promises_too_much(comparison, limit):
    text = (page_of(comparison, limit) + comparison.recommendation(limit)).lower()
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"\b(safe|safely|compliant|compliance|anonymous|certified|guaranteed)\b", text)


def test_the_table_has_one_row_for_each_recipe(comparison):
    table = comparison.table()
    assert table["name"].to_list() == [one.name for one in comparison.outcomes]
    assert table["front"].to_list() == [True, True, True, False, True, False, False]
    assert table["found"].null_count() == 2
    assert table["k"].to_list() == [5, 10, 10, 5, None, 5, 5]


def test_the_table_is_of_the_kind_that_came_in(comparison, make_frame):
    from dataclasses import replace

    from shoal.synth.domain import backend_of

    like = make_frame(pl.DataFrame({"a": [1]}))
    assert type(replace(comparison, backend=backend_of(like)).table()) is type(like)


def test_words_round_trip(comparison):
    words = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert Comparison.from_dict(words) == comparison
    assert [one["on_front"] for one in words["outcomes"]] == comparison.table()["front"].to_list()
    assert words["outcomes"][0]["risk"] == 0.12
    assert words["outcomes"][-1]["utility"] is None


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.text, self.images = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [value for key, value in attrs if key in ("href", "src")]
        self.images += [given.get("aria-label")] if tag == "svg" else []

    def handle_data(self, data):
        self.text += data


def test_the_page_holds_everything_and_fetches_nothing(comparison):
    text = page_of(comparison)
    page = Page(text)
    for one in comparison.outcomes:
        assert one.name in page.text
    assert "<b>no class" not in text
    assert "<b>no class</b> column" in page.text
    assert "It took longer than 1 s" in page.text
    assert all(link.startswith("#") for link in page.links)
    assert len(set(page.ids)) == len(page.ids)
    assert len(page.images) == 2
    assert all(page.images)
    assert "must not leave the secure environment" in page.text
    assert "≤ 20%" in page.text
    assert "ε = 1" in page.text
    assert "5. pegs:epsilon=1: 1% found, 85% preserved" in page.text, "a mark says what it is"
    assert "SENTINEL" not in text


def test_every_figure_has_its_reading(comparison, page_of_rows):
    """Before, chance, limit and people stand in the table, and the verdict follows from them."""
    done = [one for one in comparison.outcomes if one.is_done]
    for one in done:
        found, guessed, kept = comparison.readings(one, 0.05)
        assert found.limit == 0.05
        assert found.chance == 1 / comparison.n_records
        assert found.verdict == ("good" if one.risk <= 0.05 else "bad")
        assert found.before == (None if one.is_counted else 0.9)
        assert (guessed.before, guessed.chance) == (0.97, 0.0)
        assert (kept.chance, kept.better) == (0.98, "higher")
        row = page_of_rows(one.name)
        assert f"risk {found.verdict} utility {kept.verdict}" in row
        assert f"{found.people:,}" in row
    assert "90%" in page_of_rows("Published unchanged")
    assert "98%" in page_of_rows("By chance")
    assert "5%" in page_of_rows("Limit")


@pytest.fixture
def page_of_rows(comparison):
    """The text of the row of the table of recipes that holds a name."""
    text = page_of(comparison)
    rows = [Page(row).text for row in text.partition("Risk and utility of each recipe")[2].split("<tr>")[1:]]
    return lambda name: next(row for row in rows if name in row)


def test_the_map_is_a_picture(comparison):
    assert comparison.plot.startswith("<svg")
    shown = comparison._repr_html_()
    assert shown.startswith(comparison.plot)
    assert all(f">{one.name}</td>" in shown for one in comparison.outcomes)


def test_one_point_makes_a_map(make):
    assert Comparison(outcomes=(make(shoal.Mondrian(), 0.0, 1.0),)).plot.startswith("<svg")


def test_files_are_written_and_read_back(comparison, tmp_path):
    folder = comparison.write(tmp_path / "out")
    assert sorted(item.name for item in folder.iterdir()) == sorted(FILES)
    assert Comparison.read(folder) == comparison
    for name in ("comparison.csv", "comparison.parquet"):
        read = pl.read_csv(folder / name) if name.endswith("csv") else pl.read_parquet(folder / name)
        assert read["name"].to_list() == comparison.table()["name"].to_list()
        assert read["found"].to_list() == comparison.table()["found"].to_list()
    assert list(tmp_path.iterdir()) == [folder], "nothing beside it"


def test_an_older_comparison_is_replaced_only_if_allowed(comparison, tmp_path):
    from dataclasses import replace

    folder = comparison.write(tmp_path / "out")
    with pytest.raises(FileError, match="already holds"):
        comparison.write(folder)
    comparison.write(folder, overwrite=True)
    replace(comparison, n_records=9).write(folder, overwrite=True)
    assert Comparison.read(folder).n_records == 9
    (folder / "mine.txt").write_text("keep")
    with pytest.raises(ParameterError, match="nothing else"):
        comparison.write(folder, overwrite=True)
    assert (folder / "mine.txt").read_text() == "keep"


@pytest.mark.parametrize("fails", ["write_table", "write_text", "_swap"])
def test_nothing_half_written(comparison, tmp_path, monkeypatch, fails):
    from dataclasses import replace

    folder = comparison.write(tmp_path / "out")

    def full(*_given, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic if fails == "_swap" else page, fails, full)
    with pytest.raises(FileError, match="no space left"):
        replace(comparison, n_records=9).write(folder, overwrite=True)
    assert Comparison.read(folder) == comparison
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "content",
    [None, b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"outcomes": [{}], "reference": {}}'],
    ids=["none", "empty", "cut", "list", "bare", "bytes", "half"],
)
def test_what_is_no_comparison_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "comparison.json").write_bytes(content)
    with pytest.raises(FileError, match=r"comparison\.json"):
        Comparison.read(tmp_path)


def test_a_file_is_no_folder(comparison, tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(FileError, match="folder"):
        comparison.write(tmp_path / "out")
