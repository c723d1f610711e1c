"""The workbench as a steward meets it: three real-looking files from the door to a signed release, in a real Chromium.

A survey with codes for absences, a discharge file, linked visits; and what else such a person meets on the way: earlier
releases that forbid a new one, a workbook, a database, a trial, paper, a stop in between. Every assertion is on what
can be seen; axe looks at every page and state.
"""

import re
import sqlite3
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import expect

sys.path.insert(0, str(Path(__file__).parent))

from workbench_server import near

import shoal
from shoal.release.verify import verify

READY = 240_000
PLACES = ("What to watch", "Risk of every record", "What is promised", "Pairs of columns", "Decide, sign, write")
CHOICES = 5  # by a person, and not by a driver: two presses to choose files, two for a role, one for a field
COUNT = "addEventListener('click', () => { sessionStorage.n = 1 + Number(sessionStorage.n || 0); }, true)"

pytestmark = pytest.mark.filterwarnings("default")  # the server's libraries warn in this process too


@pytest.fixture(scope="module")
def at_hand(browser, tmp_path_factory):
    with near(tmp_path_factory.mktemp("near")) as (address, controller):
        yield address, controller


@pytest.fixture
def page(new_page, at_hand):
    return new_page(at_hand[0])


def sees(page, text):
    page.wait_for_function("text => document.body?.innerText.includes(text)", arg=text, timeout=READY)


def opens(page, path):
    page.get_by_label("Or enter its path on this machine").fill(str(path))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)


