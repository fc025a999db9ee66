"""What is measured of a model: perplexity, sweeps of knobs, and whether it looks ahead."""
from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _core
from .model import Model
from .table_file import table_files


def _model(model: Model | str | os.PathLike[str]) -> _core.Model:
    return model._core if isinstance(model, Model) else _core.Model.load(os.fspath(model))


class Sweep:
    """Requested against realised: `table` is a dict of columns, `frame` the same of pandas, `plot()` draws it."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.results = results  # As `semfuse sweep --json` prints them.

    @property
    def table(self) -> dict[str, list[Any]]:
        """A row for each knob, level and value: knob, label (of a distribution), requested, realised, and its 95 % interval."""
        columns: dict[str, list[Any]] = {"knob": [], "label": [], "requested": [], "realised": [], "low": [], "high": []}
        for name, knob in self.results["knobs"].items():
            for level in knob["levels"]:
                for row in _rows(level):
                    for column, value in zip(columns.values(), (name, *row)):
                        column.append(value)
        return columns

    @property
    def frame(self) -> Any:
        """The table as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.table)

    def plot(self, knob: str | None = None, ax: Any = None) -> Any:
        """Requested against realised of one knob, with intervals; returns the axes of matplotlib."""
        import matplotlib.pyplot as plt

        table = self.table
        knob = knob or table["knob"][0]
        ax = ax or plt.subplots()[1]
        rows = [i for i, name in enumerate(table["knob"]) if name == knob]
        if not rows:
            raise _core.Error(f"the sweep has no knob \"{knob}\"; its knobs are {', '.join(self.results['knobs'])}")
        for label in dict.fromkeys(table["label"][i] for i in rows):
            mine = [i for i in rows if table["label"][i] == label]
            x, y, low, high = ([table[column][i] for i in mine] for column in ("requested", "realised", "low", "high"))
            widths = [[b - a for a, b in zip(low, y)], [b - a for a, b in zip(y, high)]]
            ax.errorbar(x, y, yerr=widths, marker="o", linestyle="none" if label else "-", label=label or "realised")
        limits = [min(table["requested"][i] for i in rows), max(table["requested"][i] for i in rows)]
        ax.plot(limits, limits, linestyle=":", color="gray", label="as asked")
        ax.set_xlabel(f"{knob} requested")
        ax.set_ylabel("realised")
        ax.legend()
        return ax


def _rows(level: dict[str, Any]) -> list[tuple[str, float, float, float, float]]:
    requested, realised, interval = level["requested"], level["realised"], level["ci95"]
    if not isinstance(realised, dict):
        return [("", requested, *_numbers(realised, *interval))]
    return [(label, requested[label], *_numbers(realised[label], *interval[label])) for label in realised]


def _numbers(*values: float | None) -> list[float]:
    """JSON has null where no text says anything of the knob."""
    return [math.nan if value is None else value for value in values]


def sweep(model: Model | str | os.PathLike[str], knobs: str | Sequence[str] = (), *, levels: int = 11, n: int = 1000, seed: int = 1,
          guidance: float = 1.0, calibrated: bool = True, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0,
          combinations: bool = False, threads: int = 0) -> Sweep:
    """Asks for one level after the other of each knob and counts what comes of it: what `semfuse sweep` does."""
    names = [knobs] if isinstance(knobs, str) else list(knobs)
    return Sweep(json.loads(_core.sweep(_model(model), names, levels, n, seed, guidance, calibrated, temperature, top_k, top_p,
                                        combinations, threads)))


def evaluate(model: Model | str | os.PathLike[str], data: Any = None, *, text: str | None = None, seed: int | None = None,
             sentences: int | None = None, against_ngram: bool = False, threads: int = 0) -> dict[str, Any]:
    """Perplexity and what else is measured of a model: what `semfuse evaluate --json` prints.

    A model of files is measured on its validation texts, or on `data`: files, texts or a table, as train() takes them. A model
    of the synthetic corpus on `sentences` of a `seed`.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = table_files(data, None, text, os.path.join(folder, "run"), "texts.csv")
        return json.loads(_core.evaluate(_model(model), files.files, files.column or text, None if seed is None else str(seed),
                                         None if sentences is None else str(sentences), against_ngram, threads))


def audit(model: Model | str | os.PathLike[str], sentences: int = 40, *, threads: int = 0) -> dict[str, Any]:
    """Whether anything that the model says changes when only later text does: what `semfuse audit --json` prints."""
    return _core.audit(_model(model), sentences, threads)
