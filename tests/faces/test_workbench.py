"""The workbench in a real Chromium: the whole path from a file to a release, and everything that can go wrong on it.

The whole path runs against a real `shoal web` with its children; the other pages against a workbench in this process.
"""

import sys
import threading
import tomllib
import zipfile
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import expect

sys.path.insert(0, str(Path(__file__).parent))

from workbench_server import near, workbench

import shoal
from shoal.ledger import Keys, Ledger
from shoal.recipe import Coarsening, read_recipe
from shoal.release.verify import verify
from shoal.score.admitting import admission_of
from shoal.web.job_process import ACTIONS

READY = 240_000  # milliseconds; a busy machine with a cold cache takes its time
ODD = "a=b/c.d"
COUNT = "addEventListener('click', () => { sessionStorage.n = 1 + Number(sessionStorage.n || 0); }, true)"

pytestmark = pytest.mark.filterwarnings("default")  # the server's libraries warn in this process too


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with workbench(tmp_path_factory.mktemp("room")) as address:
        yield address


@pytest.fixture(scope="module")
def at_hand(browser, tmp_path_factory):
    """The address and the controller of a workbench in this process, which serves one model, and a key for it."""
    home = tmp_path_factory.mktemp("scores")
    table, schema = shoal.datasets.pima_like(100, seed=1), shoal.datasets.pima_like_schema()
    model = shoal.CertifiedTree(epsilon=2.0, schema=schema).fit(table.drop("diabetes"), table["diabetes"])
    (home / "models").mkdir()
    model.save(home / "models" / "diabetes.json")
    url = f"sqlite:///{home / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    people = ledger.begin_data_set("patients", limit=shoal.dp.Budget(epsilon=10))
    ledger.admit(admission_of(home / "models" / "diabetes.json", data=people, by="person"))
    ledger.close()
    with near(tmp_path_factory.mktemp("near"), models=home / "models", ledger=url) as (address, controller):
        yield address, controller, token


