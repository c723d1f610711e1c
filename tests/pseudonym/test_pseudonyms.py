"""Pseudonyms: keyed, consistent, scoped, free of collisions; and what they do to claims of a release."""

import hashlib
import hmac
import itertools
import json
import re
import stat
import struct
import uuid
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ColumnError, FileError, GuaranteeError, ParameterError, SchemaError
from shoal.files import read_source
from shoal.frame import enter, series
from shoal.pseudonym import ENVIRONMENT, ProjectKey, Pseudonyms
from shoal.pseudonym.pseudonyms import digits_for, expected_collisions
from shoal.release.reidentification_bound import token_bound, unit_bound

KEY = ProjectKey(bytes(range(32)))
NAMES = Pseudonyms(key=KEY, scope="release 1")


def spelled_out(key, scope, domain, identifier):
    """The definition, written a second time with another function."""
    message = b""
    for part in (scope, domain, identifier):
        if isinstance(part, int):
            message += struct.pack(">bqq", 2, -1 if part < 0 else 0, part)
        else:
            message += struct.pack(">bI", 4, len(part.encode())) + part.encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()[:32]


@pytest.mark.parametrize("identifier", [7, "7", "07", "Zoë", -3, 2**60])
def test_a_pseudonym_is_the_keyed_hash_of_scope_domain_and_identifier(identifier):
    found = NAMES.of(pl.Series("patient", [identifier]))[0]
    assert found == spelled_out(bytes(range(32)), "release 1", "patient", identifier)


def test_a_vector_that_must_never_change():  # [P8]
    assert NAMES.of(pl.Series("patient", [7]))[0] == "09197acba1adb3aa3e0411e74c7f0237"
    assert KEY.id == "9b57fdf3225f"


def test_numbers_texts_and_leading_zeros_are_three_identifiers():  # [P7]
    one = {NAMES.of(pl.Series("patient", [value]))[0] for value in (7, "7", "07")}
    assert len(one) == 3
    joined = Pseudonyms(key=KEY, scope="release 1", as_text=True)
    assert len({joined.of(pl.Series("patient", [value]))[0] for value in (7, "7", "07")}) == 2


def test_scope_domain_and_key_each_change_everything():
    ids = pl.Series("patient", range(200))
    others = [
        NAMES.of(ids, "doctor"),
        Pseudonyms(key=KEY, scope="release 2").of(ids),
        Pseudonyms(key=ProjectKey.draw(), scope="release 1").of(ids),
    ]
    assert all(not set(NAMES.of(ids)) & set(other) for other in others)


@given(st.lists(st.one_of(st.none(), st.integers(0, 30)), min_size=1), st.sampled_from(["hex", "uuid", "digits:12"]))
@settings(max_examples=30, deadline=None)
def test_equal_stays_equal_different_stays_different_missing_stays_missing(ids, form):
    tokens = Pseudonyms(key=KEY, scope="s", format=form).of(pl.Series("id", ids, dtype=pl.Int64)).to_list()
    for (a, x), (b, y) in itertools.combinations(zip(ids, tokens, strict=True), 2):
        assert (a == b) == (x == y)
    assert all((one is None) == (token is None) for one, token in zip(ids, tokens, strict=True))


def test_whole_floats_beside_missing_ones_are_the_same_identifiers():
    assert NAMES.of(pl.Series("p", [7.0, None]))[0] == NAMES.of(pl.Series("p", [7]))[0]
    assert NAMES.of(pl.Series("p", ["a"], dtype=pl.Categorical))[0] == NAMES.of(pl.Series("p", ["a"]))[0]


def test_formats():
    ids = pl.Series("p", range(50))
    assert all(re.fullmatch("[0-9a-f]{32}", token) for token in NAMES.of(ids))
    numbers = Pseudonyms(key=KEY, scope="s", format="digits:9").of(ids)
    assert all(re.fullmatch("[0-9]{9}", token) for token in numbers)
    assert {uuid.UUID(token).version for token in Pseudonyms(key=KEY, scope="s", format="uuid").of(ids)} == {8}


def test_a_collision_is_refused_and_not_mended():
    """Fifty million pairs among 10,000 persons meet a million numbers: about fifty collide."""
    with pytest.raises(GuaranteeError, match="must all differ.*digits:18"):  # 2 log2(10,000) + 30 = 56.6 bits
        Pseudonyms(key=KEY, scope="s", format="digits:6").of(pl.Series("p", range(10_000)))


