"""Manifests under which the table and its hashes are right, and one entry of a claim lies: `shoal verify` says so.

Whoever forges here rewrites manifest and report alike, so that every file fits its hash; the exit code is that of the
command line.
"""

import copy
import hashlib
import html
import json
import shutil
import subprocess
import sys
from datetime import date, timedelta

import pytest

import shoal
from shoal.errors import GuaranteeError, ParameterError
from shoal.files import read_source
from shoal.release.minisign import PublicKey, new_key
from shoal.release.signed import require_valid_signature


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, words)], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """Releases of three kinds, each with several claims."""
    home = tmp_path_factory.mktemp("room")
    survey = shoal.datasets.health_survey(300, seed=1).select("gender", "age_group", "education", "income")
    survey.write_csv(home / "people.csv")
    schema = shoal.Schema.of(quasi=["gender", "age_group", "education"], sensitive=["income"])
    given = read_source(home / "people.csv")
    method = shoal.Mondrian(k=5, diversity=2, closeness=0.9)
    shoal.coarsen(given, schema, method, seed=3).write(home / "coarse")
    limits = shoal.Generalize(k=5, suppression=0.3, risk="prosecutor:0.2/marketer:0.2")
    shoal.coarsen(given, schema, limits, seed=3).write(home / "limited")
    shoal.anonymize(given, schema, group=shoal.MDAV(k=5), mask=shoal.Resample(), seed=3).write(home / "masked")
    levels = {"gender": ["female", "male"]}
    bare = shoal.Schema.of(quasi=["gender"], levels=levels)
    model = shoal.synth.PeGS(epsilon=1.0)
    shoal.synthesize(survey.select("gender"), bare, model, rows=50).write(home / "synthetic")
    return home