@pytest.fixture
def controller(at_hand):
    return at_hand[1]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A file of 400 people with an identifier."""
    file = tmp_path_factory.mktemp("data") / "survey.csv"
    table = shoal.datasets.health_survey(400, seed=3)
    table.insert_column(0, pl.Series("name", [f"SENTINEL-{i}" for i in range(len(table))])).write_csv(file)
    return file


def opened(controller, file):
    """A session of a file that has been read."""
    session = controller.open(file)
    controller.jobs.wait(session.notes["opening"], 60)
    assert controller.opened(session.id).stage == "full"
    return session.id


@pytest.fixture(scope="module")
def surveyed(at_hand, survey):
    """A session of the survey with a column of an odd name, which many tests share: each begins with its own goal."""
    odd = survey.with_name("odd.csv")
    pl.read_csv(survey).with_columns(pl.Series(ODD, [i % 7 for i in range(400)])).write_csv(odd)
    return opened(at_hand[1], odd)


@pytest.fixture
def at(new_page, at_hand):
    return lambda path="", **options: new_page(at_hand[0] + path, **options)


@pytest.fixture
def at_method(at, controller, surveyed):
    def go(goal):
        controller.choose_goal(surveyed, goal)
        page = at(f"b/{surveyed}/method")
        page.get_by_role("button", name="Run", exact=True).wait_for()
        return page

    return go


def open_file(page, file):
    page.set_input_files("#file", file)
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)


def go_to_method(page):
    page.get_by_role("link", name="Continue to the method").click(timeout=READY)
    page.get_by_role("heading", name="On the command line").wait_for()


def choose(page, goal):
    page.get_by_role("radio", name=goal).check()


def enter(page, name, value):
    """Type into the field of a name and leave it."""
    page.locator(f"[name='{name}']").fill(value)
    page.locator(f"[name='{name}']").press("Tab")


def command(page):
    return page.locator("#command").inner_text()


def run(page):
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/result/**")


def wait_for(page, text):
    page.wait_for_function("text => document.body?.innerText.includes(text)", arg=text, timeout=READY)


# Against a real `shoal web`


def test_from_a_file_to_a_signed_release_that_verifies(new_page, session, survey, tmp_path, screenshot, serious):
    """The newcomer's way, counted in presses: at most 25 from the file to the signed release."""
    page = new_page(session)
    page.context.add_init_script(COUNT)
    page.evaluate(COUNT)
    assert serious(page) == []
    screenshot(page, "1-file")
    open_file(page, survey)

    assert page.get_by_label("role of name", exact=True).input_value() == "identifier"
    wait_for(page, "people are unique in their 4 quasi-identifiers")
    wait_for(page, "What would help most")
    assert page.title().startswith("survey.csv · Columns")
    assert serious(page) == []
    screenshot(page, "2-columns")

    go_to_method(page)
    choose(page, "Simple and familiar")
    wait_for(page, "--method mondrian --k 5")
    enter(page, "0.k", "7")
    wait_for(page, "--method mondrian --k 7")
    wait_for(page, "Your own recipe")
    enter(page, "0.k", "1")
    wait_for(page, "k must be a whole number at least 2")
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "--method mondrian --k 7")
    assert serious(page) == []
    screenshot(page, "3-method")

    run(page)
    wait_for(page, "The release is ready")
    page.reload()
    wait_for(page, "The release is ready")
    state = page.locator("#state").inner_text()
    assert "survey.csv" in state
    assert "ready, not written" in state
    answer = page.locator("main").inner_text()
    assert "of 400; every row is released" in answer
    assert "at least 7" in answer
    assert "Risk of every record" in answer
    assert "50 released rows beside the originals" in answer
    assert serious(page) == []
    screenshot(page, "4-result")

    target = tmp_path / "release"
    page.get_by_label("Who decides").fill("R. Roe")
    page.get_by_label("Recipient").fill("University hospital")
    page.get_by_label("Key file").fill(str(tmp_path / "publisher.key"))
    page.get_by_role("button", name="Sign", exact=True).click()
    wait_for(page, "Signed by R. Roe on ")
    page.get_by_label("New folder on this machine").fill(str(target))
    page.get_by_role("button", name="Write", exact=True).dblclick()  # once is meant
    wait_for(page, "Written to")
    assert page.get_by_text("already holds files").count() == 0
    assert 5 <= int(page.evaluate("sessionStorage.n")) <= 25
    page.get_by_label("New folder on this machine").fill(str(target))
    page.get_by_role("button", name="Write", exact=True).click()
    wait_for(page, "already holds files. Choose another folder.")
    assert "written to" in page.locator("#state").inner_text()

    table = pl.read_csv(target / "release.csv")
    assert "name" not in table.columns
    assert len(table) == 400
    assert "SENTINEL" not in (target / "release.csv").read_text() + (target / "report.html").read_text()
    assert table.group_by("gender", "age_group", "education", "income").len()["len"].min() >= 7
    assert verify(target, signer=tmp_path / "publisher.pub").exit_code == 0
    assert "R. Roe" in (target / "report.html").read_text()

    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the release").click()
    with zipfile.ZipFile(sent.value.path()) as bundle:
        assert {"manifest.json", "release.csv", "report.html"} <= set(bundle.namelist())
        assert bundle.read("release.csv") == (target / "release.csv").read_bytes()

    address = page.url
    page.goto(session)
    page.get_by_role("button", name="Remove all files and results").click()
    page.get_by_role("button", name="No", exact=True).click()
    assert page.get_by_role("link", name="survey.csv").count() == 1
    page.get_by_role("button", name="Remove all files and results").click()
    page.get_by_role("button", name="Yes, do it").click()
    page.wait_for_function("() => document.body && !document.body.innerText.includes('Open now')")
    page.goto(address)
    wait_for(page, "This result was removed")


# Files


def test_schema_recipe_and_command_line_can_be_taken_along(at, at_method, surveyed):
    page = at_method("microaggregation")
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the recipe").click()
    assert 'method = "mdav"' in Path(sent.value.path()).read_text()
    assert "odd.csv --schema schema.toml --out release --group mdav:k=5" in command(page)
    page.get_by_role("link", name="Columns").click()
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the schema").click()
    assert shoal.Schema.read(sent.value.path()).identifier == ("name",)


def test_a_file_that_is_none_is_refused_in_words(at, tmp_path):
    file = tmp_path / "people.parquet"
    file.write_bytes(b"PAR1" + b"\x00" * 100)
    page = at()
    page.set_input_files("#file", file)
    page.get_by_role("heading", name="The file can't be read").wait_for(timeout=READY)
    words = page.locator(".problem").inner_text()
    assert "people.parquet" in words
    assert "Traceback" not in words
    assert "shoal-room" not in words  # where the private room lies is nobody's business
    page.get_by_role("link", name="Choose another file").click()
    page.get_by_role("heading", name="Open a file").wait_for()


