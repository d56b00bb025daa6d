"""Which sub-slice of a TPU slice a job of Ray should take.

`ray.util.tpu.subslice_placement_group` takes the first idle sub-slice, or the one that
`subslice_index` names. An `Advisor` finds that index by a strategy of meshalloc. Which hosts a
sub-slice has is read from the labels that Ray keeps, such as `ray.io/tpu-subslice-2x4`.

    labels, idle = meshalloc.ray.state()
    advisor = meshalloc.ray.Advisor(labels)
    index = advisor.choose("2x4", idle)  # None if none is idle: `advisor.reason` says why
    group = subslice_placement_group("2x4", "v6e", subslice_index=index)

Keep the advisor for the next job: it remembers which sub-slices it found.
"""

import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping

import numpy as np

from ._core import Allocation, Allocator
from .errors import Misuse

PREFIX = "ray.io/tpu-subslice-"
Host = tuple[str, str]
Workers = Mapping[str, Mapping[str, str]]
Groups = Mapping[int, frozenset[str]]


class Advisor:
    """Chooses sub-slices.

    `labels` are those of every worker by slice and worker id, as Ray keeps them. A host is a pair
    of these two. `policy` is "ray", the rule of Ray: the first idle index; "snug": the one around
    which the largest idle sub-slice is smallest; or a strategy that serves aligned machines. All go
    through the slices as Ray does, the smallest first.

    >>> import meshalloc.ray
    >>> two, pair = meshalloc.ray.PREFIX + "2x2", meshalloc.ray.PREFIX + "2x4"
    >>> hosts = {str(host): {two: str(host), pair: str(host // 2)} for host in range(4)}
    >>> advisor = meshalloc.ray.Advisor({"a": hosts}, policy="leb")
    >>> advisor.choose("2x4", [("a", "0"), ("a", "2"), ("a", "3")])
    1
    >>> advisor.hosts
    [('a', '2'), ('a', '3')]
    >>> advisor.choose("2x4", [("a", "0"), ("a", "2")])
    >>> advisor.reason
    '2x4: 2 hosts are idle, but no whole sub-slice of 2'
    """

    def __init__(self, labels: Mapping[str, Workers], policy: str = "snug") -> None:
        if policy == "folding":
            raise Misuse(f"policy {policy!r}: expected one that gives the shape that is asked for")
        slices = [_Slice(name, workers, policy) for name, workers in labels.items()]
        self._slices = sorted(slices, key=lambda slice: len(slice.workers))
        #: Why the last call of `choose` found nothing; `None` if it found something.
        self.reason: str | None = None
        #: The hosts of the sub-slice that the last call of `choose` found, by worker id.
        self.hosts: list[Host] = []

    def choose(self, topology: str, idle: Iterable[Host]) -> int | None:
        """The index of the sub-slice to take, or `None`: then `reason` says why.

        `idle` are the hosts of which every chip is free.
        """
        topology = topology.strip().lower()
        shapes = dict.fromkeys(shape for slice in self._slices for shape in slice.groups)
        if topology not in shapes:
            raise Misuse(f"topology {topology!r}: no host has its label (expected {[*shapes]})")
        free = set(idle)
        for host in free.difference((it.name, at) for it in self._slices for at in it.workers):
            raise Misuse(f"idle host {host!r}: no labels (expected a slice and a worker id)")
        self.reason, self.hosts, count = None, [], 0
        for slice in self._slices:
            groups = slice.groups.get(topology, {})
            index = slice.choose(topology, groups, {at for name, at in free if name == slice.name})
            if index is not None:
                self.hosts = [(slice.name, worker) for worker in sorted(groups[index], key=int)]
                return index
            count += len(groups)
        self.reason = f"{topology}: {len(free)} hosts are idle, but no whole sub-slice of {count}"
        return None


