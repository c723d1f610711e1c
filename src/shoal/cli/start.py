"""Where the `shoal` command begins: before its libraries are loaded, so that Ctrl-C is quiet then, too."""

from __future__ import annotations

import sys

__all__ = ["run"]

_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it


def run() -> None:
    """Load the command line and run it."""
    try:
        from shoal.cli.main import run as run_command
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run_command()
