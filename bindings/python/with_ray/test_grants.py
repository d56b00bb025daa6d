"""Ray grants what is advised: on four hosts that Ray starts on this machine, without a TPU."""

import os
import pathlib
import random
import time

import pytest
import ray
from ray.cluster_utils import Cluster
from ray.util.placement_group import placement_group_table
from ray.util.tpu import subslice_placement_group

import meshalloc.ray

HOSTS = {str(worker) for worker in range(4)}


@pytest.fixture(scope="module")
def slice_of_four_hosts():
    # Workers of Ray ask this folder's `libtpu` for coordinates.
    paths = [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # A busy machine answers late whether a host lives.
    os.environ["RAY_health_check_timeout_ms"] = "60000"
    # On Kubernetes each host has it.
    os.environ["TPU_NAME"] = "slice-0"
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    for worker in sorted(HOSTS):
        head = {"TPU-v6e-16-head": 1} if worker == "0" else {}
        cluster.add_node(
            num_cpus=1,
            resources={"TPU": 4} | head,
            labels={
                "ray.io/accelerator-type": "TPU-V6E",
                "ray.io/tpu-pod-type": "v6e-16",
                "ray.io/tpu-slice-name": "slice-0",
                "ray.io/tpu-topology": "4x4",
                "ray.io/tpu-worker-id": worker,
            },
        )
    ray.init(address=cluster.address, log_to_driver=False)
    yield
    ray.shutdown()
    cluster.shutdown()


def granted(group):
    """Returns when Ray has reserved the hosts of a group."""
    is_granted = group.placement_group.wait(60)
    alive = [node["Alive"] for node in ray.nodes()]
    assert is_granted, f"{group.bundle_label_selector} is not granted; hosts alive: {alive}"


def give_back(group):
    """Returns when Ray says that the hosts are idle again."""
    workers = {keys["ray.io/tpu-worker-id"] for keys in group.bundle_label_selector}
    group.shutdown()
    end = time.monotonic() + 60
    while not workers <= {worker for _, worker in meshalloc.ray.state()[1]}:
        assert time.monotonic() < end, f"workers {workers} stay busy"
        time.sleep(0.05)


def test_ray_grants_what_is_advised(slice_of_four_hosts):
    # The first call lets Ray find out its labels.
    give_back(subslice_placement_group("2x4", "v6e"))
    labels, idle = meshalloc.ray.state()
    assert {worker for _, worker in idle} == set(labels["slice-0"]) == HOSTS
    by_node = {node["NodeID"]: node["Labels"] for node in ray.nodes()}
    counts = {}
    for policy in ["ray", "snug", "fsl", "best-fit", "busy-list", "leb"]:
        advisor, groups = meshalloc.ray.Advisor(labels, policy), []
        rng = random.Random(policy)
        for _ in range(12):
            if groups and rng.random() < 0.4:
                give_back(groups.pop(rng.randrange(len(groups))))
            shape = rng.choice(["2x2", "2x2", "2x4"])
            labels, idle = meshalloc.ray.state()
            index = advisor.choose(shape, idle)
            if index is None:
                assert len(idle) < 3
                continue
            group = subslice_placement_group(shape, "v6e", subslice_index=index)
            granted(group)
            nodes = placement_group_table(group.placement_group)["bundles_to_node_id"].values()
            workers = sorted(by_node[node]["ray.io/tpu-worker-id"] for node in nodes)
            assert group.subslice_index == index
            assert [("slice-0", worker) for worker in workers] == advisor.hosts
            assert set(advisor.hosts) <= set(idle)
            groups.append(group)
            counts[policy] = counts.get(policy, 0) + 1
        assert counts[policy] > 2
        for group in groups:
            give_back(group)
    print(f"\ngranted by Ray {ray.__version__} at the advised index: {counts}")


def test_ray_alone_takes_used_up_hosts_for_idle(slice_of_four_hosts):
    """What the page says of Ray 2.60.0: a host has no entry for chips that are all used."""
    first = subslice_placement_group("2x4", "v6e")
    granted(first)
    assert first.subslice_index == 0
    second = subslice_placement_group("2x4", "v6e")
    assert second.subslice_index == 0 and not second.placement_group.wait(3)
    second.shutdown()
    labels, idle = meshalloc.ray.state()
    index = meshalloc.ray.Advisor(labels, "ray").choose("2x4", idle)
    third = subslice_placement_group("2x4", "v6e", subslice_index=index)
    granted(third)
    assert index == third.subslice_index == 1
    give_back(first)
    give_back(third)