def test_a_file_that_changed_is_not_used(at, survey, tmp_path, serious):
    file = tmp_path / "moving.csv"
    file.write_bytes(survey.read_bytes())
    page = at()
    page.get_by_label("Or enter its path on this machine").fill(str(file))
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Columns", exact=True).wait_for(timeout=READY)
    with file.open("a") as more:
        more.write("SENTINEL-NEW,male,1,1,1,1,1,1\n")
    go_to_method(page)
    run(page)
    wait_for(page, "has changed since it was opened")
    wait_for(page, "Nothing was released")
    assert serious(page) == []
    start, _, job = page.url.partition("/b/")
    page.goto(f"{start}/jobs/{job.rpartition('/')[2]}/release.zip")
    page.get_by_role("heading", name="Not handed over").wait_for()
    assert serious(page) == []
    page.get_by_role("link", name="Back").click()
    page.get_by_role("heading", name="Nothing was released").wait_for()


def test_odd_names_and_levels_and_many_columns(at, tmp_path):
    """No name or level becomes part of the page, and what is done to a column reaches just that column."""
    file = tmp_path / "odd.csv"
    names = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "{{7*7}}${1+1}`", "a'b;c", "L" * 300]
    levels = ["<b onmouseover=alert(3)>x</b>", "1 to 5", "a; b"]
    rows = [[levels[i % 3], levels[i % 2], i % 4, f"t{i % 3}", 20 + i % 30] for i in range(90)]
    wide = pl.DataFrame({f"c{i}": [1] * 90 for i in range(60)})
    pl.concat([pl.DataFrame(rows, schema=names, orient="row"), wide], how="horizontal").write_csv(file)
    page = at()
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    open_file(page, file)
    shown = page.get_by_label(f"public range or levels of {names[0]}").input_value()
    assert '"1 to 5"' in shown
    assert '"a; b"' in shown
    for name in names[:2]:
        page.get_by_label(f"role of {name}", exact=True).select_option("quasi")
    page.get_by_role("link", name="Later").click()
    wait_for(page, "Columns 61 to 65 of 65")
    assert page.get_by_label("role of c59", exact=True).count() == 1
    go_to_method(page)
    choose(page, "Simple and familiar")
    page.get_by_label("Coarsening", exact=True).select_option("recode")
    wait_for(page, "steps must be given")
    page.get_by_label("steps of another").select_option(names[0])  # of so many columns only those asked for have a line
    page.get_by_label(f"what is done to {names[0]}").select_option("prefix")
    page.get_by_role("spinbutton", name="keep").fill("2")
    page.get_by_role("button", name="Add another step").click()
    wait_for(page, "--method mondrian --k 5")
    assert "=prefix:keep=2,pad" not in command(page)
    run(page)
    wait_for(page, "The release is ready")
    assert dialogs == []
    assert page.locator("main script, main img").count() == 0


# Forms


def test_fixed_steps_are_typed_line_by_line(at_method, controller, surveyed, serious, screenshot):
    """Edges, a tree, and a column whose name no command line can spell: the recipe says all of it."""
    controller.change_column(surveyed, ODD, {"role": "quasi"})
    page = at_method("familiar")
    page.get_by_label("Coarsening", exact=True).select_option("recode")
    wait_for(page, "steps must be given")
    assert page.get_by_label("what is done to name").count() == 0  # an identifier is never released
    page.get_by_label(f"what is done to {ODD}").select_option("edges")
    wait_for(page, f"step of '{ODD}'")
    enter(page, f"0.steps.edges.{ODD}", "0, 3")
    wait_for(page, "edges must be increasing numbers")
    enter(page, f"0.steps.edges.{ODD}", "0; 3")
    wait_for(
        page,
        f"This recipe can only be written as a recipe file. command line: can't express the step of the column '{ODD}'",
    )
    page.get_by_label("what is done to gender").select_option("tree")
    enter(page, "0.steps.rows.gender", "female;all\nmale;all")
    page.get_by_label("what is done to cost").select_option("cap")
    enter(page, "0.steps.high.cost", "9000")
    page.get_by_role("button", name="Add another step").click()
    page.locator("summary", has_text="importance").click()
    enter(page, f"1.importance.{ODD}", "2.5")
    page.wait_for_function("name => document.querySelector(`[name='1.importance.${name}']`).value === '2.5'", arg=ODD)
    assert serious(page) == []
    screenshot(page)
    with page.expect_download() as sent:
        page.get_by_role("link", name="Download the recipe").click()
    [words] = tomllib.loads(Path(sent.value.path()).read_text())["recipe"]
    steps = {
        ODD: {"kind": "bins", "edges": (0, 3)},
        "gender": {"kind": "tree", "rows": (("female", "all"), ("male", "all"))},
        "cost": {"kind": "cap", "high": 9000},
    }
    wanted = Coarsening.of([shoal.Recode(steps=steps), shoal.Mondrian(k=5, importance={ODD: 2.5})])
    assert read_recipe(words).to_dict() == wanted.to_dict()
    controller.change_column(surveyed, ODD, {"role": "other"})


