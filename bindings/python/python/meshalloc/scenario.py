"""Scenarios and their results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from . import _core
from .errors import Misuse, ScenarioError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Block = tuple[Sequence[int], Sequence[int]]
"""Start and extent of a box of processors, dimension 0 (x) first."""

Propose = Callable[[np.ndarray[Any, Any], _core.Request], "Block | list[Block] | None"]
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


Scheduler = Callable[[_core.Queue, float], "int | None"]
"""A scheduler: the place in the queue of the job that may try next, or `None` if none may.

It is called after each arrival and departure and after each attempt, with the time in seconds
(cycles where jobs send messages). A job that has failed cannot try again before
processors become free or a waiting job is released: choosing it ends the attempts.
"""


def _text(setting: str, value: Any) -> str:
    """A value as scenario files and the command line have it; the setting says what is allowed."""
    form, values = _core.form(setting)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str):
        return value
    if form in ("file", "named") and isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, bool):
        if form == "switch":
            return str(value).lower()
    elif isinstance(value, int | float):
        if form in ("text", "number"):
            return str(value)
    elif isinstance(value, Mapping):
        # Such as NAME=COLUMN.
        if "=" in values:
            return ",".join(f"{key}={part}" for key, part in value.items())
    elif isinstance(value, Sequence):
        text = _joined(form, values, [part.item() if _is_scalar(part) else part for part in value])
        if text is not None:
            return text
    expected = {
        "switch": "True or False",
        "number": "a number",
        "list": "a text, or a list of texts",
        "file": "the path of a file",
        "named": f"a text: {values}",
        "text": f"a text: {values}",
    }[form]
    if form == "file" and hasattr(value, "to_csv"):
        expected += "; a frame is written to one with its `to_csv(path, index=False)`"
    shown = f"a {type(value).__name__}" if hasattr(value, "columns") else repr(value)
    raise ScenarioError(f"`{setting}` is {shown} (expected {expected})")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, np.generic)


def _joined(form: str, values: str, parts: Sequence[Any]) -> str | None:
    """Several values in the form that `values` shows, such as WxH...; `None` if it shows one."""

    def are(kind: Any, parts: Sequence[Any]) -> bool:
        return all(isinstance(part, kind) and not isinstance(part, bool) for part in parts)

    if not parts:
        return None
    if form == "list" or "+" in values:
        return ("," if form == "list" else "+").join(parts) if are(str, parts) else None
    if values.startswith("WxH"):
        return "x".join(map(str, parts)) if are(int, parts) else None
    if values.startswith("MIN..MAX"):
        # One range for all dimensions, or one for each.
        ranges = [parts] if are(int, parts) else parts
        for pair in ranges:
            if not (isinstance(pair, Sequence) and len(pair) == 2 and are(int, pair)):
                return None
        return ",".join(f"{low}..{high}" for low, high in ranges)
    if form == "text" and "," in values and "=" not in values and are(int | float, parts):
        return ",".join(map(str, parts))
    return None


def _name(policy: Any) -> str:
    return getattr(policy, "__name__", None) or type(policy).__name__


class Scenario:
    """What is to be simulated.

    The keywords are the settings of `host-sim run`, with underscores for hyphens and `from_` for
    `from`; `settings()` lists them. `machine` is named as for `Allocator`.

    Values may have the types of Python that the form of the setting suggests: sides `(16, 22)`, a
    range `(1, 4)` or one for each dimension `[(1, 4), (2, 3)]`, several names a list, and pairs of
    names and values a dict.

    >>> import meshalloc
    >>> scenario = meshalloc.Scenario(mesh=(16, 16), strategy=["first-fit", "best-fit"],
    ...                               load=0.4, jobs=1000, replications=4, seed=1)
    >>> scenario.settings["scheduler"]
    'fcfs'
    >>> [result["strategy"] for result in scenario.run().strategies]
    ['first-fit', 'best-fit']
    >>> meshalloc.Scenario(mesh="16x16", lod=0.4)
    Traceback (most recent call last):
    meshalloc.errors.ScenarioError: unknown setting "lod"; did you mean "load"?
    """

    def __init__(self, **settings: Any) -> None:
        self._given: dict[str, str] = {}
        given = {key.rstrip("_"): value for key, value in settings.items() if value is not None}
        for name, value in given.items():
            if name == "machine" and not isinstance(value, str | os.PathLike):
                value = f"mesh {_text('mesh', value)}"
            self._given[name] = _text(name, value)
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
        jobs: bool = False,
    ) -> Results:
        """Simulates it.

        `strategy` and `scheduler` are your own, in place of those of the settings. `name` names the
        strategy in the results. `progress` is called about 20 times a second with the jobs that
        have left and the number that is expected. With `jobs` the results have a table of single
        jobs (`Results.jobs`), which takes memory for each.

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
        if scheduler is not None:
            given.pop("scheduler", None)
        if name is not None and strategy is None and len(self.settings["strategy"]) > 1:
            names = ", ".join(self.settings["strategy"])
            raise Misuse(f"`name` is {name!r}: expected one strategy for it, not {names}")
        text, tables = _core.run(list(given.items()), strategy, scheduler, progress, jobs)
        document = json.loads(text)
        for result in document["results"]:
            if strategy is not None:
                result["strategy"] = _name(strategy)
            if scheduler is not None:
                result["scheduler"] = _name(scheduler)
            if name is not None:
                result["strategy"] = name
        return Results(document["scenario"], document["results"], tables)


