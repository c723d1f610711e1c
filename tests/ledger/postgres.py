"""A PostgreSQL cluster in a temporary folder, run by an unprivileged user, gone afterwards."""

import contextlib
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

_HINT = "On Debian and Ubuntu: apt-get install postgresql."


def folder_of_binaries():
    found = shutil.which("pg_ctl")
    if found and Path(found).resolve().with_name("initdb").exists():
        return Path(found).resolve().parent
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def unprivileged():
    """The user to run as; PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError("no unprivileged user")


def reason_for_none():
    """Why there can be no cluster here, or nothing."""
    if folder_of_binaries() is None:
        return f"PostgreSQL is not installed, so its tests are skipped. {_HINT}"
    return ""


class Cluster:
    """Started on entry, stopped on exit; `database` makes an empty database and gives its URL."""

    def __init__(self, fsync="on"):
        self._fsync = fsync

    def __enter__(self):
        self._bin, self._user = folder_of_binaries(), unprivileged()
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-pg-", dir=_room(self._fsync)))
        self._data, self._numbers = self._folder / "data", itertools.count(1)
        if self._user:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._call("initdb", "-D", self._data, "-A", "trust", "-U", "shoal", "--no-sync", "-E", "UTF8", "--locale=C")
        self.start()
        return self

    def __exit__(self, *_):
        self.stop("immediate")
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self, addresses="127.0.0.1"):
        if not hasattr(self, "port"):
            self.port = _free_port()
        options = f"-k {self.sockets} -p {self.port} -c listen_addresses='{addresses}' -c fsync={self._fsync}"
        self._call("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    @property
    def sockets(self):
        return self._folder

    def stop(self, how="fast"):
        self._call("pg_ctl", "-D", self._data, "-w", "-m", how, "stop")

    @contextlib.contextmanager
    def frozen(self):
        """Every process of the server is there and does nothing."""
        pids = [int(word) for word in (self._data / "postmaster.pid").read_text().split()[:1]]
        pids += [int(word) for word in Path(f"/proc/{pids[0]}/task/{pids[0]}/children").read_text().split()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def database(self, *, settings=""):
        import psycopg

        name = f"ledger_{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {settings}")
        return self._url(name)

    def tool(self, program, url, *words):
        """Run one of PostgreSQL's own programs on a database."""
        command = [self._bin / program, f"--dbname={url}", *words]
        subprocess.run(command, check=True, capture_output=True)

    def _url(self, name):
        return f"postgresql://shoal@127.0.0.1:{self.port}/{name}"

    def _call(self, program, *words):
        who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []} if self._user else {}
        command = [self._bin / program, *words]
        done = subprocess.run(command, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, **who)
        assert done.returncode == 0, done.stderr.decode()


def _room(fsync):
    """Memory where it is plentiful and the disk is not what is tested: making and removing databases is quick there."""
    plenty = os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 << 30
    return "/dev/shm" if fsync == "off" and plenty else "/tmp"


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
