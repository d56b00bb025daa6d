import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import own_policies
import pytest

import meshalloc



@pytest.mark.parametrize(
    "settings",
    [
        {"mesh": "16x16", "strategy": ["first-fit", "best-fit", "naive"], "load": "0.5"},
        {
            "torus": "4x4x4",
            "strategy": ["first-fit"],
            "load": "0.3",
            "scheduler": "sjf",
            "estimates": "perfect",
            "seed": "3",
        },
        {"machine": "tpu-v4", "mix": "tpu-v4", "strategy": ["cubes", "first-fit"], "load": "0.3"},
    ],
)
def test_results_are_those_of_the_program(host_sim, settings):
    settings = settings | {"jobs": "300", "replications": "3"}
    results = meshalloc.Scenario(**settings).run()
    options = []
    for key, value in settings.items():
        options += [f"--{key}", ",".join(value) if isinstance(value, list) else value]
    output = subprocess.run(
        [host_sim, "run", *options, "--format", "json"], check=True, capture_output=True
    )
    document = json.loads(output.stdout)
    for result in document["results"]:
        for clock in ["elapsed_seconds", "jobs_per_second"]:
            del result[clock]
    assert len(document["results"]) == len(settings["strategy"])
    assert results.to_dict() == {name: document[name] for name in ["scenario", "results"]}


@pytest.mark.parametrize(
    "settings",
    [
        {"mesh": "8x8", "strategy": "first-fit,naive", "load": "0.9", "failures": "node:2000,50"},
        {"mesh": "8x8", "pattern": "all-to-all", "arrival-rate": "0.001"},
    ],
)
def test_jobs_are_those_of_the_program(host_sim, settings, tmp_path):
    pandas = pytest.importorskip("pandas")
    settings = settings | {"jobs": "200", "replications": "2"}
    path = tmp_path / "jobs.csv"
    options = [part for key, value in settings.items() for part in (f"--{key}", value)]
    subprocess.run([host_sim, "run", *options, "-o", path], check=True)
    expected = pandas.read_csv(path)
    ours = {key.replace("-", "_"): value for key, value in settings.items()}
    results = meshalloc.Scenario(**ours).run(jobs=True)
    frame = pandas.DataFrame(results.jobs())
    assert len(frame) == len(expected) > 300
    assert set(frame.columns) - {"scheduler"} <= set(expected.columns)
    for name in frame.columns.drop("scheduler"):
        if expected[name].dtype.kind in "fib":
            assert np.allclose(
                frame[name].astype(float), expected[name].astype(float), equal_nan=True
            ), name
        else:
            assert frame[name].tolist() == expected[name].tolist(), name
    with pytest.raises(meshalloc.Misuse, match="jobs=True"):
        meshalloc.Scenario(**SMALL).run().jobs()


def test_jobs_make_room_for_urgent_ones(tmp_path):
    trace = tmp_path / "a.csv"
    trace.write_text("submit,run,shape,priority,preemptible\n0,100,8x8,,1\n10,5,8x2,60,\n")
    settings = dict(mesh=(8, 8), log=str(trace), preemption="on:2s")
    scenario = meshalloc.Scenario(**settings)
    results = scenario.run(jobs=True)
    assert results.strategies[0]["metrics"]["preemptions"]["mean"] == 1
    table = results.jobs()
    assert list(table["preemptions"]) == [1, 0]
    assert list(table["preempted_time"]) == [12, 0]
    error = "`preemption` is not possible with a strategy or scheduler of your own"
    for own in [{"strategy": scan}, {"scheduler": lambda queue, now: 0 if queue else None}]:
        with pytest.raises(meshalloc.Error, match=error):
            scenario.run(**own)


def test_jobs_of_policies_of_your_own():
    scenario = meshalloc.Scenario(**SMALL)
    ours = scenario.run(jobs=True)
    both = ours + scenario.run(scan, jobs=True)
    table = both.jobs()
    of = {
        name: [time for time, one in zip(table["waiting_time"], table["strategy"]) if one == name]
        for name in ["first-fit", "scan"]
    }
    assert len(of["first-fit"]) == len(of["scan"]) > 500
    for name, waits in of.items():
        mean = both[name]["metrics"]["waiting_delay"]["mean"]
        assert np.isclose(np.mean(waits), mean, rtol=0.02)


