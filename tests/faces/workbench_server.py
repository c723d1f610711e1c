"""Starts a real `shoal web` in a process of its own, and stops it as Ctrl-C would."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def workbench(folder, *options):
    """The address of a running workbench whose private room is made in `folder`; the room is gone afterwards."""
    command = [sys.executable, "-m", "shoal", "web", "--port", "0", "--no-browser", "--folder", str(folder), *options]
    environment = {**os.environ, "COLUMNS": "300"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Workbench: "), line + process.stderr.read()
            yield line.split()[1]
        finally:
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=30)[1]
    assert "Traceback" not in said, said
    assert list(folder.glob("shoal-room-*")) == []
