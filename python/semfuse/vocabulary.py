"""The tokens of a vocabulary as bytes, whoever made it: what grammars are compiled for."""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _core
from .tokenizer import Tokenizer


class Vocabulary:
    """What each token adds to a text: `Vocabulary.of(tokenizer)`.

    Made once for a tokenizer and shared by all grammars that are compiled for it.

    >>> vocabulary = Vocabulary([b"a", b"b", None], end=2)
    >>> len(vocabulary)
    3
    """

    __slots__ = ("first", "later", "end", "leading_blank", "_made")

    def __init__(self, later: Sequence[bytes | None], *, end: int, first: Sequence[bytes | None] | None = None,
                 leading_blank: int = -1) -> None:
        """`later` is what a token adds inside of a text, `first` at its beginning; None for one that never stands in text.

        `end` is the token that ends a text, `leading_blank` one that adds nothing at the beginning, if there is one.
        """
        self.later = list(later)
        self.first = self.later if first is None else list(first)
        if 0 <= end < len(self.later):  # It is never text, whatever it looks like.
            self.later[end] = self.first[end] = None
        self.end = end
        self.leading_blank = leading_blank
        self._made: _core.GrammarVocabulary | None = None

    @classmethod
    def of(cls, tokenizer: Any, *, end: int | None = None) -> Vocabulary:
        """Of a semfuse.Tokenizer, a tokenizer of `transformers` or `tokenizers`, an encoding of `tiktoken`, or a list of bytes."""
        if isinstance(tokenizer, Tokenizer):
            return _of_semfuse(tokenizer)
        if isinstance(tokenizer, (list, tuple)):
            if end is None:
                raise _core.Error("a list of bytes does not say which token ends a text; add end=")
            return cls(tokenizer, end=end)
        if hasattr(tokenizer, "token_byte_values"):
            return _of_tiktoken(tokenizer, end)
        if hasattr(tokenizer, "backend_tokenizer") or hasattr(tokenizer, "to_str"):
            return _of_hugging_face(tokenizer, end)
        raise _core.Error(
            f"a {type(tokenizer).__name__} is no vocabulary; give a tokenizer of semfuse, transformers, tokenizers or tiktoken, "
            "or a list of bytes and end=")

    def _compile(self, grammar: _core.Grammar) -> _core.CompiledGrammar:
        if self._made is None:
            self._made = _core.GrammarVocabulary(self.first, self.later, self.end, self.leading_blank)
        return _core.CompiledGrammar(grammar, self._made)

    def __len__(self) -> int:
        return len(self.later)

    def __reduce__(self) -> Any:
        same = self.first is self.later
        return (_vocabulary, (self.later, None if same else self.first, self.end, self.leading_blank))


def _vocabulary(later: list[bytes | None], first: list[bytes | None] | None, end: int, leading_blank: int) -> Vocabulary:
    return Vocabulary(later, end=end, first=first, leading_blank=leading_blank)


def _of_semfuse(tokenizer: Tokenizer) -> Vocabulary:
    first, later, end, leading_blank = _core.token_surfaces(tokenizer._source)
    return Vocabulary(later, end=end, first=None if first == later else first, leading_blank=leading_blank)


def _of_tiktoken(encoding: Any, end: int | None) -> Vocabulary:
    tokens: list[bytes | None] = [None] * encoding.n_vocab
    special = encoding.special_tokens_set
    specials = {encoding.encode_single_token(name) for name in special}
    for token in range(encoding.n_vocab):
        if token not in specials:
            try:
                tokens[token] = encoding.decode_single_token_bytes(token)
            except KeyError:
                pass  # Some encodings have holes.
    if end is None:
        end = encoding.eot_token
    return Vocabulary(tokens, end=end)


def _byte_characters() -> dict[str, int]:
    """How byte-level tokenizers write bytes: printable ones as themselves, the others from U+0100 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{chr(byte): byte for byte in printable}, **{chr(256 + i): byte for i, byte in enumerate(others)}}


def _decoders(decoder: dict[str, Any] | None) -> list[dict[str, Any]]:
    if decoder is None:
        return []
    return decoder["decoders"] if decoder["type"] == "Sequence" else [decoder]


def _of_hugging_face(tokenizer: Any, end: int | None) -> Vocabulary:
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    description = json.loads(backend.to_str())
    added = {token["id"]: token for token in description.get("added_tokens", [])}
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    size = max(len(tokenizer), 1 + max(vocabulary.values())) if hasattr(tokenizer, "__len__") else 1 + max(vocabulary.values())
    steps = _decoders(description.get("decoder"))
    kinds = {step["type"] for step in steps}
    later: list[bytes | None] = [None] * size
    first: list[bytes | None] | None = None
    if "ByteLevel" in kinds:
        table = _byte_characters()
        text_of = lambda token: bytes(table[c] for c in token) if all(c in table for c in token) else token.encode()  # noqa: E731
    elif kinds & {"Metaspace", "ByteFallback"} or any(step["type"] == "Replace" for step in steps):
        text_of = _metaspace_bytes
        first = [None] * size
    elif "WordPiece" in kinds:
        text_of = lambda token: token[2:].encode() if token.startswith("##") else b" " + token.encode()  # noqa: E731
        first = [None] * size
    else:
        kind = description.get("decoder") and description["decoder"]["type"]
        raise _core.Error(
            f"the tokenizer's decoder is {kind or 'missing'}, which does not say what bytes its tokens are; byte-level, metaspace and "
            "WordPiece tokenizers can be read, or give a list of bytes")
    strips = first is not None and _strips_first_blank(steps)
    for token, place in vocabulary.items():
        if place in added:
            if not added[place]["special"]:
                later[place] = added[place]["content"].encode()
                if first is not None:
                    first[place] = later[place]
            continue
        later[place] = text_of(token) or None
        if first is not None:
            text = later[place]
            first[place] = text[1:] if strips and text and text.startswith(b" ") else text
    leading_blank = -1
    if first is not None:
        leading_blank = next((i for i, text in enumerate(later) if text == b" " and first[i] == b""), -1)
    return Vocabulary(later, end=_end_of(tokenizer, vocabulary, end), first=first, leading_blank=leading_blank)


def _metaspace_bytes(token: str) -> bytes:
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode()


def _strips_first_blank(steps: list[dict[str, Any]]) -> bool:
    for step in steps:
        if step["type"] == "Strip" and step.get("content") == " " and step.get("start", 0) > 0:
            return True
        if step["type"] == "Metaspace":
            return step.get("prepend_scheme", "always") != "never" and step.get("add_prefix_space", True)
        if step["type"] == "WordPiece":
            return True
    return False


def _end_of(tokenizer: Any, vocabulary: dict[str, int], end: int | None) -> int:
    if end is None:
        end = getattr(tokenizer, "eos_token_id", None)
    if end is None:
        names = ["<|endoftext|>", "</s>", "<|end_of_text|>", "<eos>", "<|im_end|>", "[SEP]"]
        end = next((vocabulary[name] for name in names if name in vocabulary), None)
    if end is None:
        raise _core.Error("the tokenizer does not say which token ends a text; add end=")
    return end
