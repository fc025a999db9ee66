"""Grammars for models of Hugging Face's `transformers`."""
from __future__ import annotations

from typing import Any

import torch
from transformers import LogitsProcessor

from .grammar import CompiledGrammar, Matcher, fill_batch


class GrammarLogitsProcessor(LogitsProcessor):
    """Keeps what `generate` writes in the language of a grammar: sampling, greedy, and beams.

        compiled = semfuse.Grammar(json_schema=schema).compile(tokenizer)
        model.generate(**inputs, logits_processor=[GrammarLogitsProcessor(compiled)])

    The grammar is of what follows the prompt. One object serves one call at a time, and any number of calls.
    """

    supports_continuous_batching = False

    def __init__(self, grammar: CompiledGrammar, threads: int = 1) -> None:
        self._grammar = grammar
        self._threads = threads
        self._prompt_length = 0
        self._length = -1
        # By the tokens after the prompt, since beams change their places. None: the tokens left the language.
        self._matchers: dict[tuple[int, ...], Matcher | None] = {}

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        length = input_ids.shape[1]
        if length != self._length + 1:  # Another call of generate().
            self._prompt_length = length
            self._matchers = {(): self._grammar.matcher()}
        self._length = length
        rows = [tuple(row) for row in input_ids[:, self._prompt_length:].tolist()]
        self._matchers = {row: self._find(row) for row in dict.fromkeys(rows)}
        return torch.where(self._allowed(rows, scores.shape[1]).to(scores.device), scores, float("-inf"))

    def _find(self, row: tuple[int, ...]) -> Matcher | None:
        if row in self._matchers:
            return self._matchers[row]
        before = self._matchers.get(row[:-1])
        if before is None or before.ended:
            return before
        matcher = before.copy()
        return matcher if row[-1] < self._grammar.vocab_size and matcher.advance(row[-1]) else None

    def _allowed(self, rows: list[tuple[int, ...]], size: int) -> torch.Tensor:
        """[rows, size]: a model may have more logits than its tokenizer has tokens."""
        words = torch.zeros((len(rows), (max(size, self._grammar.vocab_size) + 31) // 32), dtype=torch.int32)
        live = [i for i, row in enumerate(rows) if (matcher := self._matchers[row]) is not None and not matcher.ended]
        found = torch.zeros((len(live), words.shape[1]), dtype=torch.int32)
        fill_batch([self._matchers[rows[i]] for i in live], found, self._threads)  # type: ignore[misc]
        words[live] = found
        bits = (words[:, :, None] >> torch.arange(32, dtype=torch.int32)) & 1
        allowed = bits.reshape(len(rows), -1)[:, :size].bool()
        over = sorted(set(range(len(rows))) - set(live))
        if over:  # The text has ended, or is a beam that nobody takes: generate() only wants to end it.
            allowed[over] = True
        return allowed
