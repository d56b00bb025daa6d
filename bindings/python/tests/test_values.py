"""Values of the package as Python expects them: pickles, equality, sequences, types of settings."""

import collections.abc
import copy
import multiprocessing
import pickle

import numpy as np
import pytest

import meshalloc


@pytest.mark.parametrize(
    "error",
    [
        meshalloc.Refused("fragmented", "fragmented", True),
        meshalloc.ControllerReset("reset", keeps_jobs=True),
        meshalloc.Misuse("wrong"),
        meshalloc.LineError("silent"),
    ],
)
def test_exceptions_can_be_pickled(error):
    for again in [pickle.loads(pickle.dumps(error)), copy.copy(error)]:
        assert type(again) is type(error) and str(again) == str(error)
        assert vars(again) == vars(error)


def refused(_):
    meshalloc.Allocator("mesh 4x4", "first-fit").allocate((5, 5))


def test_a_refusal_in_a_worker_arrives():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(meshalloc.Refused, match="never fit") as caught:
            pool.map_async(refused, [1]).get(timeout=60)
    assert (caught.value.reason, caught.value.is_temporary) == ("never-fits", False)


def test_wrong_values_are_value_errors():
    for kind in [meshalloc.Misuse, meshalloc.ScenarioError]:
        assert issubclass(kind, ValueError) and issubclass(kind, meshalloc.Error)


def events():
    controller = meshalloc.Controller("mesh 8x8", "naive")
    controller.submit(1, (3, 2), now=0, lease=5)
    controller.submit(2, (4, 4), now=1)
    controller.advance(now=9)
    return controller.events()


def test_events_are_values():
    ours, again = events(), events()
    assert ours == again and len(set(ours + again)) == 3
    assert [event.what for event in ours] == ["granted", "granted", "lease-ended"]
    assert ours[0] != ours[1] and len(ours[1].blocks) >= 1
    for copied in [pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)]:
        assert copied == ours and copied[1].blocks == ours[1].blocks
    with pytest.raises(meshalloc.Misuse, match="granted"):
        meshalloc.Event(1, 1, 0, "gone", 4, [])


SMALL = dict(mesh=(8, 8), load=0.9, jobs=100, replications=1, seed=5)


def test_the_queue_is_a_sequence_of_values():
    seen = []

    def scheduler(queue, now):
        jobs = list(queue)
        if len(jobs) > 3:
            seen.append((jobs, now))
            assert isinstance(queue, collections.abc.Sequence) and len(queue) == len(jobs)
            assert queue[1:3] == tuple(jobs[1:3]) and queue[::-2] == tuple(jobs[::-2])
            assert queue[-1] == jobs[-1] and list(reversed(queue)) == jobs[::-1]
            assert jobs[2] in queue and queue.index(jobs[2]) == 2 and queue.count(jobs[2]) == 1
            assert queue.index(jobs[2], -len(jobs)) == 2
            for wrong, error in [
                (lambda: queue[len(jobs)], IndexError),
                (lambda: queue[-len(jobs) - 1], IndexError),
                (lambda: queue.index(jobs[0], 1), ValueError),
            ]:
                with pytest.raises(error):
                    wrong()
            assert repr(queue).startswith(f"Queue(jobs=[{jobs[0].job}, ")
        return None if jobs[0].has_failed else 0

    meshalloc.Scenario(**SMALL).run(scheduler=scheduler)
    (jobs, now), (later, _) = seen[0], seen[-1]
    assert len({*jobs, *later}) > len(jobs) and len({job.request for job in jobs}) > 1
    # In seconds: 100 jobs with a mean service time of 10 s.
    assert jobs[0].since <= jobs[1].since <= now < 2_000
    assert jobs[1].since % 1 != 0


def test_estimates_of_policies_are_in_seconds():
    estimates = []

    def first(occupancy, request):
        estimates.append(request.estimate)
        return ((0, 0), request.shape) if not occupancy.any() else None

    meshalloc.Scenario(**SMALL | {"load": 0.1}, estimates="perfect").run(first)
    assert 5 < np.mean(estimates) < 20


def test_objects_show_what_they_are():
    allocator = meshalloc.Allocator("mesh 4x4", "first-fit")
    allocation = allocator.allocate((2, 2))
    controller = meshalloc.Controller("mesh 4x4", "first-fit")
    controller.submit(1, (4, 4), now=0)
    controller.submit(2, (4, 4), now=0)
    assert repr(allocator) == 'Allocator("mesh 4x4", free=12)'
    assert repr(controller) == 'Controller("mesh 4x4", running=1, waiting=1)'
    assert repr(allocation).startswith("Allocation(") and " at 0x" not in repr(allocation)


