"""Where the `shoal` command begins and ends: Ctrl-C is quiet while its libraries are loaded and its last words said."""

from __future__ import annotations

import sys

__all__ = ["run"]

_INTERRUPTED = 130  # 128 + SIGINT, as a shell has it


def run() -> None:
    """Load the command line and run it."""
    try:
        from shoal.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:  # a command that is at work says itself what became of it
        sys.exit(_INTERRUPTED)
