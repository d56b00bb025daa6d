"""An agent that learns to place jobs, compared with one that acts at random and with first fit.

    python examples/train.py [SECONDS]

The agent scores each possible action by a few features and draws one by the softmax of the scores.
REINFORCE (R. J. Williams, 1992) changes the weights: each round plays the same jobs several times,
and actions become more likely in those plays that waited less than the others from then on.
"""

import sys
import time

import numpy as np

from meshalloc.gym import MeshEnv

SETTINGS = dict(mesh=(8, 8), load=0.5, jobs=60)
FEATURES = ["starts a job", "processors", "place in the queue", "contact", "x", "y"]
PLAYS = 8
RATE = 0.3


def features(env, observation):
    """A row for each possible action: the action, and its features, 0 to 1."""
    actions = np.flatnonzero(env.action_mask())
    occupancy = observation["occupancy"]
    width, height = occupancy.shape
    place, rest = np.divmod(actions - 1, width * height)
    x, y = np.divmod(rest, height)
    starts = actions > 0
    w, h = observation["queue"][np.where(starts, place, 0)].T
    # sums[x, y]: the busy processors left of x and below y, walls counted as busy.
    walls = np.pad(occupancy, 1, constant_values=1)
    sums = np.pad(walls.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    right, top = np.minimum(x + w + 2, width + 2), np.minimum(y + h + 2, height + 2)
    around = sums[right, top] - sums[x, top] - sums[right, y] + sums[x, y]
    rows = [
        np.ones(len(actions)),
        w * h / (width * height),
        place / len(observation["queue"]),
        around / (2 * (w + h) + 4),
        x / width,
        y / height,
    ]
    return actions, np.where(starts, rows, 0).T


def play(env, seed, weights, rng):
    """An episode. Returns its rewards, and for each action how it follows from the weights."""
    observation, _ = env.reset(seed=seed)
    rewards, slopes, ends = [], [], False
    while not ends:
        actions, rows = features(env, observation)
        scores = rows @ weights
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        chosen = rng.choice(len(actions), p=chances)
        slopes.append(rows[chosen] - chances @ rows)
        observation, reward, ends, _, _ = env.step(actions[chosen])
        rewards.append(reward)
    return np.array(rewards), np.array(slopes)


def train(seconds, seed=1):
    """The weights after this time."""
    env, rng = MeshEnv(**SETTINGS), np.random.default_rng(seed)
    weights, rounds, end = np.zeros(len(FEATURES)), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        plays = [play(env, 1000 + rounds, weights, rng) for _ in range(PLAYS)]
        # What each play waits from each of its actions on, and the same without its mean.
        totals = np.array([rewards.sum() for rewards, _ in plays])
        advantages = (totals - totals.mean()) / (totals.std() + 1e-9)
        slope = sum(
            advantage * slopes.mean(0) for advantage, (_, slopes) in zip(advantages, plays)
        )
        weights += RATE * slope / PLAYS * 10
        rounds += 1
    env.close()
    return weights, rounds


def first_fit(env, observation):
    """The first job that fits, at the first base in row-major order; else wait."""
    actions, rows = features(env, observation)
    order = np.lexsort((rows[:, 4], rows[:, 5], rows[:, 2], -rows[:, 0]))
    return actions[order[0]]


def waiting(agent, seeds):
    """The mean total waiting of an agent over episodes with these seeds."""
    env, totals = MeshEnv(**SETTINGS), []
    for seed in seeds:
        observation, _ = env.reset(seed=seed)
        total, ends = 0.0, False
        while not ends:
            observation, reward, ends, _, _ = env.step(agent(env, observation))
            total -= reward
        totals.append(total)
    env.close()
    return float(np.mean(totals))


def compare(seconds, episodes=20):
    """Trains an agent, and returns the mean waiting of all three on other jobs."""
    weights, rounds = train(seconds)
    rng = np.random.default_rng(2)

    def learnt(env, observation):
        actions, rows = features(env, observation)
        return actions[(rows @ weights).argmax()]

    def at_random(env, observation):
        return rng.choice(np.flatnonzero(env.action_mask()))

    seeds = range(episodes)
    agents = {"at random": at_random, "first fit": first_fit, "learnt": learnt}
    return {name: waiting(agent, seeds) for name, agent in agents.items()}, weights, rounds


if __name__ == "__main__":
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    totals, weights, rounds = compare(seconds)
    print(f"{rounds} rounds of {PLAYS} plays")
    for feature, weight in zip(FEATURES, weights):
        print(f"  {feature:20} {weight:7.2f}")
    for name, total in totals.items():
        print(f"{name:10} waits {total:9.1f} job-seconds")