@pytest.mark.parametrize(
    ("n", "space", "pairs"),
    [
        (10**6, 2**64, 2.7e-8),  # [P1]
        (10**6, 2**32, 116),  # [P2]
        (10**9, 2**64, 0.027),  # [P3]
        (10**9, 2**96, 6.3e-12),
        (10**9, 2**128, 1.5e-21),
        (10**6, 10**10, 50),  # [P4], and so says the page on pseudonyms
        (10**6, 10**15, 5e-4),
    ],
)
def test_how_many_pairs_collide(n, space, pairs):
    assert expected_collisions(n, space) == pytest.approx(pairs, rel=0.03)


def test_the_formula_is_what_is_found():
    """10,000 of a million numbers: 50 pairs on average, of which 20 to 80 are found but once in 20,000 times."""
    tokens = [int.from_bytes(KEY.digest("s", "p", i), "big") % 10**6 for i in range(10_000)]
    counts = np.unique(tokens, return_counts=True)[1]
    assert 20 < (counts * (counts - 1) // 2).sum() < 80
    assert expected_collisions(10_000, 10**6) == pytest.approx(50, rel=0.01)


@given(st.integers(2, 10**9))
def test_as_many_digits_as_the_refusal_names_are_enough(n):
    assert expected_collisions(n, 10 ** digits_for(n)) < 1e-9


@pytest.mark.parametrize("form", ["md5", "digits", "digits:0", "digits:5", "digits:99", "digits:-3", "", None, 12])
def test_other_formats_are_refused(form):
    with pytest.raises(ParameterError, match="format"):
        Pseudonyms(key=KEY, scope="s", format=form)


@pytest.mark.parametrize("scope", ["", "  ", None, 7, "x" * 201])
def test_a_scope_must_name_something(scope):
    with pytest.raises(ParameterError, match="scope"):
        Pseudonyms(key=KEY, scope=scope)


@pytest.mark.parametrize("ids", [[" secret7"], ["secret7 "], [""], ["e\u0301secret7"], [7.5], [True], [float("inf")]])
def test_identifiers_of_doubtful_spelling_are_refused_without_showing_them(ids):
    with pytest.raises(ColumnError) as raised:
        NAMES.of(pl.Series("p", ids))
    assert "secret7" not in str(raised.value)
    assert "7.5" not in str(raised.value)


def test_no_pseudonym_shows_what_dates_are_shifted_by():
    with pytest.raises(ParameterError, match="date shift"):
        NAMES.of(pl.Series("date shift", [1]))


# The key


def test_a_key_file_is_its_owners_alone_and_never_replaced(tmp_path):
    path = tmp_path / "project.key"
    KEY.write(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ProjectKey.read(path) == KEY
    with pytest.raises(FileError):
        ProjectKey.draw().write(path)
    path.chmod(0o640)
    with pytest.raises(FileError, match="owner's alone"):
        ProjectKey.read(path)


@pytest.mark.parametrize("text", ["", "00" * 31, "00" * 33, "zz" * 32, "password"])
def test_what_is_no_key_is_refused_without_showing_it(tmp_path, text):
    path = tmp_path / "project.key"
    path.touch(mode=0o600)
    path.write_text(text)
    with pytest.raises(FileError, match="must hold a key") as raised:
        ProjectKey.read(path)
    assert not text or text not in str(raised.value)


def test_the_key_comes_from_the_environment_where_no_file_is_named(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with pytest.raises(ParameterError, match="project key"):
        ProjectKey.find()
    monkeypatch.setenv(ENVIRONMENT, KEY.secret.hex())
    assert ProjectKey.find() == KEY


def test_a_key_shows_itself_nowhere():
    for shown in (repr(KEY), repr(NAMES), json.dumps(NAMES.to_dict())):
        assert KEY.secret.hex() not in shown
        assert str(KEY.secret) not in shown


def test_keys_are_drawn_afresh():
    assert ProjectKey.draw() != ProjectKey.draw()
    with pytest.raises(ParameterError):
        ProjectKey(b"short")


def test_another_key_can_not_pass_for_the_one_that_was_used():
    with pytest.raises(ParameterError, match="need the project key"):
        Pseudonyms.from_dict(NAMES.to_dict(), ProjectKey.draw())
    assert Pseudonyms.from_dict(NAMES.to_dict(), KEY) == NAMES


# Tables and releases


def table_of(rows, n_groups=4, seed=1):
    """`rows` rows of each person in turn."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(len(rows)) + 1000, rows)
    n = len(patient)
    place = patient % n_groups
    return pl.DataFrame(
        {"patient": patient, "place": place, "name": [f"N{p}" for p in patient], "ill": rng.integers(2, size=n)}
    )


SCHEMA = shoal.Schema.of(
    unit="patient",
    pseudonym=["patient"],
    identifier=["name"],
    quasi=["place"],
    sensitive=["ill"],
    kinds={"place": "nominal"},
)


def test_a_table_of_any_type_gets_the_same_pseudonyms(make_frame):
    table = table_of([1] * 6)
    made = series(enter(NAMES.apply(make_frame(table), SCHEMA)), "patient")
    assert made.to_list() == NAMES.of(table["patient"]).to_list()


def test_schemas_say_which_columns_and_what_they_name(tmp_path):
    text = '[columns.pid]\nrole = "unit"\npseudonym = "patient"\n[columns.visit]\nrole = "pseudonym"\n'
    path = tmp_path / "s.toml"
    path.write_text(text)
    schema = shoal.Schema.read(path)
    assert schema.pseudonym == {"pid": "patient", "visit": "visit"}
    assert (schema.unit, schema.identifier) == ("pid", ("visit",))
    assert shoal.Schema.from_dict(schema.to_dict()) == schema
    assert [c.name for c in schema.released.columns] == ["pid", "visit"]
    tokens = NAMES.apply(pl.DataFrame({"pid": [7], "visit": [1]}), schema)["pid"][0]
    assert tokens == NAMES.of(pl.Series("patient", [7]))[0]


@pytest.mark.parametrize("role", ["quasi", "sensitive", "other", "weight", "household"])
def test_only_what_names_somebody_has_a_pseudonym(role):
    with pytest.raises(SchemaError, match="pseudonym belongs to"):
        shoal.Schema.from_dict({"columns": {"x": {"role": role, "pseudonym": True}}})
    with pytest.raises(SchemaError, match="pseudonym must be"):
        shoal.Schema.from_dict({"columns": {"x": {"role": "unit", "pseudonym": 7}}})


def released(rows, **how):
    return shoal.coarsen(table_of(rows), SCHEMA, shoal.Generalize(k=3, suppression=0), pseudonyms=NAMES, **how)


def test_a_release_has_pseudonyms_and_no_identifier():
    release = released([1] * 40)
    assert set(release.table.columns) == {"patient", "place", "ill"}
    assert set(release.table["patient"]) == set(NAMES.of(table_of([1] * 40)["patient"]))


def bound_of(release):
    return next(claim for claim in release.claims if claim.kind == "re-identification bound")


def test_one_row_each_keeps_the_bound_and_a_longer_history_breaks_it():
    assert bound_of(released([1] * 40)).value == pytest.approx(1 / 3)
    broken = bound_of(released([1] * 39 + [3]))
    assert broken.value == 1
    assert "pseudonym" in broken.statement
    assert any("told by how many rows" in text for text in broken.assumptions)


def enumerated(labels, units):
    """The surest true guess of who has which token, over every way of handing out the masked rows of each group.

    A view is what everybody sees: the bundles of masked rows that tokens tie together, without names.
    """
    slots = [[i for i, label in enumerate(labels) if label == group] for group in sorted(set(labels))]
    seen, owned = Counter(), Counter()
    for dealt in itertools.product(*(itertools.permutations(slot) for slot in slots)):
        row = {i: given for slot, order in zip(slots, dealt, strict=True) for i, given in zip(slot, order, strict=True)}
        bundle = {u: frozenset(row[i] for i, v in enumerate(units) if v == u) for u in set(units)}
        view = frozenset(bundle.values())
        seen[view] += 1
        owned.update((view, u, rows) for u, rows in bundle.items())
    return max(times / seen[view] for (view, _, _), times in owned.items())


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_the_bound_with_tokens_is_what_enumeration_gives(rows):
    units, labels = (np.array(column) for column in zip(*rows, strict=True))
    assert token_bound(labels, units) == pytest.approx(enumerated(labels.tolist(), units.tolist()))


def test_rows_1_1_3_three_fifths_becomes_one():  # [B9]
    """The counter-example: without a token the third person's share of the rows, with one certainty."""
    labels, units = np.zeros(5, dtype=int), np.array([0, 1, 2, 2, 2])
    assert unit_bound(labels, units) == pytest.approx(3 / 5)
    assert token_bound(labels, units) == 1
    assert token_bound(labels[:2], units[:2]) == 0.5


def test_an_intruder_who_counts_rows_finds_whom_the_claim_gives_up():
    """The attack that the claim of 1 speaks of: take the token with three rows."""
    release = released([1] * 39 + [3])
    counts = release.table.group_by("patient").len()
    token = counts.filter(pl.col("len") == 3)["patient"].to_list()
    assert token == [NAMES.of(pl.Series("patient", [1039]))[0]]


def test_the_attack_on_linked_rows_uses_the_pseudonym():
    table = table_of([1, 2, 3] * 20, n_groups=2).drop("ill")
    schema = shoal.Schema.of(
        unit="patient", pseudonym=["patient"], identifier=["name"], quasi=["place"], kinds={"place": "nominal"}
    )
    release = shoal.coarsen(table, schema, shoal.Generalize(k=3), pseudonyms=NAMES, seed=1)
    found = release.risk.unchanged
    assert found.columns == ("patient",)
    assert found.expected > found.baseline


def test_a_written_release_tells_scope_and_key_id_and_can_be_repeated(tmp_path, monkeypatch):
    table_of([1] * 40).write_csv(tmp_path / "people.csv")
    release = shoal.anonymize(read_source(tmp_path / "people.csv"), SCHEMA, group=shoal.MDAV(k=3), pseudonyms=NAMES)
    folder = release.write(tmp_path / "out")
    words = json.loads((folder / "manifest.json").read_text())
    assert words["pseudonyms"] == {"scope": "release 1", "format": "hex", "key": KEY.id}
    assert words["columns"]["patient"]["role"] == "pseudonym"
    everything = [path for root in (folder, tmp_path / "out.internal") for path in root.rglob("*") if path.is_file()]
    assert len(everything) > 3
    assert not [path for path in everything if KEY.secret.hex().encode() in path.read_bytes()]
    monkeypatch.setenv(ENVIRONMENT, KEY.secret.hex())
    assert shoal.verify(folder, original=tmp_path / "people.csv").exit_code == 0
    monkeypatch.setenv(ENVIRONMENT, ProjectKey.draw().secret.hex())
    with pytest.raises(ParameterError, match="need the project key"):
        shoal.verify(folder, original=tmp_path / "people.csv")


def test_a_release_without_a_key_is_refused_before_an_identifier_leaves():
    table = table_of([1] * 40)
    with pytest.raises(ParameterError, match="needs a project key"):
        shoal.anonymize(table, SCHEMA)
    plain = shoal.Schema.of(unit="patient", identifier=["name"], quasi=["place"], sensitive=["ill"])
    with pytest.raises(ParameterError, match="wants none"):
        shoal.anonymize(table, plain, pseudonyms=NAMES)
    with pytest.raises(ParameterError, match="nobody's"):
        shoal.synthesize(table, SCHEMA, shoal.PeGS(epsilon=1.0))


def test_a_pseudonym_that_repeats_needs_a_unit():
    schema = shoal.Schema.of(pseudonym=["patient"], identifier=["name"], quasi=["place"], sensitive=["ill"])
    with pytest.raises(ColumnError, match="ties rows together"):
        shoal.anonymize(table_of([2] * 20), schema, pseudonyms=NAMES)
    assert "patient" in shoal.anonymize(table_of([1] * 20), schema, pseudonyms=NAMES).table.columns


def test_safe_harbor_lets_no_derived_code_stand():
    with pytest.raises(GuaranteeError, match="derived from an identifier"):
        shoal.coarsen(table_of([1] * 20), SCHEMA, shoal.SafeHarbor(), pseudonyms=NAMES)
    with pytest.raises(GuaranteeError, match="derived from an identifier"):
        shoal.coarsen(table_of([1] * 20), SCHEMA, shoal.Mondrian(k=3), preset="safe-harbor", pseudonyms=NAMES)


def test_a_comparison_refuses_once_and_not_recipe_by_recipe():
    with pytest.raises(SchemaError, match="without pseudonyms"):
        shoal.compare(table_of([1] * 20), SCHEMA)


def test_what_names_nobody_gets_no_pseudonym():
    table = pl.DataFrame({"patient": [*range(1, 30), *[0] * 9]})
    with pytest.raises(ColumnError, match="9 rows.*stays missing"):
        NAMES.apply(table, shoal.Schema.of(pseudonym=["patient"]))