def test_a_radius_for_all_columns_or_for_each(at_method):
    page = at_method("clusters")
    enter(page, "0.radius", "0.25")
    wait_for(page, "ball:radius=0.25,minimum=5")
    page.locator("summary", has_text="radius of each column").click()
    enter(page, "0.radius.age_group", "2")
    wait_for(page, "ball:radius=age_group=2,minimum=5")
    assert page.locator("[name='0.radius']").input_value() == ""


def focused(page):
    return page.evaluate("document.activeElement.name || document.activeElement.dataset.do")


def test_with_the_keyboard_alone(at, controller, surveyed, at_method):
    """A block that is drawn again keeps the focus, and what is being typed, where it was."""
    page = at(f"b/{surveyed}/columns")
    page.get_by_label("public range or levels of cost").fill("9 to 2")
    page.keyboard.press("Tab")
    wait_for(page, "bounds must be a lower and a higher number")
    page.get_by_label("public range or levels of cost").fill("0 to 1234567")
    page.keyboard.press("Tab")
    wait_for(page, "The schema is valid")
    page.get_by_label("kind of cost").select_option("nominal")
    page.wait_for_function("() => document.querySelector('[aria-label$=\"levels of cost\"]').value === ''")
    page.get_by_label("kind of cost").select_option("numeric")
    page = at_method("distribution")
    page.locator("[name='0.k']").fill("8")
    page.keyboard.press("Tab")
    page.keyboard.type("3")  # before the block is drawn again, or after: both happen
    wait_for(page, "--group k-member:k=8")
    assert focused(page) == "0.response_weight"
    page.keyboard.type("7")
    page.keyboard.press("Tab")
    wait_for(page, "response_weight=37.0")
    assert focused(page) == "0.solver"
    page.keyboard.press("Tab")
    assert focused(page) == "1.method"
    page.get_by_role("button", name="Add another mask").focus()
    page.keyboard.press("Enter")
    wait_for(page, "--mask centroid")
    assert focused(page) == "add"
    page.keyboard.press("Control+Home")


def test_undo_brings_the_goal_and_its_rules_back(at_method):
    page = at_method("safe-harbor")
    wait_for(page, "--preset safe-harbor")
    choose(page, "Simple and familiar")
    wait_for(page, "--method mondrian")
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "--preset safe-harbor")
    assert page.get_by_role("radio", name="Remove Safe Harbor identifiers").is_checked()


def test_a_refusal_stays_until_something_is_changed(at_method):
    page = at_method("familiar")
    page.locator("[name='0.k']").fill("-3")
    page.get_by_role("button", name="Run", exact=True).click()
    wait_for(page, "k must be a whole number at least 2; got -3.")
    page.wait_for_timeout(500)
    assert page.get_by_text("got -3").count() > 0


def test_refused_columns_are_dropped_or_allowed_with_a_press(at, controller, tmp_path, serious):
    table = shoal.datasets.health_survey(400, seed=3).select("gender", "age_group", "cost")
    numbers = {"chart": [f"C{i:03d}" for i in range(400)], "mail": [f"p{i}@clinic.org" for i in range(400)]}
    table.with_columns(**{name: pl.Series(cells) for name, cells in numbers.items()}).write_csv(tmp_path / "c.csv")
    session = opened(controller, tmp_path / "c.csv")
    controller.change_columns(session, {"chart": {"role": "sensitive"}, "mail": {"role": "other"}}, "roles")
    controller.choose_goal(session, "familiar")
    page = at(f"b/{session}/result/{controller.run(session)}")
    page.get_by_role("heading", name="Nothing was released").wait_for(timeout=READY)
    again = page.get_by_role("button", name="Run again")
    assert again.is_disabled()
    assert serious(page) == []
    page.get_by_role("button", name="Make mail an identifier").click()
    wait_for(page, "an identifier: left out")
    page.get_by_role("button", name="I have looked at chart: release it").click()
    wait_for(page, "looked at: released")
    again.click()
    page.get_by_role("heading", name="The release is ready").wait_for(timeout=READY)
    wait_for(page, "allowed by a person, and released as they are")


