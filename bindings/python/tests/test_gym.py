import numpy as np
import pytest

import meshalloc

pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from meshalloc.gym import MeshEnv  # noqa: E402

SETTINGS = dict(mesh=(8, 8), load=0.4, jobs=200)


def first_fit(env, observation):
    """The first job, at the first base in row-major order; else wait."""
    w, h = env.unwrapped._sides
    mask = env.action_mask()[1 : 1 + w * h].reshape(w, h)
    ys, xs = np.nonzero(mask.T)
    return 0 if len(ys) == 0 else 1 + xs[0] * h + ys[0]


def at_random(env, observation):
    return env.np_random.choice(np.flatnonzero(env.action_mask()))


def episode(agent, seed):
    env = MeshEnv(**SETTINGS)
    observation, info = env.reset(seed=seed)
    total, ends = 0.0, False
    while not ends:
        assert env.observation_space.contains(observation)
        observation, reward, ends, _, info = env.step(agent(env, observation))
        total += reward
    with pytest.raises(meshalloc.Error, match="reset"):
        env.step(0)
    env.close()
    return total, info["results"]


def test_gymnasium_accepts_the_environment():
    check_env(MeshEnv(**SETTINGS), skip_render_check=True)


def test_a_first_fit_agent_decides_as_the_core():
    total, results = episode(first_fit, 3)
    settings = results.settings
    # Without turning, as the agent: the strategy of the core that keeps the orientation.
    scenario = meshalloc.Scenario(
        **SETTINGS, seed=settings["seed"], replications=1, strategy="first-fit"
    )

    def in_python(occupancy, request):
        w, h = request.shape
        for y in range(9 - h):
            for x in range(9 - w):
                if not occupancy[x : x + w, y : y + h].any():
                    return (x, y), (w, h)
        return None

    expected = scenario.run(in_python)["in_python"]
    assert results["agent"]["decision_hash"] == expected["decision_hash"]
    assert total < 0


def test_a_random_agent_ends_and_is_reproducible():
    (first, results), (again, _) = episode(at_random, 5), episode(at_random, 5)
    assert first == again
    assert results["agent"]["decisions"] >= 200


def test_impossible_actions_wait_and_an_episode_can_be_abandoned():
    env = MeshEnv(**SETTINGS)
    env.reset(seed=1)
    impossible = int(np.flatnonzero(env.action_mask() == 0)[0])
    before = env.action_mask()
    _, _, ends, _, info = env.step(impossible)
    assert not info["is_possible"] and not ends and before[0] == 1
    env.reset(seed=1)
    env.close()
    with pytest.raises(meshalloc.Error):
        MeshEnv(torus=(4, 4, 4))
