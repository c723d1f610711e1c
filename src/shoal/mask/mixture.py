r"""The Gaussian dither as a mixture, and its half of Rosenblatt's transformation.

Each row of group l is replaced by a draw x̃ from N(x̄_l, Λ_l), Λ_l = Σ_l + αI. Over all groups x̃ follows a
Gaussian mixture, whose conditional distribution functions turn x̃ into uniform, independent numbers u (Wei,
Ramamurthy and Varshney, equations 12 to 14):

    u_1 = Σ_l p_L(l) Φ(z_l1),                    z_lj = (x̃_j − μ_lj) / σ_lj
    u_j = Σ_l p(l | x̃^{j−1}) Φ(z_lj),           p(l | x̃^j) ∝ p(l | x̃^{j−1}) φ(z_lj) / σ_lj
    μ_lj = x̄_lj + Λ_{j,1:j−1} Λ_{1:j−1,1:j−1}^{-1} (x̃^{j−1} − x̄_l^{j−1})

The paper prints a minus in μ_lj; with it the u's are not uniform. With L the lower Cholesky factor of Λ_l, z_l
solves L z = x̃ − x̄_l by forward substitution, and σ_lj = L_jj: no matrix is ever inverted.

**Error.** `forward` promises ``|u − exact| ≤ tolerance`` (default 1e-9; the u's are looked up in a discrete
distribution, so that is plenty). What adds to the error:

* Components left out, at most ``tolerance / 2``. Dropping components of posterior share s moves a conditional
  distribution function by at most s, because both parts of the mixture have values in [0, 1]. A component is left
  out of the later dimensions only when, at every row of a block, its weight is at most ``tolerance / (2c)`` times
  the weight of the row's own component. Weights never grow from one dimension to the next (each is multiplied by
  exp(−z²/2)·min_l σ_lj/σ_lj ≤ 1), so the own component's last weight bounds every total from below, and the c
  components together lose a share of at most ``tolerance / 2``.
* Arithmetic, at most ``tolerance / 2`` for c up to half a million at the default: Φ is exact to 1.2e-12, φ to a
  relative 1e-13, sums of c terms to a relative 1.2e-16·c. This takes z as exact. The rounding of z adds about
  1e-16·κ·z² to a log weight, κ the condition of L: nothing for rows drawn from the mixture at sensible α. L comes
  from orthogonal rotations, so κ grows with 1/√α, not with 1/α, and its pivots never fall below √α.

Results do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, BoolArray, FloatArray, Generator, IntArray
from shoal.errors import ParameterError

__all__ = ["Mixture", "components", "draw", "forward", "merge"]

_FINEST = 1e-10  # below it the rounding of long sums would matter
_BLOCK = 256  # rows handled together: their scratch space stays in the first-level cache
_FLOOR = 1e-150  # weights are kept above it, so that no product is ever subnormal
_WEAK = 1e-100  # a total below it can't be told from the floor: such rows are worked out in logarithms
_FAR = 24.0  # beyond it |z| counts as 24: exp(−24²/2) is nothing beside _WEAK
_HUGE = 1e150  # its square is still a number


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A Gaussian mixture: one component per group of records, or per distinct one after `merge`.

    Attributes
    ----------
    share
        p_L, the share of records (or of their mass) in each component.
    centroid
        x̄_l, one row per component.
    factor
        Lower Cholesky factors of Λ_l.
    """

    share: FloatArray
    centroid: FloatArray
    factor: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Λ_l of every component."""
        product: FloatArray = self.factor @ self.factor.transpose(0, 2, 1)
        return product


def components(values: FloatArray, offsets: IntArray, alpha: float, mass: IntArray | None = None) -> Mixture:
    """Fit one Gaussian to each group: its mean, and its covariance (divided by n_l) plus alpha on the diagonal.

    Parameters
    ----------
    values
        Rows, group by group; group g is ``values[offsets[g]:offsets[g + 1]]``.
    offsets
        Where each group starts, and the end.
    alpha
        Variance added in every direction; positive. Raising it blurs the groups more.
    mass
        Integer mass of each row (`shoal.mask.rosenblatt.masses`); shares, means and covariances are weighted by it.

    Notes
    -----
    Groups that hold the same rows in the same order give the same component, bit by bit; so do groups of equal rows,
    whatever their number. The factor is built by rotations from √α·I, so it exists for every positive alpha and any
    group, of whatever rank. Cost n·d².
    """
    mass = np.ones(len(values), dtype=np.int64) if mass is None else mass
    groups, d = len(offsets) - 1, values.shape[1]
    centroid, factor = np.empty((groups, d)), np.zeros((groups, d, d))
    steps = np.concatenate([[0], np.cumsum(mass)])
    _fit(np.ascontiguousarray(values), offsets, mass, steps, math.sqrt(alpha), centroid, factor)
    total = np.diff(steps[offsets])
    return Mixture(share=total.astype(np.float64) / total.sum(), centroid=centroid, factor=factor)


def merge(mixture: Mixture) -> tuple[Mixture, IntArray]:
    """Join equal components; also return the new component of each old one."""
    c = len(mixture.share)
    rows = np.hstack([mixture.centroid, mixture.factor.reshape(c, -1)])
    _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    index = index.reshape(-1).astype(np.int64)
    share = np.bincount(index, weights=mixture.share).astype(np.float64)
    return Mixture(share=share, centroid=mixture.centroid[first], factor=mixture.factor[first]), index


def draw(mixture: Mixture, home: IntArray, rng: Generator) -> FloatArray:
    """Draw one row x̃ from component ``home[i]`` for each i."""
    x = rng.standard_normal((len(home), mixture.centroid.shape[1]))
    _scale_and_shift(x, home, mixture.centroid, mixture.factor)
    return x


def forward(x: FloatArray, mixture: Mixture, home: IntArray | None = None, tolerance: float = 1e-9) -> FloatArray:
    """Return u_ij = F(x_ij | x_i1 … x_i,j−1) under the mixture, equations (12) to (14), within `tolerance`.

    Parameters
    ----------
    x
        Rows at which to evaluate, columns in the order of conditioning.
    mixture
        The mixture; pass it through `merge` first, since cost grows with the number of components.
    home
        A component near each row, as a rule the one it was drawn from. It changes speed only: components that are
        negligible beside it are skipped, which pays when alpha is small.
    tolerance
        Bound on the error of each u; at least 1e-10.

    Notes
    -----
    Cost n·c·d evaluations of φ and Φ, about 3 ns of processor time each with AVX2, on all cores. Memory beyond input
    and output is c·d² plus a fixed amount per thread.
    """
    if tolerance < _FINEST:
        raise ParameterError("forward", f"tolerance must be at least {_FINEST:g}", got=f"{tolerance:g}")
    x, u = np.ascontiguousarray(x), np.empty(x.shape)
    if len(x) == 0:
        return u
    _fill(x, mixture, home, tolerance, u)
    return u


def _fill(x: FloatArray, mixture: Mixture, home: IntArray | None, tolerance: float, u: FloatArray) -> None:
    """Fill u: by products of densities, and in logarithms where these are too small."""
    parts, n = _parts(mixture), len(x)
    order, cut = np.arange(n), np.zeros(n)
    if home is not None:
        order = _neighbours_together(x)
        cut = _own_weight(x, home, *parts) * (tolerance / (2 * len(mixture.share)))
    weak: BoolArray = np.zeros(n, dtype=np.bool_)
    _on_all_cores(_conditional_span, n, x, order, cut, *parts, u, weak)
    rows = np.flatnonzero(weak)
    _on_all_cores(_logarithm_span, len(rows), x, rows, *parts, u)


def _parts(mixture: Mixture) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """What the kernels need: p_L, x̄, 1/σ, L_ij/σ_i, and min_l σ_lj/σ_lj (densities scaled to at most 1)."""
    sigma = np.diagonal(mixture.factor, axis1=1, axis2=2)
    slope = mixture.factor / sigma[:, :, None]
    return mixture.share, mixture.centroid, 1.0 / sigma, slope, sigma.min(axis=0) / sigma


def _own_weight(
    x: FloatArray,
    home: IntArray,
    share: FloatArray,
    centroid: FloatArray,
    inverse: FloatArray,
    slope: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Weight of each row's own component when the last dimension is reached: a lower bound of every total."""
    own, z = share[home], np.empty((x.shape[1], len(x)))
    with np.errstate(over="ignore"):
        for j in range(x.shape[1] - 1):
            z[j] = (x[:, j] - centroid[home, j]) * inverse[home, j]
            for h in range(j):
                z[j] -= slope[home, j, h] * z[h]
            own = own * np.exp(-0.5 * z[j] * z[j]) * scale[home, j]
    return own


