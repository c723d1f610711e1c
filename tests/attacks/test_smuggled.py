"""What stays inside, put into files that leave: into the signature, into the manifest, beside an old release.

Everything here is done with a text editor's means; Shoal makes the honest release and is then asked to let it out.
"""

import json
import shutil

import polars as pl
import pytest

import shoal
from shoal.errors import GuaranteeError
from shoal.files import read_source
from shoal.recipe import Coarsening
from shoal.release import make
from shoal.release.minisign import new_key


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    home = tmp_path_factory.mktemp("room")
    survey = shoal.datasets.health_survey(120, seed=1).select("gender", "age_group", "income")
    survey.write_csv(home / "people.csv")
    schema = shoal.Schema.of(quasi=["gender", "age_group"], sensitive=["income"])
    make(read_source(home / "people.csv"), schema, Coarsening.of(shoal.Mondrian(k=5)), seed=3).write(home / "out")
    new_key(home / "publisher.key")
    return home


@pytest.fixture
def there(room, tmp_path):
    shutil.copytree(room, tmp_path / "room")
    return tmp_path / "room"


def signed(there):
    shoal.sign(there / "out", key=there / "publisher.key", decision="May be published.")
    return there / "out" / "manifest.json.minisig"


def edit(there, change):
    path = there / "out" / "manifest.json"
    words = json.loads(path.read_text())
    change(words)
    path.write_text(json.dumps(words, indent=2, ensure_ascii=False) + "\n")


def replay_as_signature(there):
    """The key of the pairing, under the name of a file that may leave."""
    shutil.copy(there / "out.internal" / "replay.toml", there / "out" / "manifest.json.minisig")


def table_as_signature(there):
    shutil.copy(there / "people.csv", there / "out" / "manifest.json.minisig")


def tail_of_a_signature(there):
    """A good signature, and the raw table after it."""
    path = signed(there)
    path.write_text(path.read_text() + (there / "people.csv").read_text())


def comment_of_a_signature(there):
    """The line that nobody signs holds the raw table."""
    path = signed(there)
    lines = path.read_text().split("\n")
    lines[0] += (there / "people.csv").read_text().replace("\n", ";")
    path.write_text("\n".join(lines))


def pairing_in_the_manifest(there):
    edit(there, lambda words: words.update(pairing="5a" * 32))


def rows_in_the_manifest(there):
    edit(there, lambda words: words.update(rows=pl.read_csv(there / "people.csv").rows()))


SMUGGLED = [
    replay_as_signature,
    table_as_signature,
    tail_of_a_signature,
    comment_of_a_signature,
    pairing_in_the_manifest,
    rows_in_the_manifest,
]


@pytest.mark.parametrize("smuggle", SMUGGLED)
def test_nothing_from_inside_is_handed_over(there, smuggle):
    smuggle(there)
    with pytest.raises(GuaranteeError, match="exactly the files named in its manifest"):
        shoal.handover(there / "out", there / "out.zip")
    assert not (there / "out.zip").exists()


@pytest.mark.parametrize("smuggle", SMUGGLED)
def test_verify_sees_it(there, smuggle):
    smuggle(there)
    found = shoal.verify(there / "out")
    assert found.exit_code == 3
    assert [check.name for check in found.checks if check.holds is False] == ["folder"]


def test_an_honest_signature_passes(there):
    signed(there)
    assert shoal.verify(there / "out", signer=there / "publisher.pub").exit_code == 0
    assert shoal.handover(there / "out", there / "out.zip").exists()


def test_a_file_beside_what_an_earlier_version_wrote(there):
    """A manifest without a list of files, as earlier versions wrote it, let anything lie beside it."""
    edit(there, lambda words: words.pop("files"))
    (there / "out.internal").rename(there / "out" / "internal")
    assert shoal.verify(there / "out").exit_code == 5
    shutil.copy(there / "people.csv", there / "out" / "raw.csv")
    assert shoal.verify(there / "out").exit_code == 3


def test_a_rule_says_which_columns_it_did_not_look_at(there):
    """A forger lets every column stand, and every rule of Safe Harbor is then found to hold."""
    preset = shoal.compliance.presets.PRESETS["safe-harbor"]
    rules = [check.rule for check in preset.findings(pl.DataFrame({"a": [1]}), shoal.Schema.of(quasi=["a"]))]

    def forge(words):
        words["preset"] = {"name": "safe-harbor", "holds": dict.fromkeys(rules, True)}
        words["recipe"]["coarsen"][0]["allow"] = list(words["columns"])

    edit(there, forge)
    told = [check for check in shoal.verify(there / "out").checks if check.name.startswith("safe-harbor")]
    assert len(told) == len(rules)
    for check in told:
        assert "not checked, on the publisher's word: age_group, gender, income" in check.detail
