"""``python -m shoal`` is the `shoal` command."""

from shoal.cli.start import run

if __name__ == "__main__":
    run()
