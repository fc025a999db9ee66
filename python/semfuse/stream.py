"""Texts that arrive token by token, while knobs are turned."""
from __future__ import annotations

import codecs
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from . import _core


class Knobs(MutableMapping[str, Any]):
    """What a stream asks for: a change acts from the next token on."""

    def __init__(self, stream: _core.TextStream, knobs: Mapping[str, Any]) -> None:
        self._stream = stream
        self._knobs = dict(knobs)

    def _change(self, knobs: dict[str, Any]) -> None:
        self._stream.set_knobs(knobs)
        self._knobs = knobs

    def __getitem__(self, name: str) -> Any:
        return self._knobs[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._change({**self._knobs, name: value})

    def __delitem__(self, name: str) -> None:
        knobs = dict(self._knobs)
        del knobs[name]
        self._change(knobs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._knobs)

    def __len__(self) -> int:
        return len(self._knobs)

    def __repr__(self) -> str:
        return repr(self._knobs)


class Stream:
    """What Model.stream() gives: iterate over it, plainly or with `async for`; each item is what one token adds.

    `text` is all of it so far, `knobs` what is asked for, which may be changed between two tokens. Nothing is written ahead
    of what is asked for. close() ends it early.
    """

    def __init__(self, core: _core.TextStream, knobs: Mapping[str, Any]) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ended = False
        self.knobs = Knobs(core, knobs)

    @property
    def text(self) -> str:
        """All of it so far, the prompt included."""
        return self._core.text

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> str:
        with self._lock:
            if self._ended:
                raise StopIteration
            piece = self._core.next()
            if piece is not None:
                return self._decoder.decode(piece)  # Characters may be of several tokens: they come with the last.
            self._ended = True
            rest = self._decoder.decode(b"", final=True)
        if not rest:
            raise StopIteration
        return rest

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> str:
        import asyncio

        piece = await asyncio.to_thread(next, self, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    def close(self) -> None:
        """Ends the text where it is."""
        self._core.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
