import pathlib

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_end(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed, so no notebook was run")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed, so no notebook was run")
    for package in ("ipykernel", "pandas", "matplotlib"):
        pytest.importorskip(package, reason=f"{package} is not installed, so no notebook was run")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs), "nothing was drawn"
    share = next(eval(output["data"]["text/plain"]) for output in outputs
                 if output.get("data", {}).get("text/plain", "").startswith("{0.0:"))
    assert share[1.0] > share[0.0] + 0.5, f"the knob does next to nothing: {share}"
