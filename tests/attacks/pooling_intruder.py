"""An intruder who asks how old the one person is whose age was pooled as "90 and over".

He has the released table and the manifest, and no code of the package under attack: he tries every age, works out what
the published figures would be, and keeps the ages that fit them.
"""

import numpy as np

TOP = 90
OLDEST = 120


def ages_that_fit(ages, others, figures):
    """The ages of 90 to 120 that agree with `figures` (the manifest's moments) to the digits they have.

    `ages` are the released ones, one of them pooled; `others` are the other numeric columns, published as they are.
    """
    return [age for age in range(TOP, OLDEST + 1) if _fits(_figures(ages, others, age), figures)]


def _figures(released, others, age):
    true = np.where(released == TOP, age, released).astype(float)
    n = 1 + len(others)
    return {
        "abim": abs(released.mean() / true.mean() - 1) / n,
        "abisd": abs(released.std() / true.std() - 1) / n,
        "mean_shift": abs(released.mean() - true.mean()) / true.std() / n,
        "correlation_difference": np.mean(
            [abs(np.corrcoef(released, x)[0, 1] - np.corrcoef(true, x)[0, 1]) for x in others]
        ),
    }


def _fits(worked_out, figures):
    """A figure that isn't published excludes nothing."""
    return all(abs(value - figures.get(name, value)) <= 0.0006 for name, value in worked_out.items())
