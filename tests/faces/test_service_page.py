"""The page at ``/`` in a real Chromium against a real server: key, form, score, errors in words, budget."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from serving import processes
from toy_service import QUERY

from shoal.ledger import Keys, Ledger


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(address, token) of a service with a free model and one at ε = 0.1, for a client who may spend 0.25."""
    url = f"sqlite:///{tmp_path_factory.mktemp('page') / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward <7>", epsilon=0.25)
    with processes(url) as [(_, port)]:
        yield f"http://127.0.0.1:{port}/", token
    ledger.close()


@pytest.fixture
def page(new_page, served, screenshot):
    """The page with the key typed in; leaves a picture of how it ended."""
    made = new_page(served[0])
    made.get_by_label("API key").fill(served[1])
    made.keyboard.press("Enter")
    made.get_by_role("heading", name="Budget").wait_for()
    yield made
    screenshot(made)


def fill(page, **values):
    for name, value in {**QUERY, **values}.items():
        box = page.get_by_label(name, exact=True)
        box.select_option(label=value) if name == "sex" else box.fill(str(value))


def ask(page):
    page.get_by_role("button", name="Score").click()


def test_a_free_score_with_its_meaning(page, serious):
    assert page.get_by_role("radio").count() == 2
    assert page.get_by_role("radio", name="free").is_checked()  # free ones come first
    fill(page, age=130)
    ask(page)
    assert page.locator(".figure").inner_text() == "60%"  # 120 / 200, moved to the bound
    said = page.locator(".answer").inner_text()
    assert "Of 100 people with these values" in said
    assert "age was above its public bound" in said
    assert "cost nothing" in said
    assert serious(page) == []


def test_wrong_values_are_said_beside_their_fields_and_cost_nothing(page, serious):
    page.get_by_role("radio", name="priced").check()
    page.get_by_role("button", name="Score, at ε = 0.1").wait_for()
    page.get_by_label("age", exact=True).fill("<b>old</b>")
    ask(page)
    page.get_by_text("The features do not fit the model").wait_for()
    assert page.locator("#field-0-error").inner_text() == "must be a number"
    assert page.locator("#field-1-error").inner_text() == "is missing"
    assert page.locator("#field-2-error").inner_text() == ""  # may be left empty
    assert page.get_by_label("age", exact=True).get_attribute("aria-invalid") == "true"
    assert "Nothing was charged" in page.get_by_role("alert").all_inner_texts()[-1]
    assert page.locator("b").count() == 0  # what was typed is text and nothing else
    assert serious(page) == []


def test_a_charged_score_the_same_again_and_the_end_of_the_budget(page, serious):
    page.get_by_role("radio", name="priced").check()
    page.get_by_text("enough for 2 more new questions").first.wait_for()
    assert page.get_by_text("Your account (ward <7>)").is_visible()
    fill(page, age=50)
    ask(page)
    page.get_by_text("This answer cost ε = 0.1.").wait_for()
    first = page.locator(".figure").get_attribute("data-score")
    page.get_by_text("ε 0.15 of 0.25 left: enough for 1 more new question to this model.").wait_for()
    ask(page)
    page.get_by_text("Asked before: the same answer, at no cost.").wait_for()
    assert page.locator(".figure").get_attribute("data-score") == first
    for age, text in ((51, "This answer cost"), (52, "The budget does not cover this query")):
        fill(page, age=age)
        ask(page)
        page.get_by_text(text).wait_for()
    page.get_by_text("ε 0.05 of 0.25 left: not enough").wait_for()
    assert page.locator(".figure").count() == 0
    assert serious(page) == []


def test_an_example_the_command_line_and_leaving(page, served, serious):
    page.get_by_role("button", name="Fill in an example").click()
    assert page.get_by_label("age", exact=True).input_value() == "60"
    page.get_by_text("The same from the command line").click()
    command = page.get_by_label("curl command").inner_text()
    assert '{"features":{"age":60,"sex":"f","visits":0}}' in command
    assert served[1] not in page.content()
    page.get_by_role("button", name="Forget the key").click()
    page.get_by_label("API key").wait_for()
    for key, text in (("", "That is not a key"), ("shoal_no", "A valid API key is needed")):
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        page.get_by_text(text).wait_for()
    assert page.get_by_role("radio").count() == 0
    assert serious(page) == []
