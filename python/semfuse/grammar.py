"""Grammars for own models and everyone's: text, compiled form for a vocabulary, and the matcher that follows a text."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from .model import Model


class Grammar:
    """What a text may be: GBNF, a JSON Schema, a regular expression, or a grammar that semfuse carries.

    >>> grammar = Grammar('root ::= ("yes" | "no") "."')
    >>> grammar.accepts("yes."), grammar.accepts("maybe.")
    (True, False)
    >>> matcher = grammar.compile([b"yes", b"no", b".", b"maybe", None], end=4).matcher()
    >>> matcher.allowed
    [0, 1]
    >>> matcher.advance(1), matcher.allowed
    (True, [2])

    `@class` in GBNF stands for words of a model's lexicon: give the model, or compile by Model.compile().
    """

    __slots__ = ("_any_order", "_kind", "_parse_cache", "_source", "_whitespace")

    def __init__(self, gbnf: str | None = None, *, json_schema: str | dict[str, Any] | None = None, regex: str | None = None,
                 builtin: str | None = None, whitespace: str = "flexible", any_order: bool = False) -> None:
        """`whitespace` and `any_order` say how JSON of a schema is written: "none", "spaced" or "flexible"; keys in any order."""
        given = {"gbnf": gbnf, "json_schema": json_schema, "regex": regex, "builtin": builtin}
        named = [name for name, value in given.items() if value is not None]
        if len(named) != 1:
            raise _core.Error("a grammar is of one of gbnf, json_schema, regex and builtin; give just one")
        self._kind = named[0]
        source = given[self._kind]
        self._source: str = source if isinstance(source, str) else json.dumps(source)
        self._whitespace = whitespace
        self._any_order = any_order
        self._parse_cache: _core.Grammar | None = None
        if self._kind == "builtin" or (self._kind == "gbnf" and "@" in self._source):
            return  # Classes of words are a model's: what is wrong shows when it is compiled.
        self._parsed()

    def _parsed(self, model: _core.Model | None = None) -> _core.Grammar:
        if model is None and self._parse_cache is not None:
            return self._parse_cache
        if self._kind == "gbnf":
            parsed = _core.Grammar.parse(self._source, "grammar", model)
        elif self._kind == "builtin":
            parsed = _core.Grammar.builtin(self._source, model)
        elif self._kind == "json_schema":
            parsed = _core.Grammar.from_json_schema(self._source, self._whitespace, self._any_order)
        else:
            parsed = _core.Grammar.from_regex(self._source)
        if model is None:
            self._parse_cache = parsed
        return parsed

    @property
    def gbnf(self) -> str:
        """The GBNF that a schema or a regular expression became."""
        return self._parsed().gbnf

    def accepts(self, text: str) -> bool:
        """Whether the text is in the language."""
        return self._parsed().match(text)[0]

    def match(self, text: str) -> tuple[bool, int, list[str]]:
        """Whether it is, the bytes that were read before it left the language, and what could stand there."""
        return self._parsed().match(text)

    def compile(self, tokenizer: Any, *, end: int | None = None) -> CompiledGrammar:
        """For a vocabulary: a Vocabulary, or whatever Vocabulary.of() takes; a semfuse.Model or its tokenizer too."""
        from .model import Model
        if isinstance(tokenizer, Model):
            return tokenizer.compile(self)
        vocabulary = tokenizer if isinstance(tokenizer, Vocabulary) else Vocabulary.of(tokenizer, end=end)
        return CompiledGrammar(self, vocabulary)

    def __reduce__(self) -> Any:
        return (_grammar, (self._kind, self._source, self._whitespace, self._any_order))

    def __repr__(self) -> str:
        return f"<semfuse.Grammar {self._kind}: {len(self._source)} characters>"


def _grammar(kind: str, source: str, whitespace: str, any_order: bool) -> Grammar:
    options: dict[str, Any] = {kind: source, "whitespace": whitespace, "any_order": any_order}
    return Grammar(**options)


class CompiledGrammar:
    """A grammar for one vocabulary. Immutable, shared between threads; pickles as what it was compiled from."""

    __slots__ = ("_core", "grammar", "vocabulary")

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary | None, core: _core.CompiledGrammar | None = None) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        if core is None:
            assert vocabulary is not None
            core = vocabulary._compile(grammar._parsed())
        self._core = core

    @property
    def promises_end(self) -> bool:
        """Whether every text of allowed tokens can be completed; False only for some recursive grammars of large vocabularies."""
        return self._core.promises_end

    @property
    def vocab_size(self) -> int:
        """Tokens of the vocabulary."""
        return self._core.vocab_size

    def matcher(self) -> Matcher:
        """At the beginning of a text."""
        return Matcher(_core.GrammarMatcher(self._core))

    cursor = matcher

    def __reduce__(self) -> Any:
        if self.vocabulary is None:
            raise _core.Error("a grammar that was compiled for a model pickles without it: pickle the Grammar, and compile it again")
        return (CompiledGrammar, (self.grammar, self.vocabulary))


class Matcher:
    """Where one text stands in a grammar. One thread at a time."""

    __slots__ = ("_core",)

    def __init__(self, core: _core.GrammarMatcher) -> None:
        self._core = core

    @property
    def allowed(self) -> list[int]:
        """Tokens that may come next, ascending; the end token among them where the text may end."""
        return self._core.allowed()

    def fill(self, bitmask: Any, row: int = 0) -> None:
        """Writes `allowed` into int32 words, one bit a token, in place: numpy or torch, [words] or [rows, words]."""
        self._core.fill(bitmask, row)

    def advance(self, token: int) -> bool:
        """Appends a token. False, and nothing changes, if it is not allowed."""
        return self._core.advance(token)

    def rollback(self, count: int = 1) -> None:
        """Takes back the last tokens."""
        self._core.rollback(count)

    @property
    def forced(self) -> bytes:
        """How every text goes on from here, up to the first choice: for jumping forward."""
        return self._core.forced_text()

    @property
    def forced_tokens(self) -> list[int]:
        """Tokens for that text, but the last one, which a longer one may replace."""
        return self._core.forced_tokens()

    @property
    def can_end(self) -> bool:
        """Whether the text so far is a sentence of the language."""
        return self._core.can_end

    @property
    def ended(self) -> bool:
        """Whether the end token was appended."""
        return self._core.ended

    @property
    def num_tokens(self) -> int:
        """Tokens appended so far."""
        return self._core.num_tokens

    def expected(self, limit: int = 12) -> list[str]:
        """What could stand here, readable, for messages."""
        return self._core.expected(limit)

    def copy(self) -> Matcher:
        """Another one at the same place, which goes its own way."""
        return Matcher(self._core.copy())

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        return self.copy()


def bitmask(rows: int, vocab_size: int) -> np.ndarray:
    """Room for the masks of `rows` texts: int32 [rows, words]."""
    import numpy

    return numpy.zeros((rows, (vocab_size + 31) // 32), dtype=numpy.int32)


def fill_batch(matchers: Sequence[Matcher], bitmask: Any, threads: int = 0) -> None:
    """Each matcher's `allowed` into its row, by several threads (0: one for each processor)."""
    _core.fill_batch([matcher._core for matcher in matchers], bitmask, threads)
