"""An intruder edits the folders of a release by hand: `shoal verify` must not be taken in.

Nothing here uses Shoal to forge: files are edited as anybody would edit them, and signatures are made with the
cryptography library alone.
"""

import base64
import hashlib
import json
import os
import shutil
import zipfile
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import shoal
from shoal.errors import FileError, GuaranteeError
from shoal.files import read_source
from shoal.release.minisign import new_key


class Forger:
    """Somebody's own Ed25519 key, and signatures in minisign's format."""

    def __init__(self, number=b"forger!!"):
        self.number, self.key = number, Ed25519PrivateKey.generate()

    def publish(self, path):
        data = b"Ed" + self.number + self.key.public_key().public_bytes_raw()
        path.write_text(f"untrusted comment: key\n{base64.b64encode(data).decode()}\n")
        return path

    def sign(self, folder):
        signature = self.key.sign(hashlib.blake2b((folder / "manifest.json").read_bytes()).digest())
        over = self.key.sign(signature + b"hello")
        lines = [
            "untrusted comment: x",
            base64.b64encode(b"ED" + self.number + signature).decode(),
            "trusted comment: hello",
            base64.b64encode(over).decode(),
        ]
        (folder / "manifest.json.minisig").write_text("\n".join(lines) + "\n")


def edit(folder, change):
    """Edit the manifest by hand."""
    path = folder / "manifest.json"
    words = json.loads(path.read_text())
    change(words)
    path.write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")


def rehash(folder):
    """Make the hashes in the manifest fit whatever lies there."""

    def change(words):
        files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in words["files"]}
        words["files"] = files
        words["output"]["sha256"] = files[words["output"]["file"]]

    edit(folder, change)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A table with a column that sounds like a sentence, its release, and a publisher's key."""
    home = tmp_path_factory.mktemp("room")
    survey = shoal.datasets.health_survey(300, seed=1)
    table = survey.select("gender", "age_group", "education", pl.col("income").alias("spinal column grade"))
    table.write_csv(home / "people.csv")
    schema = shoal.Schema.of(quasi=["gender", "age_group", "education"], sensitive=["spinal column grade"])
    method = shoal.Mondrian(k=5, diversity=2, closeness=0.9)
    shoal.coarsen(read_source(home / "people.csv"), schema, method, seed=3).write(home / "out")
    new_key(home / "publisher.key")
    return home


@pytest.fixture
def there(room, tmp_path):
    """Copies of both folders, the original and the keys, to be tampered with."""
    for name in ("out", "out.internal"):
        shutil.copytree(room / name, tmp_path / name)
    for name in ("people.csv", "publisher.key", "publisher.pub"):
        shutil.copy(room / name, tmp_path / name)
    return tmp_path


def with_original(there):
    return shoal.verify(there / "out", original=there / "people.csv")


def failed(found):
    return {check.name: check.detail for check in found.checks if check.holds is False}


def mixed(kind, value, statement):
    """An honest claim about the sensitive column, but that nobody computed it when it was released."""
    column = "spinal column grade"
    words = {
        "column": column,
        "unit": "records",
        "scope": "per class",
        "statement": statement.format(column=f"'{column}'"),
    }
    assumptions = [
        "The column holds what is sensitive; what else is known of the people of a class may tell more.",
        "This is the only release of these people: two releases together can single out who is hidden in each.",
    ]
    return claim(kind, value, "verified", **words, assumptions=assumptions)


def claim(kind, value, basis, **more):
    return {
        "kind": kind,
        "value": value,
        "scope": "per record",
        "basis": basis,
        "statement": "…",
        "assumptions": [],
        "interval": None,
        **more,
    }


