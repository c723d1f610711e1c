"""Sign a release, hand it over, and read what earlier versions wrote."""

import json
import shutil
import subprocess
import zipfile
from datetime import date, timedelta

import pytest

import shoal
from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.release.minisign import PublicKey, new_key
from shoal.report.decision import Decision, decision, with_decision


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release of a table in a file, and a publisher's key."""
    home = tmp_path_factory.mktemp("written")
    shoal.datasets.health_survey(200, seed=1).write_csv(home / "people.csv")
    from shoal.files import read_source

    schema = shoal.datasets.health_survey_schema()
    shoal.anonymize(read_source(home / "people.csv"), schema, mask=shoal.Centroid(), seed=7).write(home / "out")
    new_key(home / "publisher.key")
    return home


@pytest.fixture
def there(written, tmp_path):
    shutil.copytree(written, tmp_path / "w")
    return tmp_path / "w"


def words_of(there):
    return json.loads((there / "out/manifest.json").read_text())


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FACTS = {"decision": "May go <script>", "by": "R. & R. Roe", "recipient": 'The "clinic"', "expires": "2999-12-31"}


def test_the_decision_is_in_manifest_and_report(there):
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    key, day = PublicKey.read(there / "publisher.pub").name, date.today().isoformat()
    assert words_of(there)["decision"] == {**FACTS, "signed": day, "key": key}
    page = (there / "out/report.html").read_text()
    for text in ("May go &lt;script&gt;", "R. &amp; R. Roe", "The &#34;clinic&#34;", "2999-12-31", day):
        assert f"<td>{text}</td>" in page
    assert f"Signed by R. &amp; R. Roe on {day}, for The &#34;clinic&#34;, valid until 2999-12-31." in page
    assert "until someone signs" not in page
    assert f"<td>digital, by key {key}: manifest.json.minisig</td>" in page
    assert shoal.verify(there / "out", signer=there / "publisher.pub", original=there / "people.csv").exit_code == 0
    assert "May go <script>" not in page
    inside = there / "out.internal/report.html"
    assert "<td>R. &amp; R. Roe</td>" in inside.read_text()
    assert inside.stat().st_mode & 0o777 == 0o600


def test_signing_again_replaces_everything(there):
    before = contents(there / "out")
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    first = contents(there / "out")
    shoal.sign(there / "out/", key=str(there / "publisher.key"), decision="No.")
    assert words_of(there)["decision"]["decision"] == "No."
    assert "R. &amp; R. Roe" not in (there / "out/report.html").read_text()
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    again = contents(there / "out")
    for name in ("manifest.json", "report.html", "release.csv"):
        assert again[name] == first[name]
    shoal.sign(there / "out", key=there / "publisher.key")
    bare = contents(there / "out")
    assert bare.pop("manifest.json.minisig")
    assert bare == before, "without a decision all is as it was written"


def test_minisign_itself_accepts_it(there):
    if shutil.which("minisign") is None:
        pytest.skip("minisign is not installed")
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    words = ["minisign", "-V", "-p", there / "publisher.pub", "-m", there / "out/manifest.json"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_of_what_stays_inside_only_the_report_changes_and_the_public_key_comes(there):
    before = contents(there / "out.internal")
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    after = contents(there / "out.internal")
    assert {name for name in before | after if before.get(name) != after.get(name)} == {"report.html", "signer.pub"}
    assert sorted(path.name for path in there.iterdir()) == sorted(
        ["out", "out.internal", "people.csv", "publisher.key", "publisher.pub"]
    )


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"expires": "soon"}, "expires must be a date"),
        ({"expires": date.today() - timedelta(days=1)}, "past"),
        ({"by": " "}, "by must be a string"),
        ({"decision": "x" * 2001}, "decision must be a string"),
        ({"recipient": 7}, "recipient must be a string"),
    ],
)
def test_bad_facts(there, facts, said):
    before = contents(there / "out")
    with pytest.raises(ParameterError, match=said):
        shoal.sign(there / "out", key=there / "publisher.key", **facts)
    assert contents(there / "out") == before


def test_a_changed_table_is_not_signed(there):
    with open(there / "out/release.csv", "a") as stream:
        stream.write("1,1,1,1,1,1\n")
    before = contents(there / "out")
    with pytest.raises(GuaranteeError, match="release.csv: changed") as caught:
        shoal.sign(there / "out", key=there / "publisher.key")
    assert caught.value.exit_code == 3
    assert contents(there / "out") == before


def test_a_failure_leaves_the_older_signature(there, monkeypatch):
    shoal.sign(there / "out", key=there / "publisher.key", **FACTS)
    before = contents(there / "out")
    monkeypatch.setattr("shoal.release.sign.fresh_comment", lambda name: "two\nlines")
    with pytest.raises(ParameterError, match="one line"):
        shoal.sign(there / "out", key=there / "publisher.key", decision="Other")
    assert contents(there / "out") == before


