"""Tables that training reads, whatever they are of."""
import pytest
from conftest import SMALL_TEXT, reviews

import semfuse

CONFIG = {**SMALL_TEXT, "training.epochs": 1}


def test_tables_of_arrow_are_read(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed, so no table of Arrow was read")
    rows = reviews(100)
    table = pyarrow.table({"text": [text for text, _ in rows], "good": [good for _, good in rows]})
    run = semfuse.train(table, out=tmp_path / "run", config=CONFIG, calibrate=False, progress=False)
    columns = semfuse.train({"text": [text for text, _ in rows], "good": [good for _, good in rows]}, out=tmp_path / "columns", config=CONFIG,
                            calibrate=False, progress=False)
    assert set(run.model.knobs) == {"good"} and run.model.generate(n=3) == columns.model.generate(n=3)


def test_missing_labels_are_left_empty(tmp_path):
    pandas = pytest.importorskip("pandas")
    rows = reviews(100)
    frame = pandas.DataFrame({"review": [text for text, _ in rows], "good": [None if i % 5 == 0 else good for i, (_, good) in enumerate(rows)]})
    run = semfuse.train(frame, text="review", out=tmp_path / "run", config=CONFIG, calibrate=False, progress=False)
    assert run.model.knobs["good"]["kind"] == "probability"
    lines = (tmp_path / "run.data/texts.csv").read_text().splitlines()
    assert lines[0] == "review,good" and lines[1].endswith(",") and lines[2][-2:] in (",0", ",1")


def test_progress_is_a_bar_of_tqdm(tmp_path, capfd):
    pytest.importorskip("tqdm", reason="tqdm is not installed, so no bar was shown")
    rows = reviews(60)
    semfuse.train([text for text, _ in rows], out=tmp_path / "run", config=CONFIG)
    assert "step" in capfd.readouterr().err