def scan(occupancy, request):
    """Adaptive scan as the core has it: bases in row-major order, then the turned shape."""
    w, h = request.shape
    for w, h in dict.fromkeys([(w, h), (h, w)] if request.may_rotate else [(w, h)]):
        for y in range(occupancy.shape[1] - h + 1):
            for x in range(occupancy.shape[0] - w + 1):
                if not occupancy[x : x + w, y : y + h].any():
                    return (x, y), (w, h)
    return None


SMALL = dict(mesh=(8, 8), load=0.5, jobs=300, replications=2, seed=5)


def same_decisions(own, ours):
    """Also the misses: a job that failed tries again only when processors have become free."""
    assert ours["metrics"]["waiting_delay"]["mean"] > 0
    return own == ours


def test_adaptive_scan_in_python_decides_as_the_core():
    scenario = meshalloc.Scenario(strategy="adaptive-scan", **SMALL)
    ours, own = scenario.run().strategies[0], scenario.run(scan).strategies[0]
    assert own.pop("strategy") == "scan" and ours.pop("strategy") == "adaptive-scan"
    assert same_decisions(own, ours)


def test_a_strategy_of_your_own_has_no_largest_slice():
    scenario = meshalloc.Scenario(strategy="adaptive-scan", largest=True, **SMALL)
    error = "`largest` is not measured with a strategy of your own"
    with pytest.raises(meshalloc.ScenarioError, match=error):
        scenario.run(scan)


def test_saturated_delays_are_named():
    results = meshalloc.Scenario(**SMALL | {"load": 2.0}).run()
    assert results.strategies[0]["metrics"]["waiting_delay"]["mean"] is None
    assert repr(results).split("\n")[1].split()[3:] == ["saturated", "saturated"]


@pytest.mark.parametrize("strategy", ["first-fit", "free-submesh-list", "naive"])
def test_first_come_first_served_in_python_decides_as_the_core(strategy):
    def first_come(queue, now):
        return None if queue[0].has_failed else 0

    scenario = meshalloc.Scenario(strategy=strategy, **SMALL)
    ours = scenario.run().strategies[0]
    own = scenario.run(scheduler=first_come).strategies[0]
    assert own.pop("scheduler") == "first_come" and ours.pop("scheduler") == "fcfs"
    assert same_decisions(own, ours)


def test_policies_of_your_own_in_one_frame():
    results = own_policies.compare(jobs=200, replications=2, seed=1)
    frame = results.to_pandas().pivot(index="strategy", columns="metric", values="mean")
    assert list(frame.index) == ["first-fit", "last_fit", "last_fit, smallest first"]
    assert len({result["decision_hash"] for result in results.strategies}) == 3
    assert (frame["utilization"] > 0.3).all()
    assert "last_fit" in repr(results)
    assert results["last_fit"]["scheduler"] == "fcfs"
    with pytest.raises(KeyError, match="there are: first-fit"):
        results["best-fit"]


def test_frames_of_other_libraries_have_the_same_numbers():
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    results = meshalloc.Scenario(**SMALL).run()
    polars, arrow = results.to_polars(), results.to_arrow()
    assert polars["mean"].to_list() == arrow["mean"].to_pylist() == results.columns()["mean"]
    assert np.allclose(results.to_pandas()["mean"], polars["mean"].to_numpy(), equal_nan=True)


