"""Slices of TPU7x on Google Kubernetes Engine, whose dynamic slicing cuts and joins cubes.

A node pool is a cube of 4x4x4 chips on 16 nodes. Labels of a node name the partitions that it is
in, from the cube down to the host. A scheduler of your own asks for a slice by an object of kind
`Slice`: it names a partition, or several cubes that are joined.

`Cluster` reads the labels. Its `machine` is one for the strategy `cubes`. A grant there becomes a
`Slice`, and a `Slice` the blocks of a grant.
"""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import Misuse
from .scenario import Block

LABEL = "cloud.google.com/gke-tpu-partition-{}-{}"
GROUP = "cloud.google.com/gce-topology-block"
API = "accelerator.gke.io/v1beta1"
CHIPS_MAX = 9216
# The partitions of a cube; all but the first are halves of the one before, along this dimension.
HALVED = {"4x4x4": 0, "2x4x4": 0, "2x2x4": 1, "2x2x2": 2, "2x2x1": 2}
CUBE = "4x4x4"
USABLE = ["HEALTHY", "DEGRADED"]
STATES = [*USABLE, "UNHEALTHY", "UNSET", "INCOMPLETE"]

Place = tuple[tuple[int, ...], tuple[int, ...]]
"""Start and extent of a partition in `Cluster.machine`."""

Part = tuple[str, str]
"""Shape and id of a partition."""


def _extents(topology: str) -> tuple[int, ...]:
    return tuple(map(int, topology.split("x")))


@dataclasses.dataclass(frozen=True)
class Slice:
    """An object of kind `Slice`. It never changes: another slice is another object.

    >>> import meshalloc.gke
    >>> slice = meshalloc.gke.Slice("training", "4x4x8", ("a9476d1b", "ba898ffc"))
    >>> print(slice.to_yaml(), end="")
    apiVersion: accelerator.gke.io/v1beta1
    kind: Slice
    metadata:
      name: "training"
    spec:
      type: "tpu7x"
      topology: "4x4x8"
      partitionIds:
      - "a9476d1b"
      - "ba898ffc"
    >>> meshalloc.gke.Slice.from_yaml(slice.to_yaml()) == slice
    True
    """

    name: str
    topology: str
    partition_ids: tuple[str, ...]
    type: str = "tpu7x"

    def __post_init__(self) -> None:
        def check(is_right: bool, field: str, value: object, expected: str) -> None:
            if not is_right:
                raise Misuse(f"{field}: {value!r} (expected {expected})")

        is_name = re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", self.name) and len(self.name) <= 49
        rule = "at most 49 of a-z, 0-9 and -, from a letter to a letter or digit"
        check(bool(is_name), "metadata.name", self.name, rule)
        check(self.type in ("v6e", "tpu7x"), "spec.type", self.type, "v6e or tpu7x")
        count = 2 if self.type == "v6e" else 3
        is_topology = re.fullmatch("[1-9][0-9]*" + "x[1-9][0-9]*" * (count - 1), self.topology)
        rule = f"{count} sides of {self.type}, such as {'x'.join(['4'] * count)}"
        check(bool(is_topology), "spec.topology", self.topology, rule)
        sides, ids = _extents(self.topology), self.partition_ids
        cubes = 1
        if self.type == "tpu7x" and self.topology not in HALVED:
            is_joined = all(side % 4 == 0 for side in sides) and list(sides) == sorted(sides)
            is_joined = is_joined and math.prod(sides) <= CHIPS_MAX
            rule = f"multiples of 4, the smallest first, up to {CHIPS_MAX} chips, or {[*HALVED]}"
            check(is_joined, "spec.topology", self.topology, rule)
            cubes = math.prod(sides) // 64
        has_ids = len(set(ids)) == len(ids) == cubes and all(ids)
        rule = f"{cubes} different partitions for {self.topology}"
        check(has_ids, "spec.partitionIds", list(ids), rule)

    def to_yaml(self) -> str:
        """The object for `kubectl apply`."""
        # In quotes: else an id such as 12e5 is a number, and a name such as `yes` a truth value.
        ids = "".join(f"  - {json.dumps(part)}\n" for part in self.partition_ids)
        return (
            f"apiVersion: {API}\nkind: Slice\nmetadata:\n  name: {json.dumps(self.name)}\n"
            f"spec:\n  type: {json.dumps(self.type)}\n  topology: {json.dumps(self.topology)}\n"
            f"  partitionIds:\n{ids}"
        )

    @classmethod
    def from_yaml(cls, text: str) -> "Slice":
        """The slice of an object, as `kubectl get slice NAME -o yaml` prints it, or as JSON."""
        import yaml

        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise Misuse(f"line {line}: {error.problem} (expected one object in YAML)") from None
        lines: dict[str, int] = {}

        def field(path: str) -> Any:
            node, line = root, 1
            for key in path.split("."):
                pairs = node.value if isinstance(node, yaml.MappingNode) else []
                found = [value for name, value in pairs if name.value == key]
                if not found:
                    raise Misuse(f"line {line}: no {path} (expected an object of kind Slice)")
                node, line = found[0], found[0].start_mark.line + 1
            lines[path] = line
            return node

        def word(path: str, node: Any) -> str:
            if getattr(node, "tag", None) != "tag:yaml.org,2002:str":
                raise Misuse(f"line {node.start_mark.line + 1}: {path} (expected text, or quotes)")
            return str(node.value)

        for path, expected in [("apiVersion", API), ("kind", "Slice")]:
            value = word(path, field(path))
            if value != expected:
                raise Misuse(f"line {lines[path]}: {path}: {value!r} (expected {expected})")
        name, type, topology = (
            word(path, field(path)) for path in ["metadata.name", "spec.type", "spec.topology"]
        )
        ids = field("spec.partitionIds")
        if not isinstance(ids, yaml.SequenceNode):
            line = lines["spec.partitionIds"]
            raise Misuse(f"line {line}: spec.partitionIds (expected a list of partitions)")
        words = tuple(word("spec.partitionIds", node) for node in ids.value)
        try:
            return cls(name, topology, words, type)
        except Misuse as error:
            path = str(error).split(":")[0]
            raise Misuse(f"line {lines[path]}: {error}") from None


