"""A strategy and a scheduler of your own, compared with first fit.

    python examples/own_policies.py
"""

import numpy as np

import meshalloc


def last_fit(occupancy, request):
    """The free submesh whose base comes last in row-major order."""
    w, h = request.shape
    # sums[x, y]: the busy processors left of x and below y.
    sums = np.pad(occupancy.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    busy = sums[w:, h:] - sums[:-w, h:] - sums[w:, :-h] + sums[:-w, :-h]
    xs, ys = np.nonzero(busy == 0)
    if len(xs) == 0:
        return None
    last = np.lexsort((xs, ys))[-1]
    return (xs[last], ys[last]), (w, h)


def smallest_first(queue, now):
    """Of the jobs that have not failed, the one with the fewest processors."""
    open = [place for place, job in enumerate(queue) if not job.has_failed]
    return min(open, key=lambda place: queue[place].request.processors, default=None)


def compare(**settings):
    defaults = dict(mesh=(16, 16), strategy="first-fit", load=0.45, jobs=1000, replications=4)
    scenario = meshalloc.Scenario(**defaults | settings)
    return (
        scenario.run()
        + scenario.run(last_fit)
        + scenario.run(last_fit, smallest_first, name="last_fit, smallest first")
    )


if __name__ == "__main__":
    frame = compare().to_pandas()
    table = frame.pivot(index="strategy", columns="metric", values="mean")
    print(table[["waiting_delay", "utilization"]])
