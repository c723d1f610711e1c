"""Free text is refused, dropped, or scrubbed and counted; an error never shows it."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.compliance.free_text import replaced, scrub
from shoal.errors import ColumnError, GuaranteeError, ParameterError
from shoal.recipe import Anonymization
from shoal.release import make

N = 12
NOTES = [
    f"Mrs Quisquilia number {i} was seen again and is doing rather well, call 617-555-{1000 + i}" for i in range(N)
]
TABLE = pl.DataFrame({"age": [30 + i for i in range(N)], "note": NOTES, "word": ["a short remark"] * N})


def released(role, **given):
    roles = {"quasi": ["age"], "other": ["word"]}
    roles[role] = [*roles.get(role, ()), "note"]
    recipe = Anonymization.of(shoal.MDAV(k=3), shoal.Resample())
    return make(TABLE, shoal.Schema.of(**roles), recipe, seed=1, **given)


@pytest.mark.parametrize("role", ["other", "sensitive"])
def test_free_text_is_refused_without_a_word_of_it(role):
    with pytest.raises(GuaranteeError, match="free text.*column 'note'.*shoal scrub") as refused:
        released(role)
    assert "Quisquilia" not in str(refused.value)


def test_it_is_dropped_or_allowed():
    assert "note" not in released("identifier").table.columns
    allowed = released("other", allow=["note"])
    assert "note: a person looked at it and allowed it to leave as it is" in allowed.notes


SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 8), st.sampled_from("AB"), st.floats(0, 1)), max_size=6
).map(lambda found: [(start, start + length, kind, sure) for start, length, kind, sure in found])


@given(SPANS)
def test_nothing_of_a_replaced_span_is_left(spans):
    """An oracle letter by letter: whatever a kept span covers is gone, the rest is there in its order."""
    text = "abcdefghijklmnopqrstuvwxyz0123456789"
    made, counts = replaced(text, spans)
    left = made.replace("<A>", "").replace("<B>", "")
    assert Counter("A" * made.count("<A>") + "B" * made.count("<B>")) == counts
    gone = set(text) - set(left)
    assert left == "".join(letter for letter in text if letter not in gone)
    assert gone <= {text[i] for start, end, _, _ in spans for i in range(start, end)}
    surest = max(spans, key=lambda span: (span[3], span[1] - span[0], -span[0]), default=None)
    assert surest is None or not set(text[surest[0] : surest[1]]) & set(left)


def test_presidio_replaces_what_has_a_form():
    pytest.importorskip("presidio_analyzer")
    done = scrub(TABLE, ["note"])
    left = int(done.table["note"].str.contains("617-555").sum())
    assert left <= 1  # it overlooks one: what it promises is to count what it replaced
    assert sum(done.counts["note"].values()) >= N - left
    assert done.table["age"].equals(TABLE["age"])
    import tldextract.tldextract

    assert tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls == ()  # nothing is fetched
    with pytest.raises(ParameterError, match="spaCy model"):
        scrub(TABLE, ["note"], model="no_such_model")
    with pytest.raises(ColumnError, match="'age'"):
        scrub(TABLE, ["age"])
