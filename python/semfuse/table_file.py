"""Texts and tables as files, which the library reads."""
from __future__ import annotations

import csv
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core


class TableFiles:
    """Names of files, and the column of texts if they were written here."""

    def __init__(self, files: list[str], column: str | None = None) -> None:
        self.files = files
        self.column = column


def table_files(data: Any, labels: Mapping[str, Sequence[Any]] | None, text: str | None, out: str, name: str) -> TableFiles:
    """The files of `data`; of texts and tables one that is written beside `out`, since going on with a run reads it again."""
    if data is None:
        if labels:
            raise _core.Error("labels are of a list of texts; add data=")
        return TableFiles([])
    if isinstance(data, (str, os.PathLike)):
        paths = [os.fspath(data)]
    elif isinstance(data, (list, tuple)) and data and all(isinstance(each, (str, os.PathLike)) for each in data) and not labels and all(
            _is_file(each) for each in data):
        paths = [os.fspath(each) for each in data]
    else:
        columns, column = _columns(data, labels, text)
        return TableFiles([_write(columns, out, name)], column)
    if labels:
        raise _core.Error("labels are of a list of texts; those of files are columns of theirs")
    return TableFiles(paths)


def _is_file(each: Any) -> bool:
    return not isinstance(each, str) or ("\n" not in each and os.path.isfile(each))


def _columns(data: Any, labels: Mapping[str, Sequence[Any]] | None, text: str | None) -> tuple[dict[str, list[Any]], str]:
    if isinstance(data, (list, tuple)):
        columns = {"text": list(data), **{name: list(values) for name, values in (labels or {}).items()}}
        text = "text"
    elif hasattr(data, "to_pydict"):  # Arrow
        columns = data.to_pydict()
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        columns = {str(name): data[name].tolist() for name in data.columns}
    elif isinstance(data, Mapping):
        columns = {str(name): list(values) for name, values in data.items()}
    else:
        raise _core.Error(f"a {type(data).__name__} is no data; give files, a list of texts, or a table of pandas or Arrow")
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise _core.Error(f"the columns differ in length: {', '.join(f'{name} {n}' for name, n in lengths.items())}")
    if text is None:
        text = "text" if "text" in columns else next(
            (name for name, values in columns.items() if any(isinstance(value, str) and " " in value for value in values)), None)
    if text is None or text not in columns:
        raise _core.Error(f"there is no column of texts among {', '.join(columns)}; name it with text=")
    return columns, text


def _write(columns: dict[str, list[Any]], out: str, name: str) -> str:
    parent = os.path.dirname(os.path.abspath(out))
    os.makedirs(parent, exist_ok=True)
    folder = os.path.abspath(out).rstrip("/") + ".data"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    descriptor, temporary = tempfile.mkstemp(dir=folder, suffix=".csv")
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for row in zip(*columns.values()):
            writer.writerow(["" if _is_missing(cell) else _cell(cell) for cell in row])
    os.replace(temporary, path)
    return path


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or type(cell).__name__ == "NAType"


def _cell(cell: Any) -> str:
    if isinstance(cell, bool):
        return "1" if cell else "0"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
