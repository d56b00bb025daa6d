"""The examples in docstrings and in the README, and the types."""

import doctest
import pathlib
import subprocess
import sys

import pytest

import meshalloc
import meshalloc._core
import meshalloc.errors
import meshalloc.scenario

FOLDER = pathlib.Path(__file__).resolve().parents[1]
# The board of the README.
BOARD = "tcp:127.0.0.1:4000"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def rust_docs():
    # doctest finds no classes of an extension module.
    for name in dir(meshalloc._core):
        item = getattr(meshalloc._core, name)
        if ">>>" in (getattr(item, "__doc__", None) or ""):
            yield name, item.__doc__


@pytest.mark.parametrize("name, text", list(rust_docs()), ids=lambda value: value[:20])
def test_docstrings_of_rust(name, text):
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed == 0


def test_rust_has_docstrings():
    assert {"Allocator", "Controller", "Request"} <= {name for name, _ in rust_docs()}


@pytest.mark.parametrize("module", [meshalloc.errors, meshalloc.scenario])
def test_docstrings_of_python(module):
    outcome = doctest.testmod(module, optionflags=OPTIONS)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_readme(board):
    text = (FOLDER / "README.md").read_text()
    assert BOARD in text
    text = text.replace(BOARD, board.endpoint)
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", "README.md", 0)
    assert len(test.examples) > 10
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed == 0


def test_stubs_match():
    """The stubs have the names of the Rust half."""
    stubs = (FOLDER / "python/meshalloc/_core.pyi").read_text()
    for name in dir(meshalloc._core):
        if name.startswith("_"):
            continue
        item = getattr(meshalloc._core, name)
        kind = "class" if isinstance(item, type) else "def"
        assert f"{kind} {name}" in stubs
        if kind == "class":
            begin = stubs.index(f"class {name}")
            body = stubs[begin : stubs.find("\nclass ", begin + 1)]
            for member in vars(item):
                if not member.startswith("_"):
                    assert f"def {member}(" in body, f"{name}.{member}"


def test_types():
    """The Python half is typed correctly."""
    pytest.importorskip("mypy")
    files = sorted((FOLDER / "python/meshalloc").glob("*.py"))
    subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--no-error-summary", *files],
        check=True,
    )
