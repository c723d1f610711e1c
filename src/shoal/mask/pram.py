"""PRAM: each value is kept or redrawn by a coin, with known probabilities (Gouweleeuw et al. 1998).

P[i, j] is the probability that the true value i is released as j. Two matrices:

- **Invariant** (the default): with probability α a value is redrawn from the column's own shares t,

      R = α 1 t' + (1 − α) I,   so that   t' R = t',

  which is R = α P Q + (1 − α) I with P uniform and Q[k, j] = t_j P[j, k] / Σ_i t_i P[i, k]. α follows from `keep`, the
  smallest probability with which any value stays (a diagonal entry of R, not of P): α = (1 − keep) / (1 − min t).
- **Randomised response** (with `epsilon`): a value of m is kept with probability e^ε / (e^ε + m − 1), else any other is
  released. Each cell then is ε-locally differentially private, and d columns add up to d ε.

Promised: with the invariant matrix the shares of each column are kept in expectation; tables of several columns
aren't. No k, no bound on re-identification: what is left is measured. R is computed from the data, so it has no ε: with
one class only, a single person decides whether another can occur.

Randomised response holds its ε where the matrix is fixed before the data and the coins are fresh. So ε is **claimed**
(``epsilon-LDP``, proved) if the schema declares the levels of every redrawn column, each person has one row, and no
other mask takes part; then the answers are drawn by OpenDP, the release doesn't repeat with its seed, and no figure
that compares with the original leaves. Proof: whatever x and x' are the true values of a cell, P(j | x) / P(j | x') is
at most e^ε, as the diagonal is e^ε times every other entry; cells are drawn independently, so d of them give d ε. It
covers the redrawn columns alone. Otherwise the coins follow from the seed and nothing is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.claim import Claim
from shoal.claim_wording import statement
from shoal.dp.noise import randomised_response, response_epsilon
from shoal.mask.aware import AwareMask, Masking, by_content, chosen_columns, draws_of
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check

__all__ = ["Pram", "cell_epsilon", "invariant", "redraw_share", "response"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pram(AwareMask):
    """Redraw single values with known probabilities.

    Parameters
    ----------
    columns
        The quasi-identifiers to redraw; None means all. In words: ``sex/town``. Numbers are taken by their values.
    keep
        Smallest probability that a value stays as it is. Lowering it hides more.
    epsilon
        Randomised response at this ε for each cell, instead of the invariant matrix; a claim where the schema
        declares the levels. Lowering it hides more.

    Notes
    -----
    Groups and survey weights play no part. Rows of one person with the same value share a draw. Unbiased counts under
    randomised response solve P' t = released shares. Cost: n log n; with a claim 70 µs a cell.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg and de Wolf 1998; Warner 1965.

    Examples
    --------
    >>> import shoal
    >>> table, schema = shoal.datasets.health_survey(500, seed=1), shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=shoal.Pram(keep=0.6), seed=1)
    >>> len(release.table)
    500
    """

    title = "post-randomisation (PRAM)"
    summary = "Values stay, or are redrawn with known probabilities that preserve the shares of each column on average."
    promise = "Shares of single columns are preserved in expectation; re-identification is measured, not bounded."
    report_text = ReportText(
        done="Single values were redrawn at random with known probabilities.",
        writes="kept, or redrawn at random",
        keeps="The shares of the column's values, on average; not its tables with other columns.",
    )
    rank = 20
    perturbs = True
    trials = ({"group": {"method": "mdav", "k": 5}, "mask": [{"method": "pram"}]},)

    columns: Annotated[Sequence[str] | None, Help("columns to redraw, name/name; none: all quasi"), ColumnNames()] = (
        None
    )
    keep: Annotated[float, Range(low=0, high=1), Help("smallest probability that a value stays")] = 0.8
    epsilon: Annotated[float | None, Range(above=0), Help("randomised response with this epsilon per cell")] = None

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Toss a coin for every value."""
        check(self)
        names = chosen_columns("Pram", self.columns, state)
        order = by_content(state)
        codes = state.codes.copy()
        claimed = self._claimed(state)
        for name in names:
            j = state.encoder.names.index(name)
            if claimed:
                codes[:, j] = randomised_response(
                    codes[:, j].astype(np.int64), _n_public(state, name), self.epsilon or 0
                )
            else:
                codes[order, j] = self._redrawn(state, order, codes[order, j], rng)
        changed = codes != state.codes
        epsilon = None if self.epsilon is None else self.epsilon * len(names)
        written = replace(state, literal=state.literal | set(names)) if claimed else state
        return written.holding(
            codes,
            mask="pram",
            columns=len(names),
            changed_share=float(changed[:, [state.encoder.names.index(name) for name in names]].mean()),
            least_kept=self.keep if self.epsilon is None else None,
            epsilon_of_a_row=epsilon,
        )

    @property
    def is_local(self) -> bool:
        """Randomised response hides cells from whoever sees the release: figures about them would tell."""
        return self.epsilon is not None

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """What the coins do and don't promise."""
        return (_MEASURED,) if self.epsilon is None or self._claimed(state) else (_MEASURED, _RESPONSE)

    def claims(self, state: Masking) -> tuple[Claim, ...]:
        """ε of the redrawn columns of one row, where it holds."""
        if self.epsilon is None or not self._claimed(state):
            return ()
        names = chosen_columns("Pram", self.columns, state)
        epsilon = sum(response_epsilon(_n_public(state, name), self.epsilon) for name in names)
        return (
            Claim(
                kind="epsilon-LDP",
                value=epsilon,
                scope="per person, redrawn columns",
                basis="proved",
                unit="persons",
                statement=statement("epsilon-LDP", claim={"value": epsilon}, names=", ".join(names)),
                assumptions=(
                    "The levels of these columns in the schema are public knowledge, not taken from the table.",
                    f"Other columns are not covered; where they depend on {', '.join(names)}, they tell more.",
                    "Each person has one row. Another release of the same values adds its own epsilon.",
                ),
            ),
        )

    def _claimed(self, state: Masking) -> bool:
        """Whether the matrix follows from the schema alone, and each cell is drawn by itself."""
        if self.epsilon is None or state.prepared.schema.unit is not None:
            return False
        return all(_is_public(state, name) for name in chosen_columns("Pram", self.columns, state))

    def _redrawn(self, state: Masking, order: IntArray, values: FloatArray, rng: Generator) -> FloatArray:
        levels, place = np.unique(values, return_inverse=True)
        place = place.reshape(-1)
        draw, n = draws_of(state, order, place)
        coin, other = rng.random(n)[draw], rng.random(n)[draw]
        if self.epsilon is None:
            shares = np.bincount(place) / len(place)
            return levels[_invariant(place, shares, redraw_share(shares, self.keep), coin, other)]
        return levels[response(place, len(levels), self.epsilon, coin, other)]


