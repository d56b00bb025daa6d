"""The notebooks run from the first cell to the last, and their results can be."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"


# What holds after the last cell.
CHECKS = {
    "waiting-delay": """
assert delays.shape == (4, 3)
assert (delays.diff().dropna() > 0).all(axis=None), "more load, more waiting"
assert (delays["tightest"] < delays["first-fit"]).iloc[-1]
"""
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS[path.stem]))
    nbclient.NotebookClient(notebook, timeout=120).execute()
