import itertools
import random
import threading

import numpy as np
import pytest

import meshalloc


def covered(block, sides):
    """The processors of a block, which may wrap around."""
    spans = [
        [(begin + at) % side for at in range(length)]
        for begin, length, side in zip(*block, sides, strict=True)
    ]
    return set(itertools.product(*spans))


def test_an_urgent_job_stands_before_those_of_its_head_start():
    controller = meshalloc.Controller("mesh 8x8", "first-fit")
    for job, now, priority in [(1, 0, 0), (2, 10, 0), (3, 20, 0), (4, 30, 15)]:
        controller.submit(job, (8, 8), now=now, priority=priority)
    order = []
    for now in range(40, 44):
        [job] = (job for job, processors in controller.jobs().items() if processors)
        order.append(job)
        controller.release(job, now=now)
    assert order == [1, 2, 4, 3]


def test_a_job_may_tolerate_faulty_processors():
    controller = meshalloc.Controller("mesh 4x4", "first-fit")
    controller.mark_faulty((1, 2), (1, 1), now=0)
    controller.submit(1, (4, 4), wait=False, tolerate=1, now=0)
    assert controller.jobs() == {1: 16}
    with pytest.raises(OverflowError):
        controller.submit(2, (4, 4), tolerate=256, now=0)


def test_the_slices_of_a_gang_are_granted_together():
    controller = meshalloc.Controller("mesh 8x8", "first-fit")
    controller.submit(1, (4, 3), slices=2, now=0)
    slices = [[((0, 0), (4, 3))], [((4, 0), (4, 3))]]
    assert controller.slices(1) == slices
    assert controller.blocks(1) == [block for slice in slices for block in slice]
    controller.submit(2, (5, 2), slices=3, now=1)
    assert (controller.why(2), controller.slices(2)) == ("gang-incomplete", [])
    assert controller.slices(3) == []
    assert controller.release(1, now=2) == 24
    assert sum(len(slice) for slice in controller.slices(2)) == 3

    allocator = meshalloc.Allocator("mesh 8x8", "first-fit")
    three = allocator.allocate((4, 3), slices=3)
    assert len(allocator.blocks(three)) == 3
    assert allocator.fits((4, 3)) and not allocator.fits((4, 3), slices=2)
    with pytest.raises(meshalloc.Refused) as refused:
        allocator.allocate((4, 3), slices=2)
    assert (refused.value.reason, refused.value.is_temporary) == ("gang-incomplete", True)
    for slices in (0, 65537):
        with pytest.raises(meshalloc.Misuse, match=f"slices is {slices}: expected 1 to 65536"):
            allocator.fits((1, 1), slices=slices)