def _names(result: dict[str, Any]) -> tuple[str, str]:
    return result["strategy"], result["scheduler"]


class Results:
    """What came out of a scenario: iterates over the results of its strategies.

    Those of several runs can be added, if strategies or schedulers have different names.

    >>> import meshalloc
    >>> scenario = meshalloc.Scenario(mesh=(8, 8), load=0.3, jobs=200, replications=2)
    >>> both = scenario.run() + scenario.run(scheduler=lambda queue, now: 0, name="again")
    >>> [(result["strategy"], result["saturated"]) for result in both]
    [('first-fit', False), ('again', False)]
    >>> frame = both.to_pandas().pivot(index="strategy", columns="metric", values="mean")
    >>> frame["utilization"].nunique()
    1
    """

    def __init__(
        self,
        settings: dict[str, Any],
        strategies: list[dict[str, Any]],
        tables: list[dict[str, list[Any]]] | None = None,
    ) -> None:
        #: The settings of the first run, with their defaults.
        self.settings = settings
        #: What came out for each strategy, as in the JSON of `host-sim run`.
        self.strategies = strategies
        # The jobs of each strategy.
        self._tables = tables

    def __add__(self, other: Results) -> Results:
        if not isinstance(other, Results):
            return NotImplemented
        for result in other:
            names = _names(result)
            if names in map(_names, self):
                raise Misuse(
                    f"strategy {names[0]!r} under {names[1]} is in both results (expected another"
                    " name: Scenario.run(name=...))"
                )
        tables = None
        if self._tables is not None and other._tables is not None:
            tables = self._tables + other._tables
        return Results(self.settings, self.strategies + other.strategies, tables)

    def __len__(self) -> int:
        return len(self.strategies)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.strategies)

    def __contains__(self, strategy: object) -> bool:
        """Whether there is a strategy of this name."""
        return any(result["strategy"] == strategy for result in self)

    def __getitem__(self, strategy: str) -> dict[str, Any]:
        """What came out for the strategy of this name."""
        found = [result for result in self if result["strategy"] == strategy]
        if not found:
            names = ", ".join(result["strategy"] for result in self)
            raise KeyError(f"no strategy {strategy!r} in these results (there are: {names})")
        if len(found) > 1:
            schedulers = ", ".join(result["scheduler"] for result in found)
            raise KeyError(
                f"strategy {strategy!r} is in these results under several schedulers"
                f" ({schedulers}); iterate over the results"
            )
        return found[0]

    def __repr__(self) -> str:
        def cell(result: dict[str, Any], metric: str) -> str:
            mean = result["metrics"].get(metric, {}).get("mean")
            missing = "saturated" if result["saturated"] else "-"
            return missing if mean is None else f"{mean:.4g}"

        metrics = ["utilization", "waiting_delay", "turnaround"]
        rows = [["strategy", "scheduler", *metrics]]
        for result in self:
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
        for result in self:
            for metric, estimate in result["metrics"].items():
                table["strategy"].append(result["strategy"])
                table["scheduler"].append(result["scheduler"])
                table["metric"].append(metric)
                for name in names:
                    table[name].append(estimate[name])
        return table

    def jobs(self) -> dict[str, list[Any]]:
        """A table with a row for each measured job of every strategy and replication.

        The columns have the names and the units of a file of `host-sim run -o jobs.csv`. `None`
        stands for what has no value. `pandas.DataFrame(results.jobs())` is a frame.
        """
        if self._tables is None:
            raise Misuse("these results have no jobs (expected those of `run(jobs=True)`)")
        table: dict[str, list[Any]] = {"strategy": [], "scheduler": []}
        for result, columns in zip(self, self._tables, strict=True):
            for name in ["strategy", "scheduler"]:
                table[name] += [result[name]] * len(columns["job_id"])
            for name, values in columns.items():
                table.setdefault(name, []).extend(values)
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
