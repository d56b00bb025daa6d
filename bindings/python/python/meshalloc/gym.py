"""A Gymnasium environment: an agent chooses jobs and places in a simulation.

The simulation is that of `Scenario.run`. It calls a strategy and a scheduler which wait for the
agent's action:

    agent            environment                 simulation, in a thread of its own
      | -- step(a) --> | -- action --> scheduler(queue, now), propose(occupancy, request)
      | <- obs, .. --- | <-- queue, occupancy, now --- the next call of the scheduler

After `import meshalloc.gym` its name in Gymnasium is `meshalloc/Mesh-v0`.
"""

from __future__ import annotations

import queue
import threading
import weakref
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from . import _core
from .errors import Error, Misuse
from .scenario import Results, Scenario

Mask = np.ndarray[Any, np.dtype[np.int8]]

FREE, FAULTY = (255, 255, 255), (40, 40, 40)
"""The colours of processors in a picture, besides those of jobs."""

JOBS = [(78, 121, 167), (242, 142, 43), (89, 161, 79), (237, 201, 72), (176, 122, 161)]
"""The colours of jobs, in turn."""

CELL = 16
"""The side of a processor in a picture, in pixels."""


class _Closed(Exception):
    """The episode was abandoned."""


class MeshEnv(gymnasium.Env[dict[str, Any], np.int64]):
    """Places jobs on a two-dimensional mesh or torus.

    `settings` are those of a `Scenario`, without `strategy`, `scheduler` and `replications`, which
    is 1; `seed` is an argument of `reset`. Jobs that do not fit as they are, without turning, are
    refused.

    Observation: `occupancy`, 1 where a processor is busy, and `queue`, width and height of the
    first `window` waiting jobs, 0 where there are fewer.

    Action: 0 waits; `1 + (place * W + x) * H + y` starts the job at this place in the queue, as it
    is, with its base at (x, y). Blocks that wrap around a torus are not among them. Waiting is not
    possible while no job runs and one can be started. An action that is not possible counts as the
    first that is: waiting, if it is possible. `action_mask()` and `info["action_mask"]` have the
    possible actions.

    Reward: minus the seconds (cycles where jobs send messages) until the next decision, times the
    number of jobs that wait meanwhile, times `scale`. The sum is minus the total waiting until the
    last decision.

    At the end of an episode `info["results"]` are the `Results` of the run. An episode whose jobs
    can never run, as the processors that they need have failed, is truncated; `info["error"]` says
    why.

    With `render_mode="rgb_array"`, `render()` returns a picture of the machine, x to the right and
    y upwards, with a colour for each job.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}

    def __init__(
        self,
        *,
        window: int = 4,
        scale: float = 1.0,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        for name in ["strategy", "scheduler", "replications", "seed"]:
            if settings.get(name) is not None:
                where = "as an argument of `reset`" if name == "seed" else "no such setting"
                raise Misuse(f"`{name}` is given (expected {where})")
        if window < 1:
            raise Misuse(f"`window` is {window} (expected 1 or more)")
        if render_mode not in [None, "rgb_array"]:
            raise Misuse(f"`render_mode` is {render_mode!r} (expected 'rgb_array' or None)")
        is_log = settings.get("log") is not None
        # A log that is not resampled has one anyway.
        one = {} if is_log and settings.get("resample") is None else {"replications": 1}
        self._settings = settings | one
        sides = _sides(Scenario(**self._settings))
        self._sides, self._window, self._scale = sides, window, scale
        self.render_mode = render_mode
        self.observation_space = spaces.Dict(
            occupancy=spaces.MultiBinary(sides),
            queue=spaces.Box(0, max(sides), (window, 2), np.int64),
        )
        self.action_space = spaces.Discrete(1 + window * sides[0] * sides[1])
        self._run: _Run | None = None
        #: The possible actions, until the simulation goes on.
        self._mask: Mask | None = None
        #: Ends the threads of the run, also if the environment is dropped.
        self._end = weakref.finalize(self, lambda: None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.close()
        settings = self._settings | {"seed": int(self.np_random.integers(2**32))}
        run = self._run = _Run(Scenario(**settings), self._sides)
        self._end = weakref.finalize(self, run.close)
        self._go(run.wait)
        if run.results is not None:
            self.close()
            raise Error("no job can be placed: all are refused")
        return self._observation(), {"now": run.now, "action_mask": self.action_mask()}

    def step(
        self, action: np.int64 | int
    ) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        run = self._run
        if run is None or run.has_ended():
            raise Error("the episode has ended (expected `reset` before `step`)")
        if not self.action_space.contains(action):
            last = 1 + self._window * self._sides[0] * self._sides[1] - 1
            raise Misuse(f"action {action!r}: expected a whole number, 0 to {last}")
        before, waiting = run.now, len(run.queue)
        mask = self.action_mask()
        is_possible = bool(mask[action])
        chosen = int(action) if is_possible else int(mask.argmax())
        if chosen > 0:
            rest, y = divmod(chosen - 1, self._sides[1])
            place, x = divmod(rest, self._sides[0])
            self._go(run.start, place, (x, y))
            waiting -= 1
        else:
            self._go(run.pause)
        reward = -(run.now - before) * waiting * self._scale
        info = {"now": run.now, "is_possible": is_possible, "action_mask": self.action_mask()}
        if run.results is not None:
            info["results"] = run.results
        if run.stalled is not None:
            info["error"] = run.stalled
        ends, is_truncated = run.results is not None, run.stalled is not None
        return self._observation(), reward, ends, is_truncated, info

    def action_mask(self) -> Mask:
        """1 for each action that is possible now."""
        if self._mask is None:
            self._mask = self._possible()
        return self._mask.copy()

    def action_masks(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The same as truth values, which `MaskablePPO` of sb3-contrib calls."""
        return self.action_mask().astype(bool)

    def render(self) -> np.ndarray[Any, np.dtype[np.uint8]] | None:  # type: ignore[override]
        if self.render_mode is None or self._run is None:
            return None
        cells = np.full((*self._sides, 3), FREE, np.uint8)
        cells[self._run.occupancy] = FAULTY
        for number, block in self._run.running.items():
            cells[block] = JOBS[number % len(JOBS)]
        picture = cells.transpose(1, 0, 2)[::-1].repeat(CELL, 0).repeat(CELL, 1)
        # A line between processors.
        picture[::CELL] = picture[:, ::CELL] = FREE
        return picture

    def close(self) -> None:
        """Abandons the episode."""
        self._run = self._mask = None
        self._end()

    def _possible(self) -> Mask:
        mask = np.zeros((self._window, *self._sides), np.int8)
        has_to_start = False
        if self._run is not None and not self._run.has_ended():
            occupancy = self._run.occupancy
            for place, (w, h) in enumerate(self._run.queue[: self._window]):
                windows = np.lib.stride_tricks.sliding_window_view(occupancy, (w, h))
                free = ~windows.any((2, 3))
                mask[place, : free.shape[0], : free.shape[1]] = free
            has_to_start = bool(mask.any()) and not self._run.running
        return np.concatenate([np.array([not has_to_start], np.int8), mask.ravel()])

    def _go(self, what: Any, *arguments: Any) -> None:
        """Lets the simulation go on. After an exception the episode has ended."""
        self._mask = None
        try:
            what(*arguments)
        except BaseException:
            self.close()
            raise

    def _observation(self) -> dict[str, Any]:
        assert self._run is not None
        waiting = np.zeros((self._window, 2), np.int64)
        first = self._run.queue[: self._window]
        waiting[: len(first)] = np.reshape(first, (-1, 2))
        return {"occupancy": self._run.occupancy.astype(np.int8), "queue": waiting}


