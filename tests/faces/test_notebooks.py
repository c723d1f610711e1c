"""The notebooks of the documentation run, and show what they promise."""

import json
import runpy
from pathlib import Path

import pytest

MADE = runpy.run_path(str(Path(__file__).parents[2] / "docs/notebooks.py"))


@pytest.fixture(scope="module", params=MADE["sources"](), ids=lambda source: source.stem)
def notebook(request):
    return MADE["executed"](request.param)


def test_every_notebook_runs_and_shows_its_results(notebook):
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 3
    assert all(cell["outputs"] for cell in code)
    assert json.loads(json.dumps(notebook)) == notebook


def test_its_page_has_text_code_and_results(notebook):
    text = MADE["page"]("it", notebook)
    assert text.startswith("# ")
    assert "(it.ipynb)" in text
    assert "```python" in text
    assert '<div class="result">' in text


def test_a_cell_shows_what_it_prints_and_what_it_gives(tmp_path):
    source = tmp_path / "small.py"
    source.write_text(
        "# %% [markdown]\n# # Small\n\n# %%\nx = 2\nprint('two')\nx + 1\n\n# %%\nx * x\n", encoding="utf-8"
    )
    printed, given = MADE["executed"](source)["cells"][1]["outputs"]
    assert (printed["text"], given["data"]["text/plain"]) == ("two\n", "3")
    assert "```text\n4\n```" in MADE["page"]("small", MADE["executed"](source))
    assert MADE["title"](source) == "Small"
