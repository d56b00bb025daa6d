import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER / "examples"))


def program(variable):
    """A program that `cargo xtask python` builds and names."""
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} names no program; `cargo xtask python` does")
    return path


@pytest.fixture
def host_sim():
    """The program of the simulator."""
    return program("MESHALLOC_HOST_SIM")


class Board:
    """The board's half of the protocol in a process of its own."""

    def __init__(self):
        path = program("MESHALLOC_BOARD")
        self.process = subprocess.Popen(
            [path, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True
        )
        self.endpoint = self.process.stdout.readline().strip()
        assert self.endpoint.startswith("tcp:127.0.0.1:")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def boards():
    """Makes boards, which end with the test."""
    made = []

    def make():
        made.append(Board())
        return made[-1]

    yield make
    for board in made:
        board.close()


@pytest.fixture
def board(boards):
    """A board."""
    return boards()


def pytest_terminal_summary(terminalreporter):
    """The counts as the tests in Rust print them; `cargo xtask test` adds them up."""
    count = {name: len(found) for name, found in terminalreporter.stats.items()}
    failed = count.get("failed", 0) + count.get("error", 0)
    outcome = "FAILED" if failed else "ok"
    passed = count.get("passed", 0)
    terminalreporter.write_line(f"test result: {outcome}. {passed} passed; {failed} failed")