def test_a_schema_is_pasted_or_refused_where_it_was_pasted(at, surveyed):
    page = at(f"b/{surveyed}/columns")
    page.get_by_text("I already have a schema").click()
    page.locator("#schema-text").fill("columns =")
    page.locator("#schema-text").blur()
    wait_for(page, "must be TOML")
    assert page.locator("#schema-text").input_value() == "columns ="
    page.locator("#schema-text").fill("")
    page.locator("#schema-text").blur()
    page.get_by_role("link", name="Continue to the method").wait_for()


# Columns


def test_all_problems_are_in_their_rows_and_settled_with_one_press(at, controller, tmp_path, serious, screenshot):
    file = tmp_path / "survey.csv"
    n = range(60)
    pl.DataFrame(
        {
            "sex": ["f", "m"] * 30,
            "age": [None if i % 9 == 0 else 20 + i for i in n],
            "income": [None if i % 7 == 0 else 100 * (i % 5) for i in n],
            "region": [f"r{i % 4}" for i in n],
        }
    ).write_csv(file)
    session = opened(controller, file)
    for name in ("age", "income"):
        controller.change_column(session, name, {"role": "quasi", "kind": "numeric"})
    page = at(f"b/{session}/columns")
    wait_for(page, "2 columns to settle")
    assert page.locator("tr.settle").count() == 2
    assert "7 missing" in page.locator("tr.settle").first.inner_text()
    assert page.get_by_role("link", name="Continue to the method").count() == 0
    assert serious(page) == []
    screenshot(page)
    page.get_by_role("button", name="Keep as a level of its own").first.click()
    wait_for(page, "The schema is valid")
    assert page.get_by_label("where age is missing").input_value() == "level"
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "2 columns to settle")
    page.locator("tr.settle").first.get_by_role("button", name="Drop those rows").click()
    wait_for(page, "1 column to settle")


def test_many_columns_are_changed_in_one_step(at, controller, survey):
    session = opened(controller, survey)
    page = at(f"b/{session}/columns")
    page.get_by_label("select gender").check()
    page.get_by_label("select income").click(modifiers=["Shift"])
    wait_for(page, "4 selected")
    page.get_by_label("role of the selected columns").select_option("other")
    page.get_by_role("button", name="Apply to the selected").click()
    wait_for(page, "No column has the role quasi")
    page.get_by_role("button", name="Undo").click()
    wait_for(page, "The schema is valid")
    page.get_by_label("Find a column").fill("inc")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=inc**")
    assert page.locator("tbody tr th strong").all_inner_texts() == ["income"]
    page.goto(page.url.partition("?")[0])
    page.get_by_label("Role to show").select_option("sensitive")  # shown as soon as it is chosen
    page.wait_for_url("**role=sensitive**")
    assert page.get_by_label("Role to show").input_value() == "sensitive"


def test_what_was_chosen_in_a_form_outlives_a_change_made_elsewhere(at, controller, survey):
    session = opened(controller, survey)
    page = at(f"b/{session}/columns")
    page.get_by_label("select gender").check()
    page.get_by_label("role of the selected columns").select_option("other")
    controller.change_column(session, "income", {"role": "other"})
    expect(page.get_by_label("role of income", exact=True)).to_have_value("other", timeout=READY)
    assert controller.schema(session)["gender"].role == "quasi"  # nothing is sent before the button is pressed
    page.get_by_role("button", name="Apply to the selected").click()
    expect(page.get_by_label("role of gender", exact=True)).to_have_value("other", timeout=READY)
    assert page.get_by_label("role of the selected columns").input_value() == ""


