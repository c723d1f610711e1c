import json

import pytest

from shoal import Claim, ParameterError


def test_round_trip_through_json():
    claim = Claim(
        kind="re-identification frequency", value=0.1, scope="mean over records", basis="measured",
        statement="s", assumptions=("a", "b"), interval=(0.05, 0.15),
    )  # fmt: skip
    assert Claim.from_dict(json.loads(json.dumps(claim.to_dict()))) == claim


def test_basis_must_be_one_of_the_four():
    with pytest.raises(ParameterError, match="proved, verified, measured, published"):
        Claim(kind="k", value=1, scope="s", basis="certified", statement="s")


def test_prints_kind_value_basis_and_statement():
    claim = Claim(kind="k-anonymity", value=5, scope="per record", basis="verified", statement="Shared by 5.")
    assert str(claim) == "k-anonymity 5 (verified, per record): Shared by 5."
