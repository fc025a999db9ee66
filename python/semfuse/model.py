"""Models: what they write, and what is inside."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Union

from . import _core
from .grammar import CompiledGrammar, Grammar
from .stream import Stream
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

KnobValue = Union[float, str, Mapping[str, float]]
"""Of a probability or scalar a number, of a distribution a label or weights of labels."""


class GenerationOptions(TypedDict, total=False):
    """What generate(), stream(), generate_records() and explain() take by name; what is left out is as the command line has it."""

    knobs: Mapping[str, KnobValue] | None
    guidance: float | Mapping[str, float]
    seed: int
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    repetition_penalty: float
    grammar: Grammar | CompiledGrammar | str | None
    calibrated: bool


class Model:
    """A trained model: `Model.load("run/")`.

    It never changes, and may be used from several threads at once. In a fork of the process that loaded it every call
    is an Error: load it there.

    >>> model = Model.load(example_model)
    >>> texts = model.generate("Alice reviews", n=3, knobs={"polarity": 0.9}, seed=1)
    >>> len(texts), texts[0].startswith("Alice reviews")
    (3, True)
    >>> model.logits("Alice reviews").shape == (3, len(model.tokenizer))
    True
    >>> list(model.knobs)
    ['polarity', 'strength', 'mark']
    """

    __slots__ = ("_core", "__weakref__")

    def __init__(self, core: _core.Model) -> None:
        self._core = core

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Loads a run folder, an exported model, an imported or adapted one, or a .safetensors file."""
        return cls(_core.Model.load(os.fspath(path)))

    from_pretrained = load

    # --- What it writes ---

    def generate(self, prompt: str | Sequence[str] = "", *, n: int = 1, **options: Unpack[GenerationOptions]) -> list[str]:
        """`n` texts that begin with the prompt, or with each of several; the same seed gives the same texts.

        Options, all by name:

        knobs={}               what the model is asked for: {"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}, "topic": "sport"}
        guidance=1.0           how far past it, one number, or one by knob
        seed=1                 decides every draw
        temperature=1.0        0 takes the most probable token
        top_p=1.0, top_k=0     the nucleus, and how many tokens to keep (0: all)
        max_tokens=64          tokens of a text at most, the prompt included
        repetition_penalty=1.0
        grammar=None           GBNF text, a Grammar, or one that was compiled
        calibrated=True        knobs that were calibrated are asked for so that texts have what you say
        """
        if "grammar" in options:
            self._compile_grammar(options)
        return _core.generate(self._core, prompt, n, options)

    def stream(self, prompt: str = "", **options: Unpack[GenerationOptions]) -> Stream:
        """The text of generate(), token by token: an iterator, also for `async for`. Options are those of generate().

            stream = model.stream("The food")
            for piece in stream:
                print(piece, end="")
                stream.knobs["polarity"] = 0.1    # From the next token on.
        """
        if "grammar" in options:
            self._compile_grammar(options)
        return Stream(_core.TextStream(self._core, prompt, options), options.get("knobs") or {})

    def generate_records(self, prompt: str | Sequence[str] = "", *, n: int = 1, **options: Unpack[GenerationOptions]) -> list[dict[str, Any]]:
        """As generate(), with tokens, log-probabilities and how each text ended: what `semfuse generate --json` prints."""
        if "grammar" in options:
            self._compile_grammar(options)
        return _core.generate_records(self._core, prompt, n, options)

    def explain(self, prompt: str | Sequence[str] = "", *, n: int = 1, **options: Unpack[GenerationOptions]) -> dict[str, list[Any]]:
        """Why each token of what generate() gives: a dict of columns, a row a token, for pandas.DataFrame.

        Probabilities of the chosen token: `model` by the model alone (or steered), `grammar` among what the grammar allows,
        `controls` after rules and penalties, `sampler` what it was drawn with.
        """
        if "grammar" in options:
            self._compile_grammar(options)
        return _core.explain(self._core, prompt, n, options)

    def _compile_grammar(self, options: Any) -> None:
        """In its place, unless it is compiled already: as the library takes it."""
        grammar = options["grammar"]
        if grammar is not None:
            options["grammar"] = (grammar if isinstance(grammar, CompiledGrammar) else self.compile(grammar))._core

    def compile(self, grammar: Grammar | str) -> CompiledGrammar:
        """A grammar for this model's tokens, to be used again and again: `@class` is of its lexicon."""
        if isinstance(grammar, str):
            grammar = Grammar(grammar)
        return CompiledGrammar(grammar, None, _core.compile_for_model(self._core, grammar._parsed(self._core)))

    # --- What is inside ---

    def logits(self, text: str | Sequence[int], knobs: Mapping[str, KnobValue] | None = None) -> np.ndarray:
        """Logits of the next token at the beginning and after each token: float32 [tokens + 1, vocabulary]."""
        return self._core.logits(self._ids(text), knobs and dict(knobs))

    def hidden(self, text: str | Sequence[int], knobs: Mapping[str, KnobValue] | None = None) -> np.ndarray:
        """The states that the logits are computed from: float32 [tokens + 1, width]."""
        return self._core.hidden(self._ids(text), knobs and dict(knobs))

    def features(self, text: str | Sequence[int]) -> np.ndarray:
        """The readable features, one column for each of feature_names: float32 [tokens + 1, features]."""
        return self._core.features(self._ids(text))

    def _ids(self, text: str | Sequence[int]) -> list[int]:
        return self._core.encode(text) if isinstance(text, str) else list(text)

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The weights by the names of the equivalent PyTorch module: views of the model's own numbers, read-only."""
        return {name: self._core.weight(name) for name in self._core.weight_names}

    def weight_dlpack(self, name: str) -> Any:
        """One weight as an object with __dlpack__: `torch.from_dlpack(model.weight_dlpack(name))` copies nothing.

        Who writes to such a tensor changes the model.
        """
        return self._core.weight_dlpack(name)

    @property
    def tokenizer(self) -> Tokenizer:
        """How it cuts text."""
        tokenizer = self._core.tokenizer
        return Tokenizer(self._core if tokenizer is None else tokenizer)

    @property
    def knobs(self) -> dict[str, dict[str, Any]]:
        """What it can be asked for, by name."""
        return {knob["name"]: knob for knob in self._core.knobs}

    @property
    def feature_names(self) -> list[str]:
        """The columns of features()."""
        return self._core.feature_names

    @property
    def parameter_count(self) -> int:
        """Numbers that training found."""
        return self._core.parameter_count

    @property
    def origin(self) -> str:
        """The file that it was loaded from."""
        return self._core.origin

    @property
    def config(self) -> str:
        """The experiment that trained it, as TOML; empty if its file does not say."""
        return self._core.config

    def __repr__(self) -> str:
        return f"<semfuse.Model {self.origin}: {self.parameter_count:,} parameters, knobs {', '.join(self.knobs) or 'none'}>"


def import_model(path: str | os.PathLike[str], out: str | os.PathLike[str], *, tokenizer: str | os.PathLike[str] | None = None,
                 quantize: str = "none") -> Model:
    """Makes a model of somebody else's, in the folder `out`: what `semfuse import` does. Returns it.

    `path` is a folder of Hugging Face, a GGUF file or one of llama2.c's; `tokenizer` a file, if it is not inside or beside; `quantize`
    "q8" or "q4" stores matrices with so many bits. It writes, streams, explains and reads out; what needs a model that semfuse has
    trained is an Error. Its ids are those of its file and 3, since <pad>, <bos> and <eos> come first.
    """
    _core.import_model(os.fspath(path), os.fspath(out), "" if tokenizer is None else os.fspath(tokenizer), quantize)
    return Model.load(out)
