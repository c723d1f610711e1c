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


@pytest.mark.parametrize(
    ("kind", "is_probability", "is_differential"),
    [("re-identification bound", True, False), ("k-anonymity", False, False), ("epsilon-DP", False, True)],
)
def test_a_claim_knows_what_its_number_is(kind, is_probability, is_differential):
    claim = Claim(kind=kind, value=0.2, scope="s", basis="proved", statement="s")
    assert (claim.is_probability, claim.is_differential) == (is_probability, is_differential)


def test_a_claim_does_not_change():
    claim = Claim(kind="k-anonymity", value=5, scope="s", basis="proved", statement="s")
    with pytest.raises(AttributeError):
        claim.value = 50


def test_a_claim_holds_its_fields_by_name_and_nothing_else():
    with pytest.raises(TypeError):
        Claim("k-anonymity", 5, "s", "proved", "s")
    assert not hasattr(Claim(kind="k-anonymity", value=5, scope="s", basis="proved", statement="s"), "__dict__")


def test_an_estimate_is_printed_with_its_interval_low_end_first():
    claim = Claim(
        kind="marketer risk", value=0.1, scope="s", basis="measured", statement="About a tenth.", interval=(0.05, 0.15)
    )
    assert str(claim) == "marketer risk 0.1 [0.05, 0.15] (measured, s): About a tenth."


def test_a_refused_word_is_shown_but_not_at_any_length():
    with pytest.raises(ParameterError) as refused:
        Claim(kind="k-anonymity", value=1, scope="s", basis="x" * 500, statement="s")
    assert "x" * 59 in str(refused.value)
    assert "x" * 60 not in str(refused.value)


@pytest.mark.parametrize(
    ("basis", "kind", "shown"),
    [
        ("proved", "re-identification bound", "0.3334"),
        ("measured", "re-identification frequency", "0.3333"),
        ("verified", "entropy l-diversity", "0.3333"),
    ],
)
def test_a_promised_probability_is_printed_rounded_up(basis, kind, shown):
    claim = Claim(kind=kind, value=1 / 3, scope="s", basis=basis, statement="Said.")
    assert f"{kind} {shown} " in str(claim)
    assert f"{kind} {shown} " in claim._repr_html_()
