"""A Gymnasium environment: an agent chooses jobs and places in a simulation.

The simulation is that of `Scenario.run`. It calls a strategy and a scheduler which wait for the
agent's action:

    agent            environment                 simulation, in a thread of its own
      | -- step(a) --> | -- action --> scheduler(queue, now), propose(occupancy, request)
      | <- obs, .. --- | <-- queue, occupancy, now --- the next call of the scheduler
"""

from __future__ import annotations

import queue
import threading
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import _core
from .errors import Error
from .scenario import Results, Scenario


class _Closed(Exception):
    """The episode was abandoned."""


class MeshEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """Places jobs on a two-dimensional mesh or torus.

    `settings` are those of a `Scenario`; `replications` is 1, and `seed` comes from `reset`.

    Observation: `occupancy`, 1 where a processor is busy, and `queue`, width and height of the
    first `window` waiting jobs, 0 where there are fewer.

    Action: 0 waits; `1 + (place * W + x) * H + y` starts the job at this place in the queue, as it
    is, with its base at (x, y). An action that is not possible counts as waiting; `action_mask()`
    has those that are. Blocks that wrap around a torus are not among them.

    Reward: minus the time that passes until the next decision, in ticks times `scale`, times the
    number of jobs that wait meanwhile. The sum is minus the total waiting until the last decision.

    At the end of an episode `info["results"]` are the `Results` of the run.
    """

    def __init__(self, *, window: int = 4, scale: float = 1e-6, **settings: Any) -> None:
        self._settings = settings | {"replications": 1}
        sides = _sides(Scenario(**self._settings))
        self._sides, self._window, self._scale = sides, window, scale
        self.observation_space = spaces.Dict(
            occupancy=spaces.MultiBinary(sides),
            queue=spaces.Box(0, max(sides), (window, 2), np.int64),
        )
        self.action_space = spaces.Discrete(1 + window * sides[0] * sides[1])
        self._run: _Run | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.close()
        settings = self._settings | {"seed": int(self.np_random.integers(2**32))}
        self._run = _Run(Scenario(**settings))
        self._run.wait()
        return self._observation(), {"now": self._run.now}

    def step(
        self, action: np.int64 | int
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        if self._run is None or self._run.results is not None:
            raise Error("the episode has ended (expected `reset` before `step`)")
        run = self._run
        before, waiting = run.now, len(run.queue)
        is_possible = self.action_mask()[action] == 1
        starts = is_possible and action > 0
        if starts:
            rest, y = divmod(int(action) - 1, self._sides[1])
            place, x = divmod(rest, self._sides[0])
            run.act(place, ((x, y), run.queue[place]))
            waiting -= 1
        else:
            run.act(None, None)
        reward = -float(run.now - before) * waiting * self._scale
        info = {"now": run.now, "is_possible": is_possible}
        if run.results is not None:
            info["results"] = run.results
        return self._observation(), reward, run.results is not None, False, info

    def action_mask(self) -> np.ndarray[Any, np.dtype[np.int8]]:
        """1 for each action that is possible now. Waiting always is."""
        mask = np.zeros((self._window, *self._sides), np.int8)
        if self._run is not None and self._run.results is None:
            occupancy = self._run.occupancy
            for place, (w, h) in enumerate(self._run.queue[: self._window]):
                xs, ys = self._sides[0] - w + 1, self._sides[1] - h + 1
                if xs > 0 and ys > 0:
                    windows = np.lib.stride_tricks.sliding_window_view(occupancy, (w, h))
                    mask[place, :xs, :ys] = ~windows.any((2, 3))
        return np.concatenate([np.ones(1, np.int8), mask.ravel()])

    def close(self) -> None:
        """Abandons the episode."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def _observation(self) -> dict[str, Any]:
        assert self._run is not None
        waiting = np.zeros((self._window, 2), np.int64)
        first = self._run.queue[: self._window]
        waiting[: len(first)] = np.reshape(first, (-1, 2))
        return {"occupancy": self._run.occupancy.astype(np.int8), "queue": waiting}


def _sides(scenario: Scenario) -> tuple[int, int]:
    text = str(scenario.settings.get("mesh") or scenario.settings.get("torus"))
    sides = text.split("x")
    if len(sides) != 2:
        raise Error(f"the machine is {text} (expected a mesh or torus of two dimensions)")
    return int(sides[0]), int(sides[1])


class _Run:
    """A simulation that asks for each decision."""

    def __init__(self, scenario: Scenario) -> None:
        self.occupancy = np.zeros(0, bool)
        self.queue: list[tuple[int, int]] = []
        self.now = 0
        self.results: Results | None = None
        self._block: Any = None
        self._error: BaseException | None = None
        self._asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._actions: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._simulate, args=(scenario,), daemon=True)
        self._thread.start()

    def _simulate(self, scenario: Scenario) -> None:
        try:
            self.results = scenario.run(self, self.agent, name="agent")
        except _Closed:
            pass
        except BaseException as error:
            self._error = error
        self._asked.put(None)

    def agent(self, waiting: _core.Queue, now: int) -> int | None:
        """The job of the agent's action."""
        extents = [(*job.request.shape, 1) for job in waiting]
        self.queue, self.now = [(w, h) for w, h, *_ in extents], now
        self._asked.put(None)
        action = self._actions.get()
        if action is _Closed:
            raise _Closed
        place, self._block = action
        return place

    def begin(self, occupancy: np.ndarray[Any, Any]) -> None:
        """The simulation shows its machine in this array."""
        self.occupancy = occupancy

    def propose(self, occupancy: np.ndarray[Any, Any], request: _core.Request) -> Any:
        """The place of the agent's action."""
        return self._block

    def wait(self) -> None:
        """Until the simulation asks again, or has ended."""
        self._asked.get()
        if self._error is not None:
            raise self._error

    def act(self, place: int | None, block: Any) -> None:
        """Answers, and waits for the next question."""
        self._actions.put((place, block))
        self.wait()

    def close(self) -> None:
        self._actions.put(_Closed)
        self._thread.join()
