"""Models: what they write, and what is inside."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from .grammar import CompiledGrammar, Grammar
from .stream import Stream
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

KnobValue = Union[float, str, Mapping[str, float]]
"""Of a probability or scalar a number, of a distribution a label or weights of labels."""


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
        """Loads a run folder, an exported model or a .safetensors file."""
        return cls(_core.Model.load(os.fspath(path)))

    from_pretrained = load

    # --- What it writes ---

    def generate(
        self,
        prompt: str | Sequence[str] = "",
        *,
        knobs: Mapping[str, KnobValue] | None = None,
        guidance: float | Mapping[str, float] = 1.0,
        n: int = 1,
        seed: int = 1,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        max_tokens: int = 64,
        repetition_penalty: float = 1.0,
        grammar: Grammar | CompiledGrammar | str | None = None,
        calibrated: bool = True,
    ) -> list[str]:
        """`n` texts that begin with the prompt, or with each of several; the same seed gives the same texts.

        `knobs` is what the model is asked for, as {"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}}; `guidance` how far past
        it, one number or one a knob. `grammar` is GBNF text, a Grammar, or one that was compiled.
        """
        return _core.generate(
            self._core, [prompt] if isinstance(prompt, str) else list(prompt), n, dict(knobs) if knobs else {}, _plain(guidance),
            calibrated, seed, temperature, top_p, top_k, max_tokens, repetition_penalty, self._compiled(grammar), _core.Form.texts)

    def stream(
        self,
        prompt: str = "",
        *,
        knobs: Mapping[str, KnobValue] | None = None,
        guidance: float | Mapping[str, float] = 1.0,
        seed: int = 1,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        max_tokens: int = 64,
        repetition_penalty: float = 1.0,
        grammar: Grammar | CompiledGrammar | str | None = None,
        calibrated: bool = True,
    ) -> Stream:
        """The text of generate(), token by token: an iterator, also for `async for`.

            stream = model.stream("The food")
            for piece in stream:
                print(piece, end="")
                stream.knobs["polarity"] = 0.1    # From the next token on.
        """
        knobs = dict(knobs) if knobs else {}
        return Stream(_core.TextStream(self._core, prompt, knobs, _plain(guidance), calibrated, seed, temperature, top_p, top_k,
                                       max_tokens, repetition_penalty, self._compiled(grammar)), knobs)

    def generate_records(self, prompt: str | Sequence[str] = "", **options: Any) -> list[dict[str, Any]]:
        """As generate(), with tokens, log-probabilities and how each text ended: what `semfuse generate --json` prints."""
        return self._call(prompt, _core.Form.records, **options)

    def explain(self, prompt: str | Sequence[str] = "", **options: Any) -> dict[str, list[Any]]:
        """Why each token of what generate() gives: a dict of columns, a row a token, for pandas.DataFrame.

        Probabilities of the chosen token: `model` by the model alone (or steered), `grammar` among what the grammar allows,
        `controls` after rules and penalties, `sampler` what it was drawn with.
        """
        return self._call(prompt, _core.Form.explanation, **options)

    def _call(self, prompt: str | Sequence[str], form: _core.Form, *, knobs=None, guidance=1.0, n=1, seed=1, temperature=1.0,
              top_p=1.0, top_k=0, max_tokens=64, repetition_penalty=1.0, grammar=None, calibrated=True) -> Any:
        return _core.generate(
            self._core, [prompt] if isinstance(prompt, str) else list(prompt), n, dict(knobs) if knobs else {}, _plain(guidance),
            calibrated, seed, temperature, top_p, top_k, max_tokens, repetition_penalty, self._compiled(grammar), form)

    def _compiled(self, grammar: Grammar | CompiledGrammar | str | None) -> _core.CompiledGrammar | None:
        if grammar is None:
            return None
        if isinstance(grammar, CompiledGrammar):
            return grammar._core
        return self.compile(grammar)._core

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
    def config(self) -> str:
        """The experiment that trained it, as TOML; empty if its file does not say."""
        return self._core.config

    def __repr__(self) -> str:
        return f"<semfuse.Model {self._core.origin}: {self.parameter_count:,} parameters, knobs {', '.join(self.knobs) or 'none'}>"


def _plain(guidance: float | Mapping[str, float]) -> Any:
    return dict(guidance) if isinstance(guidance, Mapping) else guidance
