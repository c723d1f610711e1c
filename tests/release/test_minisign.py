"""Keys and signatures against Debian's minisign: what we write it reads, what it writes we read."""

import base64
import shutil
import subprocess

import pytest

from shoal.errors import FileError, ParameterError
from shoal.release.minisign import Cost, PublicKey, SecretKey, Signature, fresh_comment, is_encrypted, new_key

CHEAP = Cost(operations=1 << 15, memory=1 << 24)
needs_minisign = pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")


def minisign(*words, cwd, answer=""):
    done = subprocess.run(
        ["minisign", *map(str, words)], cwd=cwd, input=answer, capture_output=True, text=True, timeout=120
    )
    return done.returncode


@pytest.fixture
def pair(tmp_path):
    return new_key(tmp_path / "publisher.key")


def sign(secret, file, password=None):
    made = SecretKey.read(secret, password).sign(file.read_bytes(), fresh_comment(file.name))
    file.with_name(f"{file.name}.minisig").write_text(made.text)


def accepts(public, file):
    signature = Signature.read(file.with_name(f"{file.name}.minisig"))
    return PublicKey.read(public).accepts(signature, file.read_bytes())


def test_names_and_modes(pair, tmp_path):
    assert [path.name for path in pair] == ["publisher.key", "publisher.pub"]
    assert pair[0].stat().st_mode & 0o777 == 0o600
    assert [path.name for path in new_key(tmp_path / "other")] == ["other", "other.pub"]


@pytest.mark.parametrize("there", ["publisher.key", "publisher.pub"])
def test_a_key_is_never_overwritten(tmp_path, there):
    (tmp_path / there).write_text("mine")
    with pytest.raises(FileError, match="never overwritten"):
        new_key(tmp_path / "publisher.key")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_a_link_to_nowhere_is_in_the_way(tmp_path):
    (tmp_path / "publisher.key").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileError, match="never overwritten"):
        new_key(tmp_path / "publisher.key")
    assert not (tmp_path / "nowhere").exists()


def test_every_byte_counts(pair, tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"words\n")
    sign(pair[0], file)
    assert accepts(pair[1], file)
    lines = file.with_name("text.minisig").read_text().splitlines()
    for line, place in ((1, 5), (1, 60), (3, 10)):
        data = bytearray(base64.b64decode(lines[line]))
        data[place] ^= 1
        spoilt = [*lines[:line], base64.b64encode(data).decode(), *lines[line + 1 :]]
        file.with_name("text.minisig").write_text("\n".join(spoilt) + "\n")
        assert not accepts(pair[1], file)
    file.with_name("text.minisig").write_text("\n".join([*lines[:2], f"{lines[2]}0", lines[3]]))
    assert not accepts(pair[1], file), "the comment is signed too"
    file.with_name("text.minisig").write_text("\n".join(["untrusted comment: anything", *lines[1:]]))
    assert accepts(pair[1], file)
    file.write_bytes(b"words \n")
    assert not accepts(pair[1], file)


def test_another_key_is_another_signer(pair, tmp_path):
    file = tmp_path / "text"
    file.write_bytes(b"words")
    sign(pair[0], file)
    other = new_key(tmp_path / "other.key")[1]
    assert not accepts(other, file)
    posing = PublicKey(number=PublicKey.read(other).number, key=PublicKey.read(pair[1]).key)
    assert not posing.accepts(Signature.read(tmp_path / "text.minisig"), b"words"), "the number is another's"


def test_passwords(tmp_path):
    secret, public = new_key(tmp_path / "locked.key", password="åß 1", cost=CHEAP)
    assert is_encrypted(secret)
    assert SecretKey.read(secret, "åß 1").public == PublicKey.read(public)
    with pytest.raises(ParameterError, match="does not match"):
        SecretKey.read(secret, "other")
    with pytest.raises(ParameterError, match="needs its password"):
        SecretKey.read(secret)
    with pytest.raises(ParameterError, match="empty"):
        new_key(tmp_path / "no.key", password="")
    assert "seed" not in repr(SecretKey.read(secret, "åß 1"))


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (Cost(), (1 << 20, 8, 1)),  # libsodium's "sensitive": minisign's own
        (Cost(operations=524288, memory=16777216), (1 << 14, 8, 1)),  # libsodium's "interactive"
        (Cost(operations=1, memory=1 << 30), (1 << 10, 8, 1)),
        (Cost(operations=1 << 25, memory=1 << 24), (1 << 14, 8, 64)),
    ],
)
def test_costs_as_libsodium_has_them(cost, expected):
    assert cost.parameters() == expected


