import pytest

from shoal.errors import FileError
from shoal.web.access import Access, is_loopback, make_token


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST.", "::1", "[::1]", "::ffff:127.0.0.1"]
)
def test_loopback(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org", "localhost.example.org", "128.0.0.1"])
def test_not_loopback(host):
    assert not is_loopback(host)


def test_token_where_others_can_connect():
    assert Access.of("127.0.0.1").token is None
    assert Access.of("127.0.0.1").admits("")
    shared = Access.of("0.0.0.0")
    assert len(shared.token) >= 40
    assert shared.admits(shared.token)
    assert not shared.admits("")
    assert not shared.admits(shared.token[:-1])
    assert not shared.admits("ä")
    assert make_token() != make_token()


def test_token_can_be_wanted_on_loopback_and_stays_out_of_repr():
    access = Access.of("localhost", token="secret-of-mine")
    assert not access.admits("")
    assert access.admits("secret-of-mine")
    assert "secret" not in repr(access)


def test_paths_beneath_the_data_folder_only(tmp_path):
    data, other = tmp_path / "data", tmp_path / "other"
    (data / "inner").mkdir(parents=True)
    other.mkdir()
    (other / "secret.csv").write_text("a\n1\n")
    (data / "inner" / "people.csv").write_text("a\n1\n")
    (data / "way-out").symlink_to(other)
    (data / "way-out.csv").symlink_to(other / "secret.csv")
    (data / "loop").symlink_to(data / "loop")
    access = Access.of("0.0.0.0", data=data)
    assert access.allows(data / "inner" / "people.csv")
    refused = ("way-out/secret.csv", "way-out.csv", "../other/secret.csv", "inner/../../other/secret.csv", "a\0b")
    for name in refused:
        assert not access.allows(data / name), name
    assert not access.allows(data / "loop" / "x") or access.place(data / "loop" / "x").is_relative_to(data.resolve())
    assert not Access.of("0.0.0.0").allows(data / "inner" / "people.csv")
    assert Access.of("127.0.0.1").allows(other / "secret.csv")


def test_place_follows_links_or_refuses(tmp_path):
    (tmp_path / "people.csv").write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "people.csv")
    access = Access.of("0.0.0.0", data=tmp_path)
    assert access.place(tmp_path / "link.csv") == (tmp_path / "people.csv").resolve()
    with pytest.raises(FileError, match="--data"):
        access.place("/etc/passwd")
    with pytest.raises(FileError, match="browser"):
        Access.of("0.0.0.0").place("/etc/passwd")
    with pytest.raises(FileError, match="valid path"):
        access.place(tmp_path / "a\0b")


def test_a_home_folder_is_no_way_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/etc")
    with pytest.raises(FileError, match="--data"):
        Access.of("0.0.0.0", data=tmp_path).place("~/passwd")