def runs(page):
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/result/**")


def goes_to_method(page):
    page.get_by_role("link", name="Continue to the method").click(timeout=READY)
    page.get_by_role("heading", name="On the command line").wait_for()


def signs(page, folder, who="R. Roe"):
    page.get_by_label("Who decides").fill(who)
    page.get_by_label("Recipient").fill("University hospital")
    page.get_by_label("Key file").fill(str(folder / "publisher.key"))
    page.get_by_role("button", name="Sign", exact=True).click()
    sees(page, f"Signed by {who} on ")


def writes(page, target):
    page.get_by_label("New folder on this machine").fill(str(target))
    page.keyboard.press("Enter")
    sees(page, "Written to")


def survey(n=500):
    """Answers with codes for absences, as questionnaires have them, and gaps."""
    rng = np.random.default_rng(4)
    table = shoal.datasets.health_survey(n, seed=4)
    income = rng.gamma(4, 500, n).round(-1)
    hours = pl.Series("hours", rng.integers(5, 60, n)).set(pl.Series(rng.random(n) < 0.05), None)
    return table.with_columns(pl.Series("wage", np.where(rng.random(n) < 0.1, -8, income).astype(int)), hours)


def test_the_survey_from_its_file_to_a_signed_release_in_few_clicks(page, tmp_path, serious, screenshot):
    file = tmp_path / "survey.csv"
    survey().write_csv(file)
    page.context.add_init_script(COUNT)
    page.evaluate(COUNT)
    assert serious(page) == []
    opens(page, file)
    sees(page, "Does “-8” (")
    page.locator("tr.about", has_text="“-8” (").get_by_role("button", name="not applicable").click()
    sees(page, "codes: -8")
    sees(page, "1 column to settle")
    assert serious(page) == []
    screenshot(page, "to-settle")
    page.locator("tr.settle").get_by_role("button", name="Keep as a level of its own").click()
    sees(page, "The schema is valid")
    assert serious(page) == []
    goes_to_method(page)
    assert page.get_by_role("radio", name="Keep the distribution").is_checked()
    assert serious(page) == []
    runs(page)
    sees(page, "The release is ready")
    sees(page, "every row is released")
    tops = [page.get_by_role("heading", name=name).bounding_box()["y"] for name in ("The release is ready", *PLACES)]
    assert tops == sorted(tops)  # the answer first, the way out last
    sees(page, "Pairs of columns")
    assert page.get_by_role("img", name="Each record's probability of being found").count() == 1
    assert serious(page) == []
    screenshot(page, "result")
    page.get_by_role("link", name="Sign and write").click()
    signs(page, tmp_path)
    writes(page, tmp_path / "out")
    sees(page, "In the register: release")
    assert "written to" in page.locator("#state").inner_text()
    assert int(page.evaluate("sessionStorage.n")) <= 25
    assert serious(page) == []
    assert verify(tmp_path / "out", signer=tmp_path / "publisher.pub").exit_code == 0
    released = pl.read_csv(tmp_path / "out" / "release.csv")
    assert (released["wage"] == -8).sum() > 0  # the reason for an absence is still there


def test_what_left_before_forbids_and_there_are_ways_on(page, tmp_path, serious, screenshot):
    """The same people by another recipe: refused, then with the same groups, then with the first one withdrawn."""
    file = tmp_path / "people.csv"
    shoal.datasets.health_survey(300, seed=9).write_csv(file)
    opens(page, file)
    goes_to_method(page)
    runs(page)
    sees(page, "The release is ready")
    first = page.url
    page.get_by_role("link", name="Change and run again").click()
    page.get_by_role("radio", name="Simple and familiar").check()
    sees(page, "--method mondrian")
    runs(page)
    sees(page, "The release is ready")  # two recipes may be tried: nothing has left yet
    second = page.url
    writes(page, tmp_path / "second")
    sees(page, "In the register: release 1 (")
    page.goto(first)
    page.get_by_label("New folder on this machine").fill(str(tmp_path / "first"))
    page.get_by_role("button", name="Write", exact=True).click()
    sees(page, "has changed since this release was run")
    assert not (tmp_path / "first").exists()
    page.get_by_role("link", name="Change and run again").click()
    page.get_by_role("radio", name="Keep the distribution").check()
    sees(page, "k-member")
    runs(page)
    sees(page, "must hold beside release 1 of the same people")
    sees(page, "There are three options")
    sees(page, "Release 1 (")
    assert serious(page) == []
    screenshot(page, "refused")
    page.get_by_role("button", name="Release despite it").click()
    sees(page, "reason: must be given")
    page.get_by_role("button", name="Keep its groups and run").click()
    sees(page, "The release is ready")
    page.goto(first.rpartition("/b/")[0] + "/releases")
    sees(page, "people.csv")
    assert serious(page) == []
    page.get_by_role("button", name="Withdraw").first.click()
    sees(page, "must have a reason")
    page.get_by_placeholder("it never left").first.fill("a trial")
    page.keyboard.press("Enter")
    sees(page, "withdrawn: a trial")
    page.goto(second.rpartition("/result")[0] + "/method")
    runs(page)
    sees(page, "The release is ready")


def test_the_discharges_are_coarsened_by_hand(page, at_hand, tmp_path, serious, screenshot):
    file = tmp_path / "discharges.csv"
    shoal.datasets.discharge(1500, seed=2).write_csv(file)
    opens(page, file)
    sees(page, "What would help most")
    page.get_by_role("link", name="more about disp").click()
    sees(page, "Its tree")
    page.get_by_label("home health").check()
    page.get_by_label("skilled nursing").check()
    page.get_by_label("Name of the group").fill("care at home or near")
    page.get_by_role("button", name="Put the ticked together").click()
    sees(page, "care at home or near (")  # counted at once among the levels
    page.get_by_role("button", name="Take care at home or near apart").wait_for()
    assert serious(page) == []
    screenshot(page, "tree")
    goes_to_method(page)
    page.get_by_role("radio", name="The same bands everywhere").check()
    sees(page, "--method generalize")
    runs(page)
    sees(page, "The release is ready")
    sees(page, "What was coarsened")
    slider = page.get_by_role("slider").first
    slider.focus()
    page.keyboard.press("End" if slider.input_value() == "0" else "Home")
    sees(page, "(moved)")
    sees(page, "Use at most these levels")
    step = page.locator(".lattice [role=button]", has_text="→").first
    name, level = re.fullmatch(r"(.+) from level \d+ to (\d+): .*", step.get_attribute("aria-label")).groups()
    step.focus()
    page.keyboard.press("Enter")  # on the lattice as with a slider
    words = f"(unchanged|suppressed|level {level})"
    expect(page.get_by_label(f"level of {name}", exact=True)).to_have_attribute("aria-valuetext", re.compile(words))
    expect(page.locator(f".lattice [aria-label^='{name} from level {level} to ']").first).to_be_visible()
    assert serious(page) == []
    page.get_by_label("Pair of columns, the worst first").select_option(index=1)
    page.wait_for_function("() => document.querySelector('[name=pair]').selectedIndex === 1")
    page.get_by_role("button", name="Light or dark").click()
    assert serious(page) == []
    screenshot(page, "dark")
    signs(page, tmp_path)
    writes(page, tmp_path / "out")
    assert verify(tmp_path / "out", signer=tmp_path / "publisher.pub").exit_code == 0


def test_linked_visits_are_one_release(page, tmp_path, serious, screenshot):
    folder = tmp_path / "clinic"
    folder.mkdir()
    for name, table in shoal.datasets.clinic(120, seed=3).items():
        table.write_csv(folder / f"{name}.csv")
    page.context.add_init_script(COUNT)
    page.evaluate(COUNT)
    page.set_input_files("#file", sorted(folder.iterdir()))  # several at once are linked tables
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)
    sees(page, "One row for each person; told apart by patient.")
    state = page.locator("#state").inner_text()
    assert "120 patients" in state
    assert "visits" in state
    assert serious(page) == []
    page.get_by_role("navigation", name="Tables").get_by_role("link", name="visits").click()
    sees(page, "Events of patients, by patient.")
    sees(page, "key: released under new numbers")
    page.get_by_label("role of diagnosis", exact=True).select_option("quasi")
    sees(page, "candidates, if an intruder knows")
    page.get_by_label("Persons are grouped on").fill("count; mean:day")
    page.keyboard.press("Tab")
    sees(page, "summary: must be count, or one of")
    page.get_by_label("Persons are grouped on").fill("count; first:day; codes:diagnosis")
    page.keyboard.press("Tab")
    sees(page, "The schema is valid")
    assert serious(page) == []
    screenshot(page, "tables")
    goes_to_method(page)
    assert page.get_by_role("radio", name="A public file with a formal guarantee").count() == 0
    sees(page, "--events exchange-bags")
    assert serious(page) == []
    runs(page)
    sees(page, "The release is ready")
    sees(page, "Tables of events")
    assert serious(page) == []
    screenshot(page, "result")
    signs(page, tmp_path)
    writes(page, tmp_path / "out")
    assert int(page.evaluate("sessionStorage.n")) + CHOICES <= 25
    assert {"visits.csv", "prescriptions.csv"} <= {file.name for file in (tmp_path / "out").iterdir()}
    assert verify(tmp_path / "out", signer=tmp_path / "publisher.pub").exit_code == 0


def test_a_sheet_a_query_a_trial_and_paper(page, at_hand, tmp_path, serious, monkeypatch):
    workbook, base = tmp_path / "people.xlsx", tmp_path / "people.db"
    table = shoal.datasets.health_survey(120, seed=5)
    pytest.importorskip("xlsxwriter")
    import xlsxwriter

    with xlsxwriter.Workbook(workbook) as book:
        table.write_excel(book, worksheet="answers")
        pl.DataFrame({"note": ["see answers"]}).write_excel(book, worksheet="read me")
    page.get_by_text("How to read it").click()
    page.get_by_label("Sheet of a workbook").fill("answers")
    opens(page, workbook)
    sees(page, "people.xlsx")
    assert "120" in page.locator("#state").inner_text()
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE people (sex TEXT, age INTEGER, cost REAL)")
        rows = [("f" if i % 2 else "m", 20 + i % 40, i) for i in range(90)]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    page.goto(at_hand[0])
    page.get_by_text("Or from a database").click()
    page.get_by_label("Database").fill(f"sqlite:///{base}")
    page.get_by_label("Query").fill("SELECT * FROM nobody")
    page.get_by_role("button", name="Run the query").click()
    page.get_by_role("heading", name="The file can't be read").wait_for(timeout=READY)
    page.goto(at_hand[0])
    page.get_by_text("Or from a database").click()
    page.get_by_label("Database").fill(f"sqlite:///{base}")
    page.get_by_label("Query").fill("SELECT sex, age FROM people WHERE age < 50")
    page.get_by_role("button", name="Run the query").click()
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)
    assert serious(page) == []
    monkeypatch.setattr("shoal.web.pages.method.SAMPLE", 30)
    goes_to_method(page)
    page.get_by_role("button", name="Try on 30 rows first").click()
    page.wait_for_url("**/result/**")
    sees(page, "A trial on a sample")
    assert "trial" in page.locator("#state").inner_text()
    job = page.url.rpartition("/")[2]
    assert page.request.get(f"{at_hand[0]}jobs/{job}/release.zip").status == 404  # a trial never leaves
    assert serious(page) == []
    page.emulate_media(media="print")
    assert page.get_by_role("button", name="Run on all rows").is_hidden()
    assert page.get_by_role("heading", name="A trial on a sample").is_visible()
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Run on all rows").click()
    sees(page, "The release is ready")


def test_the_form_that_asks_for_the_token(new_page, at_hand, serious, tmp_path, screenshot):
    """The login page as it is served, in a browser: a wrong token is said where the eye is."""
    with near(tmp_path, token="open sesame") as (address, _):
        page = new_page(address)
        assert serious(page) == []
        page.get_by_label("Token").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_role("alert").wait_for()
        assert serious(page) == []
        screenshot(page)
        page.get_by_label("Token").fill("open sesame")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Open a file").wait_for()


def test_a_project_remembers_what_ran(page, at_hand, tmp_path, serious):
    """The server's restart: the project says what ran and runs it again."""
    file, project = tmp_path / "people.csv", tmp_path / "people.shoal"
    shoal.datasets.health_survey(200, seed=7).write_csv(file)
    opens(page, file)
    page.get_by_role("link", name="History").click()
    page.get_by_label("Project file").fill(str(project))
    page.keyboard.press("Enter")
    sees(page, "Saved to")
    page.get_by_role("link", name="Method", exact=True).click()
    page.get_by_role("radio", name="Classical microaggregation").check()
    sees(page, "mdav:k=5")
    runs(page)
    sees(page, "The release is ready")
    assert "saved" in page.locator("#state").inner_text()
    at_hand[1].forget()
    page.goto(at_hand[0])
    opens(page, project)
    page.get_by_role("link", name="Result", exact=True).click()
    sees(page, "Ran before")
    sees(page, "mdav:k=5, then centroid")
    assert serious(page) == []
    page.get_by_role("button", name="Run again").click()
    sees(page, "The release is ready")


def coded(folder):
    """A table whose names say nothing, and the codebook that does."""
    rng = np.random.default_rng(5)
    codes = {"v1": rng.integers(1, 3, 300), "v2": rng.integers(18, 90, 300), "v3": rng.integers(0, 2, 300)}
    pl.DataFrame(codes).write_csv(folder / "people.csv")
    labels = ["Sex of the respondent", "Age in years", "Ever diagnosed with HIV"]
    values = ["1 = male; 2 = female", "", "0 = no; 1 = yes"]
    book = {"variable": ["v1", "v2", "v3", "v9"], "label": [*labels, "Region"], "values": [*values, ""]}
    pl.DataFrame(book).write_csv(folder / "codebook.csv")
    (folder / "notes.csv").write_text("remark\nnothing of use\n")
    return folder / "people.csv", folder / "codebook.csv", folder / "notes.csv"


def test_a_codebook_beside_the_file_by_path(page, tmp_path, serious, screenshot):
    file, book, notes = coded(tmp_path)
    page.get_by_label("Or enter its path on this machine").fill(str(file))
    by_path = page.locator("input[name=codebook]")
    by_path.fill(str(notes))
    page.keyboard.press("Enter")
    sees(page, "must have a column with the names of the variables")
    assert serious(page) == []
    screenshot(page, "wrong-codebook")
    assert page.get_by_label("Or enter its path on this machine").input_value() == str(file)
    below = page.locator("form[data-do=open] .problem").bounding_box()["y"] - by_path.bounding_box()["y"]
    assert 0 < below < 200  # where the eye is
    by_path.fill(str(book))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)
    sees(page, "Proposed with the codebook codebook.csv, which describes 3 of 3 columns. There is no column for v9.")
    assert page.get_by_label("role of v3", exact=True).input_value() == "sensitive"
    assert page.get_by_label("public range or levels of v1", exact=True).input_value() == "1; 2"
    assert serious(page) == []
    screenshot(page, "codebook")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelector('[aria-label=\"role of v3\"]').value !== 'sensitive'")
    page.get_by_role("button", name="Redo").click()
    page.wait_for_function("() => document.querySelector('[aria-label=\"role of v3\"]').value === 'sensitive'")


def test_a_codebook_is_uploaded_before_its_file(page, at_hand, tmp_path):
    file, book, notes = coded(tmp_path)
    uploads = at_hand[1].workspace.uploads
    before = set(uploads.iterdir())
    page.set_input_files("#codebook", notes)
    page.set_input_files("#file", file)
    sees(page, "must have a column with the names of the variables")
    assert str(uploads) not in page.locator("body").inner_text()
    assert set(uploads.iterdir()) == before  # neither is kept
    page.set_input_files("#codebook", book)
    page.set_input_files("#file", [file, notes])
    sees(page, "codebook: must be omitted with linked tables")
    page.set_input_files("#file", file)
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)
    sees(page, "Proposed with the codebook codebook.csv")
    assert page.get_by_label("role of v3", exact=True).input_value() == "sensitive"
    session = page.url.split("/b/")[1].split("/")[0]
    at_hand[1].forget(session)
    assert set(uploads.iterdir()) == before
