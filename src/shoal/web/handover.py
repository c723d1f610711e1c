"""Hand a release over: a decision is signed, the release is entered in the register, and written or sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import Any

from shoal.errors import FileError, ParameterError
from shoal.files.atomic import sha256
from shoal.release.folders import MANIFEST
from shoal.release.minisign import new_key
from shoal.web.controller import Controller
from shoal.web.export import hand_over
from shoal.web.job import ENTRY, Job
from shoal.web.project import folder_of

__all__ = ["default_folder", "default_key", "entered", "sign_release", "write_release"]

DECISION = ("decision", "by", "recipient", "expires")


def default_key() -> Path:
    """Where a publisher's key lies if nobody says otherwise."""
    return Path.home() / ".shoal" / "publisher.key"


def default_folder(controller: Controller, session: str) -> str:
    """A folder for the release beside the file, if that lies on this machine and the folder isn't there yet."""
    opened = controller.opened(session)
    if opened is None or controller.workspace.holds(Path(opened.path)):
        return ""
    beside = Path(opened.path).with_name(f"{Path(opened.path).name.partition('.')[0]}-release")
    places = [beside, *(beside.with_name(f"{beside.name}-{i}") for i in range(2, 100))]
    return str(next((place for place in places if not place.exists()), beside))


def write_release(controller: Controller, session: str, job: Job, text: str) -> Path:
    """Write a finished release to the folder that a person typed, enter it in the register, and remember where."""
    place = controller.release_place(text)
    with entered(controller, session, job, str(place)):
        hand_over(job, place)
    written = {**controller.session(session).notes.get("written", {}), job.id: str(place)}
    controller.note(session, "written", written)
    controller.record(session, f"written to {place}")
    return place


@contextmanager
def entered(controller: Controller, session: str, job: Job, folder: str = "") -> Iterator[None]:
    """Enter a release in the register before it leaves, once; what then doesn't leave after all is withdrawn."""
    from shoal.register.pending import Pending

    notes = controller.session(session).notes
    found = None if job.id in notes.get("entered", {}) else Pending.read(job.folder / ENTRY)
    if found is None:
        yield
        return
    recipient = notes.get("decisions", {}).get(job.id, {}).get("recipient")
    found.to(recipient, folder).enter_now(sha256(job.folder / "release" / MANIFEST))
    try:
        yield
    except BaseException:
        found.withdraw("it was entered, but could not be written")
        raise
    known = controller.session(session).notes.get("entered", {})
    controller.note(session, "entered", {**known, job.id: found.title})
    controller.record(session, f"entered in the register as release {found.title}")


def sign_release(controller: Controller, session: str, job: Job, given: Mapping[str, str]) -> None:
    """Sign a finished release with what was decided; a folder that it was written to is signed as well."""
    from shoal.release.sign import sign, today

    decided: dict[str, Any] = {name: given.get(name, "").strip() or None for name in DECISION}
    if not decided["by"]:
        raise ParameterError("decision", "must name who decides", hint="Enter the name of that person.")
    key, password = _key(controller, given), given.get("password") or None
    sign(job.folder / "release", key, password=password, **decided)
    written = controller.session(session).notes.get("written", {}).get(job.id)
    if written is not None:
        hand_over(job, written, overwrite=True)
    known = controller.session(session).notes.get("decisions", {})
    controller.note(
        session, "decisions", {**known, job.id: {**decided, "key": str(key), "signed": today().isoformat()}}
    )
    controller.note(session, "key", str(key))
    words = [word for name, text in decided.items() if text for word in (f"--{name}", text)]
    folder = folder_of(controller.session(session), job.id)
    command = join(["shoal", "sign", folder, "--key", str(key), *words])
    controller.record(session, f"signed by {decided['by']}", command, job.id)


def _key(controller: Controller, given: Mapping[str, str]) -> Path:
    """The key that was named; one is made where none is."""
    text = given.get("key", "").strip()
    if not text:
        raise FileError("key", "must be named", hint=f"Enter its path, for example {default_key()}.")
    path = controller.access.place(text)
    if not path.exists():
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                str(path.parent), "must be a folder that can be written to", got=error.strerror or ""
            ) from None
        new_key(path, password=given.get("password") or None)
    return path