def test_results():
    scenario = meshalloc.Scenario(**SMALL, strategy=["first-fit", "naive"])
    results = scenario.run()
    assert [result["strategy"] for result in results] == ["first-fit", "naive"]
    assert len(results) == 2 and "naive" in results and "buddy" not in results
    with pytest.raises(meshalloc.Misuse, match="'first-fit' under fcfs is in both"):
        results + results
    with pytest.raises(TypeError):
        results + 1
    with pytest.raises(meshalloc.Misuse, match="one strategy"):
        scenario.run(name="both")
    both = results + scenario.run(scheduler=lambda queue, now: 0)
    with pytest.raises(KeyError, match="several schedulers"):
        both["naive"]


def test_each_scheduler_that_is_listed_is_taken():
    forms = meshalloc.schedulers()
    assert {"fcfs", "easy", "bypass-queue:SECONDS"} <= set(forms)
    for form in forms:
        name = form.replace("SECONDS", "2").replace("COUNT", "2")
        meshalloc.Controller("mesh 4x4", "first-fit", name)
        meshalloc.Scenario(mesh=(4, 4), scheduler=name, estimates="perfect")


@pytest.mark.parametrize(
    "settings, recorded",
    [
        (dict(mesh=[8, 4]), "8x4"),
        (dict(mesh=np.array([8, 4])), "8x4"),
        (dict(mesh=(np.int64(8), 4)), "8x4"),
        (dict(side_range=(1, 4)), "1..4"),
        (dict(side_range=[1, 4]), "1..4"),
        (dict(side_range=[(1, 4), (2, 3)]), "1..4,2..3"),
        (dict(side_range="2..8,4"), "2..8,1..4"),
        (dict(side_range=3), "1..3"),
        (dict(strategy=("first-fit", "naive")), ["first-fit", "naive"]),
        (dict(strategy=np.array(["first-fit", "naive"])), ["first-fit", "naive"]),
        (dict(strategy="naive"), ["naive"]),
        (dict(largest=np.True_), True),
        (dict(largest=False), False),
        (dict(load=np.float64(0.25)), 0.25),
        (dict(jobs=np.int32(7)), 7),
        (dict(checkpoint=(10, 1), failures="node:100,5"), "10,1"),
        (dict(pattern=["one-to-all", "all-to-all"], arrival_rate=0.1), "one-to-all+all-to-all"),
    ],
)
def test_settings_take_the_types_of_python(settings, recorded):
    name = list(settings)[0]
    scenario = meshalloc.Scenario(**{"mesh": (8, 8), "jobs": 10} | settings)
    assert scenario.settings[name] == recorded


def test_names_of_columns_and_times_of_a_trace(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("arrival,duration,shape\n0,10,2x2\n5,10,2x2\n")
    columns = {"submit": "arrival", "run": "duration"}
    scenario = meshalloc.Scenario(mesh=(8, 8), log=trace, columns=columns, from_=2)
    assert scenario.settings["columns"] == "submit=arrival,run=duration"
    assert scenario.settings["from"] == 2
    assert scenario.run()["first-fit"]["decisions"] == 1


@pytest.mark.parametrize(
    "settings, text",
    [
        (dict(side_range=[1, 2, 3]), r"`side_range` is \[1, 2, 3\] \(expected a text: MIN..MAX"),
        (dict(side_range=[[1, 2, 3]]), "`side_range`"),
        (dict(mesh=(8, True)), "`mesh` is"),
        (dict(mesh=()), "`mesh` is"),
        (dict(mesh=True), "`mesh` is True"),
        (dict(load=True), "`load` is True .expected a number"),
        (dict(load=[0.1, 0.2]), "`load` is .* .expected a number"),
        (dict(load={}), "`load` is"),
        (dict(strategy=7), "`strategy` is 7 .expected a text, or a list of texts"),
        (dict(strategy=[7]), "`strategy` is"),
        (dict(largest=1), "`largest` is 1 .expected True or False"),
        (dict(scheduler=("fcfs",)), "`scheduler` is"),
        (dict(side_rang=1), 'unknown setting "side_rang"; did you mean "side_range"'),
        (dict(routing_delay=1), "`routing_delay` .*`pattern`"),
        (dict(service="uniform"), "`service`"),
        (dict(side_lengths="uniform", processors="exponential:4"), "`side_lengths`"),
    ],
)
def test_errors_of_settings_have_words_of_python(settings, text):
    with pytest.raises(meshalloc.ScenarioError, match=text) as error:
        meshalloc.Scenario(**{"mesh": (8, 8)} | settings)
    assert "--" not in str(error.value)


def test_a_frame_is_no_file():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"submit": [0], "run": [10], "processors": [4]})
    text = r"`log` is a DataFrame \(expected the path of a file; a frame is written"
    with pytest.raises(meshalloc.ScenarioError, match=text):
        meshalloc.Scenario(mesh=(8, 8), log=frame)


