"""Language models with knobs: train, measure and steer small Transformers on a CPU.

    model = semfuse.Model.load("model/")
    model.generate("The food", knobs={"polarity": 0.7}, n=5, seed=1)

Everything that a caller can cause is a `semfuse.Error`, a ValueError whose text says what, where, and what to do.
"""
from typing import TYPE_CHECKING, Any

from . import words
from ._core import Error
from .grammar import CompiledGrammar, Grammar, Matcher, bitmask, fill_batch
from .model import Model, import_model
from .stream import Stream
from .studies import Sweep, audit, evaluate, sweep
from .tokenizer import Tokenizer
from .training import Run, adapt, resume, train
from .vocabulary import Vocabulary

__all__ = ["CompiledGrammar", "Error", "Grammar", "Matcher", "Model", "Run", "Stream", "Sweep", "Tokenizer", "Vocabulary", "adapt", "audit",
           "bitmask", "evaluate", "fill_batch", "hf", "import_model", "load_torch", "resume", "sweep", "train", "words"]

Error.__module__ = __name__  # As people know it, in messages too.

if TYPE_CHECKING:
    from . import hf
    from .torch_model import load_torch


def __getattr__(name: str) -> Any:
    """What stands on PyTorch is imported when it is asked for, so that `import semfuse` stays quick."""
    import importlib

    if name == "hf":
        return importlib.import_module(".hf", __name__)
    if name == "load_torch":
        return importlib.import_module(".torch_model", __name__).load_torch
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
