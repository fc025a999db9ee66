"""Words that a trained model did not have."""
from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core
from .model import Model


def add(run: str | os.PathLike[str], words: str | os.PathLike[str] | Sequence[Mapping[str, Any]], out: str | os.PathLike[str]) -> Model:
    """Adds words by describing them, without training: what `semfuse words add` does. Returns the larger model, in `out`.

    `words` is a TSV file, or a list as [{"word": "superb", "class": "adjective", "polarity": 1}]; doubts of the model about
    them are warnings.
    """
    if isinstance(words, (str, os.PathLike)):
        with open(words, encoding="utf-8") as file:
            tsv = file.read()
    else:
        tsv = _tsv(words)
    _, _, doubts = _core.add_words(os.fspath(run), tsv, os.fspath(out))
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=2)
    return Model.load(out)


def _tsv(words: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(["word", "class", *(name for word in words for name in word)]))
    rows = [names]
    for word in words:
        cells = [word.get(name, "") for name in names]
        rows.append([", ".join(cell) if isinstance(cell, (list, tuple)) else str(cell) for cell in cells])
    for row in rows:
        for cell in row:
            if "\t" in cell or "\n" in cell:
                raise _core.Error(f"{cell!r} has a tab or a line break; no word and no value has one")
    return "".join("\t".join(row) + "\n" for row in rows)