def test_meanings_of_settings_have_words_of_python():
    for name, _, _, text in meshalloc.settings():
        assert "--" not in text, name


@pytest.mark.parametrize(
    "machine, settings, sides",
    [
        ("mesh 6x4", {"mesh": "6x4"}, (6, 4)),
        ((6, 4), {"mesh": "6x4"}, (6, 4)),
        (np.array([6, 4]), {"mesh": "6x4"}, (6, 4)),
        ("torus 4x4x8", {"torus": "4x4x8"}, (4, 4, 8)),
        ("mesh 4x4x8 wrap 0,2", {"machine": "mesh 4x4x8 wrap 0,2"}, (4, 4, 8)),
        ("4-ary 3-cube", {"machine": "4-ary 3-cube"}, (4, 4, 4)),
        ("tpu-v4", {"machine": "tpu-v4"}, (16, 16, 16)),
    ],
)
def test_one_way_to_name_a_machine(machine, settings, sides):
    mix = {"mix": "tpu-v4"} if settings.get("machine") == "tpu-v4" else {}
    recorded = meshalloc.Scenario(machine=machine, **mix).settings
    assert {name: recorded[name] for name in settings} == settings
    (strategy, *_) = meshalloc.strategies(machine)
    allocator = meshalloc.Allocator(machine, strategy)
    controller = meshalloc.Controller(machine, strategy)
    assert allocator.occupancy().shape == controller.occupancy().shape == sides


def test_a_machine_of_a_file(tmp_path):
    pod = tmp_path / "pod.toml"
    pod.write_text("sides = [8, 8]\nshapes = ['2x4']\nalign = [2, 4]\nrotate = false\n")
    allocator = meshalloc.Allocator(pod, "first-fit")
    assert allocator.blocks(allocator.allocate((2, 4))) == [((0, 0), (2, 4))]
    with pytest.raises(meshalloc.Refused) as error:
        allocator.allocate((2, 2))
    assert error.value.reason == "not-legal"
    assert "first-fit" in meshalloc.strategies(pod)
    assert "cubes" in meshalloc.strategies("tpu-v4")
    assert "cubes" not in meshalloc.strategies("torus 16x16x16")
    with pytest.raises(meshalloc.Misuse, match="missing.toml"):
        meshalloc.Allocator("missing.toml", "first-fit")
    with pytest.raises(meshalloc.Misuse, match="did you mean"):
        meshalloc.Allocator("tpu-v44", "first-fit")
    with pytest.raises(meshalloc.ScenarioError, match="`machine` contradicts `mesh`"):
        meshalloc.Scenario(machine="mesh 8x8", mesh=(4, 4))


@pytest.mark.parametrize("shape", [(), [], (0, 2), np.zeros(0, int)])
def test_an_empty_request_is_refused(shape):
    allocator = meshalloc.Allocator("mesh 4x4", "first-fit")
    controller = meshalloc.Controller("mesh 4x4", "first-fit")
    assert not allocator.fits(shape)
    for ask in [allocator.allocate, lambda shape: controller.submit(1, shape, now=0)]:
        with pytest.raises(meshalloc.Refused) as error:
            ask(shape)
        assert error.value.reason == "empty-request"
    assert allocator.free == 16


def test_truth_values_are_no_numbers():
    allocator = meshalloc.Allocator("mesh 4x4", "first-fit")
    for wrong in [
        lambda: allocator.allocate(True),
        lambda: allocator.allocate((True, 2)),
        lambda: allocator.allocate(np.array([True, False])),
        lambda: allocator.allocate((2, 2), True),
        lambda: allocator.mark_faulty((False, 0), (1, 1)),
        lambda: meshalloc.Allocator((4, True), "first-fit"),
    ]:
        with pytest.raises(meshalloc.Misuse):
            wrong()
    assert allocator.free == 16


def test_arrays_of_numpy_are_shapes_and_places():
    allocator = meshalloc.Allocator(np.array([4, 4]), "first-fit")
    held = allocator.allocate(np.array([2, 3]))
    assert allocator.blocks(held) == [((0, 0), (2, 3))]
    allocator.allocate(np.int64(1))
    assert allocator.mark_faulty(np.array([3, 3]), np.array([1, 1])) == 1

    def in_arrays(occupancy, request):
        return np.array([1, 0]), np.array(request.shape)

    own = meshalloc.Allocator((4, 4), in_arrays)
    assert own.blocks(own.allocate((2, 2))) == [((1, 0), (2, 2))]


def test_version():
    major, minor, patch = meshalloc.__version__.split(".")
    assert all(map(str.isdecimal, [major, minor, patch]))