def test_codes_and_hierarchies_are_set_with_their_counts(at, controller, survey, serious):
    session = opened(controller, survey)
    page = at(f"b/{session}/columns?column=age_group")
    page.locator("[name='hierarchy']").select_option("table")
    typed = "\n".join(f"{i};{'low' if i < 2 else 'high'}" for i in range(8))
    page.locator("[name='levels']").fill(typed)
    wait_for(page, "Its levels as typed, not applied yet")
    wait_for(page, "low (")
    assert controller.schema(session)["age_group"].hierarchy is None
    assert page.locator("[name='levels']").input_value() == typed  # what is being typed is the visitor's
    assert serious(page) == []
    page.locator("[name='levels']").fill("\n".join(f"{i};{'young' if i < 4 else 'old'}" for i in range(8)))
    page.get_by_role("button", name="Apply", exact=True).click()
    wait_for(page, "young (")
    picture = page.get_by_role("img", name="Levels of age_group, the finest on top")
    assert "young" in picture.locator("text").all_text_contents()  # the band has room for its name
    assert controller.schema(session)["age_group"].hierarchy["rows"][0] == ["0", "young"]
    assert serious(page) == []
    page.locator("[name='missing_codes']").fill("7")
    page.get_by_role("button", name="Apply", exact=True).click()
    wait_for(page, "must each have a meaning")
    controller.change_column(session, "income", {"role": "other"})  # drawn anew meanwhile, above and below
    expect(page.get_by_label("role of income", exact=True)).to_have_value("other", timeout=READY)
    assert page.locator("[name='missing_codes']").input_value() == "7"  # what was refused is there to be mended
    page.locator("[name='missing_codes']").fill("7 = unknown")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.locator("[name='missing_codes']")).to_have_value("7 = unknown", timeout=READY)
    page.get_by_text("must each have a meaning").wait_for(state="detached")
    with page.expect_download() as sent:
        page.get_by_role("link", name="Export for ARX").click()
    assert Path(sent.value.path()).read_text().splitlines()[0] == "0;young;*"


def test_rows_are_found_by_a_value_and_leave_no_trace(at, controller, survey, serious):
    session = opened(controller, survey)
    page = at(f"b/{session}/columns")
    page.get_by_label("Column to look in").select_option("gender")
    page.get_by_label("Value to look for").fill("female")
    page.keyboard.press("Enter")
    wait_for(page, "with “female” in gender")
    shown = page.get_by_role("region", name="First rows").locator("tbody tr td:nth-child(2)").all_inner_texts()
    assert set(shown) == {"female"}
    assert serious(page) == []
    assert "female" not in page.url
    assert "rows asked" not in controller.project_text(session)
    page.get_by_role("button", name="Show the first rows").click()
    page.get_by_role("heading", name="First rows", exact=True).wait_for()


def test_a_count_that_failed_is_said_and_begun_again(at, controller, survey, serious, monkeypatch):
    drawn = threading.Event()

    def broken(words, folder, say):
        drawn.wait(60)
        raise ValueError("a cell: ZEBRA")

    with monkeypatch.context() as patched:
        patched.setitem(ACTIONS, "look", broken)
        session = opened(controller, survey)
        page = at(f"b/{session}/columns")
        wait_for(page, "Counting…")
        drawn.set()
        page.get_by_role("button", name="Count again").wait_for()
    assert page.get_by_role("link", name="Continue to the method").count() == 1  # the way on is not barred
    assert "ZEBRA" not in page.content()
    assert serious(page) == []
    page.get_by_role("button", name="Count again").click()
    wait_for(page, "people are unique in their 4 quasi-identifiers")


# Presses, tabs and other races


@pytest.fixture
def ran(monkeypatch, controller):
    """What was run, without running it."""
    runs = []
    monkeypatch.setattr(
        type(controller), "run", lambda self, session, sample=None: runs.append(self.recipe(session)) or "0000-none"
    )
    return runs


def test_a_press_counts_though_the_page_is_redrawn_meanwhile(at_method, ran):
    """Leaving a field by pressing a button redraws the page between the press and its end."""
    page = at_method("familiar")
    page.locator("[name='0.k']").fill("8")
    button = page.get_by_role("button", name="Run", exact=True)
    button.scroll_into_view_if_needed()
    place = button.bounding_box()
    page.mouse.move(place["x"] + 9, place["y"] + 9)
    page.mouse.down()
    wait_for(page, "--method mondrian --k 8")
    page.mouse.up()
    page.wait_for_url("**/result/**")
    assert [recipe["coarsen"][0]["k"] for recipe in ran] == ["8"]


def test_pressed_twice_it_runs_once(at_method, ran):
    page = at_method("familiar")
    page.get_by_role("button", name="Run", exact=True).dblclick()
    page.wait_for_url("**/result/**")
    assert len(ran) == 1


