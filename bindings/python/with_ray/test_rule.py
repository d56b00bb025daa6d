"""The policy "ray" is the rule of Ray: it answers as Ray's own functions do, on random states."""

import logging
import random

from ray._private.accelerators import tpu as layout
from ray.util import tpu

import meshalloc.ray

STATES = 100_000
PER_CLUSTER = 200
FLAT = ["2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16"]
DEEP = ["2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8", "16x16x24"]


def slice_of(rng, topology, name):
    """The labels that Ray makes for a slice, by worker; ids in any order, sometimes incomplete."""
    hosts = 1
    for side in layout._get_worker_dims_for_topology(topology):
        hosts *= side
    labels = [layout._build_subslice_labels(place, topology) for place in range(hosts)]
    rng.shuffle(labels)
    workers = {str(worker): keys for worker, keys in enumerate(labels)}
    if rng.random() < 0.1 and hosts > 2:
        keys = workers[rng.choice(list(workers))]
        del keys[rng.choice(list(keys))]
    nodes = [
        {
            "NodeID": f"{name}/{worker}",
            "Alive": True,
            "Labels": {
                "ray.io/tpu-slice-name": name,
                "ray.io/tpu-worker-id": worker,
                "ray.io/tpu-topology": topology,
            },
            "Resources": {"TPU": 4.0},
        }
        for worker in workers
    ]
    return workers, nodes


def test_the_policy_is_the_rule_of_ray():
    logging.disable(logging.WARNING)
    rng = random.Random(1)
    granted = refused = 0
    while granted + refused < STATES:
        topologies = rng.choice([FLAT, DEEP])
        # Larger slices are rarer: they take longer and differ less.
        weights = [1 / (at + 1) ** 2 for at in range(len(topologies))]
        chosen = rng.choices(topologies, weights, k=rng.randint(1, 4))
        slices = {f"slice-{at}": slice_of(rng, it, f"slice-{at}") for at, it in enumerate(chosen)}
        labels = {name: workers for name, (workers, _) in slices.items()}
        nodes = [node for _, of in slices.values() for node in of]
        shapes = sorted({key for of in labels.values() for keys in of.values() for key in keys})
        advisor = meshalloc.ray.Advisor(labels, "ray")
        tpu._tpu_subslice_cache.clear()
        tpu._tpu_subslice_cache.update(labels)
        if not shapes:
            continue
        by_worker = tpu._build_slice_worker_to_node(nodes)
        for _ in range(PER_CLUSTER):
            share = rng.random()
            free, idle = {}, []
            for node in nodes:
                node["Alive"] = rng.random() > 0.01
                chips = rng.randint(0, 3) if rng.random() < share else 4
                free[node["NodeID"]] = {"TPU": float(chips)}
                if node["Alive"] and chips == 4:
                    idle.append(tuple(node["NodeID"].split("/")))
            shape = rng.choice(shapes).removeprefix(meshalloc.ray.PREFIX)
            parents = tpu._find_valid_parent_topologies(shape, nodes)
            found = tpu._find_available_cached_subslice(parents, shape, nodes, free, by_worker)
            index = advisor.choose(shape, idle)
            if found is None:
                assert index is None and advisor.reason
                refused += 1
            else:
                workers, theirs, name, _, _ = found
                assert (index, advisor.hosts) == (theirs, [(name, worker) for worker in workers])
                granted += 1
    print(f"\n{granted + refused} states: {granted} granted, {refused} refused, all as Ray does")
    assert min(granted, refused) > STATES / 4
