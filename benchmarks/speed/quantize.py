"""How fast are Ball, PushBack and Shuffle, and are planted outliers found?

Goals, after warm-up: 100,000 records of 8 mixed columns (three numbers, one ordered, four unordered, of which one has a
distance matrix and one a code tree): grouping, push-back and shuffle together under a minute on two cores, memory
linear, all of the 1 % planted outliers in small groups, KL within the bound in every cluster. The neighbour counts are
timed beside scipy's k-d tree, on numbers alone, since scipy knows no other columns; growth with n is printed as an
exponent. Wall-clock seconds, CPU seconds beside them for a busy machine.
"""

import resource
import sys
import time

import numpy as np
from scipy.spatial import cKDTree

from shoal.conform import prepare
from shoal.distance.radius import radii_of
from shoal.distance.space import Space, Spaces, line_pairs, map_distances
from shoal.encode import Encoder
from shoal.group.ball import Ball, Scene
from shoal.group.ball_cover import count_within, plant
from shoal.mask.aware import Masking
from shoal.mask.push_back import PushBack
from shoal.mask.shuffle import Shuffle
from shoal.rng import stream
from shoal.study.quantize import planted


def timed(call):
    """A result with its wall-clock and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def chain(n, radius):
    """Group, push back, shuffle; print times and what came out."""
    data = planted(n)
    prepared = prepare(data.table, data.schema)
    grouping, *t_group = timed(lambda: Ball(radius=radius).group(prepared, 1))
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    state = Masking(
        prepared=prepared,
        encoder=encoder,
        codes=encoder.codes(prepared.frame),
        labels=grouping.labels,
        minimum=5,
    )
    pushed, *t_push = timed(lambda: PushBack().apply(state, stream(1, "push")))
    stirred, *t_stir = timed(lambda: Shuffle().apply(pushed, stream(1, "stir")))
    small = np.bincount(grouping.labels)[grouping.labels] < 5
    walls = [t_group[0], t_push[0], t_stir[0]]
    print(
        f"{n:>9,} radius {radius}: group {walls[0]:.1f} s, push-back {walls[1]:.1f} s, shuffle {walls[2]:.1f} s, "
        f"together {sum(walls):.1f} s (CPU {t_group[1] + t_push[1] + t_stir[1]:.1f} s); "
        f"planted found {small[data.far].mean():.1%}, others {small[~data.far].mean():.1%}, "
        f"KL at most {stirred.records[-1]['divergence']['largest']:.4f}, "
        f"changed {stirred.records[-1]['changed_share']:.0%}, peak {_peak():.0f} MB"
    )
    return sum(walls)


def beside_scipy(n, radius=0.3):
    """Neighbour counts on four numbers, ours over scipy's."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4))
    spaces = Spaces(columns=tuple(Space(name="", shape="line", mapping=map_distances(*line_pairs(c))) for c in x.T))
    radii = radii_of(radius, spaces, "benchmark")
    ours, wall, _ = timed(lambda: count_within(plant(x, spaces.packed, radii), x, spaces.packed, radii, 2**62))
    scaled = x / radii

    def scipys():
        return cKDTree(scaled).query_ball_point(scaled, 1.0, p=np.inf, return_length=True, workers=-1)

    theirs, peer, _ = timed(scipys)
    off = int((ours != theirs).sum())
    print(f"neighbour counts, {n:,} × 4: {wall:.2f} s, scipy {peer:.2f} s, ratio {wall / peer:.2f}; {off} differ")


def suggestion(n):
    """The search for a radius."""
    data = planted(n)
    scene = Scene.of(prepare(data.table, data.schema), 0)
    radius, wall, cpu = timed(lambda: Ball().suggested(scene))
    print(f"suggested radius, {n:,}: {radius:g} in {wall:.1f} s (CPU {cpu:.1f} s)")


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    chain(1000, 0.4)  # compiles
    sizes = [most // 4, most // 2, most]
    seconds = [chain(n, 0.3) for n in sizes]
    print(f"growth exponent {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}")
    chain(most, 0.2)
    chain(most, 0.45)
    beside_scipy(min(most, 30_000))
    suggestion(most // 4)
    suggestion(most)