def test_what_a_goal_lacks_keeps_it_from_being_run(at_method):
    page = at_method("synthetic")
    wait_for(page, "Required first")
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()


def test_two_tabs_show_the_same(at_method, controller, surveyed, survey, ran):
    page = at_method("familiar")
    columns, start, other = (page.context.new_page() for _ in range(3))
    columns.goto(page.url.replace("/method", "/columns"))
    start.goto(page.url.split("/b/")[0])
    other.goto(page.url)
    other.get_by_role("radio", name="Classical microaggregation").check()
    wait_for(page, "--group mdav:k=5")
    assert page.get_by_role("radio", name="Classical microaggregation").is_checked()
    second = page.context.new_page()
    second.goto(columns.url)
    second.get_by_label("role of gender", exact=True).select_option("sensitive")
    columns.wait_for_function("() => document.querySelector('[aria-label=\"role of gender\"]').value === 'sensitive'")
    wait_for(page, "Required first")
    second.get_by_label("role of gender", exact=True).select_option("quasi")
    columns.wait_for_function("() => document.querySelector('[aria-label=\"role of gender\"]').value === 'quasi'")
    copy = survey.with_name("copy.csv")
    copy.write_bytes(survey.read_bytes())
    controller.open(copy)
    start.get_by_role("link", name="copy.csv").wait_for()
    start.get_by_role("button", name="Remove copy.csv").click()
    start.get_by_role("button", name="Yes, do it").click()
    start.get_by_role("link", name="copy.csv").wait_for(state="detached")


def test_what_another_tab_changed_just_now_is_not_run_unseen(at_method, controller, surveyed, ran):
    page = at_method("familiar")
    page.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden' })")  # as if it came too late
    controller.choose_goal(surveyed, "microaggregation")
    page.get_by_role("button", name="Run", exact=True).click()
    wait_for(page, "has just been changed in another tab")
    wait_for(page, "--group mdav:k=5")
    assert ran == []


def test_two_tabs_on_one_job_and_cancel(at, controller, survey, monkeypatch, screenshot, serious):
    ended = threading.Event()

    def endless(words, folder, say):
        say("grouping")
        ended.wait(600)
        return {}

    monkeypatch.setitem(ACTIONS, "release", endless)
    job = controller.run(opened(controller, survey))
    pages = [at(f"b/{controller.home(controller.job(job))}/result/{job}") for _ in range(2)]
    for page in pages:
        page.get_by_role("button", name="Cancel").wait_for()
    wait_for(pages[0], "Grouping")
    screenshot(pages[0], "running")
    assert serious(pages[0]) == []
    pages[1].get_by_role("button", name="Cancel").click()
    for page in pages:
        page.get_by_role("heading", name="Cancelled").wait_for()
        wait_for(page, "Nothing was written")
    assert pages[0].get_by_role("button", name="Run again").is_enabled()
    assert serious(pages[0]) == []
    ended.set()  # it comes too late
    controller.jobs._children[job].wait()
    assert controller.job(job).state == "cancelled"
    pages[0].get_by_role("link", name="Jobs").click()
    pages[0].get_by_role("link", name="k-member").first.wait_for()
    controller.forget(controller.home(controller.job(job)))
    wait_for(pages[1], "This result was removed")


def test_a_file_forgotten_in_another_tab_is_said_everywhere(at, controller, survey, tmp_path):
    file = tmp_path / "lost.csv"
    file.write_bytes(survey.read_bytes())
    lost = opened(controller, file)
    pages = [at(f"b/{lost}/{name}") for name in ("columns", "method", "compare", "result")]
    pages[1].get_by_role("button", name="Run", exact=True).wait_for()
    controller.forget(lost)
    for page in pages:
        wait_for(page, "no longer open here")


