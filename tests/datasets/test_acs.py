"""ACS person records as people of areas."""

import polars as pl
import pytest

from shoal.datasets import acs, acs_schema
from shoal.datasets.american_community import is_acs
from shoal.errors import InputError

PUMS = pl.DataFrame(
    {
        "ST": [6, 6, 36, 36, 6],
        "PUMA": [3701, 3701, 101, 101, 3701],
        "SEX": [1, 2, 2, 1, 1],
        "AGEP": [17, 18, 74, 75, 2],
        "SCHL": [11, 16, 21, 24, None],
        "POVPIP": [99, 100, 399, 501, 200],
        "PWGTP": [10, 20, 30, 40, 50],
    }
)


def test_coded_by_hand():
    assert acs(PUMS).rows() == [
        ("06-03701", "male", 0, 0, 0, 10.0),
        ("06-03701", "female", 1, 2, 1, 20.0),
        ("36-00101", "female", 6, 4, 3, 30.0),
        ("36-00101", "male", 7, 5, 4, 40.0),
        ("06-03701", "male", 0, 0, 3, 50.0),  # a small child has no schooling yet
    ]


def test_an_excerpt_in_a_file_and_people_in_institutions(tmp_path):
    """NIST's excerpt has N for not applicable, its own codes of education, and areas that name their state."""
    rows = "PUMA,AGEP,SEX,EDU,POVPIP,PWGTP\n01-01301,18,2,7,N,79\n01-01301,27,1,5,116,5\n08-00803,1,2,N,501,6\n"
    (tmp_path / "acs.csv").write_text(rows)
    found = acs(tmp_path / "acs.csv")
    assert found.rows() == [("01-01301", "male", 2, 2, 1, 5.0), ("08-00803", "female", 0, 0, 4, 6.0)]
    assert set(found.columns) == {column.name for column in acs_schema().columns}


@pytest.mark.parametrize("name", ["SCHL", "POVPIP", "PUMA", "PWGTP"])
def test_a_missing_variable_is_named(name):
    with pytest.raises(InputError, match=name):
        acs(PUMS.drop(name))


def test_known_by_its_variables():
    assert is_acs(PUMS)
    assert is_acs(PUMS.rename(str.lower))
    assert not is_acs(PUMS.drop("AGEP"))