class TestHonest:
    def test_the_original_shows_everything(self, there):
        found = with_original(there)
        assert found.exit_code == 0, failed(found)
        assert {check.standing for check in found.checks} == {None, "recomputed"}

    def test_without_anything_some_of_it_is_a_word(self, there):
        found = shoal.verify(there / "out")
        assert found.exit_code == 5, failed(found)
        assert "re-identification bound 0.2" in {check.name for check in found.on_word}

    def test_signed(self, there):
        shoal.sign(there / "out", key=there / "publisher.key", decision="Approved", by="R. Roe", expires="2999-01-01")
        found = shoal.verify(there / "out", signer=there / "publisher.pub")
        assert found.exit_code == 0, failed(found)
        assert shoal.verify(there / "out").exit_code == 5
        both = shoal.verify(there / "out", original=there / "people.csv", signer=there / "publisher.pub")
        assert both.exit_code == 0, failed(both)

    def test_a_column_that_sounds_like_a_sentence(self, there):
        def name_it(words):
            words["claims"] = [
                mixed("distinct l-diversity", 2, "Every class holds at least 2 different values of {column}."),
                mixed(
                    "entropy l-diversity",
                    1.01,
                    "The entropy of {column} in every class is at least the logarithm of 1.01.",
                ),
                mixed(
                    "equal t-closeness",
                    0.95,
                    "The values of {column} in every class differ from those of the whole "
                    "release by at most 0.95 (total variation).",
                ),
                mixed(
                    "ordered t-closeness",
                    0.95,
                    "The values of {column} in every class differ from those of the "
                    "whole release by at most 0.95 (earth mover's distance over ranks).",
                ),
            ]

        edit(there / "out", name_it)
        checks = {
            check.name: check
            for check in shoal.verify(there / "out").checks
            if " l-" in check.name or " t-" in check.name
        }
        assert len(checks) == 4
        assert all(check.holds and check.standing == "recomputed" for check in checks.values())
        assert all("spinal column grade" in check.detail for check in checks.values())


class TestClaimsThatTheFileContradicts:
    def test_a_raw_table_with_grand_claims(self, there):
        raw = there / "raw"
        raw.mkdir()
        shutil.copy(there / "people.csv", raw / "release.csv")
        shutil.copy(there / "out/report.html", raw / "report.html")
        shutil.copy(there / "out/manifest.json", raw / "manifest.json")
        table = pl.read_csv(raw / "release.csv")

        def boast(words):
            words["output"] |= {"rows": len(table), "columns": table.columns}
            words["claims"] = [
                claim("epsilon-DP", 0.01, "proved"),
                claim("k-anonymity", 1000, "verified", unit="records"),
            ]

        edit(raw, boast)
        rehash(raw)
        found = shoal.verify(raw)
        assert found.exit_code == 3
        assert {"k-anonymity 1000", "epsilon-DP 0.01"} <= set(failed(found))
        edit(raw, lambda words: words["claims"].pop())
        found = shoal.verify(raw)
        assert found.exit_code == 3, "its sentence doesn't say what such a claim says"
        assert set(failed(found)) == {"epsilon-DP 0.01"}
        edit(raw, lambda words: words["claims"].clear())
        assert set(failed(shoal.verify(raw))) == {"claims in the report"}, (
            "which still has the claims that were taken out"
        )
        assert shoal.verify(raw, signer=there / "publisher.pub").exit_code == 3

    def test_no_quasi_identifier_is_no_way_to_a_large_k(self, there):
        def demote(words):
            for column in words["columns"].values():
                column["role"] = "other"
            words["claims"] = [claim("k-anonymity", 100, "verified", unit="records")]

        edit(there / "out", demote)
        assert "k-anonymity 100" in failed(shoal.verify(there / "out"))

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("k-anonymity", 1000),
            ("distinct l-diversity", 6),
            ("entropy l-diversity", 5.5),
            ("equal t-closeness", 0.001),
        ],
    )
    def test_each_kind(self, there, kind, value):
        said = claim(kind, value, "verified", column="spinal column grade", unit="records")
        edit(there / "out", lambda words: words["claims"].append(said))
        found = shoal.verify(there / "out")
        assert found.exit_code == 3
        assert f"{kind} {value:.4g}" in failed(found)

    def test_a_column_that_is_not_there(self, there):
        said = claim("distinct l-diversity", 2, "verified", column="grade", unit="records")
        edit(there / "out", lambda words: words["claims"].append(said))
        assert shoal.verify(there / "out").exit_code == 3

    def test_a_removed_column_that_is_still_there(self, there):
        edit(there / "out", lambda words: words["removed"].append("gender"))
        assert "removed columns" in failed(shoal.verify(there / "out"))

    def test_released_identifiers(self, there):
        edit(there / "out", lambda words: words["columns"]["gender"].update(role="identifier"))
        assert "roles" in failed(shoal.verify(there / "out"))


def edit_report(folder):
    path = folder / "report.html"
    text = path.read_text()
    at = text.index('<section id="risk"')
    path.write_text(text[:at] + text[at:].replace("%", "‰", 1))
    rehash(folder)


