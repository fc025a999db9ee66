"""Training: from files, texts or a table with columns of labels."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _core
from .model import Model
from .table_file import table_files

OnEvent = Callable[[str, dict[str, Any]], Any]
"""Told (kind, event) of what happens: "preparing", "started", "step", "evaluation", "calibrating", "warning"."""


class Run:
    """What a training left: `folder` with the model, and what was measured."""

    __slots__ = ("folder", "outcome")

    def __init__(self, outcome: dict[str, Any]) -> None:
        self.folder: str = outcome["run"]
        self.outcome = outcome

    @property
    def model(self) -> Model:
        """The trained model."""
        return Model.load(self.folder)

    @property
    def finished(self) -> bool:
        """False if on_event returned False: resume() goes on."""
        return self.outcome["finished"]

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        """What was measured after each epoch: a row each, for pandas.DataFrame."""
        return self.outcome["evaluations"]

    def __fspath__(self) -> str:
        return self.folder

    def __repr__(self) -> str:
        return f"<semfuse.Run {self.folder}: {self.outcome['model'] or 'finished'}>"


def train(
    data: Any = None,
    *,
    out: str | os.PathLike[str],
    labels: Mapping[str, Sequence[Any]] | None = None,
    text: str | None = None,
    val: Any = None,
    preset: str | None = None,
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    seed: int | None = None,
    init: str | os.PathLike[str] | None = None,
    lexicon: str | os.PathLike[str] | None = None,
    held_out: str | None = None,
    backbone: str | os.PathLike[str] | None = None,
    rank: int | None = None,
    skip_bad: bool = False,
    calibrate: bool = True,
    threads: int = 0,
    checkpoint_every: int | None = None,
    keep: int | None = None,
    on_event: OnEvent | None = None,
    progress: bool = True,
) -> Run:
    """Trains a model into the folder `out`: what `semfuse train` does.

    `data` is a file or several (.txt, .tsv, .csv, .jsonl, packed or not), a list of texts with `labels` {column: values},
    or a table of pandas or Arrow, whose other columns become knobs; without it the synthetic corpus is drawn. `text` names
    the column of texts. `config` is a TOML file, or settings as {"training.epochs": 2}. Other names are those of the command;
    `backbone` and `rank` are what adapt() gives.

    Ctrl-C saves a checkpoint and raises KeyboardInterrupt; resume() goes on from there. `on_event` is told what happens, and
    stops the training, saved, by returning False. Without it progress is shown by tqdm, if that is installed.
    """
    request = _core.TrainingRequest()
    request.preset = preset
    if isinstance(config, Mapping):
        request.settings = [f"{key}={_toml(value)}" for key, value in config.items()]
    elif config is not None:
        request.config = os.fspath(config)
    request.seed = None if seed is None else str(seed)
    request.init = None if init is None else os.fspath(init)
    request.lexicon = None if lexicon is None else os.fspath(lexicon)
    request.held_out = held_out
    request.backbone = None if backbone is None else os.fspath(backbone)
    request.rank = None if rank is None else str(rank)
    request.skip_bad = skip_bad
    request.calibrate = calibrate
    request.text = text
    with contextlib.ExitStack() as stack:
        table = table_files(data, labels, text, os.fspath(out), "texts.csv")
        if table.column is not None:
            request.text = table.column
        request.data = table.files
        request.val = table_files(val, None, text, os.fspath(out), "validation.csv").files
        listener = on_event
        if listener is None and progress:
            listener = stack.enter_context(_bar())
        return Run(_core.train(request, os.fspath(out), listener, threads, checkpoint_every, keep))


def adapt(model: Model | str | os.PathLike[str], data: Any, *, out: str | os.PathLike[str], rank: int | None = None, **options: Any) -> Run:
    """Gives knobs to an imported model, which stays as it is: what `semfuse adapt` does. Options are those of train().

        semfuse.import_model("stories15M.bin", out="stories/")
        run = semfuse.adapt("stories/", frame, out="knobbed/")
        run.model.generate("The food", knobs={"polarity": 0.9})
    """
    return train(data, out=out, backbone=model.origin if isinstance(model, Model) else model, rank=rank, **options)


def resume(run: str | os.PathLike[str], *, threads: int = 0, calibrate: bool = True, checkpoint_every: int | None = None,
           keep: int | None = None, on_event: OnEvent | None = None, progress: bool = True) -> Run:
    """Goes on with a run that was stopped: it ends with the same model, bit by bit, as one that was not."""
    with contextlib.ExitStack() as stack:
        listener = on_event
        if listener is None and progress:
            listener = stack.enter_context(_bar())
        return Run(_core.resume(os.fspath(run), listener, calibrate, threads, checkpoint_every, keep))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_quoted(each) if isinstance(each, str) else _toml(each) for each in value) + "]"
    return str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@contextlib.contextmanager
def _bar() -> Iterator[OnEvent | None]:
    """A bar of steps, where tqdm is installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bar: Any = None

    def show(kind: str, event: dict[str, Any]) -> None:
        nonlocal bar
        if kind == "started":
            bar = tqdm(total=event["total_steps"], initial=event["first_step"], unit="step")
        elif kind == "step":
            bar.set_postfix(epoch=event["epoch"], loss=f"{event['loss']:.4g}", refresh=False)
            bar.update(1)
        elif kind == "warning":
            tqdm.write(event["text"])

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
