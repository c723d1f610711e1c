import errno

import pytest

from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.files import write_text
from shoal.web.error_text import Failure, explain, is_disk_full


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ParameterError("k", "must be 2"), "parameter"),
        (GuaranteeError("k", "can't be met"), "guarantee"),
        (InputError("table", "is empty"), "input"),
        (FileError("x.csv", "is gone"), "input"),
    ],
    ids=["parameter", "guarantee", "input", "file"],
)
def test_own_errors_are_passed_on(error, kind):
    assert explain(error) == Failure(message=str(error), kind=kind)


def test_other_errors_say_their_type_only(tmp_path):
    try:
        int("SENTINEL-7")
    except ValueError as error:
        failure = explain(error, tmp_path)
    assert failure.kind == "internal"
    assert "SENTINEL" not in failure.message
    assert "ValueError" in failure.message
    assert "SENTINEL-7" in (tmp_path / "fault.txt").read_text()
    assert "fault.txt" not in explain(ValueError("SENTINEL")).message


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG], ids=["space", "quota", "size"])
def test_full_disk_is_recognised_under_wrappers(code, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(code, "told by the system")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(FileError) as caught:
        write_text(tmp_path / "x.txt", "x")
    failure = explain(caught.value, tmp_path)
    assert failure.message.startswith(f"the disk is full: free space under {tmp_path} and run it again")
    assert list(tmp_path.iterdir()) == []


def test_full_disk_in_the_words_of_a_library():
    assert is_disk_full(RuntimeError("cannot write: No space left on device (os error 28)"))
    assert not is_disk_full(RuntimeError("something else"))


def test_memory():
    assert "memory" in explain(MemoryError()).message


def test_words_and_back():
    failure = Failure(message="x", kind="input")
    assert Failure.from_dict(failure.to_dict()) == failure
