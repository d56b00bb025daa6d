import os
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER / "examples"))


@pytest.fixture
def host_sim():
    """The program of the simulator; `cargo xtask python` builds it and names it."""
    path = os.environ.get("MESHALLOC_HOST_SIM")
    if not path:
        pytest.skip("MESHALLOC_HOST_SIM names no host-sim; `cargo xtask python` does")
    return path
