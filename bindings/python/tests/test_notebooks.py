"""The notebooks run from the first cell to the last, and their results can be."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "notebooks"


# What holds after the last cell.
CHECKS = {
    "a-figure-of-a-paper": """
assert utilization.shape == (4, 3) and (measured > 0).all(axis=None)
others = ["free-list", "sniffing"]
assert utilization["tree-collapsing"].gt(utilization[others].max(axis=1)).all()
assert (internal["tree-collapsing"] == 0).all() and (internal[others] > 10).all(axis=None)
""",
    "a-year-of-a-log": """
assert results.settings["log"] == str(log)
assert (table["utilization"] > 0.1).all() and table["utilization"].max() < 1
assert waits.shape == (4, 4) and waits["naive"].mean() < waits["first-fit"].mean()
""",
    "slices-of-a-pod": """
assert delays.shape == (3, 3)
assert (delays.diff().dropna() > 0).all(axis=None), "more load, more waiting"
""",
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept"
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS[path.stem]))
    nbclient.NotebookClient(notebook, timeout=120).execute()