def test_a_comparison_leads_to_a_recipe(at, controller, survey, screenshot, serious, monkeypatch):
    """Two recipes by one worker; which ones are usual is another matter."""
    surveyed = opened(controller, survey)
    few = [Coarsening.of(shoal.Mondrian(k=k)) for k in (5, 10)]
    monkeypatch.setattr("shoal.comparison.default_recipes", lambda schema, table: few)
    monkeypatch.setattr("shoal.comparison.run._checked_jobs", lambda jobs: 1)
    page = at(f"b/{surveyed}/compare")
    page.get_by_label("Accepted risk (%)").fill("10")
    page.get_by_role("button", name="Compare", exact=True).dblclick()
    page.get_by_role("heading", name="All recipes").wait_for(timeout=3 * READY)
    assert sum(job.kind == "compare" for job in controller.jobs_of(surveyed)) == 1  # though pressed twice
    dots = page.locator("svg .dot")
    assert dots.count() == 2
    assert page.locator("svg .dot.best").count() == 1
    assert serious(page) == []
    screenshot(page)
    dots.nth(1).focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="2. mondrian:k=10").wait_for()
    page.get_by_role("button", name="Use mondrian:k=10").first.click()
    page.wait_for_url("**/method")
    wait_for(page, "--method mondrian --k 10")


# The look


def test_themes_sizes_and_what_is_not_there(at, surveyed, serious, screenshot):
    page = at(f"b/{surveyed}/columns")
    wait_for(page, "What would help most")
    for width in (1024, 1200, 1300, 1440, 2560):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert page.locator(".scroll.tall").evaluate("area => area.scrollWidth <= area.clientWidth"), width
        screenshot(page, f"light-{width}")
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert serious(page) == []
    hint = "e => [getComputedStyle(e, '::placeholder').color, getComputedStyle(document.querySelector('.lead')).color]"
    placeholder, soft = page.get_by_placeholder("Find a column").evaluate(hint)
    assert placeholder == soft  # which the check of contrast has seen
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    screenshot(page, "dark")
    start = page.url.split("/b/")[0]
    empty = {"nowhere": "Not found", "b/nowhere/columns": "Not open", f"b/{surveyed}/history": "History"}
    for path, heading in {**empty, "": "Open a file", "jobs": "Jobs", "releases": "Nothing has left yet"}.items():
        page.goto(f"{start}/{path}")
        page.get_by_role("heading", name=heading, exact=True).wait_for()
        assert serious(page) == [], path
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_what_stands_side_by_side_is_of_one_height_and_no_picture_is_blown_up(at, surveyed):
    page = at(f"b/{surveyed}/columns?column=age_group")
    page.get_by_label("Name of the group").wait_for()
    for width in (1024, 1440, 3840):
        page.set_viewport_size({"width": width, "height": 900})
        tall = [page.locator(f"[name={name}]").bounding_box()["height"] for name in ("group", "level")]
        assert tall[0] == pytest.approx(tall[1], abs=1), width
        letters = "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e.closest('body')).fontSize)"
        assert page.locator(".levels-picture text").first.evaluate(letters) < 1.5, width


def test_no_page_has_a_script_or_style_of_its_own(at, surveyed):
    for path in ("", "jobs", f"b/{surveyed}/columns", f"b/{surveyed}/method", f"b/{surveyed}/compare"):
        page = at(path)
        assert page.locator("[style], style, script:not([src])").count() == 0
        assert page.evaluate(
            "[...document.querySelectorAll('*')].every(e => [...e.attributes].every(a => !a.name.startsWith('on')))"
        )


def test_history_leads_back_and_a_project_is_saved(at, controller, survey, tmp_path, serious):
    session = opened(controller, survey)
    page = at(f"b/{session}/columns")
    page.get_by_label("role of cost", exact=True).select_option("other")
    page.get_by_label("role of income", exact=True).select_option("other")
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="as opened").click()
    wait_for(page, "undone")
    assert controller.schema(session)["cost"].role != "other"
    page.get_by_label("Project file").fill(str(tmp_path / "mine"))
    page.keyboard.press("Enter")
    wait_for(page, "Saved to")
    assert (tmp_path / "mine.shoal").exists()
    assert serious(page) == []


# Scores


def test_a_model_is_tried(at, at_hand, screenshot, serious):
    page = at("scores")
    assert serious(page) == []
    service = page.frame_locator("iframe")
    service.get_by_label("API key").fill(at_hand[2])
    service.get_by_role("button", name="Show models").click()
    service.get_by_role("button", name="Fill in an example").click()
    service.get_by_role("button", name="Score", exact=True).click()
    service.get_by_text("%").first.wait_for()
    screenshot(page)


def test_a_wrong_key_sees_nothing(at):
    service = at("scores").frame_locator("iframe")
    service.get_by_label("API key").fill("shoal_000000000000_wrong")
    service.get_by_role("button", name="Show models").click()
    service.get_by_role("alert").get_by_text("key").first.wait_for()
    assert service.get_by_role("button", name="Score", exact=True).count() == 0
