"""The page, read as a reader, a listener and an intruder would."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.claim import Claim
from shoal.errors import ParameterError
from shoal.report import Evidence, render
from shoal.schema import Schema

Read = Callable[[str], Any]
Gather = Callable[..., Evidence]
SEED = 918273645546372819
ORDER = [
    *("summary", "data", "recipient", "claims", "method", "columns", "parameters", "risk", "utility", "limits"),
    *("decision", "expiry", "provenance"),
]


@pytest.fixture(scope="module")
def external(evidence: Evidence) -> str:
    return render(evidence, "external")


@pytest.fixture(scope="module")
def internal(evidence: Evidence) -> str:
    labels = np.arange(240) // 5
    given = {"seed": SEED, "replay": "internal/replay.toml", "labels": labels, "timings": {"group": 1.25}}
    return render(evidence, "internal", internal=given)


@pytest.fixture(params=["external", "internal"])
def page(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


class TestBothPages:
    def test_every_element_is_closed(self, page: str, read_page: Read) -> None:
        assert read_page(page).unbalanced == []

    def test_nothing_is_fetched_or_run(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        names = {tag for tag, _ in found.tags}
        assert not names & {"link", "img", "iframe", "object", "embed", "video", "audio", "form", "base"}
        for _, attributes in found.tags:
            assert not any(name.startswith("on") for name in attributes)
            assert (attributes.get("href") or "#").startswith("#")
            assert "src" not in attributes
        assert "http:" not in page
        assert "https:" not in page
        assert "@import" not in page
        assert re.findall(r"url\((?!#)", page) == []

    def test_one_script_runs_and_the_policy_names_it(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        assert len(found.found("script")) == len(found.scripts) == 1
        digest = b64encode(sha256(found.scripts[0].encode()).digest()).decode()
        policy = next(meta for meta in found.found("meta") if "http-equiv" in meta)
        assert policy["http-equiv"] == "Content-Security-Policy"
        assert str(policy["content"]).startswith(
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
        )
        for word in ("fetch", "XMLHttpRequest", "import(", "eval", "innerHTML", "localStorage", "cookie"):
            assert word not in found.scripts[0]

    def test_sections_are_those_of_an_expert_determination(self, page: str, read_page: Read) -> None:
        inside = ["inside"] if "Internal only" in page else []
        assert [part["id"] for part in read_page(page).found("section")] == [*ORDER[:10], *inside, *ORDER[10:]]

    def test_landmarks_and_a_way_past_the_contents(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        for name in ("header", "nav", "main", "footer"):
            assert len(found.found(name)) == 1
        links = found.found("a")
        assert links[0] == {"href": "#report", "class": "skip"}
        assert found.found("main")[0]["id"] == "report"

    def test_headings_are_in_order(self, page: str, read_page: Read) -> None:
        levels = [level for level, _ in read_page(page).headings]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def test_links_lead_somewhere_and_ids_are_unique(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        targets = {str(link["href"])[1:] for link in found.found("a")}
        assert targets <= set(ids)
        assert set(ORDER) <= targets

    def test_pictures_have_names_and_tables_have_captions_and_heads(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        assert found.found("html")[0]["lang"] == "en"
        assert all(svg["role"] == "img" and svg["aria-label"] for svg in found.found("svg"))
        assert len(found.found("svg")) == 4 + 6
        assert len(found.found("caption")) == len(found.found("table"))
        assert all(head.get("scope") in ("row", "col") for head in found.found("th"))

    def test_words_that_a_tool_must_not_say(self, page: str, read_page: Read) -> None:
        text = read_page(page).text.lower()
        for word in ("compliant", "certified", "is safe", "guaranteed anonymous", "hipaa", "gdpr"):
            assert word not in text
        assert "shoal documents; a person decides" in text

    def test_claims_are_told_in_full(self, page: str, read_page: Read) -> None:
        text = read_page(page).text
        for words in (
            "An intruder finds a person",
            "The seed stays inside.",
            "Ties are broken at random.",
            "per person",
        ):
            assert words in text

    def test_the_person_who_decides_has_empty_lines(self, page: str, read_page: Read) -> None:
        lines = [row for table in read_page(page).tables for row in table if len(row) == 2 and row[1] == ""]
        wanted = {"Recipient", "Purpose of the use", "Decision", "Name", "Role", "Date", "Signature", "Valid until"}
        assert wanted <= {row[0] for row in lines}

    def test_every_mark_tells_what_the_tables_tell(self, page: str, read_page: Read) -> None:
        found = read_page(page)
        shown = {cell for table in found.tables for row in table for cell in row}
        assert len(found.tips) > 60
        for tip in found.tips:
            told = tip.rpartition(": ")[2]
            numbers = re.findall(r"under 1%|[<>]?−?[\d.,]+%|−?\d\.\d\d(?= before| after)", told)
            assert numbers, tip
            assert set(numbers) <= shown, tip

    def test_every_column_is_told_of(self, page: str, evidence: Evidence, read_page: Read) -> None:
        head = ["Column", "What was done", "Why", "How much it changed", "What is preserved"]
        told = next(table for table in read_page(page).tables if table[0] == head)
        assert len(told) == 1 + len(evidence.columns)
        by_name = {row[0]: row[1:] for row in told[1:]}
        assert by_name["nameidentifier"] == ["Removed.", "It names a person.", "Removed entirely.", "Nothing."]
        assert by_name["agequasi-identifier"][3] == "Every value, exactly as often as before."
        assert by_name["costsensitive"][2:] == ["Not at all.", "Everything."]

    def test_no_person_stands_out(self, page: str) -> None:
        lowered = page.lower()
        assert "sentinel" not in lowered
        for value in ("98,765,432", "98765432", "13,579", "13579"):
            assert value not in lowered

    def test_colours_have_contrast(self, page: str) -> None:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", page))
        for ink in ("ink", "soft", "accent", "warn"):
            for ground in ("paper", "tint"):
                assert contrast(colours[ink], colours[ground]) >= 4.5


class TestExternal:
    def test_no_seed_no_path_no_replay(self, evidence: Evidence, gather_by_hand: Gather, survey: Any) -> None:
        recipe = {
            "group": {"method": "mdav", "k": 5, "seed": SEED},
            "mask": [{"method": "resample", "replace": False}],
            "seed": SEED,
            "input": "/srv/secret/input.csv",
        }
        page = render(gather_by_hand(*survey, recipe=recipe), "external")
        assert str(SEED) not in page
        assert "secret" not in page
        assert "replay.toml" not in page

    def test_internal_facts_are_refused(self, evidence: Evidence) -> None:
        with pytest.raises(ParameterError, match="internal facts"):
            render(evidence, "external", internal={"seed": SEED})

    def test_no_small_count(self, external: str, read_page: Read) -> None:
        people = read_page(external).people
        assert len(people) > 40
        assert all(count == 0 or count >= 5 for count in people)

    def test_changed_shares_and_small_classes_are_not_shown(self, external: str, read_page: Read) -> None:
        found = read_page(external)
        assert "Internal only" not in found.text
        assert "Unique rows" not in found.text
        assert "differ from the person's own" not in found.text


class TestInternal:
    def test_it_adds_what_inside_needs(self, internal: str, read_page: Read) -> None:
        text = read_page(internal).text
        for words in (
            str(SEED),
            "differ from the person's own",
            "internal/replay.toml",
            "Unique rows",
            "What to watch",
            "1.2 s",
            "48 groups",
        ):
            assert words in text
        assert "must not leave the secure environment" in text

    def test_class_sizes_are_exact(self, internal: str, evidence: Evidence, read_page: Read) -> None:
        table = next(table for table in read_page(internal).tables if table[0][0] == "Rows that share it")
        assert [row[1] for row in table[1:6]] == [f"{n:,}" for n in evidence.small.before]

    def test_labels_are_never_written(self, evidence: Evidence) -> None:
        page = render(evidence, "internal", internal={"labels": [7654321] * 120 + [-1] * 5 + [7654322] * 115})
        assert "7654321" not in page
        assert "2 groups" in page

    def test_it_needs_no_facts(self, evidence: Evidence, read_page: Read) -> None:
        assert "What to watch" in read_page(render(evidence, "internal")).text


def test_a_column_that_was_not_measured_says_why(evidence: Evidence) -> None:
    page = render(replace(evidence, marginals=evidence.marginals[:1]), "external")
    assert "Not measured: the first 1 quasi-identifiers and sensitive columns are." in page
    assert "Not measured.<" not in page


def test_an_unknown_audience_is_refused(evidence: Evidence) -> None:
    with pytest.raises(ParameterError, match="audience must be external or internal"):
        render(evidence, "everybody")  # type: ignore[arg-type]


class TestOddTables:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["level-aa", "level-bb", "level-cc", "level-dd", None]),
                st.integers(0, 3),
                st.one_of(st.none(), st.floats(-1e4, 1e4)),
                st.sampled_from(["ill-ee", "ill-ff", "ill-gg"]),
            ),
            min_size=3,
            max_size=50,
        ),
        st.integers(2, 6),
    )
    def test_the_small_cell_rule_on_whole_pages(
        self, gather_by_hand: Gather, read_page: Read, rows: list[tuple[Any, ...]], k: int
    ) -> None:
        names = {"a": pl.String, "b": pl.Int64, "y": pl.Float64, "z": pl.String}
        table = pl.DataFrame(rows, schema=names, orient="row")
        schema = Schema.of(quasi=["a", "b"], sensitive=["y", "z"])
        page = read_page(render(gather_by_hand(table, schema, k), "external"))
        assert all(count == 0 or count >= k for count in page.people)
        for column in (0, 3):
            for level, held in Counter(row[column] for row in rows).items():
                assert held >= k or level is None or level not in page.text
        for found in page.tables:
            if found[0] == ["Value", "Before", "Share", "After", "Share"]:
                assert sum(int(row[1].replace(",", "")) for row in found[1:]) == len(rows)

    def test_names_from_data_are_text(self, gather_by_hand: Gather, read_page: Read) -> None:
        evil = '<script>alert("1")</script>'
        table = pl.DataFrame({evil: [evil] * 10 + ["b"] * 10, "y' onload='x": range(20)})
        schema = Schema.of(quasi=[evil], sensitive=["y' onload='x"])
        given = {
            "notes": [evil],
            "title": evil,
            "created": evil,
            "versions": {evil: evil},
            "hashes": {evil: evil},
            "claims": [
                Claim(kind="group size", value=1, scope=evil, basis="measured", statement=evil, assumptions=(evil,))
            ],
        }
        evidence = gather_by_hand(table, schema, **given)
        for html in (render(evidence, "external"), render(evidence, "internal", internal={evil: evil, "seed": evil})):
            page = read_page(html)
            assert len(page.found("script")) == 1
            assert evil not in page.scripts[0]
            assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
            assert page.unbalanced == []
            assert evil in page.text

    @pytest.mark.parametrize(
        ("table", "roles"),
        [
            ({"a": list(range(20))}, {"quasi": ["a"]}),
            ({"a": [3] * 20}, {"quasi": ["a"]}),
            ({"a": ["x"] * 20, "b": [2.5] * 20}, {"quasi": ["a"], "sensitive": ["b"]}),
            ({"a": ["x", "y", None, "z"] * 5}, {"quasi": ["a"]}),
            ({"a": [None] * 20, "b": list(range(20))}, {"quasi": ["a", "b"], "kinds": {"a": "nominal"}}),
            ({"a": [1, 2] * 10, "y": [None] * 19 + [1.5]}, {"quasi": ["a"], "sensitive": ["y"]}),
            ({"a": [1, 2] * 10, "who": [i // 4 for i in range(20)]}, {"quasi": ["a"], "unit": "who"}),
            ({"a": [1, 2, 3]}, {"quasi": ["a"]}),
        ],
    )
    def test_small_and_plain_tables(
        self, gather_by_hand: Gather, read_page: Read, table: dict[str, list[Any]], roles: dict[str, Any]
    ) -> None:
        evidence = gather_by_hand(pl.DataFrame(table), Schema.of(**roles), 5)
        for audience in ("external", "internal"):
            page = read_page(render(evidence, audience))  # type: ignore[arg-type]
            assert page.unbalanced == []
            assert "nan" not in re.findall(r"\b\w+\b", page.text.lower())
        assert all(count == 0 or count >= 5 for count in read_page(render(evidence, "external")).people)

    def test_many_columns_are_limited_and_said_so(self, gather_by_hand: Gather, read_page: Read) -> None:
        rng = np.random.default_rng(0)
        table = pl.DataFrame({f"column {i}": rng.integers(0, 4, 40) for i in range(200)})
        schema = Schema.of(quasi=[f"column {i}" for i in range(40)], other=[f"column {i}" for i in range(40, 200)])
        page = read_page(render(gather_by_hand(table, schema), "external"))
        assert "The first 24 of 40 columns are shown." in page.text
        assert "The first 15 of 40 columns are shown." in page.text
        assert len(page.found("svg")) == 4 + 24
        assert {f"column {i}" for i in range(200)} <= set(page.row_heads)

    def test_many_sensitive_columns_are_limited_and_said_so(self, gather_by_hand: Gather, read_page: Read) -> None:
        rng = np.random.default_rng(0)
        table = pl.DataFrame({"a": range(20), **{f"y{i}": rng.integers(0, 4, 20) for i in range(20)}})
        schema = Schema.of(quasi=["a"], sensitive=[f"y{i}" for i in range(20)])
        assert "The first 12 of 20 columns" in read_page(render(gather_by_hand(table, schema), "external")).text

    def test_nothing_is_called_proved_without_such_a_claim(self, gather_by_hand: Gather, read_page: Read) -> None:
        table, schema = pl.DataFrame({"a": range(20)}), Schema.of(quasi=["a"])
        text = read_page(render(gather_by_hand(table, schema, claims=[]), "external")).text
        assert "by proof" not in text
        assert "Proved" not in text
        assert "by proof" in read_page(render(gather_by_hand(table, schema), "external")).text


def contrast(ink: str, ground: str) -> float:
    """The contrast ratio of WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    bright, dark = sorted((light(ink), light(ground)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)
