"""Scenarios and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from . import _core
from .errors import Misuse, ScenarioError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Block = tuple[Sequence[int], Sequence[int]]
"""Start and extent of a box of processors, dimension 0 (x) first."""

Propose = Callable[["np.ndarray[Any, Any]", _core.Request], "Block | list[Block] | None"]
"""A strategy: where the job of a request is to go, or `None` if it has to wait.

The array is read-only, has an axis for each dimension, and is `True` where a processor is busy.
"""


class Strategy(Protocol):
    """A strategy as an object, or the class of such objects: each run makes one of its own.

    A method `begin(occupancy)` is called before the first request, with the array that each call of
    `propose` gets; it always shows the machine as it is.

    A method `demand(request)` may say how many free processors a request takes at least, or `None`
    if it can never be granted. Without it a request takes its number of processors.
    """

    def propose(
        self, occupancy: np.ndarray[Any, Any], request: _core.Request
    ) -> Block | list[Block] | None:
        """See `Propose`."""


Scheduler = Callable[[_core.Queue, int], "int | None"]
"""A scheduler: the place in the queue of the job that may try next, or `None` if none may.

It is called after each arrival and departure and after each attempt, with the time in ticks
(microseconds; cycles where jobs send messages). A job that has failed cannot try again before
processors become free or a waiting job is released: choosing it ends the attempts.
"""


def _text(value: Any) -> str:
    """A value as scenario files and the command line have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    if isinstance(value, Iterable):
        return ",".join(map(_text, value))
    return str(value)


def _name(policy: Any) -> str:
    return getattr(policy, "__name__", None) or type(policy).__name__


