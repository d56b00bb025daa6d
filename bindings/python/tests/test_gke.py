"""Labels of nodes to a machine, and grants to objects of kind `Slice`. No cluster is needed."""

import doctest
import itertools
import os
import pathlib

import pytest
import yaml

import meshalloc
import meshalloc.gke
from meshalloc.gke import GROUP, LABEL, Cluster, Slice

GOLDEN = pathlib.Path(__file__).parent / "golden/slices.yaml"
SHAPES = {"4x4x4": (4, 4, 4), "2x4x4": (2, 4, 4), "2x2x4": (2, 2, 4), "2x2x2": (2, 2, 2)}
SHAPES["2x2x1"] = (2, 2, 1)


def nodes(cubes=3):
    """The labels of whole cubes, as GKE makes them; ids in an order of their own."""
    made = {}
    for cube in range(cubes):
        for host in itertools.product((0, 2), (0, 2), range(4)):
            labels = {GROUP: "block-1"}
            for shape, extent in SHAPES.items():
                part = [at // side for at, side in zip(host, extent)]
                labels[LABEL.format(shape, "id")] = f"{shape}-{cube}-{'-'.join(map(str, part))}"
                labels[LABEL.format(shape, "state")] = "HEALTHY"
            made[f"node-{cube}-{host[0]}{host[1]}{host[2]}"] = labels
    return made


def without(changed, node, **labels):
    """Nodes of which one has other labels; `None` takes one away."""
    for name, value in labels.items():
        key = LABEL.format(name[1:6], name[7:]) if name != "group" else GROUP
        if value is None:
            del changed[node][key]
        else:
            changed[node][key] = value
    return changed


def test_docstrings():
    outcome = doctest.testmod(meshalloc.gke)
    assert outcome.attempted > 10 and outcome.failed == 0


def test_the_machine_is_three_cubes_of_the_preset():
    cluster = Cluster(nodes())
    assert cluster.machine == (
        "sides = [12, 4, 4]\ncube = [4, 4, 4]\nalign = [4, 4, 4]\nrotate = false\n"
        "shapes = ['2x4x4', '2x2x4', '2x2x2', '2x2x1']\nmultiple = [4, 4, 4]\nchips-max = 192\n"
    )
    assert cluster.faulty == []


def test_grants_are_those_of_the_golden_file_and_come_back():
    cluster = Cluster(nodes())
    allocator = meshalloc.Allocator(cluster.machine, "cubes")
    texts = []
    for topology in ["2x2x1", "4x4x8", "2x2x1", "2x2x2", "2x2x4"]:
        shape = tuple(map(int, topology.split("x")))
        grant = allocator.blocks(allocator.allocate(shape))
        slice = cluster.slice(f"job-{len(texts)}", topology, grant)
        texts.append(slice.to_yaml())
        assert Slice.from_yaml(texts[-1]) == slice
        assert cluster.blocks(slice) == grant
        # The nodes with the ids of the slice are the processors of the grant.
        key = LABEL.format(topology if topology in SHAPES else "4x4x4", "id")
        hosts = [name for name, labels in nodes().items() if labels[key] in slice.partition_ids]
        assert 4 * len(hosts) == shape[0] * shape[1] * shape[2]
    text = "---\n".join(texts)
    if os.environ.get("MESHALLOC_REFRESH_GOLDEN"):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text
    assert [kind["kind"] for kind in yaml.safe_load_all(text)] == ["Slice"] * 5


def test_slices_of_a_cluster_are_taken_again():
    cluster = Cluster(nodes())
    allocator = meshalloc.Allocator(cluster.machine, "cubes")
    for slice in [
        Slice("a", "4x4x8", ("4x4x4-0-0-0-0", "4x4x4-2-0-0-0")),
        Slice("b", "2x2x2", ("2x2x2-1-0-1-1",)),
    ]:
        allocation = allocator.allocate_blocks(cluster.blocks(slice))
        assert allocator.blocks(allocation) == cluster.blocks(slice)
    assert allocator.free == 64 - 8
    with pytest.raises(meshalloc.Refused):
        allocator.allocate((4, 4, 4))
    grant = allocator.blocks(allocator.allocate((2, 4, 4)))
    assert cluster.slice("c", "2x4x4", grant).partition_ids == ("2x4x4-1-1-0-0",)


def test_every_partition_has_a_place_of_its_own():
    cluster = Cluster(nodes(1))
    for shape, extent in SHAPES.items():
        key = LABEL.format(shape, "id")
        seen = set()
        for part in {labels[key] for labels in nodes(1).values()}:
            ((start, sides),) = cluster.blocks(Slice("a", shape, (part,)))
            assert sides == extent
            assert cluster.slice("a", shape, [(start, sides)]).partition_ids == (part,)
            chips = set(itertools.product(*(range(at, at + of) for at, of in zip(start, sides))))
            assert not seen & chips
            seen |= chips
            # Partitions in it lie in it.
            for labels in (labels for labels in nodes(1).values() if labels[key] == part):
                host = Slice("b", "2x2x1", (labels[LABEL.format("2x2x1", "id")],))
                assert cluster.blocks(host)[0][0] in chips
        assert len(seen) == 64


def test_cubes_alone():
    """Where nodes have the label of the cube only, whole cubes are granted."""
    key = LABEL.format("4x4x4", "id")
    cluster = Cluster({name: {key: labels[key]} for name, labels in nodes(2).items()})
    allocator = meshalloc.Allocator(cluster.machine, "cubes")
    with pytest.raises(meshalloc.Refused, match="not a legal shape"):
        allocator.allocate((2, 2, 1))
    blocks = [((0, 0, 0), (8, 4, 4))]
    ids = ("4x4x4-0-0-0-0", "4x4x4-1-0-0-0")
    assert cluster.slice("a", "4x4x8", blocks).partition_ids == ids


def test_what_is_not_healthy_is_faulty():
    half = LABEL.format("2x4x4", "id")
    changed = nodes(2)
    del changed["node-0-003"]
    assert Cluster(changed).faulty == [((0, 0, 3), (2, 2, 1))]
    for name in ["node-1-200", "node-1-201"]:
        without(changed, name, _2x2x2_state="UNHEALTHY", _4x4x4_state="INCOMPLETE")
    # The cube is explained by a part of it.
    assert Cluster(changed).faulty == [((0, 0, 3), (2, 2, 1)), ((6, 0, 0), (2, 2, 2))]
    changed = {name: of for name, of in nodes(1).items() if of[half] != "2x4x4-0-1-0-0"}
    assert Cluster(changed).faulty == [((2, 0, 0), (2, 4, 4))]
    changed = without(nodes(2), "node-1-000", _4x4x4_state="UNSET")
    assert Cluster(changed).faulty == [((4, 0, 0), (4, 4, 4))]
    assert Cluster(without(nodes(2), "node-1-000", _4x4x4_state="DEGRADED")).faulty == []
    cube = LABEL.format("4x4x4", "id")
    changed = {name: {cube: labels[cube]} for name, labels in nodes(1).items()}
    del changed["node-0-003"]
    assert Cluster(changed).faulty == [((0, 0, 0), (4, 4, 4))]


@pytest.mark.parametrize(
    "changed, text",
    [
        ({"a": {}}, "nodes: none of 1 has the label cloud.google.com/gke-tpu-partition-4x4x4-id"),
        (without(nodes(), "node-0-000", group="block-2"),
         "cloud.google.com/gce-topology-block is ['block-2', 'block-1'] (expected one block)"),
        (without(nodes(), "node-0-000", _2x2x4_id=None),
         "node 'node-0-000': no label cloud.google.com/gke-tpu-partition-2x2x4-id (expected an "),
        (without(nodes(), "node-0-200", _2x2x2_id="2x2x2-0-0-0-0"),
         "node 'node-0-200': cloud.google.com/gke-tpu-partition-2x2x2-id is '2x2x2-0-0-0-0', as on"
         " node 'node-0-000' (expected an id of its own"),
        (without(nodes(), "node-0-000", _2x2x1_id="x", _2x2x2_id="y"),
         "gke-tpu-partition-2x2x2-id has 3 values (expected 2)"),
        (without(nodes(), "node-0-000", _2x2x1_id="2x2x1-0-0-0-1"),
         "nodes ['node-0-000', 'node-0-001']: cloud.google.com/gke-tpu-partition-2x2x1-id is"
         " '2x2x1-0-0-0-1' (expected 1 of them)"),
        (without(nodes(), "node-0-000", _2x2x1_state="FINE"),
         "node 'node-0-000': cloud.google.com/gke-tpu-partition-2x2x1-state is 'FINE' (expected"),
    ],
)
def test_wrong_labels(changed, text):
    with pytest.raises(meshalloc.Misuse) as error:
        Cluster(changed)
    assert text in str(error.value)


@pytest.mark.parametrize(
    "values, text",
    [
        (("Job", "4x4x4", ("a",)), "metadata.name: 'Job' (expected at most 49 of a-z, 0-9 and -"),
        (("a" * 50, "4x4x4", ("a",)), "metadata.name: 'aaaaa"),
        (("job-", "4x4x4", ("a",)), "metadata.name: 'job-'"),
        (("job", "4x4x4\n", ("a",)), "spec.topology: '4x4x4\\n' (expected 3 sides of tpu7x"),
        (("job", "4x4", ("a",)), "spec.topology: '4x4' (expected 3 sides of tpu7x"),
        (("job", "4x4x4", ("a",), "v6e"), "spec.topology: '4x4x4' (expected 2 sides of v6e, such"),
        (("job", "4x8x4", ("a", "b")), "spec.topology: '4x8x4' (expected multiples of 4, the sma"),
        (("job", "4x4x6", ("a", "b")), "spec.topology: '4x4x6' (expected multiples of 4"),
        (("job", "16x24x28", ("a",)), "up to 9216 chips"),
        (("job", "4x4x8", ("a",)), "partitionIds: ['a'] (expected 2 different partitions for 4x4"),
        (("job", "4x4x8", ("a", "a")), "spec.partitionIds: ['a', 'a'] (expected 2 different"),
        (("job", "2x2x2", ("a", "b")), "expected 1 different partitions for 2x2x2"),
        (("job", "4x4x4", ("a",), "v5p"), "spec.type: 'v5p' (expected v6e or tpu7x)"),
    ],
)
def test_wrong_slices(values, text):
    with pytest.raises(meshalloc.Misuse) as error:
        Slice(*values)
    assert text in str(error.value)


def test_limits_that_are_right():
    assert Slice("a" * 49, "16x24x24", tuple(map(str, range(144)))).topology == "16x24x24"
    assert Slice("a", "4x4", ("x",), "v6e").type == "v6e"


RIGHT = Slice("yes", "4x4x8", ("0123", "12e5")).to_yaml()


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("v1beta1", "v1alpha1", "line 1: apiVersion: 'accelerator.gke.io/v1alpha1' (expected acc"),
        ("kind: Slice", "kind: Node", "line 2: kind: 'Node' (expected Slice)"),
        ("  name:", "  nam:", "line 4: no metadata.name (expected an object of kind Slice)"),
        ("yes", "Job", "line 4: metadata.name: 'Job' (expected"),
        ("4x4x8", "8x4x4", "line 7: spec.topology: '8x4x4' (expected multiples of 4"),
        ('"4x4x8"', "[4, 4, 8]", "line 7: spec.topology (expected text, or quotes)"),
        ('"yes"', "yes", "line 4: metadata.name (expected text, or quotes)"),
        ('"0123"', "0123", "line 9: spec.partitionIds (expected text, or quotes)"),
        ('  - "12e5"\n', "", "line 9: spec.partitionIds: ['0123'] (expected 2 different"),
        ('  partitionIds:\n  - "0123"\n  - "12e5"\n', "  partitionIds: a\n",
         "line 8: spec.partitionIds (expected a list of partitions)"),
        ("spec:", "spec: ]", "line 5: "),
        (RIGHT, RIGHT + "---\n" + RIGHT, "line 11: but found another document"),
        (RIGHT, "", "line 1: no apiVersion"),
        (RIGHT, "- 1\n", "line 1: no apiVersion"),
    ],
)
def test_wrong_yaml(old, new, text):
    assert old in RIGHT
    with pytest.raises(meshalloc.Misuse) as error:
        Slice.from_yaml(RIGHT.replace(old, new))
    assert text in str(error.value)


def test_what_a_cluster_adds_is_ignored():
    status = "status:\n  conditions:\n  - type: Ready\n    status: 'True'\n    reason: ACTIVE\n"
    assert Slice.from_yaml(RIGHT + status).partition_ids == ("0123", "12e5")


def test_wrong_blocks():
    cluster = Cluster(nodes())
    for topology, block in [
        ("4x4x4", ((0, 0, 0), (2, 4, 4))),
        ("2x4x4", ((1, 0, 0), (2, 4, 4))),
        ("4x4x4", ((12, 0, 0), (4, 4, 4))),
    ]:
        with pytest.raises(meshalloc.Misuse, match="no partition for " + topology):
            cluster.slice("a", topology, [block])
    with pytest.raises(meshalloc.Misuse, match="slice 'a': partition 'x' .*4x4x4-id"):
        cluster.blocks(Slice("a", "4x4x4", ("x",)))