class Cluster:
    """The cubes of a block, by the labels of its nodes.

    `nodes` has the labels of each node by its name. Nodes without partitions do not count. The
    labels do not say which of two halves is the first; here it is the one whose name comes first.

    >>> import meshalloc, meshalloc.gke
    >>> label = meshalloc.gke.LABEL.format("4x4x4", "id")
    >>> nodes = {f"node-{at}": {label: "ab"[at // 16]} for at in range(32)}
    >>> cluster = meshalloc.gke.Cluster(nodes)
    >>> allocator = meshalloc.Allocator(cluster.machine, "cubes")
    >>> grant = allocator.blocks(allocator.allocate((4, 4, 8)))
    >>> slice = cluster.slice("training", "4x4x8", grant)
    >>> slice.partition_ids
    ('a', 'b')
    >>> cluster.blocks(slice) == grant
    True
    """

    def __init__(self, nodes: Mapping[str, Mapping[str, str]]) -> None:
        ids = {shape: LABEL.format(shape, "id") for shape in HALVED}
        hosts = {name: labels for name, labels in nodes.items() if ids[CUBE] in labels}
        if not hosts:
            raise Misuse(f"nodes: none of {len(nodes)} has the label {ids[CUBE]}")
        groups = {labels.get(GROUP): name for name, labels in hosts.items()}
        if len(groups) > 1:
            raise Misuse(f"nodes {[*groups.values()]}: {GROUP} is {[*groups]} (expected one block)")
        labelled = [shape for shape in HALVED if any(ids[shape] in of for of in hosts.values())]
        self._shapes = list(HALVED)[: list(HALVED).index(labelled[-1]) + 1]
        # The nodes of each partition, and the partition around it.
        self._nodes: dict[Part, list[str]] = {}
        self._around: dict[Part, Part | None] = {}
        for name, labels in hosts.items():
            around = None
            for shape in self._shapes:
                if not labels.get(ids[shape]):
                    raise Misuse(f"node {name!r}: no label {ids[shape]} (expected an id)")
                part = (shape, labels[ids[shape]])
                if self._around.setdefault(part, around) != around:
                    other = self._nodes[part][0]
                    raise Misuse(
                        f"node {name!r}: {ids[shape]} is {part[1]!r}, as on node {other!r}"
                        " (expected an id of its own, as the partitions around them differ)"
                    )
                self._nodes.setdefault(part, []).append(name)
                around = part
        self._places: dict[Part, Place] = {}
        #: What is missing or not healthy, to be marked by `Allocator.mark_faulty`.
        self.faulty: list[Place] = []
        cubes = sorted(part for part, around in self._around.items() if around is None)
        for at, cube in enumerate(cubes):
            self._place(cube, (4 * at, 0, 0))
        # The smallest first: it explains what is said of those around it.
        for part in sorted(self._places, key=lambda part: -self._shapes.index(part[0])):
            place, label = self._places[part], LABEL.format(part[0], "state")
            states = {name: hosts[name].get(label, "HEALTHY") for name in self._nodes[part]}
            for name, state in states.items():
                if state not in STATES:
                    raise Misuse(f"node {name!r}: {label} is {state!r} (expected {STATES})")
            is_explained = any(_contains(place, other) for other in self.faulty)
            if not is_explained and not set(states.values()) <= set(USABLE):
                self.faulty.append(place)
        self._ids = {place: part for part, place in self._places.items()}
        sides, parts = [4 * len(cubes), 4, 4], self._shapes[1:]
        #: The description of the machine, for `Allocator` and `Controller` with `cubes`.
        self.machine = (
            f"sides = {sides}\ncube = [4, 4, 4]\nalign = [4, 4, 4]\nrotate = false\n"
            f"shapes = {parts}\nmultiple = [4, 4, 4]\n"
            f"chips-max = {min(CHIPS_MAX, math.prod(sides))}\n"
        )

    def _place(self, part: Part, start: tuple[int, ...]) -> None:
        """Gives a partition its place, and those in it theirs."""
        shape, nodes = part[0], self._nodes[part]
        place = start, _extents(shape)
        self._places[part] = place
        if shape == self._shapes[-1]:
            count = math.prod(place[1]) // 4
            if len(nodes) > count:
                label = LABEL.format(shape, "id")
                raise Misuse(f"nodes {nodes}: {label} is {part[1]!r} (expected {count} of them)")
            if len(nodes) < count:
                self.faulty.append(place)
            return
        half = self._shapes[self._shapes.index(shape) + 1]
        halves = sorted(other for other, around in self._around.items() if around == part)
        if len(halves) > 2:
            label = LABEL.format(half, "id")
            raise Misuse(f"nodes {nodes}: {label} has {len(halves)} values (expected 2)")
        for bit in range(2):
            at = list(start)
            at[HALVED[half]] += bit * _extents(half)[HALVED[half]]
            if bit < len(halves):
                self._place(halves[bit], tuple(at))
            else:
                self.faulty.append((tuple(at), _extents(half)))

    def slice(self, name: str, topology: str, blocks: Iterable[Block]) -> Slice:
        """The object that asks for what was granted: the blocks of an allocation."""
        ids = []
        for start, extent in blocks:
            # Cubes side by side may be one block.
            step = tuple(min(side, 4) for side in extent)
            spans = (range(low, low + side, by) for low, side, by in zip(start, extent, step))
            for corner in itertools.product(*spans):
                part = self._ids.get((corner, step))
                if part is None or part[0] != (topology if topology in HALVED else CUBE):
                    raise Misuse(
                        f"block {(tuple(start), tuple(extent))}: no partition for {topology}"
                        " (expected whole cubes, or a part of a cube of that shape)"
                    )
                ids.append(part[1])
        return Slice(name, topology, tuple(ids))

    def blocks(self, slice: Slice) -> list[Place]:
        """The blocks of a slice, as they are granted."""
        shape = slice.topology if slice.topology in HALVED else CUBE
        for part in slice.partition_ids:
            if (shape, part) not in self._places:
                label = LABEL.format(shape, "id")
                raise Misuse(f"slice {slice.name!r}: partition {part!r} (expected a {label})")
        return [self._places[shape, part] for part in slice.partition_ids]


def _contains(place: Place, other: Place) -> bool:
    return all(
        low <= at and at + side <= low + length
        for low, length, at, side in zip(*place, *other)
    )
