"""How long jobs wait for a sub-slice of a 16x16 slice: as Ray places them, and as is advised.

    python bindings/python/examples/ray_waits.py [--runs N] [--jobs N] [--loads .4,.5]

All policies get the same jobs, first come first served, with run times of 10 s on average. Prints
the mean wait under Ray's rule in seconds, and by how many per cent it differs under the others,
both with 95 % intervals over the runs. The strategies run in the simulator, where Ray's rule is
first fit and LEB sees the jobs that wait. Only "snug", which is none of them, is advised.
"""

import argparse
import pathlib
import tempfile

import numpy as np

import meshalloc
from meshalloc.ray import PREFIX, Advisor

# The hosts of each sub-slice along x and y, as Ray 2.60.0 lays them out. A host has 2x2 chips.
SHAPES = {"2x2": (1, 1), "2x4": (2, 1), "4x4": (2, 2), "4x8": (4, 2), "8x8": (4, 4), "8x16": (8, 4)}
NAMES = {extents: name for name, extents in SHAPES.items()}
SIDE = 8
MACHINE = f"""
name = "16x16 slice"
sides = [{SIDE}, {SIDE}]
align = [{SIDE}, {SIDE}]
rotate = false
"""
# How many jobs ask for each shape.
MIXES = {
    "even": [1, 1, 1, 1, 1, 1],
    "small": [32, 16, 8, 4, 2, 1],
    "ends": [8, 0, 0, 0, 2, 1],
}
STRATEGIES = ["first-fit", "leb", "fsl", "best-fit", "busy-list"]
# Student's t for 95 %, by the number of runs less one.
STUDENT = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 19: 2.093, 39: 2.023}


def labels():
    """The labels of the slice."""
    return {
        str(y * SIDE + x): {
            PREFIX + name: str(y // height * (SIDE // width) + x // width)
            for name, (width, height) in SHAPES.items()
        }
        for y in range(SIDE)
        for x in range(SIDE)
    }


def advised(policy):
    """The strategy of an advisor, which knows no more here than it does under Ray."""

    class Advised:
        def __init__(self):
            self.advisor = Advisor({"slice": labels()}, policy)

        def propose(self, occupancy, request):
            idle = [("slice", str(host)) for host in np.flatnonzero(~occupancy.T)]
            if self.advisor.choose(NAMES[request.shape], idle) is None:
                return None
            first = int(self.advisor.hosts[0][1])
            return (first % SIDE, first // SIDE), request.shape

    return Advised


def waits(result):
    """The mean wait of each run, or `None` if the backlog grew."""
    return None if result["saturated"] else np.array(result["metrics"]["waiting_delay"]["values"])


def with_interval(values):
    """The mean and half of its 95 % interval."""
    half = STUDENT[len(values) - 1] * values.std(ddof=1) / len(values) ** 0.5
    return values.mean(), half


def main(arguments=None):
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=10, choices=[n + 1 for n in STUDENT])
    options.add_argument("--jobs", type=int, default=5000)
    options.add_argument("--loads", default=".4,.5,.6,.7")
    options = options.parse_args(arguments)
    names = ["snug", *STRATEGIES[1:]]
    print("| mix, load | `ray`, s |", *(f"`{policy}`, % |" for policy in names))
    print("|---|--:|" + "--:|" * len(names), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        machine = pathlib.Path(folder, "slice.toml")
        machine.write_text(MACHINE)
        for mix, weights in MIXES.items():
            table = pathlib.Path(folder, f"{mix}.csv")
            rows = [f"{x}x{y},{of}" for (x, y), of in zip(SHAPES.values(), weights) if of]
            table.write_text("\n".join(["shape,weight", *rows, ""]))
            for load in map(float, options.loads.split(",")):
                scenario = meshalloc.Scenario(
                    machine=machine,
                    mix=table,
                    load=load,
                    jobs=options.jobs,
                    replications=options.runs,
                    strategy=STRATEGIES,
                )
                (first, *others), (snug,) = scenario.run(), scenario.run(advised("snug"))
                theirs = waits(first)
                cells = ["saturated" if theirs is None else "%.3g ± %.2g" % with_interval(theirs)]
                for ours in map(waits, [snug, *others]):
                    if theirs is None or ours is None:
                        cells.append("saturated" if ours is None else "%.3g s" % ours.mean())
                    else:
                        difference = (ours - theirs) / theirs.mean() * 100
                        cells.append("%+.0f ± %.0f" % with_interval(difference))
                print(f"| {mix}, {load} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