class _Slice:
    """The sub-slices of a slice by its labels, and the machine on which a strategy chooses."""

    def __init__(self, name: str, workers: Workers, policy: str) -> None:
        self.name, self.workers, self.policy = name, frozenset(workers), policy
        self.allocator: Allocator | None = None
        found: dict[str, dict[int, set[str]]] = {}
        for worker, labels in workers.items():
            where = f"slice {name!r}, worker {worker!r}"
            if not worker.isdecimal():
                raise Misuse(f"{where}: wrong worker id (expected a number as text)")
            for label in filter(lambda label: label.startswith(PREFIX), labels):
                shape, index = label.removeprefix(PREFIX), labels[label]
                if not re.fullmatch("[1-9][0-9]*(x[1-9][0-9]*)+ [0-9]+", f"{shape} {index}"):
                    raise Misuse(f"{where}: label {label!r} is {index!r} (expected {PREFIX}2x4: 1)")
                found.setdefault(shape, {}).setdefault(int(index), set()).add(worker)
        self.host = min(found, key=_chips, default="")  # The smallest sub-slice.
        self.groups: dict[str, dict[int, frozenset[str]]] = {}
        for shape in sorted(found, key=_chips):
            # As in Ray, a sub-slice with too few hosts or too many does not count.
            size, groups = _chips(shape) // _chips(self.host), sorted(found[shape].items())
            self.groups[shape] = {at: frozenset(of) for at, of in groups if len(of) == size}
        if policy not in ("ray", "snug") and self.groups:
            self.serve(policy)

    def serve(self, policy: str) -> None:
        """Lets a strategy choose. Its machine is the most compact grid of hosts that fits."""
        count = len(self.workers)
        hosts = [worker for group in self.groups[self.host].values() for worker in group]
        chips = [int(side) for side in self.host.split("x")]
        divisors = (side for side in range(1, count + 1) if count % side == 0)
        grids = itertools.product(divisors, repeat=len(chips))
        fitting = [grid for grid in grids if math.prod(grid) == count == len(hosts)]
        whole = [it for it, of in self.groups.items() if sum(map(len, of.values())) == count]
        for grid in sorted(fitting, key=lambda grid: (np.dot(grid, chips), grid)):
            # Here x comes first, in the names of shapes last.
            self.places = {worker: at[::-1] for worker, at in zip(hosts, np.ndindex(*grid))}
            self.extents = {it: _box(self.places, self.groups[it]) for it in whole}
            if all(self.extents.values()):
                break
        else:
            rule = f"{PREFIX}{self.host} to number hosts row by row, and each sub-slice to be a box"
            raise Misuse(f"slice {self.name!r}: no grid of {count} hosts fits (expected {rule})")
        sides = list(grid[::-1])
        self.allocator = Allocator(f"sides = {sides}\nalign = {sides}\nrotate = false\n", policy)
        self.held: dict[Allocation, frozenset[str]] = {}
        self.faulty: frozenset[str] = frozenset()

    def choose(self, topology: str, groups: Groups, idle: set[str]) -> int | None:
        """The index of one of these sub-slices that is idle."""
        # The first one, too, where labels leave hosts out: strategies know of no such gaps.
        if self.allocator is None or topology not in self.extents:
            fits = [index for index, hosts in groups.items() if hosts <= idle]
            if self.policy == "snug":
                free = [it for of in self.groups.values() for it in of.values() if it <= idle]
                fits.sort(key=lambda index: max(len(it) for it in free if groups[index] <= it))
            return next(iter(fits), None)
        # Where a host of a sub-slice that was found is idle, its job has left or never came.
        for allocation in [it for it, hosts in self.held.items() if hosts & idle]:
            self.allocator.release(allocation)
            del self.held[allocation]
        faulty = self.workers.difference(idle, *self.held.values())
        for worker in faulty ^ self.faulty:
            change = self.allocator.mark_faulty if worker in faulty else self.allocator.clear_faulty
            change(self.places[worker], self.extents[self.host])
        self.faulty = faulty
        # `fits` first: a strategy remembers requests to allocate, and jobs ask again.
        if not self.allocator.fits(self.extents[topology]):
            return None
        allocation = self.allocator.allocate(self.extents[topology])
        start = self.allocator.blocks(allocation)[0][0]
        index = next(it for it, of in groups.items() if start in map(self.places.get, of))
        self.held[allocation] = groups[index]
        return index


def _chips(shape: str) -> int:
    return math.prod(map(int, shape.split("x")))


def _box(places: Mapping[str, tuple[int, ...]], groups: Groups) -> tuple[int, ...]:
    """The extents of these groups if they are equal boxes, each at multiples of its sides."""
    boxes = set()
    for hosts in groups.values():
        corners = np.array([places[worker] for worker in hosts])
        low, box = corners.min(0), np.ptp(corners, 0) + 1
        is_box = box.prod() == len(hosts) and not (low % box).any()
        boxes.add(tuple(box.tolist()) if is_box else ())
    return boxes.pop() if len(boxes) == 1 else ()


def state() -> tuple[dict[str, dict[str, dict[str, str]]], list[Host]]:
    """The labels and the idle hosts of the Ray, 2.60.0, that this process is connected to.

    Ray finds out the labels of a slice when it is first asked for a sub-slice there.
    """
    import ray
    from ray._private.state import available_resources_per_node
    from ray.experimental.internal_kv import _internal_kv_get
    from ray.util.tpu import _tpu_subslice_cache

    labels, idle, free = {}, [], available_resources_per_node()
    nodes = [(node["Labels"].get("ray.io/tpu-slice-name"), node) for node in ray.nodes()]
    # Among slices of one size Ray begins with those that it found out first.
    for name in dict.fromkeys([*_tpu_subslice_cache, *(name for name, _ in nodes if name)]):
        kept = _internal_kv_get(f"tpu_subslice/{name}".encode(), namespace="tpu_subslice")
        labels[name] = json.loads(kept) if kept else {}
    for name, node in nodes:
        chips, worker = node["Resources"].get("TPU", 0), node["Labels"].get("ray.io/tpu-worker-id")
        is_idle = free.get(node["NodeID"], {}).get("TPU", 0) >= chips  # No entry: all are used.
        if node["Alive"] and worker in labels.get(name, {}) and is_idle:
            idle.append((name, worker))
    return labels, idle