def test_each_run_makes_a_strategy_of_a_class():
    made = []

    class Counting:
        def __init__(self):
            self.proposals = 0
            made.append(self)

        def demand(self, request):
            return None if request.shape == (8, 8) else request.processors

        def propose(self, occupancy, request):
            self.proposals += 1
            return scan(occupancy, request)

    results = meshalloc.Scenario(**SMALL).run(Counting)
    assert len(made) == 2 and all(strategy.proposals >= 300 for strategy in made)
    assert results["Counting"]["refused"].keys() == {"never-fits"}


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"mesh": "8x8", "loads": 1}, 'did you mean "load"'),
        ({"mesh": "8x8", "load": "much"}, "`load`"),
        ({"mesh": "8x8", "torus": "8x8"}, "contradicts"),
        ({"mesh": "8x8", "backend": "tcp:localhost:1"}, "in-process"),
    ],
)
def test_settings_that_cannot_be_used(settings, text):
    with pytest.raises(meshalloc.ScenarioError, match=text):
        meshalloc.Scenario(**settings)


def test_what_ends_a_run():
    scenario = meshalloc.Scenario(**SMALL)

    def broken(*_):
        raise LookupError("no idea")

    for run in [
        lambda: scenario.run(broken),
        lambda: scenario.run(scheduler=broken),
        lambda: scenario.run(progress=broken),
    ]:
        with pytest.raises(LookupError, match="no idea"):
            run()
    with pytest.raises(meshalloc.IllegalProposal, match=r"replication 1: .*not free.*proposed"):
        scenario.run(lambda occupancy, request: ((0, 0), request.shape))
    with pytest.raises(meshalloc.IllegalProposal, match="outside the machine"):
        scenario.run(lambda occupancy, request: ((7, 7), (9, 9)))
    # The error does not name the strategy of the settings.
    with pytest.raises(meshalloc.Error, match="^replication 1: no job can run any more"):
        scenario.run(lambda occupancy, request: None)
    with pytest.raises(meshalloc.Misuse, match="expected None or a place"):
        scenario.run(scheduler=lambda queue, now: len(queue))
    for own in [{"strategy": "first-fit"}, {"scheduler": "sjf"}]:
        with pytest.raises(meshalloc.Misuse, match=r"settings: Scenario\("):
            scenario.run(**own)
    # Every scheduler takes a strategy of one's own.
    assert len(meshalloc.Scenario(scheduler="sjf", estimates="perfect", **SMALL).run(scan)) == 1
    with pytest.raises(meshalloc.ScenarioError, match="missing.swf"):
        meshalloc.Scenario(mesh=(8, 8), log="missing.swf").run()


LONG = dict(mesh=(64, 64), load=0.3, jobs=16_000_000, replications=1)


ONE_AT_A_TIME = "lambda occupancy, request: None if occupancy.any() else ((0, 0), request.shape)"


@pytest.mark.parametrize("policy", ["", ONE_AT_A_TIME])
def test_ctrl_c_ends_a_run(policy):
    program = f"""
        import signal, meshalloc
        # A background job of a shell ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        scenario = meshalloc.Scenario(**{LONG})
        print("begins", flush=True)
        try:
            scenario.run({policy})
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "interrupted\n")


def test_other_threads_go_on_and_progress_is_shown():
    seen, ticks = [], []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(time.perf_counter())

    class Enough(Exception):
        pass

    def progress(done, expected):
        seen.append((done, expected))
        if done > 2000 and len(ticks) > 10:
            raise Enough

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(Enough):
            meshalloc.Scenario(**LONG).run(progress=progress)
    finally:
        stop.set()
        thread.join()
    assert seen == sorted(seen) and 0 < seen[-1][1] <= LONG["jobs"]


def test_two_runs_at_once_have_their_results():
    scenario = meshalloc.Scenario(**SMALL)
    alone = scenario.run(scan).strategies
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(scenario.run(scan).strategies))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [alone, alone]


def test_lists():
    assert {"first-fit", "naive"} <= set(meshalloc.strategies())
    assert "buddy" in meshalloc.strategies("mesh 4x4")
    assert "buddy" not in meshalloc.strategies("torus 4x4x4")
    assert "fcfs" in meshalloc.schedulers()
    names = {name for name, *_ in meshalloc.settings()}
    assert {"mesh", "load", "routing_delay"} <= names
