"""The workbench in a real Chromium: the whole path from a file to a release, and everything that can go wrong on it."""

import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_server import workbench

import shoal

READY = 60_000  # milliseconds; a job on a busy machine with a cold cache takes its time


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with workbench(tmp_path_factory.mktemp("room")) as address:
        yield address


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A file of 400 people with an identifier, and its schema."""
    file = tmp_path_factory.mktemp("data") / "survey.csv"
    table = shoal.datasets.health_survey(400, seed=3)
    table.insert_column(0, pl.Series("name", [f"SENTINEL-{i}" for i in range(len(table))])).write_csv(file)
    return file


@pytest.fixture
def at(new_page, bench):
    return lambda path="": new_page(bench + path)


def open_file(page, file):
    page.set_input_files("#file", file)
    page.get_by_role("heading", name="What each column is").wait_for(timeout=READY)


def go_to_method(page):
    page.get_by_role("link", name="Continue to the method").click()
    page.get_by_role("heading", name="The same on the command line").wait_for()


def choose(page, goal):
    page.get_by_role("radio", name=goal).check()


def command(page):
    return page.locator("#command").inner_text()


def run(page):
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/results/**")


def wait_for(page, text):
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text, timeout=READY)


def test_from_a_file_to_a_release_that_verifies(at, survey, tmp_path, screenshot, serious):
    page = at()
    assert serious(page) == []
    screenshot(page, "1-file")
    open_file(page, survey)

    assert page.get_by_label("role of name", exact=True).input_value() == "identifier"
    page.get_by_label("role of gender", exact=True).select_option("other")
    wait_for(page, "3 quasi")
    wait_for(page, "alone with their combination of age_group, education, income")
    page.get_by_label("public range or levels of cost").fill("9 to 2")
    page.get_by_label("public range or levels of cost").press("Tab")
    wait_for(page, "bounds must be a lower and a higher number")
    page.get_by_label("public range or levels of cost").fill("0 to 1000000")
    page.get_by_label("public range or levels of cost").press("Tab")
    wait_for(page, "The schema holds together")
    assert serious(page) == []
    screenshot(page, "2-columns")

    go_to_method(page)
    choose(page, "Simple and familiar")
    wait_for(page, "--method mondrian --k 5")
    page.locator("[name='0.k']").fill("7")
    page.locator("[name='0.k']").press("Tab")
    wait_for(page, "--method mondrian --k 7")
    page.locator("[name='0.k']").fill("1")
    page.locator("[name='0.k']").press("Tab")
    wait_for(page, "k must be a whole number at least 2")
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "--method mondrian --k 7")
    assert serious(page) == []
    screenshot(page, "3-method")

    run(page)
    wait_for(page, "The release is ready")
    page.reload()
    wait_for(page, "The release is ready")
    assert "at least 7" in page.locator("table").inner_text()
    page.locator("iframe").scroll_into_view_if_needed()
    page.frame_locator("iframe").get_by_role("heading", level=1).wait_for()
    page.get_by_role("button", name="Internal report").click()
    page.frame_locator("iframe").get_by_text("Internal report", exact=False).first.wait_for()
    assert serious(page) == []
    screenshot(page, "4-result")

    target = tmp_path / "release"
    page.get_by_label("Or into a new folder on this machine").fill(str(target))
    page.get_by_role("button", name="Write", exact=True).click()
    wait_for(page, "Written to")
    page.get_by_role("button", name="Write", exact=True).click()
    wait_for(page, "already holds files. Name another folder.")

    table = pl.read_csv(target / "release.csv")
    assert "name" not in table.columns
    assert len(table) == 400
    assert "SENTINEL" not in (target / "release.csv").read_text() + (target / "report.html").read_text()
    assert table.group_by("age_group", "education", "income").len()["len"].min() >= 7
    verified = subprocess.run([sys.executable, "-m", "shoal", "verify", target], check=False)
    assert verified.returncode == 0

    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the release").click()
    with zipfile.ZipFile(sent.value.path()) as bundle:
        assert sorted(bundle.namelist()) == ["manifest.json", "release.csv", "report.html"]
        assert bundle.read("release.csv") == (target / "release.csv").read_bytes()


def test_schema_recipe_and_command_line_can_be_taken_along(at, survey):
    page = at()
    open_file(page, survey)
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the schema").click()
    schema = shoal.Schema.read(sent.value.path())
    assert schema.identifier == ("name",)
    go_to_method(page)
    choose(page, "Classical microaggregation")
    wait_for(page, "--group mdav")
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the recipe").click()
    assert 'method = "mdav"' in Path(sent.value.path()).read_text()
    assert command(page).startswith("shoal anonymize survey.csv --schema schema.toml --out release --group mdav:k=5")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("people.parquet", b"PAR1" + b"\x00" * 100, "people.parquet"),
        ("people.csv", bytes(range(256)) * 40, "people.csv"),
    ],
    ids=["truncated-parquet", "binary-junk"],
)
def test_a_file_that_is_none_is_refused_in_words(at, tmp_path, name, content, said):
    file = tmp_path / name
    file.write_bytes(content)
    page = at()
    page.set_input_files("#file", file)
    page.get_by_role("heading", name="The file can't be read").wait_for(timeout=READY)
    words = page.locator(".problem").inner_text()
    assert said in words
    assert "Traceback" not in words
    assert "shoal-room" not in words  # where the private room lies is nobody's business
    page.get_by_role("link", name="Choose another file").click()
    page.get_by_role("heading", name="Open a file").wait_for()


def wide(file, n_columns):
    names = ",".join(f"c{i}" for i in range(n_columns))
    file.write_text(f"{names}\n" + f"{','.join('1' * n_columns)}\n" * 12)
    return file


def test_many_columns_come_fifty_at_a_time(at, tmp_path):
    page = at()
    open_file(page, wide(tmp_path / "wide.csv", 120))
    wait_for(page, "Columns 1 to 50 of 120")
    page.get_by_role("button", name="Later").click()
    wait_for(page, "Columns 51 to 100 of 120")
    assert page.get_by_label("role of c50", exact=True).count() == 1


def test_ten_thousand_columns_are_refused_in_words(at, tmp_path):
    page = at()
    page.set_input_files("#file", wide(tmp_path / "wide.csv", 10_000))
    page.get_by_role("heading", name="The file can't be read").wait_for(timeout=READY)
    assert "at most 3,000 columns" in page.locator(".problem").inner_text()


def test_a_file_that_changed_is_not_used(at, survey, tmp_path):
    file = tmp_path / "moving.csv"
    file.write_bytes(survey.read_bytes())
    page = at()
    page.get_by_label("Or its path on this machine").fill(str(file))
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("heading", name="What each column is").wait_for(timeout=READY)
    with file.open("a") as more:
        more.write("SENTINEL-NEW,male,1,1,1,1,1\n")
    go_to_method(page)
    run(page)
    wait_for(page, "has changed since it was opened")
    wait_for(page, "Nothing was released")


def test_two_tabs_on_one_job_and_cancel(at, tmp_path, screenshot):
    file = tmp_path / "many.parquet"
    shoal.datasets.health_survey(60_000, seed=3).write_parquet(file)
    page = at()
    open_file(page, file)
    go_to_method(page)
    run(page)
    other = page.context.new_page()
    other.goto(page.url)
    for tab in (page, other):
        tab.get_by_role("button", name="Cancel").wait_for()
    screenshot(page, "running")
    third = page.context.new_page()  # another page is built and changed while the job works
    third.goto(page.url.split("/results/")[0] + "/columns")
    third.get_by_label("role of gender", exact=True).select_option("other")
    wait_for(third, "3 quasi")
    other.get_by_role("button", name="Cancel").click()
    for tab in (page, other):
        tab.get_by_role("heading", name="Cancelled").wait_for()
    wait_for(page, "Nothing was written")
    page.get_by_role("link", name="Jobs").click()
    page.get_by_role("link", name="k-member").first.wait_for()


def test_a_guarantee_that_cannot_be_met_writes_nothing(at, tmp_path):
    file = tmp_path / "few.csv"
    file.write_text("age,sex,cost\n" + "".join(f"{20 + i},{'fm'[i % 2]},{i * 10}\n" for i in range(4)))
    page = at()
    open_file(page, file)
    for name in ("age", "sex"):
        page.get_by_label(f"role of {name}", exact=True).select_option("quasi")
    go_to_method(page)
    run(page)
    page.get_by_role("heading", name="Nothing was released").wait_for(timeout=READY)
    assert "5" in page.locator(".problem").inner_text()


def test_a_comparison_leads_to_a_recipe(at, survey, screenshot, serious):
    page = at()
    open_file(page, survey)
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("heading", name="Compare methods").wait_for()
    page.get_by_label("Re-identification of at most").fill("10")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_role("heading", name="Recommendation").wait_for(timeout=3 * READY)
    page.locator("iframe").scroll_into_view_if_needed()
    page.frame_locator("iframe").locator("svg").first.wait_for()
    assert serious(page) == []
    screenshot(page)
    page.get_by_role("button", name="Use mondrian:k=10").click()
    page.wait_for_url("**/method")
    wait_for(page, "--method mondrian --k 10")


def focused(page):
    return page.evaluate("document.activeElement.name || document.activeElement.dataset.do")


def test_with_the_keyboard_alone(at, survey):
    """A block that is drawn again keeps the focus, and what is being typed, where it was."""
    page = at()
    open_file(page, survey)
    page.get_by_label("public range or levels of cost").fill("0 to 1234567")
    page.keyboard.press("Tab")
    wait_for(page, "The schema holds together")
    page.get_by_label("kind of cost").select_option("nominal")
    page.wait_for_function("() => document.querySelector('[aria-label$=\"levels of cost\"]').value === ''")
    go_to_method(page)
    page.locator("[name='0.k']").fill("8")
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    wait_for(page, "--group k-member:k=8,response_weight=3.0")
    assert focused(page) == "0.response_weight"
    page.keyboard.type("7")
    page.keyboard.press("Tab")
    wait_for(page, "response_weight=37.0")
    assert focused(page) == "1.method"
    page.get_by_role("button", name="Add another mask").focus()
    page.keyboard.press("Enter")
    wait_for(page, "--mask centroid")
    assert focused(page) == "add"


def test_undo_brings_the_goal_and_its_rules_back(at, survey):
    page = at()
    open_file(page, survey)
    go_to_method(page)
    choose(page, "Remove what Safe Harbor lists")
    wait_for(page, "--preset safe-harbor")
    choose(page, "Simple and familiar")
    wait_for(page, "--method mondrian")
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "--preset safe-harbor")
    assert page.get_by_role("radio", name="Remove what Safe Harbor lists").is_checked()


def test_a_refusal_stays_until_something_is_changed(at, survey):
    page = at()
    open_file(page, survey)
    go_to_method(page)
    choose(page, "A public file with a formal guarantee")
    page.locator("[name='0.rows']").fill("-3")
    page.get_by_role("button", name="Run", exact=True).click()
    wait_for(page, "rows must be a whole number, at least 1; got -3.")
    page.wait_for_timeout(500)
    assert page.get_by_text("got -3").count() > 0


def test_a_file_forgotten_in_another_tab_is_said(at, survey):
    page = at()
    open_file(page, survey)
    go_to_method(page)
    other = page.context.new_page()
    other.goto(page.url.split("/b/")[0])
    other.get_by_role("button", name="Forget survey.csv").last.click()
    other.wait_for_timeout(500)
    page.get_by_role("radio", name="Simple and familiar").click()
    wait_for(page, "no longer open here")
    other.reload()
    other.get_by_role("heading", name="Open a file").wait_for()


def test_names_and_levels_cannot_become_part_of_the_page(at, tmp_path):
    file = tmp_path / "odd.csv"
    names = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "{{7*7}}${1+1}`", "a'b;c", "L" * 300]
    levels = ["<b onmouseover=alert(3)>x</b>", "1 to 5", "a; b"]
    rows = [[levels[i % 3], levels[i % 2], i % 4, f"t{i % 3}", 20 + i % 30] for i in range(90)]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(file)
    page = at()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    open_file(page, file)
    shown = page.get_by_label(f"public range or levels of {names[0]}").input_value()
    assert '"1 to 5"' in shown
    assert '"a; b"' in shown
    for name in names[:2]:
        page.get_by_label(f"role of {name}", exact=True).select_option("quasi")
    go_to_method(page)
    choose(page, "Simple and familiar")
    run(page)
    wait_for(page, "The release is ready")
    page.frame_locator("iframe").get_by_role("heading", level=1).wait_for()
    assert dialogs == []
    assert page.locator("main script, main img").count() == 0


def test_forgetting_removes_the_upload(at, survey):
    page = at()
    open_file(page, survey)
    address = page.url
    page.goto(address.split("/b/")[0])
    page.get_by_role("button", name="Forget all files and results").click()
    page.wait_for_function("() => !document.body.innerText.includes('Open now')")
    page.goto(address)
    wait_for(page, "no longer open here")
