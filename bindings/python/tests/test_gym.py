import gc
import os
import threading
import time

import numpy as np
import pytest

import meshalloc

gymnasium = pytest.importorskip("gymnasium")
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
    check_env(gymnasium.make("meshalloc/Mesh-v0", **SETTINGS).unwrapped)


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


def play(env, seed, choose):
    """An episode. Returns what `step` gave last."""
    env.reset(seed=seed)
    while True:
        *_, ends, is_truncated, info = env.step(choose(env))
        if ends or is_truncated:
            env.close()
            return ends, is_truncated, info


def possible(env):
    return env.unwrapped.np_random.choice(np.flatnonzero(env.action_masks()))


def any_action(env):
    return env.unwrapped.np_random.integers(env.action_space.n)


def always_wait(env):
    return 0


@pytest.mark.parametrize("choose", [possible, any_action, always_wait])
@pytest.mark.parametrize(
    "settings",
    [
        dict(batch=20),
        dict(batch=20, window=1),
        dict(load=0.4, jobs=20),
        dict(load=0.4, jobs=20, failures="node:20000,5"),
    ],
)
def test_every_episode_ends_with_results(choose, settings):
    env = MeshEnv(mesh=(8, 8), **settings)
    for seed in range(10):
        ends, is_truncated, info = play(env, seed, choose)
        assert ends and not is_truncated
        jobs = settings.get("batch") or settings.get("jobs")
        assert info["results"]["agent"]["decisions"] >= jobs


def test_waiting_is_possible_only_while_something_runs():
    env = MeshEnv(mesh=(4, 4), batch=1)
    _, info = env.reset(seed=1)
    assert info["action_mask"][0] == 0 and info["action_mask"].any()
    assert (info["action_mask"] == env.action_mask()).all()
    # Counts as the first action that is possible: the job leaves.
    *_, ends, _, info = env.step(0)
    assert ends and not info["is_possible"] and info["action_mask"].tolist()[1:].count(1) == 0
    env = MeshEnv(mesh=(4, 4), batch=2)
    env.reset(seed=1)
    _, _, ends, _, info = env.step(int(env.action_mask().argmax()))
    assert not ends and info["action_mask"][0] == 1


def test_jobs_that_fit_only_turned_are_refused(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("submit,run,shape\n0,10,8x2\n1,10,2x8\n2,10,2x2\n")
    env = MeshEnv(mesh=(4, 8), window=1, log=trace)
    ends, _, info = play(env, 1, possible)
    assert ends and info["results"]["agent"]["refused"] == {"never-fits": 1}
    trace.write_text("submit,run,shape\n0,10,8x2\n")
    with pytest.raises(meshalloc.Error, match="all are refused"):
        env.reset(seed=1)


def test_an_episode_whose_jobs_can_never_run_is_truncated(tmp_path):
    (tmp_path / "down.csv").write_text("time,what,which,state\n0,node,5,down\n")
    (tmp_path / "jobs.csv").write_text("submit,run,shape\n1,10,2x2\n2,10,4x4\n")
    env = MeshEnv(mesh=(4, 4), log=tmp_path / "jobs.csv", failures=tmp_path / "down.csv")
    ends, is_truncated, info = play(env, 1, possible)
    assert not ends and is_truncated and "no job can run any more" in info["error"]
    with pytest.raises(meshalloc.Error, match="reset"):
        env.step(0)


def test_wrong_actions_and_settings():
    env = MeshEnv(mesh=(4, 4), batch=2)
    env.reset(seed=1)
    for action in [-1, env.action_space.n, 1.5, "1"]:
        with pytest.raises(meshalloc.Misuse, match="expected a whole number, 0 to 64"):
            env.step(action)
    # The episode goes on.
    assert play_on(env)
    for settings in [
        dict(strategy="naive"),
        dict(scheduler="sjf"),
        dict(replications=2),
        dict(seed=3),
        dict(window=0),
        dict(render_mode="human"),
    ]:
        (name,) = settings
        with pytest.raises(meshalloc.Misuse, match=name):
            MeshEnv(**SETTINGS | settings)
    with pytest.raises(meshalloc.Error, match="two dimensions"):
        MeshEnv(machine="tpu-v4", mix="tpu-v4")


def play_on(env):
    while True:
        *_, ends, _, info = env.step(possible(env))
        if ends:
            return info["results"]


def test_an_exception_ends_the_episode_and_the_next_step_says_so(monkeypatch):
    def broken(*_):
        raise LookupError("no idea")

    monkeypatch.setattr("meshalloc.gym._Run.propose", broken)
    env = MeshEnv(mesh=(4, 4), batch=5)
    env.reset(seed=1)
    with pytest.raises(LookupError, match="no idea"):
        play_on(env)
    with pytest.raises(meshalloc.Error, match="reset"):
        env.step(0)
    monkeypatch.undo()
    env.reset(seed=1)
    assert play_on(env)


def threads():
    """The threads of this process, also those that Python does not know."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 1


def test_environments_that_are_dropped_leave_no_thread():
    before = threading.active_count(), threads()
    for _ in range(5):
        env = MeshEnv(**SETTINGS)
        env.reset(seed=1)
        env.step(0)
        # In a cycle, as an agent that holds its environment.
        env.agent = env
        del env
    gc.collect()
    for _ in range(100):
        if (threading.active_count(), threads()) <= before:
            break
        time.sleep(0.05)
    assert (threading.active_count(), threads()) <= before


def test_a_picture_shows_each_job_in_a_colour():
    env = MeshEnv(mesh=(8, 4), load=0.8, jobs=30, render_mode="rgb_array")
    env.reset(seed=1)
    _, _, _, _, info = env.step(int(env.action_mask().argmax()))
    picture = env.render()
    assert picture.dtype == np.uint8 and picture.shape == (4 * 16, 8 * 16, 3)
    # The middle of each processor, y from below.
    middles = picture[8::16, 8::16][::-1].transpose(1, 0, 2)
    assert ((middles != 255).any(2) == (env._run.occupancy)).all()
    assert MeshEnv(**SETTINGS).render() is None


def test_vectors_of_environments():
    def make():
        return MeshEnv(mesh=(4, 4), batch=2)

    for kind in [gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv]:
        vector = kind([make] * 2)
        _, info = vector.reset(seed=1)
        for _ in range(20):
            actions = [mask.argmax() for mask in info["action_mask"]]
            _, _, _, _, info = vector.step(np.array(actions))
        vector.close()


def test_impossible_actions_wait_and_an_episode_can_be_abandoned():
    env = MeshEnv(**SETTINGS)
    env.reset(seed=1)
    env.step(int(env.action_mask().argmax()))
    before = env.action_mask()
    impossible = int(np.flatnonzero(before == 0)[0])
    _, _, ends, _, info = env.step(impossible)
    assert not info["is_possible"] and not ends and before[0] == 1
    env.reset(seed=1)
    env.close()
    with pytest.raises(meshalloc.Error):
        MeshEnv(torus=(4, 4, 4))
