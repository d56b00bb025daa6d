"""`python -m meshalloc run --policy FILE.py`: strategies and schedulers of a file.

`host-sim run --policy FILE.py` starts this with the same options.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import runpy
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, TextIO

from . import __version__, _core
from .errors import ScenarioError
from .scenario import Results, Scenario

POLICIES = ["strategy", "scheduler"]

Points = dict[tuple[tuple[str, str], ...], Results]
"""What came out at each point of a study, whose label has the settings that differ."""


def _defined(path: pathlib.Path) -> dict[str, Any]:
    """The functions and classes that a file defines, whose folder has what it imports."""
    sys.path.insert(0, str(path.parent))
    items = runpy.run_path(str(path), run_name="policy").items()
    return {
        name: item
        for name, item in items
        if getattr(item, "__module__", None) == "policy" and not name.startswith("_")
    }


def _chosen(given: dict[str, str], own: dict[str, Any], file: str) -> list[list[str | None]]:
    """The strategies and the schedulers of the options, by their names, those of the core first.

    `None` stands for the default, or for those of the scenario file.
    """
    chosen: list[list[str | None]] = []
    for setting in POLICIES:
        names = list(dict.fromkeys(given.pop(setting, "").split(",")))
        others = ",".join(name for name in names if name and name not in own)
        try:
            core = _core.values(setting, others) if others else []
        except ScenarioError as error:
            raise ScenarioError(f"{error}; {file} has {', '.join(own)}") from None
        chosen.append([*core, *(name for name in names if name in own)] or [None])
    if not any(name in own for names in chosen for name in names):
        raise ScenarioError(
            f"nothing of {file} is chosen (expected --strategy or --scheduler with one of"
            f" {', '.join(own) or 'the functions and classes that it defines'})"
        )
    return chosen


def _points(
    given: dict[str, str],
    scenario: pathlib.Path | None,
    own: dict[str, Any],
    file: str,
    progress: Callable[[int, int], None] | None,
) -> Points:
    points: Points = {}
    strategies, schedulers = _chosen(given, own, file)
    for names in [(strategy, scheduler) for strategy in strategies for scheduler in schedulers]:
        policies = {key: name for key, name in zip(POLICIES, names) if name is not None}
        ours = {key: name for key, name in policies.items() if name in own}
        texts = given | {key: name for key, name in policies.items() if name not in own}
        for label, settings in _core.points(list(texts.items()), scenario):
            functions: dict[str, Any] = {key: own[name] for key, name in ours.items()}
            results = Scenario(**json.loads(settings)).run(**functions, progress=progress)
            for result in results:
                result.update(ours)
            earlier = points.get(tuple(label))
            points[tuple(label)] = results if earlier is None else earlier + results
    for results in points.values():
        results.settings["strategy"] = list(dict.fromkeys(it["strategy"] for it in results))
        results.settings["scheduler"] = ",".join(dict.fromkeys(it["scheduler"] for it in results))
    return points


def _write(points: Points, form: str, output: TextIO) -> None:
    if form == "csv":
        writer = csv.writer(output, lineterminator="\n")
        for at, (label, results) in enumerate(points.items()):
            columns = results.columns()
            del columns["standard_deviation"]
            if at == 0:
                writer.writerow([key.replace("-", "_") for key, _ in label] + list(columns))
            for row in zip(*columns.values()):
                writer.writerow([value for _, value in label] + list(row))
    elif form == "json":
        document: dict[str, Any] = {"program": "meshalloc", "version": __version__}
        documents = [results.to_dict() for results in points.values()]
        if list(points) == [()]:
            document |= documents[0]
        else:
            document["axes"] = [key for key, _ in next(iter(points))]
            document["points"] = documents
        json.dump(document, output, indent=2)
        output.write("\n")
    else:
        for label, results in points.items():
            if label:
                output.write(" ".join(f"{key}={value}" for key, value in label) + "\n")
            output.write(f"{results}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="host-sim run",
        usage="host-sim run --policy FILE.py [--SETTING VALUE]...",
        description="The settings are those of `host-sim run --help`.",
        allow_abbrev=False,
    )
    parser.add_argument("command", choices=["run"], help=argparse.SUPPRESS)
    parser.add_argument("--policy", metavar="FILE.py", type=pathlib.Path, required=True)
    parser.add_argument("--scenario", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--format", choices=["table", "csv", "json"], default="table")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--color", help=argparse.SUPPRESS)
    for name, *_ in _core.settings():
        is_switch = _core.form(name)[0] == "switch"
        parser.add_argument(
            "--" + name.replace("_", "-"),
            action="append",
            nargs="?" if is_switch else None,
            const="true" if is_switch else None,
            help=argparse.SUPPRESS,
        )
    return parser


def _failed(error: Exception, file: str) -> str:
    """What went wrong, and at which line of the file if it was there."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines, error = [error.lineno], type(error)(error.msg)
    place = ":".join([file, *map(str, lines[-1:])])
    return f"{place}: {type(error).__name__}: {error}"


def _interrupt(*_: Any) -> None:
    """The first Ctrl-C ends the run, the second one the process."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise KeyboardInterrupt


def _progress(done: int, expected: int) -> None:
    print(f"{done / max(expected, done, 1):4.0%} of the jobs", end="\r", file=sys.stderr)


def _carried_out(arguments: list[str] | None) -> tuple[int, str]:
    """Carries the command out; returns its exit code and what is wrong."""
    parser = _parser()
    args, rest = parser.parse_known_args(arguments)
    if rest:
        takes = "with --policy, run takes settings, --scenario, --format and --quiet"
        return 2, f"{' '.join(rest)}: {takes}"
    given = {
        name.replace("_", "-"): ",".join(getattr(args, name))
        for name, *_ in _core.settings()
        if getattr(args, name)
    }
    file = str(args.policy)
    try:
        own = _defined(args.policy)
    except Exception as error:
        return 2, f"--policy {_failed(error, file)}"
    progress = _progress if sys.stderr.isatty() and not args.quiet else None
    try:
        points = _points(given, args.scenario, own, file, progress)
    except ScenarioError as error:
        return 2, str(error)
    except Exception as error:
        return 1, _failed(error, file)
    finally:
        if progress is not None:
            print("\033[K", end="", file=sys.stderr)
    try:
        _write(points, args.format, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python writes what is left once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return 2, f"standard output: cannot write: {error}"
    return 0, ""


def main(arguments: list[str] | None = None) -> int:
    """Carries the command out; returns its exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    try:
        code, wrong = _carried_out(arguments)
    except KeyboardInterrupt:
        code, wrong = 130, "interrupted"
    if wrong:
        print(f"error: {wrong}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