def forged(room, tmp_path, name, change):
    """A copy of a release whose manifest was changed, and whose report says the same, with hashes that fit."""
    folder = tmp_path / name
    shutil.copytree(room / name, folder)
    words = json.loads((folder / "manifest.json").read_text())
    before = copy.deepcopy(words["claims"])
    change(words["claims"])
    page = (folder / "report.html").read_text()
    for old, new in zip(before, words["claims"], strict=False):
        for entry in ("statement", "scope", "basis"):
            if isinstance(old.get(entry), str) and isinstance(new.get(entry), str):
                page = page.replace(html.escape(old[entry], quote=False), html.escape(new[entry], quote=False))
    (folder / "report.html").write_text(page)
    words["files"]["report.html"] = hashlib.sha256((folder / "report.html").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")
    return folder


def of(claims, kind):
    return next(one for one in claims if one["kind"] == kind)


def put(kind, /, **entries):
    def change(claims):
        of(claims, kind).update(entries)

    return change


def drop(kind, entry):
    def change(claims):
        del of(claims, kind)[entry]

    return change


def assume(kind, make):
    def change(claims):
        one = of(claims, kind)
        one["assumptions"] = make(list(one["assumptions"]))

    return change


def again(kind, /, **entries):
    def change(claims):
        claims.append({**of(claims, kind), **entries})

    return change


def reworded(kind, old, new):
    def change(claims):
        one = of(claims, kind)
        assert old in one["statement"]
        one["statement"] = one["statement"].replace(old, new)

    return change


BOUND, FOUND, K = "re-identification bound", "re-identification frequency", "k-anonymity"
MIX, NEAR, MORE = "distinct l-diversity", "ordered t-closeness", "re-identification through unchanged columns"
LIES = {
    "k of 50 in the sentence": ("coarse", reworded(K, "at least 5", "at least 50")),
    "persons for records": ("coarse", reworded(K, "records.", "persons.")),
    "a sentence of another promise": ("coarse", put(K, statement="Nobody can be found in this table by anybody.")),
    "a sentence with more": ("coarse", reworded(K, "records.", "records. This table is anonymous.")),
    "an empty sentence": ("coarse", put(K, statement="")),
    "no sentence": ("coarse", drop(K, "statement")),
    "a sentence that is no text": ("coarse", put(K, statement=["at least 5"])),
    "k = 0": ("coarse", put(K, value=0)),
    "k = -5": ("coarse", put(K, value=-5)),
    "k = 0 in value and sentence": (
        "coarse",
        lambda c: (put(K, value=0)(c), reworded(K, "at least 5", "at least 0")(c)),
    ),
    "k = -5 in value and sentence": (
        "coarse",
        lambda c: (put(K, value=-5)(c), reworded(K, "at least 5", "at least -5")(c)),
    ),
    "k = 4.5": ("coarse", lambda c: (put(K, value=4.5)(c), reworded(K, "at least 5", "at least 4.5")(c))),
    "k proved": ("coarse", put(K, basis="proved")),
    "k on no known basis": ("coarse", put(K, basis="certified")),
    "k per data set": ("coarse", put(K, scope="per data set")),
    "k of households": ("coarse", put(K, unit="households")),
    "k of nothing": ("coarse", drop(K, "unit")),
    "an assumption left out": ("coarse", assume(K, lambda texts: texts[1:])),
    "the last assumption left out": ("coarse", assume(K, lambda texts: texts[:-1])),
    "no assumptions": ("coarse", put(K, assumptions=[])),
    "assumptions that are no list": ("coarse", put(K, assumptions="none")),
    "an assumption reworded": ("coarse", assume(K, lambda texts: [texts[0].replace("all the", "some"), *texts[1:]])),
    "an assumption twice": ("coarse", assume(K, lambda texts: [*texts, texts[0]])),
    "an empty assumption": ("coarse", assume(K, lambda texts: [*texts, " "])),
    "a claim twice": ("coarse", again(K)),
    "a claim twice with another value": ("coarse", again(K, value=3)),
    "an entry that no claim has": ("coarse", put(K, certified=True)),
    "a kind that there isn't": ("coarse", put(K, kind="anonymity")),
    "a bound above 1": ("masked", put(BOUND, value=1.2)),
    "a bound below 0": ("masked", put(BOUND, value=-0.2)),
    "a bound of a tenth in the sentence": ("masked", reworded(BOUND, "at most 0.2", "at most 0.1")),
    "a bound that was measured": ("masked", put(BOUND, basis="measured")),
    "a bound without its key": ("masked", assume(BOUND, lambda texts: [t for t in texts if "key" not in t])),
    "a bound for any attack": ("masked", reworded(BOUND, "By any rule that uses", "By any rule beyond")),
    "a frequency above 1": ("masked", put(FOUND, value=1.5, interval=[0.1, 1.6])),
    "a frequency out of its interval": ("masked", put(FOUND, interval=[0.9, 0.95])),
    "an interval that is turned": ("masked", put(FOUND, interval=[0.9, 0.0])),
    "an interval of three": ("masked", put(FOUND, interval=[0.0, 0.1, 1.0])),
    "a frequency without an interval": ("masked", put(FOUND, interval=None)),
    "a frequency of 0% in the sentence": (
        "masked",
        lambda c: put(FOUND, statement=of(c, FOUND)["statement"].rpartition(" in ")[0] + " in 0% of cases.")(c),
    ),
    "a frequency without its assumption": ("masked", put(FOUND, assumptions=[])),
    "a frequency that is proved": ("masked", put(FOUND, basis="proved")),
    "columns that the table hasn't": ("masked", reworded(MORE, "(income)", "(nothing that matters)")),
    "l = 0": ("coarse", put(MIX, value=0)),
    "l of 200 in the sentence": ("coarse", reworded(MIX, "at least 2", "at least 200")),
    "l of another column": ("coarse", reworded(MIX, "'income'", "'every column'")),
    "t = -1": ("coarse", put(NEAR, value=-1)),
    "t = 2": ("coarse", put(NEAR, value=2)),
    "a limit on an attacker of 1.5": ("limited", put("prosecutor risk", value=1.5)),
    "a smaller limit in the sentence": ("limited", reworded("marketer risk", "0.2", "0.002")),
    "a limit for all attackers": ("limited", put("prosecutor risk", statement="Nobody finds anybody.")),
    "a negative epsilon": ("synthetic", put("epsilon-DP", value=-1.0)),
    "a smaller epsilon in the sentence": ("synthetic", reworded("epsilon-DP", "ε = ", "ε = 0.")),
    "epsilon without its neighbours": ("synthetic", put("epsilon-DP", assumptions=[])),
    "epsilon that was measured": ("synthetic", put("epsilon-DP", basis="measured")),
    "epsilon per person and year": ("synthetic", put("epsilon-DP", scope="per person and year")),
    "epsilon for any unit": ("synthetic", reworded("epsilon-DP", "Protected unit: ", "Protected unit: a household, ")),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_claim_fails(lie, room, tmp_path):
    name, change = LIES[lie]
    folder = forged(room, tmp_path, name, change)
    found = shoal.verify(folder)
    assert found.exit_code == 3
    assert not [one.name for one in found.checks if one.name == "folder" and not one.holds], "the files must fit"


TOLD_BY_COMMAND = (
    "k of 50 in the sentence",
    "k = 0",
    "k = -5 in value and sentence",
    "an assumption left out",
    "a claim twice",
    "a frequency above 1",
    "a negative epsilon",
    "a smaller limit in the sentence",
)


@pytest.mark.parametrize("lie", TOLD_BY_COMMAND)
def test_the_command_line_exits_with_3(lie, room, tmp_path):
    name, change = LIES[lie]
    forged(room, tmp_path, name, change)
    done = run("verify", name, cwd=tmp_path)
    assert done.returncode == 3, done.stdout


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_fails(value, room, tmp_path):
    folder = forged(room, tmp_path, "coarse", put(K, value=424242))
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace("424242", value))
    assert run("verify", "coarse", cwd=tmp_path).returncode == 3


@pytest.mark.parametrize("name", ["coarse", "limited", "masked", "synthetic"])
def test_what_was_not_forged_passes(name, room, tmp_path):
    folder = forged(room, tmp_path, name, lambda claims: None)
    assert shoal.verify(folder).exit_code == 5


def test_a_claim_that_the_report_has_and_the_manifest_lacks_fails(room, tmp_path):
    """A worse figure is taken out of the manifest alone, or out of the report alone."""
    folder = forged(room, tmp_path, "masked", lambda claims: claims.remove(of(claims, FOUND)))
    found = shoal.verify(folder)
    assert [one.name for one in found.checks if one.holds is False] == ["claims in the report"]
    page = (room / "masked" / "report.html").read_text()
    assert "finds the right person in" in page


def test_every_kind_of_claim_is_rendered_from_its_fields(room):
    kinds = {
        one["kind"]
        for name in ("coarse", "limited", "masked", "synthetic")
        for one in json.loads((room / name / "manifest.json").read_text())["claims"]
    }
    assert {K, MIX, NEAR, BOUND, FOUND, MORE, "prosecutor risk", "marketer risk", "epsilon-DP"} <= kinds


# ---- what is handed over


@pytest.fixture
def signed(room, tmp_path):
    for name in ("masked", "masked.internal"):
        shutil.copytree(room / name, tmp_path / name)
    new_key(tmp_path / "publisher.key")
    new_key(tmp_path / "other.key")
    shoal.sign(
        tmp_path / "masked", key=tmp_path / "publisher.key", by="R. Roe", expires=date.today() + timedelta(days=30)
    )
    return tmp_path


def packed(there, *more):
    done = run("handover", "masked", "--to", "out.zip", *more, cwd=there)
    assert (there / "out.zip").exists() == (done.returncode == 0)
    return done.returncode


def edited(there, change):
    path = there / "masked" / "manifest.json"
    words = json.loads(path.read_text())
    change(words)
    path.write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")


def test_a_valid_signature_is_packed_and_holds_on_its_last_day(signed):
    assert packed(signed) == 0
    (signed / "out.zip").unlink()
    assert packed(signed, "--signer", "publisher.pub") == 0
    folder = signed / "masked"
    words = json.loads((folder / "manifest.json").read_text())
    last = date.fromisoformat(words["decision"]["expires"])
    require_valid_signature(folder, words, None, "handover", last)
    with pytest.raises(GuaranteeError, match="after its last day"):
        require_valid_signature(folder, words, None, "handover", last + timedelta(days=1))


def test_a_manifest_changed_after_signing_is_not_packed(signed):
    edited(signed, lambda words: words["notes"].append("approved by everybody"))
    assert packed(signed) == 3


def test_a_table_changed_after_signing_is_not_packed(signed):
    table = signed / "masked" / "release.csv"
    table.write_text(table.read_text().replace("female", "male"))
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert packed(signed) == 3

    def fit(words):
        words["files"]["release.csv"] = words["output"]["sha256"] = digest

    edited(signed, fit)
    assert packed(signed) == 3


def test_a_file_added_after_signing_is_not_packed(signed):
    (signed / "masked" / "more.csv").write_text("a\n1\n")
    assert packed(signed) == 3


@pytest.mark.parametrize("days", [1, 400])
def test_an_expired_decision_is_not_packed(days, signed, monkeypatch):
    """The day before yesterday is past; today is not."""
    last = date.today() - timedelta(days=days)
    monkeypatch.setattr("shoal.release.sign.today", lambda: last)
    shoal.sign(signed / "masked", key=signed / "publisher.key", by="R. Roe", expires=last)
    monkeypatch.undo()
    assert packed(signed) == 3
    with pytest.raises(GuaranteeError, match="after its last day"):
        shoal.handover(signed / "masked", signed / "out.zip")


def test_another_signer_than_expected_is_refused(signed):
    assert packed(signed, "--signer", "other.pub") == 3
    kept = (signed / "masked.internal" / "signer.pub").read_bytes()
    shoal.sign(signed / "masked", key=signed / "other.key")
    assert packed(signed, "--signer", "publisher.pub") == 3
    (signed / "masked.internal" / "signer.pub").write_bytes(kept)  # who forges signs elsewhere
    assert packed(signed) == 3


def test_a_signature_that_was_taken_away_or_can_not_be_checked_is_refused(signed):
    signature = signed / "masked" / "manifest.json.minisig"
    kept = signature.read_bytes()
    signature.unlink()
    assert packed(signed) == 3
    signature.write_bytes(kept)
    (signed / "masked.internal" / "signer.pub").unlink()
    with pytest.raises(ParameterError, match="--signer"):
        shoal.handover(signed / "masked", signed / "out.zip")
    assert packed(signed, "--signer", "publisher.pub") == 0


def test_an_unsigned_release_is_packed_unless_a_signer_is_named(room, tmp_path):
    for name in ("masked", "masked.internal"):
        shutil.copytree(room / name, tmp_path / name)
    new_key(tmp_path / "publisher.key")
    assert PublicKey.read(tmp_path / "publisher.pub").name
    assert packed(tmp_path, "--signer", "publisher.pub") == 3
    assert packed(tmp_path) == 0
