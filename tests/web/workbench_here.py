"""A child that does its job in this process, where the libraries are loaded already."""

import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from unittest.mock import patch

from shoal.web import job_process

_ONE_AT_A_TIME = threading.Lock()


class Here:
    """Stands for `shoal.processes.Child`; it can't be stopped."""

    def __init__(self):
        self._ended, self._code = threading.Event(), 1

    @property
    def is_alive(self):
        return not self._ended.is_set()

    def tell(self, folder):
        threading.Thread(target=self._do, args=(Path(folder),), daemon=True).start()

    def wait(self):
        self._ended.wait()
        return self._code

    def reply(self, limit):
        return None, False  # it does one job

    def stop(self):
        pass

    def close(self):
        pass

    def _do(self, folder):
        """The folder for temporary files stays that of the process, which others use too."""
        elsewhere = patch.object(job_process, "_temporary", lambda folder: nullcontext())
        try:
            with _ONE_AT_A_TIME, elsewhere, suppress(OSError):  # removed before it began
                self._code = job_process.do(folder)
        finally:
            self._ended.set()
