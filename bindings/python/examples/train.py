"""An agent that learns to place jobs, compared with one that acts at random and with first fit.

    python examples/train.py [ROUNDS]

The agent scores each possible action by a few features and draws one by the softmax of the scores.
REINFORCE (R. J. Williams, 1992) changes the weights: a round plays the same jobs several times, and
the actions of a play become more likely if it waited less than the others. The default number of
rounds takes about a minute.
"""

import sys

import numpy as np

from meshalloc.gym import MeshEnv

SETTINGS = dict(mesh=(8, 8), load=0.5, jobs=60)
FEATURES = ["starts a job", "processors", "place in the queue", "contact", "x", "y"]
ROUNDS = 120
PLAYS = 16
# The length of the step that the weights take in the first round; later ones are shorter.
STEP = 1.0


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
    """An episode. Returns its reward, and the slope of the logarithm of its chance."""
    observation, _ = env.reset(seed=seed)
    total, slope, ends = 0.0, np.zeros(len(weights)), False
    while not ends:
        actions, rows = features(env, observation)
        scores = rows @ weights
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        chosen = rng.choice(len(actions), p=chances)
        slope += rows[chosen] - chances @ rows
        observation, reward, ends, _, _ = env.step(actions[chosen])
        total += reward
    return total, slope


def train(rounds, seed=1):
    """The weights after this number of rounds."""
    env, rng = MeshEnv(**SETTINGS), np.random.default_rng(seed)
    weights = np.zeros(len(FEATURES))
    for at in range(rounds):
        plays = [play(env, 1000 + at, weights, rng) for _ in range(PLAYS)]
        totals = np.array([total for total, _ in plays])
        slope = (totals - totals.mean()) @ np.array([slopes for _, slopes in plays])
        weights += STEP / np.sqrt(1 + at) * slope / (np.linalg.norm(slope) + 1e-9)
    env.close()
    return weights


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


def compare(rounds, episodes=20):
    """Trains an agent, and returns its weights and the mean waiting of all three on other jobs."""
    weights = train(rounds)
    rng = np.random.default_rng(2)

    def learnt(env, observation):
        actions, rows = features(env, observation)
        return actions[(rows @ weights).argmax()]

    def at_random(env, observation):
        return rng.choice(np.flatnonzero(env.action_mask()))

    seeds = range(episodes)
    agents = {"at random": at_random, "first fit": first_fit, "learnt": learnt}
    return weights, {name: waiting(agent, seeds) for name, agent in agents.items()}


if __name__ == "__main__":
    weights, totals = compare(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
    for feature, weight in zip(FEATURES, weights):
        print(f"{feature:20} {weight:7.2f}")
    for name, total in totals.items():
        print(f"{name:10} waits {total:9.1f} job-seconds")