_MEASURED = (
    "PRAM moves single values by coins of known probability and bounds nobody's risk; a value that stayed is the "
    "likeliest truth. What is left was measured, not proved."
)
_RESPONSE = (
    "Randomised response limits what one cell tells (its epsilon is for a cell, and adds up over columns) only where "
    "the coins are fresh and the set of values is public; columns that were not redrawn are not covered. No claim is "
    'made of it here: declare the levels of every redrawn column in the schema (and missing = "level" where cells are '
    "empty), and let each person have one row."
)


def _is_public(state: Masking, name: str) -> bool:
    """Whether the schema says which values the column can have, a missing one included."""
    column, coding = state.prepared.schema[name], state.encoder.codings[state.encoder.names.index(name)]
    return column.levels is not None and (column.missing == "level" or not coding.has_missing)


def _n_public(state: Masking, name: str) -> int:
    column = state.prepared.schema[name]
    return len(column.every_level) + (column.missing == "level")


def redraw_share(shares: FloatArray, keep: float) -> float:
    """α such that the value likeliest to change still stays with probability `keep`; at most 1."""
    rarest = float(shares.min())
    return 0.0 if rarest >= 1 else min(1.0, (1 - keep) / (1 - rarest))


def _invariant(place: IntArray, shares: FloatArray, alpha: float, coin: FloatArray, other: FloatArray) -> IntArray:
    """With probability α the level that `other` picks by the shares, else the level itself."""
    picked = np.searchsorted(np.cumsum(shares)[:-1], other, side="right")
    return np.where(coin < alpha, picked, place)


def response(place: IntArray, m: int, epsilon: float, coin: FloatArray, other: FloatArray) -> IntArray:
    """Randomised response over `m` levels: kept with probability e^ε / (e^ε + m − 1), else any other level."""
    keep = 1 / (1 + (m - 1) * math.exp(-epsilon))
    moved = (place + 1 + np.minimum((other * (m - 1)).astype(np.int64), max(m - 2, 0))) % m
    return np.where((coin < keep) | (m == 1), place, moved)


def invariant(P: FloatArray, t: FloatArray, alpha: float = 1.0) -> FloatArray:
    """R = α P Q + (1 − α) I, for which t' R = t': any matrix made invariant for the shares `t`."""
    released = t @ P
    Q = np.divide((t[:, None] * P).T, released[:, None], out=np.zeros_like(P.T), where=released[:, None] > 0)
    return alpha * (P @ Q) + (1 - alpha) * np.eye(len(t))


def cell_epsilon(P: FloatArray) -> float:
    """ε of one cell under the matrix `P`: the largest log ratio within a column; infinite with a lone zero."""
    largest, least = P.max(axis=0), P.min(axis=0)
    used = largest > 0
    if (least[used] == 0).any():
        return math.inf
    return float(np.log(largest[used] / least[used]).max())
