"""The toy service with a fault: killed by -9 when a step of a query is about to happen, or on a disk that is full."""

import os
import signal
import sys
from dataclasses import dataclass

import toy_service

# The steps of one charged query in their order, each named by what is about to happen when the process is killed:
# where it is, which of its calls, and whether the charge and the answer are on the disk by then.
STEPS = {
    "the charge is read and locked": ("shoal.ledger.settling", "run", 1, False, False),
    "the charge is written": ("shoal.ledger.settling", "run", 2, False, False),
    "the charge has committed": ("shoal.ledger.ledger.Ledger", "_note", 1, True, False),
    "the answer is computed": ("toy_service.Toy", "scores", 1, True, False),
    "the answer is written": ("shoal.ledger.settling", "run", 3, True, False),
    "the reply leaves": ("shoal.service.scoring", "_reply", 1, True, True),
}


@dataclass
class KilledAt:
    """Serves until `step` is about to happen."""

    step: str

    def __call__(self, ledger, port, data_epsilon):
        app = toy_service.app(ledger, data_epsilon)  # opening and enrolling take the same steps, unharmed
        place, name, number, *_ = STEPS[self.step]
        owner, calls = _found(place), 0
        plain = getattr(owner, name)

        def counted(*words, **more):
            nonlocal calls
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*words, **more)

        setattr(owner, name, counted)
        _serve(app, port)


def on_a_full_disk(ledger, port, data_epsilon):
    """Serves with files that can't grow any more."""
    import resource

    app = toy_service.app(ledger, data_epsilon)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    _serve(app, port)


def _found(place):
    module, _, owner = place.rpartition(".")
    return getattr(sys.modules[module], owner) if owner[0].isupper() else sys.modules[place]


def _serve(app, port):
    import uvicorn

    uvicorn.run(app, port=port, access_log=False, log_level="critical")