def _neighbours_together(x: FloatArray) -> IntArray:
    """Order rows so that consecutive ones agree roughly in their first columns: strips of strips."""
    n, depth = len(x), max(1, min(x.shape[1] - 1, 3))
    strip = max(1.0, (n / _BLOCK)) ** (1.0 / depth)
    order = np.argsort(x[:, 0], kind="stable")
    for j in range(1, depth):
        place = np.floor(np.arange(n) * (strip**j / n))
        order = order[np.lexsort((x[order, j], place))]
    return order


def _on_all_cores(kernel: Callable[..., None], n: int, *arrays: AnyArray) -> None:
    """Run ``kernel(start, stop, *arrays)`` over spans of 0 … n; each writes its own part of the output."""
    workers = _cores()
    span = max(_BLOCK, -(-n // (4 * workers * _BLOCK)) * _BLOCK)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda start: kernel(start, min(n, start + span), *arrays), range(0, n, span)))


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@njit(cache=True, nogil=True)
def _fit(
    values: FloatArray,
    offsets: IntArray,
    mass: IntArray,
    steps: IntArray,
    root: float,
    centroid: FloatArray,
    factor: FloatArray,
) -> None:
    d = values.shape[1]
    deviation = np.empty(d)
    for g in range(len(offsets) - 1):
        start, stop = offsets[g], offsets[g + 1]
        total = steps[stop] - steps[start]
        # Relative to its first row the mean of equal rows is that row, exactly.
        for j in range(d):
            shift = 0.0
            for i in range(start, stop):
                shift += (values[i, j] - values[start, j]) * (mass[i] / total)
            centroid[g, j] = values[start, j] + shift
            factor[g, j, j] = root
        for i in range(start, stop):
            for j in range(d):
                deviation[j] = (values[i, j] - centroid[g, j]) * math.sqrt(mass[i] / total)
            _rotate_in(factor[g], deviation)


@njit(cache=True, nogil=True)
def _rotate_in(factor: FloatArray, row: FloatArray) -> None:
    """Turn the factor of A into that of A + row rowᵀ by Givens rotations; pivots only grow. `row` is used up."""
    for k in range(len(row)):
        radius = math.hypot(factor[k, k], row[k])
        cosine, sine = factor[k, k] / radius, row[k] / radius
        factor[k, k] = radius
        for i in range(k + 1, len(row)):
            old = factor[i, k]
            factor[i, k] = cosine * old + sine * row[i]
            row[i] = cosine * row[i] - sine * old


@njit(cache=True, nogil=True)
def _scale_and_shift(x: FloatArray, home: IntArray, centroid: FloatArray, factor: FloatArray) -> None:
    d = x.shape[1]
    for i in range(len(x)):
        g = home[i]
        for j in range(d - 1, -1, -1):  # from the last, so that x still holds the standard normals needed
            total = 0.0
            for h in range(j + 1):
                total += factor[g, j, h] * x[i, h]
            x[i, j] = centroid[g, j] + total


# The kernels below run over a block of rows in their innermost loops, one component at a time: nothing is summed
# across rows, so they vectorise, and each row's sum runs in the order of components. "contract" allows fused
# multiply-add; it changes rounding only.


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _exp_minus(t: float) -> float:
    """exp(−t) for 0 ≤ t ≤ 700, relative error 1e-13: 2^−k times a minimax polynomial of degree 9 on |r| ≤ ln(2)/2."""
    shifted = np.float64(t * 1.4426950408889634 + 6755399441055744.0)  # adding 1.5·2^52 leaves round(t/ln 2)
    k = shifted - 6755399441055744.0
    r = (k * 6.93147180369123816490e-01 - t) + k * 1.90821492927058770002e-10
    p = 2.748444097086289e-06
    p = p * r + 2.4884018558623308e-05
    p = p * r + 0.00019841590530927358
    p = p * r + 0.0013888802811616724
    p = p * r + 0.008333333007919113
    p = p * r + 0.041666667032565115
    p = p * r + 0.1666666666781048
    p = p * r + 0.49999999999457956
    p = p * r + 0.9999999999998942
    p = p * r + 1.0000000000000127
    return p * np.int64(4607182418800017408 - (shifted.view(np.int64) << np.int64(52))).view(np.float64)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
def _mills(a: float) -> float:
    """Φ(−a)/exp(−a²/2) for a ≥ 0: a rational minimax fit; the product is within 1.2e-12 of Φ(−a) everywhere."""
    p = 0.0021960999180543886
    p = p * a + 0.02633883022722373
    p = p * a + 0.13811921152619513
    p = p * a + 0.37178944650760676
    p = p * a + 0.5000000000011321
    q = 0.005501565169619329
    q = q * a + 0.06610396098616544
    q = q * a + 0.3506977275298341
    q = q * a + 1.006148306035308
    q = q * a + 1.5414634541575434
    q = q * a + 1.0
    return p / q


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _conditional_span(
    start: int,
    stop: int,
    x: FloatArray,
    order: IntArray,
    cut: FloatArray,
    share: FloatArray,
    centroid: FloatArray,
    inverse: FloatArray,
    slope: FloatArray,
    scale: FloatArray,
    u: FloatArray,
    weak: BoolArray,
) -> None:
    d = x.shape[1]
    rows, z = np.empty((d, _BLOCK)), np.empty((d, _BLOCK))
    below, total = np.empty((d, _BLOCK)), np.empty((d, _BLOCK))
    weight, least = np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(start, stop, _BLOCK):
        m = min(stop - first, _BLOCK)
        for i in range(m):
            least[i] = cut[order[first + i]]
            for j in range(d):
                rows[j, i] = x[order[first + i], j]
        below[:] = 0.0
        total[:] = 0.0
        for g in range(len(share)):
            weight[:m] = share[g]
            _add_component(
                rows[:, :m], least[:m], centroid[g], inverse[g], slope[g], scale[g], z, weight[:m], below, total
            )
        for i in range(m):
            for j in range(d):
                u[order[first + i], j] = min(below[j, i] / total[j, i], 1.0)
            weak[order[first + i]] = total[d - 1, i] < _WEAK


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _add_component(
    rows: FloatArray,
    least: FloatArray,
    centre: FloatArray,
    inverse: FloatArray,
    slope: FloatArray,
    scale: FloatArray,
    z: FloatArray,
    weight: FloatArray,
    below: FloatArray,
    total: FloatArray,
) -> None:
    """Add one component's terms to the sums of every dimension, stopping where it is negligible in all rows."""
    d, m = rows.shape
    for j in range(d):
        _standardise(rows[j], centre[j], inverse[j], slope[j], z, j)
        _add_conditional(z[j, :m], scale[j], weight, below[j, :m], total[j, :m])
        if not _matters(weight, least):
            return


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _standardise(x: FloatArray, centre: float, inverse: float, slope: FloatArray, z: FloatArray, j: int) -> None:
    for i in range(len(x)):
        z[j, i] = (x[i] - centre) * inverse
    for h in range(j):
        b = slope[h]
        for i in range(len(x)):
            z[j, i] -= b * z[h, i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _add_conditional(z: FloatArray, scale: float, weight: FloatArray, below: FloatArray, total: FloatArray) -> None:
    for i in range(len(z)):
        w = weight[i]
        a = min(abs(z[i]), _FAR)
        density = _exp_minus(0.5 * a * a)
        tail = density * _mills(a)
        below[i] += w * (1.0 - tail if z[i] > 0 else tail)
        total[i] += w
        weight[i] = max(w * density * scale, _FLOOR)


@njit(cache=True, nogil=True)
def _matters(weight: FloatArray, least: FloatArray) -> bool:
    count = 0
    for i in range(len(weight)):
        count += weight[i] > least[i]
    return count > 0


@njit(cache=True, nogil=True, error_model="numpy")
def _logarithm_span(
    start: int,
    stop: int,
    x: FloatArray,
    rows: IntArray,
    share: FloatArray,
    centroid: FloatArray,
    inverse: FloatArray,
    slope: FloatArray,
    scale: FloatArray,
    u: FloatArray,
) -> None:
    """The same sums with log weights and their maximum taken out: slower, and never short of range."""
    c, d = centroid.shape
    z, weight = np.empty((d, c)), np.empty(c)
    for r in range(start, stop):
        i = rows[r]
        for g in range(c):
            weight[g] = math.log(share[g]) if share[g] > 0 else -np.inf
        for j in range(d):
            for g in range(c):
                z[j, g] = (x[i, j] - centroid[g, j]) * inverse[g, j]
                for h in range(j):
                    z[j, g] -= slope[g, j, h] * z[h, g]
                z[j, g] = min(max(z[j, g], -_HUGE), _HUGE)
            if j > 0:
                u[i, j] = _mean_distribution(z[j], weight)
            for g in range(c):
                weight[g] += math.log(scale[g, j]) - 0.5 * z[j, g] * z[j, g]


@njit(cache=True, nogil=True, error_model="numpy")
def _mean_distribution(z: FloatArray, weight: FloatArray) -> float:
    """Mean of Φ(z) under probabilities proportional to exp(weight)."""
    top, below, total = -np.inf, 0.0, 0.0
    for g in range(len(z)):
        top = max(top, weight[g])
    for g in range(len(z)):
        w = math.exp(weight[g] - top)
        below += w * 0.5 * math.erfc(-z[g] * 0.7071067811865476)
        total += w
    return min(below / total, 1.0)
