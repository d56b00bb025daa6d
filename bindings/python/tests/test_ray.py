"""Advice for Ray, without Ray; `cargo xtask ray` compares with Ray itself."""

import doctest
import itertools
import random

import pytest
import ray_waits

import meshalloc
import meshalloc.ray
from meshalloc.ray import PREFIX, Advisor



def policies(sides):
    """The strategies that serve such a slice. Folding gives other shapes."""
    served = meshalloc.strategies(f"sides = {sides}\nalign = {sides}\nrotate = false\n")
    return [policy for policy in served if policy != "folding"]


def labels(sides, shapes):
    """Labels of a slice with so many hosts along each dimension, for sub-slices of so many."""
    workers = {}
    for worker, place in enumerate(itertools.product(*map(range, sides))):
        workers[str(worker)] = {}
        for shape, extent in shapes.items():
            index = 0
            for at, side, part in zip(place, sides, extent, strict=True):
                index = index * (side // part) + at // part
            workers[str(worker)][PREFIX + shape] = str(index)
    return workers


# As Ray 2.60.0 lays them out: the last dimension is x.
FLAT = {"2x2": (1, 1), "2x4": (1, 2), "4x4": (2, 2), "4x8": (2, 4), "8x8": (4, 4), "8x16": (4, 8)}
LARGE = labels((8, 8), FLAT)
SMALL = labels((2, 2), {"2x2": (1, 1), "2x4": (1, 2)})
UPRIGHT = labels((8, 8), FLAT | {"2x4": (2, 1), "4x8": (4, 2)})
DEEP = labels((2, 4, 4), {"2x2x1": (1, 1, 1), "2x2x2": (1, 1, 2), "2x4x4": (1, 2, 4)})

# Sub-slices are never turned nor folded, so these take the first.
AS_RAY = ["ray", "first-fit", "adaptive-scan", "fixed-orientation", "flex-fold", "all-shapes"]


def members(workers, shape):
    """The workers of each sub-slice, by its index."""
    found = {}
    for worker, keys in workers.items():
        found.setdefault(int(keys[PREFIX + shape]), set()).add(("a", worker))
    return found


def test_docstring():
    assert doctest.testmod(meshalloc.ray).failed == 0
    assert doctest.testmod(meshalloc.ray).attempted > 4


@pytest.mark.parametrize(
    "workers, policy",
    [
        (workers, policy)
        for workers, sides in [(LARGE, [8, 8]), (UPRIGHT, [8, 8]), (DEEP, [4, 4, 2])]
        for policy in ["ray", "snug", *policies(sides)]
    ],
    ids=lambda it: it if isinstance(it, str) else str(len(it)),
)
def test_what_is_chosen_is_idle_and_whole(workers, policy):
    """Jobs come and go. A sub-slice that is found is idle; if none is found, none is."""
    rng = random.Random(policy)
    advisor = Advisor({"a": workers}, policy)
    shapes = [key.removeprefix(PREFIX) for key in workers["0"]]
    idle = {("a", worker) for worker in workers}
    jobs, refused = [], 0
    for _ in range(300):
        if jobs and rng.random() < 0.45:
            idle |= jobs.pop(rng.randrange(len(jobs)))
        shape = rng.choice(shapes)
        places = members(workers, shape)
        index = advisor.choose(shape, idle)
        fits = [at for at in sorted(places) if places[at] <= idle]
        if policy in AS_RAY:
            assert index == (fits[0] if fits else None)
        if index is None:
            assert not fits and advisor.hosts == []
            assert advisor.reason == (
                f"{shape}: {len(idle)} hosts are idle, but no whole sub-slice of {len(places)}"
            )
            refused += 1
        else:
            assert index in fits and advisor.reason is None
            assert set(advisor.hosts) == places[index]
            assert advisor.hosts == sorted(advisor.hosts, key=lambda host: int(host[1]))
            jobs.append(places[index])
            idle -= places[index]
    assert refused > 10 and len(jobs) > 1


def test_a_better_choice_than_the_first():
    """A host between busy ones leaves whole what larger sub-slices need."""
    idle = [("a", worker) for worker in LARGE if worker not in ("61", "63")]
    assert Advisor({"a": LARGE}, "ray").choose("2x2", idle) == 0
    assert Advisor({"a": LARGE}, "best-fit").choose("2x2", idle) == 62
    assert Advisor({"a": LARGE}, "snug").choose("2x2", idle) == 60
    # The other half of the last 2x4 is free; so is the 4x4 around the first.
    assert Advisor({"a": LARGE}, "snug").choose("2x4", idle) == 26


def test_smaller_slices_come_first():
    for policy in ("ray", "leb"):
        advisor = Advisor({"large": LARGE, "b": SMALL, "a": SMALL}, policy)
        idle = [("large", worker) for worker in LARGE] + [("b", "3"), ("a", "0"), ("a", "1")]
        assert advisor.choose(" 2X4 ", idle) == 0
        assert advisor.hosts == [("a", "0"), ("a", "1")]
        assert advisor.choose("2x2", idle[:-2]) == 3
        assert advisor.hosts == [("b", "3")]
        # None of the small ones has such sub-slices.
        advisor.choose("8x16", idle)
        assert len(advisor.hosts) == 32


def test_asking_again_changes_nothing():
    """Only what is found counts as a request that a strategy remembers."""
    patient, quick = Advisor({"a": LARGE}, "leb"), Advisor({"a": LARGE}, "leb")
    for worker in range(60):
        busy = ("a", str(63 - worker))
        for _ in range(20):
            assert patient.choose("8x16", [busy]) is None
        idle = [("a", str(host)) for host in range(64 - worker)]
        assert patient.choose("2x2", idle) == quick.choose("2x2", idle)


def test_a_job_that_never_came_holds_nothing():
    advisor = Advisor({"a": SMALL}, "fsl")
    idle = [("a", worker) for worker in SMALL]
    assert [advisor.choose("2x4", idle) for _ in range(5)] == [0] * 5


def test_incomplete_labels():
    """As in Ray, a sub-slice with a wrong number of hosts does not count."""
    hosts = {worker: dict(keys) for worker, keys in SMALL.items()}
    del hosts["0"][PREFIX + "2x4"]
    for policy in ("ray", "leb"):
        assert Advisor({"a": hosts}, policy).choose("2x4", [("a", w) for w in hosts]) == 1
    hosts["1"][PREFIX + "2x4"] = "1"
    for policy in ("ray", "leb"):
        advisor = Advisor({"a": hosts}, policy)
        assert advisor.choose("2x4", [("a", w) for w in hosts]) is None
        assert "no whole sub-slice of 0" in advisor.reason


@pytest.mark.parametrize(
    "change, text",
    [
        ({"x": {}}, "slice 'a', worker 'x': wrong worker id (expected a number as text)"),
        ({"0": {PREFIX + "2by2": "0"}}, f"worker '0': label '{PREFIX}2by2' is '0' (expected"),
        ({"0": {PREFIX + "2x2": "-1"}}, f"worker '0': label '{PREFIX}2x2' is '-1' (expected"),
        ({"0": {PREFIX + "2x4": "0"}}, f"slice 'a': no grid of 4 hosts fits (expected {PREFIX}2x2"),
        ({"0": SMALL["3"]}, "no grid of 4 hosts fits"),
        (
            {str(at): SMALL[str(at)] | {PREFIX + "2x4": "0110"[at]} for at in range(4)},
            "no grid of 4 hosts fits",
        ),
    ],
)
def test_wrong_labels(change, text):
    with pytest.raises(meshalloc.Misuse) as error:
        Advisor({"a": SMALL | change}, "leb")
    assert text in str(error.value)


def test_wrong_calls():
    advisor = Advisor({"a": SMALL})
    for topology, idle, text in [
        ("4x4", [], "topology '4x4': no host has its label (expected ['2x2', '2x4'])"),
        ("2x4", [("a", "4")], "idle host ('a', '4'): no labels (expected a slice and a worker id)"),
        ("2x4", ["a"], "idle host 'a': no labels"),
    ]:
        with pytest.raises(meshalloc.Misuse) as error:
            advisor.choose(topology, idle)
        assert text in str(error.value)
    for policy, text in [
        ("naive", "naive on a mesh 2x2: the strategy does not serve this machine"),
        ("folding", "policy 'folding': expected one that gives the shape that is asked for"),
        ("busylist", "strategy \"busylist\": .*did you mean"),
    ]:
        with pytest.raises(meshalloc.Misuse, match=text):
            Advisor({"a": SMALL}, policy)


def test_an_advisor_decides_as_the_simulator(tmp_path):
    """So what the simulator says of a strategy holds for advice. LEB sees there what waits."""
    (tmp_path / "slice.toml").write_text(ray_waits.MACHINE)
    (tmp_path / "mix.csv").write_text("shape,weight\n1x1,4\n2x1,3\n2x2,2\n4x4,1\n8x4,1\n")
    scenario = meshalloc.Scenario(
        machine=tmp_path / "slice.toml",
        mix=tmp_path / "mix.csv",
        load=0.6,
        jobs=1000,
        replications=2,
        strategy=ray_waits.STRATEGIES,
    )

    def waits(result):
        return result["metrics"]["waiting_delay"]["values"]

    simulated = dict(zip(ray_waits.STRATEGIES, map(waits, scenario.run()), strict=True))
    simulated["ray"] = simulated["first-fit"]
    for policy, expected in simulated.items():
        (advised,) = scenario.run(ray_waits.advised(policy), name=policy)
        tolerance = 0.1 if policy == "leb" else 1e-9
        assert waits(advised) == pytest.approx(expected, rel=tolerance), policy
    assert simulated["fsl"] != simulated["ray"]


def test_the_table_of_waits(capsys):
    ray_waits.main(["--runs", "2", "--jobs", "200", "--loads", ".5"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 3
    assert {line.count("|") for line in lines} == {8}
    assert lines[2].startswith("| even, 0.5 |")


def test_a_machine_as_text():
    text = "sides = [4, 2]\nalign = [2, 2]\n"
    allocator = meshalloc.Allocator(text, "first-fit")
    assert [allocator.blocks(allocator.allocate((1, 2))) for _ in range(2)] == [
        [((0, 0), (1, 2))],
        [((1, 0), (1, 2))],
    ]
    with pytest.raises(meshalloc.Misuse, match="description:2: .*sidez"):
        meshalloc.Allocator("sides = [4, 2]\nsidez = [2, 2]\n", "first-fit")