class TestPage:
    def test_markers_must_be_there_once(self):
        with pytest.raises(InputError, match="a place for the decision"):
            with_decision("<html></html>", None)

    def test_a_page_of_an_earlier_version_is_signed_too(self, there):
        """It has no place at a glance for who signed."""
        page = (there / "out/report.html").read_text()
        older = page.replace("<!--signed:begin-->", "").replace("<!--signed:end-->", "")
        assert older != page
        assert "<td>R. Roe</td>" in with_decision(older, Decision(by="R. Roe"))

    def test_sections_that_are_filled_in_do_not_say_that_they_are_to_be(self):
        assert "Decision: to be filled in</caption>" in decision()
        assert "to be filled in</caption>" not in decision(Decision(decision="yes", by="R. Roe"))

    def test_what_looks_like_a_marker_in_a_decision_is_only_text(self, there):
        evil = "<!--expiry:begin--><!--decision:end-->"
        shoal.sign(there / "out", key=there / "publisher.key", decision=evil)
        page = (there / "out/report.html").read_text()
        assert page.count("<!--expiry:begin-->") == page.count("<!--decision:end-->") == 1
        signed = Decision.from_dict(words_of(there)["decision"])
        assert with_decision(with_decision(page, None), signed) == page

    def test_a_decision_of_an_earlier_version_is_still_read(self):
        """It had neither the day nor the key."""
        assert Decision.from_dict(FACTS).expires == date(2999, 12, 31)
        with pytest.raises(InputError, match="signed must be a date"):
            Decision.from_dict({**FACTS, "signed": "today", "key": None})

    @pytest.mark.parametrize("words", [{}, {"decision": 1, "by": None, "recipient": None, "expires": None}])
    def test_words_that_are_no_decision(self, words):
        with pytest.raises(InputError, match="decision"):
            Decision.from_dict(words)


class TestHandover:
    def test_the_same_release_gives_the_same_bytes(self, there):
        first = shoal.handover(there / "out", there / "a.zip").read_bytes()
        shutil.copytree(there / "out", there / "copy")
        (there / "copy/manifest.json").touch()
        assert shoal.handover(there / "copy", there / "b.zip").read_bytes() == first
        with zipfile.ZipFile(there / "a.zip") as archive:
            assert archive.testzip() is None
            assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}

    def test_never_over_another_file(self, there):
        (there / "a.zip").write_text("mine")
        with pytest.raises(FileError, match="already exists"):
            shoal.handover(there / "out", there / "a.zip")
        assert (there / "a.zip").read_text() == "mine"
        shoal.handover(there / "out", there / "a.zip", overwrite=True)
        assert zipfile.is_zipfile(there / "a.zip")

    def test_not_into_the_folder_itself(self, there):
        with pytest.raises(ParameterError, match="must be outside the folder"):
            shoal.handover(there / "out", there / "out/a.zip")

    def test_a_file_changed_while_it_is_packed(self, there, monkeypatch):
        from shoal.release import contents

        def slow(path, entries):
            entries["release.csv"].write_text("x\n")
            pack(path, entries)

        pack = contents.write_zip
        monkeypatch.setattr(contents, "write_zip", slow)
        with pytest.raises(GuaranteeError, match="while being packed"):
            shoal.handover(there / "out", there / "a.zip")
        assert not (there / "a.zip").exists()
        assert not list(there.glob(".*"))


class TestEarlierVersions:
    """A release as it was written before there were two folders."""

    @pytest.fixture
    def former(self, there):
        (there / "out.internal").rename(there / "out/internal")
        words = words_of(there)
        del words["files"]
        (there / "out/manifest.json").write_text(json.dumps(words))
        path = there / "out/internal/replay.toml"
        lines = [line for line in path.read_text().splitlines() if not line.startswith("created")]
        path.write_text("\n".join(lines) + "\n")
        return there

    def test_is_read_with_a_remark(self, former):
        found = shoal.verify(former / "out")
        assert found.exit_code == 5
        remark = next(check for check in found.checks if check.name == "folder")
        assert remark.holds is None
        assert "internal/ inside" in remark.detail

    def test_is_repeated(self, former):
        found = shoal.verify(former / "out", original=former / "people.csv")
        assert found.exit_code == 5, "its report can't be compared"
        assert {check.name: check.holds for check in found.checks}["replay"]

    def test_a_changed_table_is_found(self, former):
        with open(former / "out/release.csv", "a") as stream:
            stream.write("1,1,1,1,1,1\n")
        assert shoal.verify(former / "out").exit_code == 3

    def test_does_not_leave(self, former):
        with pytest.raises(GuaranteeError):
            shoal.handover(former / "out", former / "a.zip")
        with pytest.raises(FileError, match="earlier version"):
            shoal.sign(former / "out", key=former / "publisher.key")

    def test_is_replaced_whole(self, former):
        shoal.anonymize(
            shoal.datasets.health_survey(100, seed=1), shoal.datasets.health_survey_schema(), mask=shoal.Centroid()
        ).write(former / "out", overwrite=True)
        assert not (former / "out/internal").exists()
        assert (former / "out.internal/replay.toml").is_file()


def test_verification_is_json_able(there):
    words = json.loads(json.dumps(shoal.verify(there / "out").to_dict()))
    assert words["exit_code"] == 5
    assert {"name", "holds", "standing", "detail", "rule", "preset"} == set(words["checks"][0])


def test_notes_added_after_the_run_are_kept(tmp_path):
    from shoal.files import read_source
    from shoal.release import anonymize_to_linkage

    shoal.datasets.health_survey(200, seed=1).write_csv(tmp_path / "people.csv")
    source, schema = read_source(tmp_path / "people.csv"), shoal.datasets.health_survey_schema()
    shoal.coarsen(source, schema, shoal.Mondrian(k=11), preset="public-11", seed=1).write(tmp_path / "a")
    anonymize_to_linkage(source, schema, 0.5, group=shoal.MDAV(k=3), mask=shoal.Resample(), seed=1).write(
        tmp_path / "b"
    )
    for name in ("a", "b"):
        found = shoal.verify(tmp_path / name, original=tmp_path / "people.csv")
        assert found.exit_code == 0, [check for check in found.checks if check.holds is False]
