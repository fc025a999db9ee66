"""Text as tokens, and back."""
from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from . import _core


class Tokenizer:
    """Text as the tokens that a model reads, and back.

    >>> tokenizer = Tokenizer.train(["the cat sat", "the cat ran"], kind="words", size=300)
    >>> tokenizer.decode(tokenizer.encode("the cat sat"))
    'the cat sat'
    """

    __slots__ = ("_source",)

    def __init__(self, source: _core.Tokenizer | _core.Model) -> None:
        self._source = source

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tokenizer:
        """Reads a tokenizer.json that semfuse wrote."""
        return cls(_core.Tokenizer.load(os.fspath(path)))

    @classmethod
    def train(cls, texts: Iterable[str], kind: str = "pieces", size: int = 8000, *, leading_blank: bool = False) -> Tokenizer:
        """Learns one from texts: of "words", "pieces" (byte-level BPE) or "bytes", with at most `size` entries."""
        return cls(_core.Tokenizer.train(list(texts), kind, size, leading_blank))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without <bos> and <eos>."""
        return self._source.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; bytes that are no UTF-8 become U+FFFD."""
        return self._source.decode(list(ids)).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids."""
        return self._source.decode(list(ids))

    def surfaces(self) -> list[bytes]:
        """What each token stands for, by id."""
        return self._source.surfaces()

    def to_json(self) -> str:
        """A tokenizer.json, which Hugging Face's `tokenizers` reads too."""
        if isinstance(self._source, _core.Model):
            raise _core.Error("the model's tokens are whole words of its vocabulary, which no tokenizer.json can say")
        return self._source.to_json()

    def __len__(self) -> int:
        return len(self._source)

    def __repr__(self) -> str:
        kind = "vocabulary" if isinstance(self._source, _core.Model) else self._source.kind
        return f"<semfuse.Tokenizer of {len(self)} {kind}>"
