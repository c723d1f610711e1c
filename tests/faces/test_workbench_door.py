"""Who may come into the workbench, and what goes in and out beside its pages; a real server, no browser."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workbench_server import workbench

httpx = pytest.importorskip("httpx2")

OURS = {"X-Shoal": "workbench"}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    return tmp_path_factory.mktemp("room")


@pytest.fixture(scope="module")
def client(room):
    """A workbench under another address of this machine whose files may not grow beyond two megabytes.

    To write more is the same error as a full disk.
    """
    import resource

    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, old[1]))
    try:
        with workbench(room, "--host", "127.0.0.2", "--no-token") as address, httpx.Client(base_url=address) as made:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            yield made
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A workbench with a token: its address and the token."""
    data = tmp_path_factory.mktemp("data")
    with workbench(tmp_path_factory.mktemp("locked"), "--host", "0.0.0.0", "--data", str(data)) as address:
        port, token = re.search(r":(\d+)/\?token=(\S+)", address).groups()
        yield f"http://127.0.0.1:{port}", token


def uploads(room):
    return [path for path in room.rglob("uploads/*/*") if path.is_file()]


def test_cookies_of_other_programs_do_no_harm(locked):
    """All programs on a machine's address share its cookies, and some have odd ones."""
    address, token = locked
    odd = 'a/b@c=1; =; x; username="2|1:0"; {}=[]'
    with httpx.Client(base_url=address) as client:
        assert client.get("/", headers={"Cookie": odd}).status_code == 401
        entered = client.get("/jobs", params={"token": token}, headers={"Cookie": odd})
        assert entered.status_code == 303
        ours = entered.headers["set-cookie"].partition(";")[0]
        assert client.get("/", headers={"Cookie": f"{odd}; {ours}"}).status_code == 200


def test_the_link_leads_nowhere_else(locked):
    address, token = locked
    reply = httpx.get(f"{address}//evil.example/?token={token}")
    assert reply.headers["location"] == "/evil.example/"


def test_without_the_token_nothing_is_shown(locked):
    address, _ = locked
    with httpx.Client(base_url=address) as client:
        reply = client.get("/")
        assert reply.status_code == 401
        assert "Token" in reply.text
        assert "Drop a file" not in reply.text
        assert client.get("/?token=wrong").status_code == 403
        assert client.put("/files/a.csv", content=b"a\n1\n", headers=OURS).status_code == 401
        assert client.post("/", json={"do": "sample"}, headers=OURS).status_code == 401
        assert client.get("/static/style.css").status_code == 200  # the look of the form that asks for it


@pytest.mark.parametrize("way", ["link", "form"])
def test_the_token_opens_and_leaves_the_address(locked, way):
    address, token = locked
    with httpx.Client(base_url=address, follow_redirects=True) as client:
        reply = client.get(f"/?token={token}") if way == "link" else client.post("/login", data={"token": token})
        assert reply.status_code == 200
        assert "token" not in str(reply.url)
        assert token not in str(client.cookies)
        cookie = reply.history[0].headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert client.get("/jobs").status_code == 200


def test_beyond_this_machine_paths_lie_beneath_the_data_folder(locked):
    from shoal.web.access import Access

    access = Access.of("0.0.0.0", data=Path("/srv/data"))
    assert access.allows("/srv/data/people.csv")
    assert not access.allows("/srv/data/../secret.csv")
    assert not access.allows("/etc/passwd")


# Last those of the plain workbench: what it was sent to open is left unread when it closes


def test_pages_are_kept_out_of_frames_and_referrers(client):
    reply = client.get("/")
    assert reply.status_code == 200
    assert reply.headers["x-frame-options"] == "SAMEORIGIN"
    assert reply.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8137", "127.0.0.1.evil.example", ""])