class Scenario:
    """What is to be simulated.

    The keywords are the settings of `host-sim run`, with underscores for hyphens; `settings()`
    lists them. Sides may be a tuple, several values a list.

    >>> import meshalloc
    >>> scenario = meshalloc.Scenario(mesh=(16, 16), strategy=["first-fit", "best-fit"],
    ...                               load=0.4, jobs=1000, replications=4, seed=1)
    >>> scenario.settings["scheduler"]
    'fcfs'
    >>> [result["strategy"] for result in scenario.run().strategies]
    ['first-fit', 'best-fit']
    >>> meshalloc.Scenario(mesh="16x16", lod=0.4)
    Traceback (most recent call last):
    meshalloc.errors.ScenarioError: unknown key "lod"; did you mean "load"?
    """

    def __init__(self, **settings: Any) -> None:
        given = settings.items()
        self._given = {
            key.replace("_", "-"): _text(value) for key, value in given if value is not None
        }
        #: All settings that have an effect, with their defaults.
        self.settings: dict[str, Any] = json.loads(_core.resolve(list(self._given.items())))

    def __repr__(self) -> str:
        return f"Scenario({self.settings})"

    def run(
        self,
        strategy: Propose | Strategy | type[Strategy] | None = None,
        scheduler: Scheduler | None = None,
        *,
        name: str | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> Results:
        """Simulates it.

        `strategy` and `scheduler` are your own, in place of those of the settings; with a strategy
        of your own and no scheduler, jobs are served first come, first served. `name` names the
        strategy in the results. `progress` is called about 20 times a second with the jobs that
        have left and the number that is expected.

        Other threads of Python go on meanwhile. Ctrl-C ends the run, and so does an exception of a
        policy or of `progress`, which is raised here.

        >>> import meshalloc
        >>> scenario = meshalloc.Scenario(mesh=(8, 8), load=0.3, jobs=200, replications=2)
        >>> def smallest_first(queue, now):
        ...     open = [at for at, job in enumerate(queue) if not job.has_failed]
        ...     return min(open, key=lambda at: queue[at].request.processors, default=None)
        >>> scenario.run(scheduler=smallest_first).strategies[0]["scheduler"]
        'smallest_first'
        """
        for setting, policy in [("strategy", strategy), ("scheduler", scheduler)]:
            if isinstance(policy, str):
                raise Misuse(
                    f"{setting} {policy!r}: expected one of your own (those of the core are"
                    f" settings: Scenario({setting}={policy!r}))"
                )
        given = dict(self._given)
        if strategy is not None:
            given.pop("strategy", None)
            if scheduler is None and self.settings["scheduler"] != "fcfs":
                raise ScenarioError(
                    f"`scheduler` is {self.settings['scheduler']} (expected fcfs, or a scheduler of"
                    " your own, where the strategy is your own)"
                )
        if scheduler is not None:
            given.pop("scheduler", None)
        document = json.loads(_core.run(list(given.items()), strategy, scheduler, progress))
        for result in document["results"]:
            if strategy is not None:
                result["strategy"] = _name(strategy)
            if scheduler is not None:
                result["scheduler"] = _name(scheduler)
            if name is not None:
                result["strategy"] = name
        return Results(document["scenario"], document["results"])


class Results:
    """What came out of a scenario. Those of several runs can be added.

    >>> import meshalloc
    >>> scenario = meshalloc.Scenario(mesh=(8, 8), load=0.3, jobs=200, replications=2)
    >>> both = scenario.run() + scenario.run(scheduler=lambda queue, now: 0, name="again")
    >>> frame = both.to_pandas().pivot(index="strategy", columns="metric", values="mean")
    >>> frame["utilization"].nunique()
    1
    """

    def __init__(self, settings: dict[str, Any], strategies: list[dict[str, Any]]) -> None:
        #: The settings of the first run, with their defaults.
        self.settings = settings
        #: What came out for each strategy, as in the JSON of `host-sim run`.
        self.strategies = strategies

    def __add__(self, other: Results) -> Results:
        return Results(self.settings, self.strategies + other.strategies)

    def __getitem__(self, strategy: str) -> dict[str, Any]:
        """What came out for the strategy of this name."""
        for result in self.strategies:
            if result["strategy"] == strategy:
                return result
        names = ", ".join(result["strategy"] for result in self.strategies)
        raise KeyError(f"no strategy {strategy!r} in these results (there are: {names})")

    def __repr__(self) -> str:
        def cell(result: dict[str, Any], metric: str) -> str:
            mean = result["metrics"].get(metric, {}).get("mean")
            missing = "saturated" if result["saturated"] else "-"
            return missing if mean is None else f"{mean:.4g}"

        metrics = ["utilization", "waiting_delay", "turnaround"]
        rows = [["strategy", "scheduler", *metrics]]
        for result in self.strategies:
            cells = [cell(result, metric) for metric in metrics]
            rows.append([result["strategy"], result["scheduler"], *cells])
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The settings and the results, with the keys of the JSON of `host-sim run`."""
        return {"scenario": self.settings, "results": self.strategies}

    def columns(self) -> dict[str, list[Any]]:
        """A table with a row for each strategy and metric.

        `low` and `high` are the ends of the 95 % confidence interval. `None` stands for what has no
        value.
        """
        names = ["mean", "low", "high", "standard_deviation", "replications"]
        table: dict[str, list[Any]] = {
            name: [] for name in ["strategy", "scheduler", "metric", *names]
        }
        for result in self.strategies:
            for metric, estimate in result["metrics"].items():
                table["strategy"].append(result["strategy"])
                table["scheduler"].append(result["scheduler"])
                table["metric"].append(metric)
                for name in names:
                    table[name].append(estimate[name])
        return table

    def to_pandas(self) -> pd.DataFrame:
        """`columns()` as a frame of pandas, which has to be installed."""
        import pandas

        frame = pandas.DataFrame(self.columns())
        numbers = ["mean", "low", "high", "standard_deviation"]
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def to_polars(self) -> pl.DataFrame:
        """`columns()` as a frame of polars, which has to be installed."""
        import polars

        return polars.DataFrame(self.columns(), strict=False)

    def to_arrow(self) -> pa.Table:
        """`columns()` as a table of Arrow; pyarrow has to be installed."""
        import pyarrow

        return pyarrow.table(self.columns())