FORGERIES = {
    "report": (edit_report, "report", "section 'risk'"),
    "risk": (
        lambda folder: edit(folder, lambda words: words["risk"]["reidentification"].update(expected=1e-9)),
        "manifest",
        "risk.reidentification.expected",
    ),
    "role": (
        lambda folder: edit(folder, lambda words: words["columns"]["education"].update(role="other")),
        "manifest",
        "columns.education.role",
    ),
    "schema": (
        lambda folder: edit(folder, lambda words: words["schema"].update(sha256="0" * 64)),
        "manifest",
        "schema.sha256",
    ),
    "note": (lambda folder: edit(folder, lambda words: words["notes"].append("all is well")), "manifest", "notes"),
    "day": (lambda folder: edit(folder, lambda words: words.update(created="1999-01-01")), "manifest", "created"),
    "new entry": (lambda folder: edit(folder, lambda words: words.update(approved=True)), "manifest", "approved"),
    "recipe": (
        lambda folder: edit(folder, lambda words: words["recipe"]["coarsen"][0].update(k=50)),
        "manifest",
        "recipe.coarsen.0.k",
    ),
    "version hidden": (lambda folder: edit(folder, lambda words: words.pop("files")), "manifest", "version"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_the_original_finds_every_edit(there, name):
    forge, file, entry = FORGERIES[name]
    forge(there / "out")
    found = with_original(there)
    assert found.exit_code == 3
    assert entry in failed(found)[file]


def test_spaces_are_bytes_too(there):
    path = there / "out/manifest.json"
    path.write_text(path.read_text().replace("{", "{ ", 1))
    assert "other bytes" in failed(with_original(there))["manifest"]


def test_a_swapped_table(there):
    table = pl.read_csv(there / "out/release.csv")
    table.with_columns(pl.col("spinal column grade").shuffle(seed=1)).write_csv(there / "out/release.csv")
    assert "release.csv" in failed(shoal.verify(there / "out"))["folder"]
    rehash(there / "out")
    assert with_original(there).exit_code == 3
    shoal.sign(there / "out", key=there / "publisher.key")
    assert "replay" in failed(with_original(there)), "a signature doesn't make it the table"


class TestSignatures:
    @pytest.fixture
    def signed(self, there):
        shoal.sign(there / "out", key=there / "publisher.key", recipient="A & B <b>", expires=date.today())
        return there

    def check(self, there):
        return shoal.verify(there / "out", signer=there / "publisher.pub")

    def test_the_last_day_holds(self, signed):
        assert self.check(signed).exit_code == 0

    def test_of_another_manifest(self, signed):
        edit(signed / "out", lambda words: words["notes"].append("x"))
        found = self.check(signed)
        assert found.exit_code == 3
        assert "signature" in failed(found)
        assert "signed" not in {check.standing for check in found.checks}

    def test_by_another_key(self, signed):
        Forger().sign(signed / "out")
        assert "signature" in failed(self.check(signed))

    def test_by_another_key_of_the_same_number(self, signed):
        data = base64.b64decode((signed / "publisher.pub").read_text().splitlines()[1])
        Forger(data[2:10]).sign(signed / "out")
        assert "signature" in failed(self.check(signed))

    @pytest.mark.parametrize("content", [b"", b"nonsense", b"untrusted comment: \n\n\n\n"])
    def test_that_is_none(self, signed, content):
        (signed / "out/manifest.json.minisig").write_bytes(content)
        assert "signature" in failed(self.check(signed))
        (signed / "out/manifest.json.minisig").unlink()
        assert "signature" in failed(self.check(signed))

    def test_a_swapped_table_under_a_good_signature(self, signed):
        shutil.copy(signed / "people.csv", signed / "out/release.csv")
        found = self.check(signed)
        assert found.exit_code == 3
        assert "release.csv" in failed(found)["folder"]

    @pytest.mark.parametrize("days", [1, 400])
    def test_an_expired_decision(self, there, days):
        forger = Forger()
        until = (date.today() - timedelta(days=days)).isoformat()
        decided = {"decision": None, "by": None, "recipient": None, "expires": until}
        edit(there / "out", lambda words: words.update(decision=decided))
        forger.sign(there / "out")
        found = shoal.verify(there / "out", signer=forger.publish(there / "own.pub"))
        assert found.exit_code == 3
        assert list(failed(found)) == ["decision"]
        assert "decision" in failed(shoal.verify(there / "out")), "it says so itself"

    def test_a_decision_that_is_none(self, there):
        edit(there / "out", lambda words: words.update(decision={"expires": "soon"}))
        assert "decision" in failed(shoal.verify(there / "out"))

    def test_a_decision_put_in_by_hand_is_a_word(self, there):
        decided = {"decision": "Publish!", "by": "The boss", "recipient": None, "expires": None}
        edit(there / "out", lambda words: words.update(decision=decided))
        found = shoal.verify(there / "out")
        assert "decision" in {check.name for check in found.on_word}
        assert with_original(there).exit_code == 3, "the report says otherwise"


def add_file(folder):
    (folder / "extra.csv").write_text("x\n")


def add_hidden(folder):
    (folder / ".extra").write_text("x\n")


def add_link(folder):
    (folder / "release.tsv").symlink_to("../people.csv")


def link_the_table(folder):
    (folder / "release.csv").rename(folder.parent / "moved.csv")
    (folder / "release.csv").symlink_to("../moved.csv")


def link_the_report(folder):
    (folder / "report.html").rename(folder.parent / "moved.html")
    (folder / "report.html").symlink_to("../moved.html")


def rename(folder):
    (folder / "release.csv").rename(folder / "release.tsv")


def remove(folder):
    (folder / "report.html").unlink()


def bring_inside(folder):
    shutil.copytree(f"{folder}.internal", folder / "internal")


def pipe(folder):
    (folder / "report.html").unlink()
    os.mkfifo(folder / "report.html")


def climb(folder):
    secret = folder.parent / "people.csv"
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    edit(folder, lambda words: words["files"].update({"../people.csv": digest}))


def climb_with_the_table(folder):
    digest = hashlib.sha256((folder.parent / "people.csv").read_bytes()).hexdigest()

    def change(words):
        words["output"] |= {"file": "../people.csv", "sha256": digest}
        words["files"]["../people.csv"] = digest

    edit(folder, change)


def name_absolutely(folder):
    edit(folder, lambda words: words["files"].update({str(folder.parent / "people.csv"): "0" * 64}))


def a_second_table(folder):
    """The raw table beside the released one, under a name that a release may have."""
    shutil.copy(folder.parent / "people.csv", folder / "release.tsv")
    edit(folder, lambda words: words["files"].update({"release.tsv": "0" * 64}))
    rehash(folder)


def forget_the_report(folder):
    edit(folder, lambda words: words["files"].pop("report.html"))


TAMPERED = [
    add_file,
    add_hidden,
    add_link,
    link_the_table,
    link_the_report,
    rename,
    remove,
    bring_inside,
    pipe,
    climb,
    climb_with_the_table,
    name_absolutely,
    a_second_table,
    forget_the_report,
]


@pytest.mark.parametrize("tamper", TAMPERED)
def test_a_tampered_folder_is_found_and_goes_nowhere(there, tamper):
    tamper(there / "out")
    before = {path: path.lstat().st_mtime_ns for path in (there / "out").rglob("*")}
    assert shoal.verify(there / "out").exit_code == 3
    with pytest.raises(GuaranteeError, match="exactly the files named in its manifest"):
        shoal.handover(there / "out", there / "out.zip")
    with pytest.raises(GuaranteeError, match="exactly the files named in its manifest"):
        shoal.sign(there / "out", key=there / "publisher.key")
    assert not (there / "out.zip").exists()
    assert {path: path.lstat().st_mtime_ns for path in (there / "out").rglob("*")} == before


@pytest.mark.parametrize(
    "change",
    [
        lambda words: words.update(claims="none"),
        lambda words: words.update(claims=[{"kind": "k-anonymity"}]),
        lambda words: words["claims"][0].update(value="1000"),
        lambda words: words["claims"][0].update(value=True),
        lambda words: words["claims"][0].update(kind=["k-anonymity"]),
        lambda words: words.update(columns=[]),
        lambda words: words["columns"].update(gender={"role": "harmless"}),
        lambda words: words.update(output={}),
        lambda words: words["output"].update(file=7),
        lambda words: words.update(removed=[{}]),
        lambda words: words.update(recipe=[]),
        lambda words: words.update(decision=[]),
        lambda words: words.update(format=99),
        lambda words: words["claims"][0].update(value=10**400),
    ],
)
def test_a_malformed_manifest_is_refused_in_words(there, change):
    edit(there / "out", change)
    with pytest.raises(FileError, match=r"manifest\.json"):
        shoal.verify(there / "out")


@pytest.mark.parametrize("files", [[], "all", {"release.csv": 7}, {"release.csv": None, "report.html": "x"}, None])
def test_a_list_of_files_that_is_none(there, files):
    edit(there / "out", lambda words: words.update(files=files))
    assert shoal.verify(there / "out").exit_code == 3


def test_the_handed_over_file_holds_nothing_from_inside(there):
    shoal.sign(there / "out", key=there / "publisher.key")
    made = shoal.handover(there / "out", there / "out.zip")
    with zipfile.ZipFile(made) as archive:
        assert archive.namelist() == ["manifest.json", "manifest.json.minisig", "release.csv", "report.html"]
        for name in archive.namelist():
            assert archive.read(name) == Path(there / "out" / name).read_bytes()
        archive.extractall(there / "arrived")
    assert shoal.verify(there / "arrived", signer=there / "publisher.pub").exit_code == 0


@pytest.mark.parametrize("entry", ["claims", "files", "output", "columns"])
def test_an_entry_that_is_there_twice(there, entry):
    """Python takes the last of two entries of one name, other readers the first: nobody may have the choice."""
    path = there / "out/manifest.json"
    words = json.loads(path.read_text())
    other = json.dumps({entry: [] if entry == "claims" else {}})
    path.write_text(other[:-1] + "," + json.dumps(words, ensure_ascii=False)[1:])
    with pytest.raises(FileError, match="JSON manifest"):
        shoal.verify(there / "out")
    with pytest.raises(FileError, match="JSON manifest"):
        shoal.handover(there / "out", there / "out.zip")


def test_a_masked_release_that_says_it_is_synthetic(there):
    """A synthetic release can't be made again; whether this is one is not for the manifest to say."""
    edit(there / "out", lambda words: words.update(recipe={"synthesize": {"method": "pegs"}}))
    found = with_original(there)
    assert found.exit_code == 3
    assert "recipe" in failed(found)["manifest"]


def test_a_kind_that_nobody_knows_is_not_repeated_as_told(there):
    said = claim("approved\nrecomputed   k-anonymity 1000: by the ministry\x1b[2K", 1, "verified")
    edit(there / "out", lambda words: words["claims"].append(said))
    found = shoal.verify(there / "out")
    assert found.exit_code == 3
    assert failed(found)["claim of an unknown kind, 1"] == "its kind is unknown"
    assert not any("ministry" in check.name + check.detail for check in found.checks)


def test_a_sentence_that_promises_more_than_its_fields_fails(there):
    """k = 2 holds and is counted; that nobody can ever be found is no sentence of such a claim."""
    said = claim("k-anonymity", 2, "verified", unit="records", statement="Nobody can be found, whatever is known.")
    edit(there / "out", lambda words: words.update(claims=[said]))
    found = shoal.verify(there / "out")
    assert found.exit_code == 3
    assert "its sentence says something else" in failed(found)["k-anonymity 2"]
    assert with_original(there).exit_code == 3


def test_names_can_not_draw_on_the_terminal(there):
    from typer.testing import CliRunner

    from shoal.cli.main import app

    (there / "out" / "x\nrecomputed   k-anonymity 1000\x1b[31m").write_text("")
    result = CliRunner().invoke(app, ["verify", str(there / "out")])
    assert result.exit_code == 3
    assert not any(line.lstrip().startswith("recomputed   k-anonymity 1000") for line in result.output.splitlines())
    assert "\x1b[31m" not in result.output


def test_a_synthetic_table_that_was_swapped(tmp_path):
    """It can't be made again, but the inside files know the hash of what was written."""
    table = shoal.datasets.health_survey(200, seed=1).select("gender", "income")
    table.write_csv(tmp_path / "people.csv")
    schema = shoal.Schema.of(
        quasi=["gender"], sensitive=["income"], levels={"gender": ["female", "male"], "income": range(5)}
    )
    source = read_source(tmp_path / "people.csv")
    shoal.synthesize(source, schema, shoal.MarginalBootstrap(epsilon=1.0), rows=200).write(tmp_path / "out")
    assert shoal.verify(tmp_path / "out", original=tmp_path / "people.csv").exit_code == 5
    shutil.copy(tmp_path / "people.csv", tmp_path / "out/release.csv")
    rehash(tmp_path / "out")
    assert "table" in failed(shoal.verify(tmp_path / "out", original=tmp_path / "people.csv"))