@pytest.mark.parametrize(
    "machine, sides, strategy",
    [
        ("mesh 9x7", (9, 7), "first-fit"),
        ("mesh 9x7", (9, 7), "free-submesh-list"),
        ("torus 4x3x5", (4, 3, 5), "naive"),
        ((12,), (12,), "naive"),
    ],
)
def test_the_occupancy_is_that_of_the_blocks(machine, sides, strategy):
    allocator = meshalloc.Allocator(machine, strategy)
    rng = random.Random(1)
    held = {}
    refused = 0
    for _ in range(400):
        if held and rng.random() < 0.45:
            allocation = rng.choice(list(held))
            assert allocator.release(allocation) == len(held.pop(allocation))
        else:
            shape = tuple(rng.randint(1, 1 + side // 2) for side in sides)
            try:
                allocation = allocator.allocate(shape)
            except meshalloc.Refused as error:
                assert error.is_temporary
                refused += 1
                continue
            blocks = allocator.blocks(allocation)
            nodes = [covered(block, sides) for block in blocks]
            held[allocation] = set().union(*nodes)
            assert sum(map(len, nodes)) == len(held[allocation]) >= np.prod(shape)
        expected = np.zeros(sides, bool)
        for node in set().union(*held.values()):
            expected[node] = True
        occupancy = allocator.occupancy()
        assert occupancy.shape == sides and occupancy.dtype == bool
        assert (occupancy == expected).all()
        assert allocator.free == (~expected).sum()
    assert refused and held


def test_faults():
    allocator = meshalloc.Allocator("mesh 4x4", "first-fit")
    assert allocator.mark_faulty((0, 0), (4, 1)) == 4
    assert allocator.mark_faulty((3, 0), (1, 2)) == 1
    assert allocator.free == 11
    assert allocator.faulty()[:, 0].all() and allocator.faulty().sum() == 5
    assert allocator.blocks(allocator.allocate((3, 3))) == [((0, 1), (3, 3))]
    assert allocator.clear_faulty((0, 0), (4, 4)) == 5
    assert allocator.free == 7


def test_wrong_use_says_what_is_wrong():
    allocator = meshalloc.Allocator("mesh 8x8", "first-fit")
    other = meshalloc.Allocator("mesh 8x8", "first-fit")
    allocation = allocator.allocate((2, 2))
    for wrong, text in [
        (lambda: other.release(allocation), "allocator"),
        (lambda: other.blocks(allocation), "allocator"),
        (lambda: allocator.mark_faulty((7, 0), (2, 1)), "no block of the mesh 8x8"),
        (lambda: allocator.mark_faulty((-1, 0), (2, 1)), "no block of the mesh 8x8"),
        (lambda: meshalloc.Allocator("mesh 8y8", "first-fit"), "mesh 16x22"),
        (lambda: meshalloc.Allocator((0, 3), "first-fit"), "machine"),
        (lambda: meshalloc.Allocator("mesh 8x8", "first-fot"), "first-fit"),
        (lambda: meshalloc.Allocator("torus 3x3x3", "buddy"), "does not serve"),
        (lambda: meshalloc.Allocator("mesh 8x8", 7), "propose"),
        (lambda: meshalloc.Allocator(8.5, "first-fit"), "machine 8.5: neither .*mesh 16x22"),
        (lambda: allocator.allocate((1.5, 1)), r"shape \(1.5, 1\): expected whole numbers"),
        (lambda: allocator.fits((1,) * 17), "shape"),
    ]:
        with pytest.raises(meshalloc.Misuse, match=text):
            wrong()
    assert allocator.release(allocation) == 4
    with pytest.raises(meshalloc.Misuse):
        allocator.release(allocation)
    for shape, reason, is_temporary in [
        ((9, 9), "never-fits", False),
        ((0, 2), "empty-request", False),
        ((1, 1, 1), "too-many-extents", False),
    ]:
        with pytest.raises(meshalloc.Refused) as refused:
            allocator.allocate(shape)
        assert (refused.value.reason, refused.value.is_temporary) == (reason, is_temporary)
    with pytest.raises(meshalloc.Refused) as refused:
        allocator.allocate((2, 2), 5)
    assert refused.value.reason == "malformed"
    assert allocator.free == 64


def test_a_strategy_of_your_own_sees_what_the_allocator_holds():
    seen = []

    def corner(occupancy, request):
        seen.append(occupancy.copy())
        assert not occupancy.flags.writeable
        xs, ys = np.nonzero(~occupancy)
        return [((x, y), (1, 1)) for x, y in list(zip(xs, ys))[: request.processors]]

    allocator = meshalloc.Allocator("mesh 5x3", corner)
    first = allocator.allocate((2, 2))
    allocator.mark_faulty((4, 2), (1, 1))
    second = allocator.allocate((3, 1))
    assert [array.sum() for array in seen] == [0, 5] and seen[1][4, 2]
    allocator.release(first)
    allocator.allocate((1, 1))
    assert seen[2].sum() == 4 and allocator.free == 10
    assert len(allocator.blocks(second)) == 3
    with pytest.raises(meshalloc.Refused):
        allocator.allocate((5, 3))


@pytest.mark.parametrize(
    "proposal, text",
    [
        (((3, 3), (2, 2)), r"block 0 is outside the machine \(proposed: \(\(3, 3\), \(2, 2\)\)\)"),
        (((-1, 0), (2, 2)), "block 0 is outside the machine"),
        ([((0, 0), (1, 2)), ((1, 0), (70000, 2))], "block 1 is outside the machine"),
        ([((1, 1), (1, 2)), ((1, 2), (2, 1))], "block 1 overlaps an earlier block"),
        (((0, 0), (2, 2)), "block 0 is not free"),
        (((1, 1), (1, 1)), "1 processors, expected at least 4"),
    ],
)
def test_illegal_proposals_are_refused_with_the_reason(proposal, text):
    allocator = meshalloc.Allocator("mesh 4x4", lambda occupancy, request: proposal)
    allocator.mark_faulty((0, 0), (1, 1))
    with pytest.raises(meshalloc.IllegalProposal, match=text):
        allocator.allocate((2, 2))
    assert allocator.free == 15


def test_exceptions_of_a_strategy_are_raised():
    allocator = meshalloc.Allocator("mesh 4x4", lambda occupancy, request: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        allocator.allocate((2, 2))
    allocator = meshalloc.Allocator("mesh 4x4", lambda occupancy, request: "there")
    with pytest.raises(TypeError, match="expected None, a block"):
        allocator.allocate((2, 2))


def test_an_allocator_may_be_used_in_any_thread():
    for _ in range(20):
        allocator = meshalloc.Allocator("mesh 16x16", "first-fit")
        failures = []

        def work():
            try:
                for _ in range(4):
                    allocator.occupancy()
                    allocator.allocate((2, 2))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures and allocator.free == 0


def test_a_strategy_cannot_change_its_own_allocator():
    allocator = meshalloc.Allocator("mesh 4x4", lambda *_: allocator.allocate((1, 1)))
    with pytest.raises(meshalloc.Misuse, match="in use"):
        allocator.allocate((2, 2))


def test_controller():
    controller = meshalloc.Controller("mesh 8x8", "first-fit", "fcfs", jobs=3)
    controller.submit(1, (8, 6), now=0)
    controller.submit(2, (4, 4), now=5)
    controller.submit(3, (2, 2), now=6, lease=4)
    (granted,) = controller.events()
    assert (granted.number, granted.job, granted.at, granted.what) == (1, 1, 0, "granted")
    assert granted.blocks == [((0, 0), (8, 6))]
    with pytest.raises(meshalloc.Refused) as refused:
        controller.submit(4, (1, 1), now=6)
    assert refused.value.reason == "table-full"
    assert [controller.why(job) for job in (1, 2, 3)] == [None, "fragmented", "not-its-turn"]
    with pytest.raises(meshalloc.Misuse, match="no job"):
        controller.release(9, now=7)
    assert controller.release(1, now=8) == 48
    assert [(event.job, event.at) for event in controller.events()] == [(2, 8), (3, 8)]
    assert controller.blocks(2) == [((0, 0), (4, 4))]
    controller.submit(4, (8, 8), now=8)
    assert (controller.machine, controller.jobs()) == ("mesh 8x8", {2: 16, 3: 4, 4: 0})
    controller.release(4, now=8)
    assert controller.statistics()["running"] == 2
    controller.advance(now=9)
    assert controller.events() == []
    controller.advance(now=20)
    (ended,) = controller.events()
    assert (ended.job, ended.what, ended.processors, ended.at) == (3, "lease-ended", 4, 10)
    controller.mark_faulty((7, 7), (1, 1), now=21)
    assert controller.occupancy().sum() == 17
    controller.clear_faulty((7, 7), (1, 1), now=22)
    assert controller.statistics()["free"] == 48
    controller.mark_faulty((1, 1), (1, 1), now=23)
    assert controller.replace(2, now=23) == [((0, 0), (4, 4))]
    (granted,) = controller.events()
    assert (granted.job, granted.at, granted.blocks) == (2, 23, [((2, 0), (4, 4))])
    with pytest.raises(meshalloc.Misuse, match="no faulty processors"):
        controller.replace(2, now=23)
    with pytest.raises(meshalloc.Refused):
        controller.submit(5, (8, 8), now=23, wait=False)


@pytest.mark.parametrize(
    "machine, sides, strategy",
    [
        ("mesh 9x7", (9, 7), "first-fit"),
        ("mesh 9x7", (9, 7), "free-submesh-list"),
        ("torus 4x3x5", (4, 3, 5), "naive"),
    ],
)
def test_given_blocks_are_taken_and_an_allocator_is_restored(machine, sides, strategy):
    """Against a set of processors for each allocation."""
    allocator = meshalloc.Allocator(machine, strategy)
    rng = random.Random(2)
    held = {}
    refused = 0
    for step in range(300):
        busy = set().union(*held.values())
        if step % 50 == 49:
            state = allocator.save()
            names = {int(allocation): nodes for allocation, nodes in held.items()}
            allocator = meshalloc.Allocator(machine, strategy)
            allocator.restore(state)
            for allocation in held:
                with pytest.raises(meshalloc.Misuse):
                    allocator.release(allocation)
            held = {allocator.renew(name): nodes for name, nodes in names.items()}
            assert allocator.save() == allocator.save()
        elif held and rng.random() < 0.4:
            allocation = rng.choice(list(held))
            assert allocator.release(allocation) == len(held.pop(allocation))
        else:
            extent = tuple(rng.randint(1, 1 + side // 3) for side in sides)
            if "mesh" in machine:
                most = [side - length for side, length in zip(sides, extent, strict=True)]
            else:
                most = [side - 1 for side in sides]
            start = tuple(rng.randint(0, last) for last in most)
            nodes = covered((start, extent), sides)
            if nodes & busy:
                with pytest.raises(meshalloc.Refused) as error:
                    allocator.allocate_at(start, extent)
                assert error.value.reason == "not-free"
                refused += 1
            else:
                allocation = allocator.allocate_at(start, extent)
                held[allocation] = nodes
                if all(length < side for length, side in zip(extent, sides, strict=True)):
                    assert allocator.blocks(allocation) == [(start, extent)]
        expected = np.zeros(sides, bool)
        for node in set().union(*held.values()):
            expected[node] = True
        assert (allocator.occupancy() == expected).all()
    assert refused and held


def test_what_cannot_be_taken_or_restored():
    allocator = meshalloc.Allocator("mesh 8x8", "buddy")
    with pytest.raises(meshalloc.Misuse, match="none that the strategy gives"):
        allocator.allocate_at((0, 0), (3, 2))
    with pytest.raises(meshalloc.Misuse, match="no block of the mesh"):
        allocator.allocate_at((7, 0), (2, 2))
    with pytest.raises(meshalloc.Misuse, match="at most 1 blocks"):
        allocator.allocate_blocks([((0, 0), (1, 1)), ((1, 1), (1, 1))])
    with pytest.raises(meshalloc.Misuse, match="no block was named"):
        allocator.allocate_blocks([])
    held = allocator.allocate_at((4, 4), (4, 4))
    state = allocator.save()
    for damaged in [b"", state[:-1], bytes([state[0] ^ 1]) + state[1:], b"checkpoint"]:
        with pytest.raises(meshalloc.Misuse):
            allocator.restore(damaged)
        assert allocator.free == 64
    with pytest.raises(meshalloc.Misuse):
        allocator.release(held)
    own = meshalloc.Allocator("mesh 8x8", lambda occupancy, request: None)
    with pytest.raises(meshalloc.Misuse, match="strategy of the core"):
        own.save()


def test_a_job_takes_processors_of_others():
    controller = meshalloc.Controller("mesh 4x4", "first-fit")
    controller.submit(1, (4, 2), now=0, preemptible=True)
    controller.submit(2, (4, 2), now=1)
    controller.submit(3, (2, 2), now=2, priority=10)
    with pytest.raises(meshalloc.Misuse, match="a job cannot be preempted.*: job 2"):
        controller.preempt(3, [2], now=3)
    with pytest.raises(meshalloc.Misuse, match="9 victims"):
        controller.preempt(3, [1] * 9, now=3)
    with pytest.raises(meshalloc.Refused):
        controller.preempt(3, [], now=3)
    controller.events()
    controller.preempt(3, [1], now=4)
    preempted, granted = controller.events()
    assert (preempted.job, preempted.what, preempted.processors) == (1, "preempted", 8)
    assert (granted.job, granted.what, granted.at) == (3, "granted", 4)
    assert controller.jobs() == {1: 0, 2: 8, 3: 4}
