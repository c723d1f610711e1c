"""The score page of the workbench: the served models, tried with a key in a real Chromium."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_server import workbench

import shoal
from shoal.ledger import Keys, Ledger


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address of a workbench that serves one certified model, and a key for it."""
    home = tmp_path_factory.mktemp("scores")
    table, schema = shoal.datasets.pima_like(300, seed=1), shoal.datasets.pima_like_schema()
    model = shoal.CertifiedTree(epsilon=2.0, schema=schema).fit(table.drop("diabetes"), table["diabetes"])
    (home / "models").mkdir()
    model.save(home / "models" / "diabetes.json")
    url = f"sqlite:///{home / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    ledger.close()
    with workbench(home, "--models", str(home / "models"), "--ledger", url) as address:
        yield address, token


def test_a_model_is_tried(served, new_page, screenshot, serious):
    address, token = served
    page = new_page(f"{address}scores")
    assert serious(page) == []
    service = page.frame_locator("iframe")
    service.get_by_label("API key").fill(token)
    service.get_by_role("button", name="Show models").click()
    service.get_by_role("button", name="Fill in an example").click()
    service.get_by_role("button", name="Score", exact=True).click()
    service.get_by_text("%").first.wait_for()
    screenshot(page)


def test_a_wrong_key_sees_nothing(served, new_page):
    page = new_page(f"{served[0]}scores")
    service = page.frame_locator("iframe")
    service.get_by_label("API key").fill("shoal_000000000000_wrong")
    service.get_by_role("button", name="Show models").click()
    service.get_by_role("alert").get_by_text("key").first.wait_for()
    assert service.get_by_role("button", name="Score", exact=True).count() == 0
