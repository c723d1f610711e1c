"""The files of deploy/: each is checked by the program that reads it, and what they start is started."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

sys.path.insert(0, str(Path(__file__).parents[1] / "ledger"))

from postgres import Cluster, reason_for_none
from serving import free_port, processes
from toy_service import QUERY

from shoal.datasets.pima import pima_like, pima_like_schema
from shoal.dp import Account, Budget
from shoal.ledger import Keys, Ledger
from shoal.score import CertifiedForest
from shoal.score.admitting import admission_of

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
VERBS = {"FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"} | {
    "ENTRYPOINT",
    "CMD",
}


def serve_settings():
    """The environment variables that `shoal serve` reads."""
    import typer

    from shoal.cli.serve import serve

    app = typer.Typer()
    app.command()(serve)
    return {variable for parameter in get_command(app).params for variable in (parameter.envvar,) if variable}


def known(name):
    return name in serve_settings() | {"SHOAL_ANCHORS", "SHOAL_LEDGER_KEY"}


# ---- systemd


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_one_that_systemd_takes(tmp_path):
    unit = tmp_path / "shoal.service"
    text = (DEPLOY / "shoal.service").read_text()
    unit.write_text(text.replace("/opt/shoal/bin/shoal", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "shoal.service" in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_unit_sets_what_the_service_reads_and_leaves_it_time_to_stop():
    text = (DEPLOY / "shoal.service").read_text()
    assert all(known(name) for name in re.findall(r"^Environment=(\w+)=", text, re.MULTILINE))
    assert int(re.search(r"^TimeoutStopSec=(\d+)", text, re.MULTILINE)[1]) > 20  # --shutdown
    assert "kill -HUP $MAINPID" in text


# ---- containers: no engine is at hand, so the files are read, and their commands run without one


@pytest.mark.parametrize("file", ["Dockerfile", "workbench.Dockerfile"])
def test_the_image_runs_as_nobody_and_knows_its_settings(file):
    text = (DEPLOY / file).read_text()
    lines = [line for line in re.sub(r"\\\n\s*", " ", text).splitlines() if line and not line.startswith("#")]
    verbs = [line.split()[0] for line in lines]
    assert set(verbs) <= VERBS
    assert verbs.index("USER") < verbs.index("ENTRYPOINT")
    assert "USER 0" not in text
    assert lines.index("USER 10001") < lines.index("RUN shoal warm-up") < verbs.index("VOLUME")  # what follows is lost
    assert all(known(name) for name in re.findall(r"(SHOAL_\w+)=", text))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.search(r"\.\[(.+?)\]", text)[1].split(",")) <= set(extras)
    for line in lines:
        if line.startswith("COPY") and "--from" not in line:
            assert all((ROOT / name).exists() for name in line.split()[1:-1]), line
    for line in lines:
        if line.startswith(("ENTRYPOINT", "CMD")):
            json.loads(line.split(None, 1)[1])


def test_compose_starts_the_ledger_before_the_service_and_gives_it_no_more_than_it_needs():
    words = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = words["services"]
    service = services["service"]
    assert services["ledger"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert service["depends_on"] == {"ledger": {"condition": "service_completed_successfully"}}
    assert service["environment"]["SHOAL_LEDGER"].startswith("postgresql://shoal_service@")
    assert services["workbench"]["ports"] == ["127.0.0.1:8137:8137"]
    assert services["workbench"]["hostname"] == "localhost"  # the printed link has the host's name
    for ours in (service, services["ledger"], services["workbench"]):
        assert (ours["read_only"], ours["cap_drop"]) == (True, ["ALL"])
        assert ours["security_opt"] == ["no-new-privileges:true"]
    assert "ports" not in service
    assert "ports" not in services["database"]
    environment = {**service["environment"], **services["ledger"]["environment"]}
    assert all(known(name) for name in environment if name.startswith("SHOAL_"))
    assert services["ledger"]["command"] == ["ledger", "create", "--upgrade", "--service-role", "shoal_service"]
    used = {mount.split(":")[0] for one in services.values() for mount in one.get("volumes", [])}
    assert {name for name in used if not name.startswith(".")} == set(words["volumes"])
    assert all((DEPLOY / name).exists() for name in used if name.endswith((".conf", ".sh")))
    secrets = re.findall(r"PASSWORD: (.+)", (DEPLOY / "compose.yaml").read_text())
    assert all(re.fullmatch(r"\$\{SHOAL_\w+_PASSWORD:\?.+\}", value) for value in secrets)  # none has a default


@pytest.mark.skipif(bool(reason_for_none()) or not shutil.which("pg_isready"), reason="needs PostgreSQL and its client")
def test_the_health_check_of_the_database_waits_until_it_listens_on_the_network():
    """While the image makes the database, a server answers on the socket alone."""
    check = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["database"]["healthcheck"]["test"]
    with Cluster(fsync="off") as cluster:
        place = os.environ | {"PGHOST": str(cluster.sockets), "PGPORT": str(cluster.port)}

        def healthy():
            return subprocess.run(check[1:], env=place, stdout=subprocess.DEVNULL, check=False).returncode == 0

        assert healthy()
        cluster.stop()
        cluster.start(addresses="")
        assert not healthy()


def shoal(words, settings):
    """`shoal` as a container or a unit runs it, with settings by environment alone."""
    return [sys.executable, "-m", "shoal", *words], os.environ | settings


def done(words, settings):
    command, environment = shoal(words, settings)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def put_model(folder, url):
    """A certified model in `folder`, admitted by the ledger."""
    folder.mkdir()
    table = pima_like(200, seed=1)
    table.write_csv(folder.parent / "patients.csv")
    account = Account.open(folder.parent / "patients.csv", limit=Budget(epsilon=2), ledger=url)
    model = CertifiedForest(epsilon=1.0, schema=pima_like_schema())
    model.fit(table.drop("diabetes"), table["diabetes"], account=account).save(folder / "risk.json")
    account.ledger.admit(admission_of(folder / "risk.json", by="fit"))
    account.ledger.close()


@pytest.mark.skipif(bool(reason_for_none()) or not shutil.which("psql"), reason="needs PostgreSQL and psql")
def test_the_commands_of_compose_run_in_their_order_on_a_real_database(tmp_path, monkeypatch):
    """What the containers run, without the containers: the role script, the owner's command, the service."""
    monkeypatch.setenv("SHOAL_ANCHORS", str(tmp_path))
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    with Cluster(fsync="off") as cluster:
        owner = cluster.database()
        place = {"PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "SHOAL_SERVICE_PASSWORD": "it's one"}
        made = {"POSTGRES_USER": "shoal", "POSTGRES_DB": owner.rpartition("/")[2]}
        subprocess.run(["sh", str(DEPLOY / "service-role.sh")], env=os.environ | place | made, check=True)
        created = done(services["ledger"]["command"], {"SHOAL_LEDGER": owner})
        assert created.returncode == 0, created.stderr
        put_model(tmp_path / "models", owner)
        workers = services["service"]["environment"]["SHOAL_WORKERS"]
        role = {"SHOAL_LEDGER": owner.replace("shoal@", "shoal_service@"), "SHOAL_WORKERS": workers}
        checked = done(["serve", "--check"], role | {"SHOAL_MODELS": str(tmp_path / "models")})
        assert checked.returncode == 0, checked.stderr
        assert "risk" in checked.stdout


def test_the_command_of_the_unit_serves_reloads_and_stops_and_the_images_health_check_passes(tmp_path):
    unit, image = (DEPLOY / "shoal.service").read_text(), (DEPLOY / "Dockerfile").read_text()
    port, state = free_port(), tmp_path / "shoal"
    state.mkdir()
    given = dict(re.findall(r"^Environment=(\w+)=(.+)$", unit, re.MULTILINE))
    settings = {name: value.replace("/var/lib/shoal", str(state)) for name, value in given.items()}
    settings |= {"SHOAL_PORT": str(port), "SHOAL_LOG": "false"}
    Ledger.open(settings["SHOAL_LEDGER"]).close()
    put_model(Path(settings["SHOAL_MODELS"]), settings["SHOAL_LEDGER"])
    start = re.search(r"^ExecStart=/opt/shoal/bin/shoal (.+)$", unit, re.MULTILINE)[1].split()
    command, environment = shoal(start, settings)
    log = tmp_path / "log"
    with log.open("w") as stream:
        service = subprocess.Popen(command, env=environment, cwd=state, stdout=subprocess.DEVNULL, stderr=stream)
    try:
        wait_until(log, "serving")
        health = json.loads(re.search(r"CMD (\[\"python.+\])", image)[1])
        probe = [sys.executable, *(word.replace("8000", str(port)) for word in health[1:])]
        assert subprocess.run(probe, check=False).returncode == 0
        reload = re.search(r"^ExecReload=(.+)$", unit, re.MULTILINE)[1]
        subprocess.run(reload.replace("$MAINPID", str(service.pid)).split(), check=True)
        wait_until(log, "reloaded")
        service.terminate()
        assert service.wait(120) == 0
    finally:
        service.kill()
        service.wait()


def test_the_command_of_the_workbenchs_image_asks_for_a_token_and_its_health_check_passes(tmp_path):
    image, port = (DEPLOY / "workbench.Dockerfile").read_text(), free_port()
    words = json.loads(re.search(r"^CMD (.+)$", image, re.MULTILINE)[1])
    here = {"0.0.0.0": "127.0.0.2", "/data": str(tmp_path), "/var/lib/shoal": str(tmp_path)}
    command, environment = shoal([*(here.get(word, word) for word in words), "--port", str(port)], {})
    health = json.loads(re.search(r"CMD (\[\"python.+\])", image)[1])
    check = [sys.executable, health[1], health[2].replace("8137", str(port)).replace("127.0.0.1", "127.0.0.2")]
    log = tmp_path / "log"
    with log.open("w") as stream:
        workbench = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=stream, stderr=stream)
    try:
        until = time.monotonic() + 120
        while subprocess.run(check, check=False, stderr=subprocess.DEVNULL).returncode and time.monotonic() < until:
            time.sleep(0.2)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.2:{port}/", timeout=10)
        refused.value.close()
        assert refused.value.code in (401, 403)
        assert "token=" in log.read_text()
        workbench.terminate()
        workbench.wait(60)
    finally:
        workbench.kill()
        workbench.wait()


