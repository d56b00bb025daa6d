"""A short training of the example."""

import pytest

pytest.importorskip("gymnasium")
import train  # noqa: E402


def test_an_agent_that_has_learnt_waits_less_than_one_at_random():
    weights, totals = train.compare(rounds=5, episodes=6)
    assert totals["learnt"] < 0.8 * totals["at random"]
    # One seed, one result.
    assert (train.train(rounds=2) == train.train(rounds=2)).all()
    assert len(weights) == len(train.FEATURES)
