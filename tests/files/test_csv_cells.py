"""Delimited text is cut alike by the fast way and by Python's csv, and nothing ragged passes."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.files.csv_cells import Layout, _cut_by_csv, cut

FILE = Path("table.csv")
PIECES = st.sampled_from(["a", "1", " ", '"', '""', ",", ";", "\n", "\r\n", "\r", "é", "#", "\t"])
CELLS = st.text(st.sampled_from('ab ,"\n;é#'), max_size=6)


def outcome(way, text, n_columns):
    """The cells, or the error's words without the number of the line."""
    try:
        return [column.to_list() for column in way(FILE, text, n_columns, ",")]
    except InputError as error:
        return str(error).partition(" in line ")[0]


def by_csv(file, letters, n_columns, delimiter):
    return _cut_by_csv(file, letters.rstrip(b"\r\n").decode() + "\n", n_columns, delimiter)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=14), st.integers(1, 3))
def test_any_text_is_cut_alike_by_both_ways(pieces, n_columns):
    text = (",".join("abc"[:n_columns]) + "\n" + "".join(pieces)).encode()
    assert outcome(cut, text, n_columns) == outcome(by_csv, text, n_columns)


@settings(max_examples=200)
@given(st.lists(st.tuples(CELLS, CELLS), max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_a_writer_quotes_is_in_order_and_comes_back(rows, line_end, quote_all):
    to = io.StringIO(newline="")
    writer = csv.writer(to, lineterminator=line_end, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL)
    writer.writerows([("x", "y"), *rows])
    letters = to.getvalue().encode()
    assert Layout.of(letters, ",") is not None
    found = [column.to_list() for column in cut(FILE, letters, 2, ",")]
    assert found == [[row[place] or None for row in rows] for place in (0, 1)]


@pytest.mark.parametrize("quoted", ["1", '"1"', '"1\n1"'])
@pytest.mark.parametrize(("line", "width"), [("1,2,3", 3), ("1", 1), ("1,", None), ('"1,2"', 1), (",,", 3)])
def test_a_line_of_another_width_is_refused_and_placed(quoted, line, width):
    text = f"a,b\n{quoted},2\n{line}\n3,4\n".encode()
    if width is None:
        assert cut(FILE, text, 2, ",")[1].to_list() == ["2", None, "4"]
        return
    with pytest.raises(InputError, match=f"got {width} in line {3 + quoted.count(chr(10))}\\."):
        cut(FILE, text, 2, ",")


@pytest.mark.parametrize("text", ["a,b\n5'10\",2\n", "a,b\n1,2\n\n3,4\n", 'a,b\n1,"x"\r3,4\n', 'a,b\n1,"x\n'])
def test_what_is_not_in_order_takes_the_slow_way(text):
    assert Layout.of(text.encode(), ",") is None
