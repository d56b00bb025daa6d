"""Strategies and schedulers of a file on the command line: `host-sim run --policy FILE.py`."""

import csv
import json
import os
import pathlib
import pty
import re
import shlex
import signal
import subprocess
import sys

import pytest

README = (pathlib.Path(__file__).resolve().parents[1] / "README.md").read_text()
SECTION = README.split("## Your own on the command line")[1].split("\n## ")[0]
POLICIES, COMMAND, SHOWN = re.findall(r"```(?:py|sh|text)\n(.*?)```", SECTION, re.DOTALL)
SMALL = "--mesh 8x8 --load .3 --jobs 200 --replications 2"


@pytest.fixture
def run(host_sim, tmp_path):
    """Starts `run --policy` with a file of this text, in a folder of its own."""
    folders = [pathlib.Path(sys.executable).parent, os.environ["PATH"]]
    env = os.environ | {"PATH": os.pathsep.join(map(str, folders))}

    def start(text, options, **to):
        (tmp_path / "policies.py").write_text(text)
        words = [host_sim, "run", "--policy", "policies.py", *shlex.split(options)]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | to
        return subprocess.Popen(words, env=env, cwd=tmp_path, text=True, **streams)

    return start


def ended(process):
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_file_of_the_readme(run):
    words = COMMAND.replace("\\\n", "").split(maxsplit=4)
    assert words[:4] == ["host-sim", "run", "--policy", "policies.py"]
    code, out, err = ended(run(POLICIES, words[4]))
    assert (code, err) == (0, "")
    assert out == SHOWN


def rows(text):
    """The means of a CSV, each by what it is the mean of."""
    read = csv.DictReader(text.splitlines())
    return {
        tuple(row[key] for key in ["load", "strategy", "scheduler", "metric"]): row["mean"]
        and float(row["mean"])
        for row in read
    }


def test_those_of_the_core_are_those_of_the_program(run, host_sim):
    options = "--mesh 8x8 --jobs 200 --replications 2 --load .2,.3 --scheduler fcfs,easy"
    words = [host_sim, "run", *options.split(), "--strategy", "ff", "--format", "csv"]
    program = subprocess.run(words, capture_output=True, text=True, check=True)
    code, out, _ = ended(run(POLICIES, f"{options} --strategy last_fit,ff --format csv"))
    ours, expected = rows(out), rows(program.stdout)
    assert code == 0 and len(expected) > 40
    assert expected.items() < ours.items() and len(ours) == 2 * len(expected)


def test_json_has_the_names(run):
    options = f"{SMALL} --strategy last_fit --scheduler past_blocked --format json"
    code, out, _ = ended(run(POLICIES, options))
    document = json.loads(out)
    scenario, (result,) = document["scenario"], document["results"]
    assert (code, scenario["strategy"], scenario["mesh"]) == (0, ["last_fit"], "8x8")
    assert (result["strategy"], result["scheduler"]) == ("last_fit", "past_blocked")


@pytest.mark.parametrize(
    "text, options, code, expected",
    [
        # Asked wrongly.
        (POLICIES, "--strategy lastfit", 2, r"invalid value 'lastfit'.*; policies.py has last_f"),
        (POLICIES, "--strategy ff", 2, r"nothing of policies.py is chosen .*last_fit, past"),
        (POLICIES, "--strategy last_fit --load x", 2, r"invalid value 'x' for '--load"),
        (POLICIES, "--strategy last_fit --lod 1", 2, r"unexpected argument '--lod'"),
        (POLICIES, "--strategy last_fit --save out", 2, r"--save out: with --policy, run takes"),
        ("x = 1\n", "--strategy x", 2, r"--strategy.*policies.py has"),
        # The file cannot be loaded.
        ("def f(:\n", "--strategy f", 2, r"--policy policies.py:1: SyntaxError: "),
        ("\nimport nowhere\n", "--strategy f", 2, r"--policy policies.py:2: ModuleNotFoundError: "),
        # It fails.
        ("def f(o, r):\n    return 1 / 0\n", "--strategy f", 1, r"policies.py:2: ZeroDivision"),
        ("def f(q, now):\n    return q.x\n", "--scheduler f", 1, r"policies.py:2: Attribute"),
        ("def f(o, r):\n    return (0, 0), (99, 1)\n", "--strategy f", 1, r"policies.py: Illegal"),
        ("def f(q, now):\n    return 99\n", "--scheduler f", 1, r"policies.py: Misuse: .* 99"),
    ],
)
def test_errors(run, text, options, code, expected):
    ended_with, out, err = ended(run(text, f"{SMALL} {options}"))
    assert (ended_with, out) == (code, "")
    assert re.match(f"error: .*{expected}", err), err
    assert "Traceback" not in err and err.count("error:") == 1


def test_other_commands_name_the_one_that_takes_it(host_sim):
    words = [host_sim, "compare", "--policy", "policies.py"]
    ended = subprocess.run(words, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "--policy is an option of run" in ended.stderr


def test_a_reader_that_leaves(run):
    options = f"{SMALL} --strategy last_fit --format json"
    process = run(POLICIES, options)
    process.stdout.close()
    process.stdout = None
    assert ended(process) == (0, None, "")


@pytest.mark.parametrize("option, shows", [("", True), ("--quiet", False)])
def test_progress_on_a_terminal(run, option, shows):
    ours, theirs = pty.openpty()
    process = run(POLICIES, f"{SMALL} --strategy last_fit {option}", stderr=theirs)
    assert ended(process)[0] == 0
    os.set_blocking(ours, False)
    try:
        shown = os.read(ours, 10_000)
    except BlockingIOError:
        shown = b""
    assert (b"% of the jobs" in shown) == shows
    os.close(ours)
    os.close(theirs)


@pytest.mark.parametrize(
    "sent, code, said",
    [(signal.SIGINT, 130, "error: interrupted\n"), (signal.SIGTERM, -signal.SIGTERM, "")],
)
def test_signals(run, sent, code, said):
    text = "print('begun', flush=True)\n" + POLICIES
    process = run(text, "--strategy last_fit --jobs 1000000")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(sent)
    assert ended(process) == (code, "", said)