# ---- nginx


def certificate(folder):
    """A certificate for localhost that lives an hour."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "certificate.key").write_bytes(private)


def configured(folder, port, upstream):
    """The sample, with the addresses and files of this test."""
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in {
        "/etc/nginx/tls/": f"{folder}/",
        "server service:8000": f"server 127.0.0.1:{upstream}",
        "listen 443": f"listen 127.0.0.1:{port}",
        "    listen [::]:443 ssl;\n": "",
    }.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "site.conf").write_text(text)
    places = " ".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log {folder}/error.log; events {{}} "
        f"http {{ access_log off; {places} include {folder}/site.conf; }}"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_nginx_in_front_of_a_service(tmp_path):
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = Ledger.open(url)
    _, token = Keys(ledger).add("ward", epsilon=1)
    certificate(tmp_path)
    with processes(url) as [(_, upstream)]:
        port = free_port()
        command = configured(tmp_path, port, upstream)
        assert subprocess.run([*command, "-t"], capture_output=True, check=False).returncode == 0
        nginx = subprocess.Popen([*command, "-g", "daemon off;"], stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            ask_through_the_proxy(port, token, str(tmp_path / "certificate.pem"))
        finally:
            nginx.terminate()
            nginx.wait(20)
    ledger.close()


def wait_until(log, event):
    until = time.monotonic() + 120
    while f'"{event}"' not in log.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    assert f'"{event}"' in log.read_text()


def wait_for(port):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("nobody listens")


def ask_through_the_proxy(port, token, authority):
    trust = ssl.create_default_context(cafile=authority)

    def ask(path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"https://localhost:{port}{path}", data, sent)
        try:
            with urllib.request.urlopen(request, timeout=20, context=trust) as reply:
                return reply.status, json.loads(reply.read()), reply.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), error.headers

    status, words, headers = ask("/v1/models/priced/score", {"features": QUERY})
    assert (status, words["epsilon_charged"]) == (200, "0.1")
    assert re.fullmatch("[0-9a-f]{32}", headers["X-Request-ID"])  # nginx's own, kept by the service
    assert "max-age" in headers["Strict-Transport-Security"]
    for inside in ("/metrics", "/readyz", "/livez", "/v2/health/live"):
        status, words, headers = ask(inside)
        assert (status, words["type"]) == (404, "/problems/not-found")
        assert headers["Content-Type"] == "application/problem+json"
    status, words, _ = ask("/v1/models/priced/scores", {"rows": [{"age": "x" * 5_000_000}]})
    assert (status, words["type"]) == (413, "/problems/too-large")
    status, words, _ = ask("/v1/models", Authorization="Bearer " + "x" * 40_000)
    assert (status, words["type"]) == (431, "/problems/headers-too-large")