def test_another_name_for_this_machine_is_not_answered(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 421


def test_another_sites_page_is_refused(client):
    assert client.get("/", headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.get("/", headers={"Origin": "null"}).status_code == 403


@pytest.mark.parametrize("origin", ["http://[", "://", "127.0.0.1", "http://"], ids=str)
def test_a_broken_origin_is_refused_too(client, origin):
    assert client.get("/", headers={"Origin": origin}).status_code == 403


def test_on_this_machine_too_a_token_is_asked_for(tmp_path):
    with workbench(tmp_path) as address:
        assert "?token=" in address
        assert httpx.get(address.partition("?")[0]).status_code == 401
        assert httpx.get(address).status_code == 303


def test_every_page_forbids_scripts_of_its_own_and_of_others(client):
    for path in ("/", "/jobs", "/b/nowhere/columns", "/nowhere", "/static/app.js"):
        policy = client.get(path, headers={"Accept": "text/html"}).headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy


def test_a_page_changes_nothing_for_another_sites_form(client):
    assert client.post("/", json={"do": "sample"}).status_code == 403
    assert client.post("/", content=b"{", headers=OURS).status_code == 200  # nothing is done
    assert "Open now" not in client.get("/", headers={"X-Shoal": "none"}).json()["parts"]["list"]


@pytest.mark.parametrize("broken", ["{", "[]"])
def test_parts_that_a_browser_has_are_not_sent_again(client, broken):
    first = client.get("/", headers={"X-Shoal": "none"}).json()
    known = {"X-Shoal": "none", "X-Shoal-Marks": json.dumps(first["marks"])}
    again = client.get("/", headers=known).json()
    assert (again["parts"], again["marks"]) == ({}, first["marks"])
    whole = client.get("/", headers={**known, "X-Shoal-Marks": broken}).json()
    assert whole["parts"] == first["parts"]


@pytest.mark.parametrize("page", ["columns", "method", "result", "result/0001-ab", "compare", "history"])
def test_a_bench_that_is_not_there_says_what_to_do(client, page):
    reply = client.get(f"/b/nowhere/{page}")
    assert reply.status_code == 200
    assert "Open a file" in reply.text


def test_a_file_is_received_whole(client, room):
    content = b"age,sex\n" + b"".join(b"%d,f\n" % (20 + i % 50) for i in range(100_000))
    reply = client.put("/files/people.csv", content=content, headers=OURS)
    assert reply.status_code == 201
    assert reply.json()["next"].endswith("/columns")
    [file] = uploads(room)
    assert file.read_bytes() == content
    assert file.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "name", ["..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd.csv", "a%00b.csv", "%2E%2E", "x" * 500 + ".csv"]
)
def test_no_name_leads_out_of_the_room(client, room, name):
    before = set(uploads(room))
    reply = client.put(f"/files/{name}", content=b"a\n1\n", headers=OURS)
    assert reply.status_code in (201, 404)
    if reply.status_code == 201:
        [made] = set(uploads(room)) - before
        assert made.is_relative_to(room)
    assert not any(path.name == "passwd" for path in room.parent.glob("*"))


def test_a_form_of_another_site_can_send_nothing(client, room):
    before = uploads(room)
    assert client.put("/files/people.csv", content=b"a\n1\n").status_code == 403
    assert uploads(room) == before


def test_a_sender_who_breaks_off_leaves_nothing(client, room):
    before = uploads(room)

    def broken():
        yield b"a" * 1_000_000
        raise ConnectionError("the cable was pulled")

    with pytest.raises(ConnectionError):
        client.put("/files/people.csv", content=broken(), headers=OURS)
    for _ in range(100):
        if uploads(room) == before:
            break
        client.get("/jobs")  # the server gets a moment to notice
    assert uploads(room) == before


def test_files_sent_together_go_where_the_rest_does_not_come(client, room):
    """Said by the page that is left between two files; those that were opened stay."""
    mark = {"together": "00112233aabbccdd"}
    for name in ("patients.csv", "visits.csv"):
        assert client.put(f"/files/{name}", params=mark, content=b"patient\n1\n", headers=OURS).status_code == 201
    linked = room.rglob("uploads/00112233aabbccdd/linked-tables/*.csv")
    assert sorted(path.name for path in linked) == ["patients.csv", "visits.csv"]
    client.delete("/files", params=mark)  # a form of another site
    assert any(room.rglob("linked-tables"))
    client.delete("/files", params={"together": "../.."}, headers=OURS)
    assert any(room.rglob("linked-tables"))
    client.delete("/files", params=mark, headers=OURS)
    assert not any(room.rglob("linked-tables"))
    client.put("/files/patients.csv", params=mark, content=b"patient\n1\n", headers=OURS)
    assert client.post("/files", params=mark, headers=OURS).status_code == 201
    client.delete("/files", params=mark, headers=OURS)
    assert any(room.rglob("linked-tables"))  # it is open


def test_a_file_that_is_named_is_opened_at_once(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("age,sex\n" + "".join(f"{20 + i % 50},{'fm'[i % 2]}\n" for i in range(100)))
    with workbench(tmp_path, "--no-token", str(file)) as address:
        assert re.search(r"/b/[\w-]+/columns$", address)
        assert "people.csv" in httpx.get(address).text


def test_a_named_file_that_is_not_there_is_said_before_anything_starts(tmp_path):
    command = [sys.executable, "-m", "shoal", "web", "--no-browser", "--folder", str(tmp_path), "nothere.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 4
    assert "nothere.csv: must exist" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_upload_beyond_the_limit_is_refused_before_it_is_sent(tmp_path):
    with workbench(tmp_path, "--no-token", "--upload-limit", "0.001") as address:
        reply = httpx.put(f"{address}files/people.csv", content=b"x" * 1_000_001, headers=OURS)
        assert reply.status_code == 413
        assert "at most 0.001 GB" in reply.json()["problem"]
        assert uploads(tmp_path) == []


def test_a_full_disk_is_said_and_nothing_is_kept(client, room):
    before = uploads(room)
    reply = client.put("/files/people.csv", content=b"x" * 9_000_000, headers=OURS)
    assert reply.status_code == 507
    assert "disk is full" in reply.json()["problem"]
    assert uploads(room) == before
    assert client.put("/files/people.csv", content=b"a\n1\n", headers=OURS).status_code == 201  # it lives on


@pytest.mark.parametrize(
    "path", ["/jobs/none/report.html", "/jobs/..%2F..%2Fetc/passwd", "/b/none/schema.toml", "/b/none/recipe.toml"]
)
def test_what_is_not_there_is_said_so(client, path):
    assert client.get(path).status_code == 404