@pytest.mark.parametrize(
    "content", [b"", b"x", b"untrusted comment: k\n", b"untrusted comment: k\nRWQ=\n", b"\xff" * 99]
)
def test_what_is_no_key_or_signature_is_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    for read in (PublicKey.read, SecretKey.read, Signature.read):
        with pytest.raises(FileError, match="format"):
            read(path)


def test_a_greedy_key_is_refused(tmp_path):
    secret, _ = new_key(tmp_path / "locked.key", password="x", cost=CHEAP)
    head, line = secret.read_text().splitlines()
    data = bytearray(base64.b64decode(line))
    data[46:54] = (1 << 50).to_bytes(8, "little")
    secret.write_text(f"{head}\n{base64.b64encode(data).decode()}\n")
    with pytest.raises(FileError, match="4 GiB"):
        SecretKey.read(secret, "x")


def test_halves_that_do_not_fit(pair):
    head, line = pair[0].read_text().splitlines()
    data = bytearray(base64.b64decode(line))
    data[70] ^= 1
    pair[0].write_text(f"{head}\n{base64.b64encode(data).decode()}\n")
    with pytest.raises(FileError, match="intact"):
        SecretKey.read(pair[0])


@needs_minisign
@pytest.mark.parametrize("password", [None, "secret"])
def test_minisign_reads_ours(tmp_path, password):
    secret, public = new_key(tmp_path / "publisher.key", password=password, cost=CHEAP)
    file = tmp_path / "manifest.json"
    file.write_bytes(b'{"a": 1}\n')
    sign(secret, file, password)
    assert minisign("-V", "-H", "-p", public, "-m", file, cwd=tmp_path) == 0
    file.write_bytes(b'{"a": 2}\n')
    assert minisign("-V", "-p", public, "-m", file, cwd=tmp_path) != 0
    answer = "" if password is None else f"{password}\n"
    assert minisign("-S", "-s", secret, "-m", file, cwd=tmp_path, answer=answer) == 0, "it signs with our key"
    assert accepts(public, file)


@needs_minisign
@pytest.mark.parametrize("words", [[], ["-t", "a comment of theirs"], ["-l"]])
def test_we_read_minisigns(tmp_path, words):
    assert minisign("-G", "-W", "-p", "m.pub", "-s", "m.key", cwd=tmp_path) == 0
    file = tmp_path / "manifest.json"
    file.write_bytes(b'{"a": 1}\n')
    assert minisign("-S", "-s", "m.key", "-m", file, *words, cwd=tmp_path) == 0
    assert accepts(tmp_path / "m.pub", file)
    assert SecretKey.read(tmp_path / "m.key").public == PublicKey.read(tmp_path / "m.pub")
    file.write_bytes(b'{"a": 2}\n')
    assert not accepts(tmp_path / "m.pub", file)


def test_we_open_minisigns_own_encryption(tmp_path):
    """A key that minisign 0.11 made, at its full price for a guess: 1 GiB, some seconds."""
    line = (
        "RWRTY0IyGSAXiYOGe8V2ui//9TvdgxtShCHQgbP8rT1HX8N7AmsAAAACAAAAAAAAAEAAAAAAzd/9sVDQ4I2A5JFVHJmVrD5Yj+t+"
        "+ggSxYVXstWIdJR/8CNzfpRVArMvGBIE79Gusr8fUBGL5Xux1vvcDG5WRDczYdghAbqF93g7pWi3L2MFcDHm3xEnI+HGoq2XF/85hP3cDFbP3YM="
    )
    (tmp_path / "m.key").write_text(f"untrusted comment: minisign encrypted secret key\n{line}\n")
    text = "RWQrwY9ustBxZ7YVJiNjLcE8/vO2yiIVQT1ipB0cOSt+OKxzm2raDtpm"
    (tmp_path / "m.pub").write_text(f"untrusted comment: minisign public key 6771D0B26E8FC12B\n{text}\n")
    public = PublicKey.read(tmp_path / "m.pub")
    assert public.name == "6771D0B26E8FC12B"
    assert SecretKey.read(tmp_path / "m.key", "pw").public == public