def _sides(scenario: Scenario) -> tuple[int, int]:
    machines = [scenario.settings.get(name) for name in ["mesh", "torus", "machine"]]
    text = next(str(machine) for machine in machines if machine)
    sides = text.split("x")
    if len(sides) != 2 or not all(map(str.isdecimal, sides)):
        raise Error(f"the machine is {text} (expected a mesh or torus of two dimensions)")
    return int(sides[0]), int(sides[1])


class _Run:
    """A simulation that asks for each decision."""

    def __init__(self, scenario: Scenario, sides: tuple[int, int]) -> None:
        self.occupancy = np.zeros(0, bool)
        self.queue: list[tuple[int, int]] = []
        self.now = 0.0
        #: The blocks of the jobs that run, by the numbers of their starts.
        self.running: dict[int, tuple[slice, slice]] = {}
        self.results: Results | None = None
        #: Why the simulation cannot go on.
        self.stalled: str | None = None
        self._sides, self._starts = sides, 0
        self._block: Any = None
        self._error: BaseException | None = None
        self._asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._places: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._simulate, args=(scenario,), daemon=True)
        self._thread.start()

    def _simulate(self, scenario: Scenario) -> None:
        try:
            self.results = scenario.run(self, self.agent, name="agent")
        except _Closed:
            pass
        except BaseException as error:
            if type(error) is Error:
                self.stalled = str(error)
            else:
                self._error = error
        self._asked.put(None)

    def has_ended(self) -> bool:
        return self.results is not None or self.stalled is not None

    def agent(self, waiting: _core.Queue, now: float) -> int | None:
        """The job of the agent's action."""
        extents = [(*job.request.shape, 1) for job in waiting]
        self.queue, self.now = [(w, h) for w, h, *_ in extents], now
        # All processors of a job become free at once.
        self.running = {
            number: block
            for number, block in self.running.items()
            if self.occupancy[block].all()
        }
        self._asked.put(None)
        place = self._places.get()
        if place is _Closed:
            raise _Closed
        return place

    def begin(self, occupancy: np.ndarray[Any, Any]) -> None:
        """The simulation shows its machine in this array."""
        self.occupancy = occupancy

    def demand(self, request: _core.Request) -> int | None:
        """Refuses jobs that do not fit as they are: they could never start."""
        w, h, *rest = (*request.shape, 1)
        fits = w <= self._sides[0] and h <= self._sides[1] and max(rest, default=1) == 1
        return request.processors if fits else None

    def propose(self, occupancy: np.ndarray[Any, Any], request: _core.Request) -> Any:
        """The place of the agent's action."""
        return self._block

    def wait(self) -> None:
        """Until the simulation asks again, or has ended."""
        self._asked.get()
        if self._error is not None:
            raise self._error

    def start(self, place: int, base: tuple[int, int]) -> None:
        """Starts the job at this place in the queue, and waits for the next question."""
        (x, y), (w, h) = base, self.queue[place]
        self._block = (base, (w, h))
        self.running[self._starts] = slice(x, x + w), slice(y, y + h)
        self._starts += 1
        self._places.put(place)
        self.wait()

    def pause(self) -> None:
        """Starts no job, and waits for the next question."""
        self._places.put(None)
        self.wait()

    def close(self) -> None:
        """Ends the threads of the simulation."""
        self._places.put(_Closed)
        self._thread.join()


gymnasium.register("meshalloc/Mesh-v0", entry_point="meshalloc.gym:MeshEnv")
