import json
import pickle
import random

import numpy as np
import pytest
from conftest import SHARED

import semfuse
from semfuse import Grammar, Vocabulary

LETTERS = [bytes([byte]) for byte in range(256)] + [b"ye", b"yes", b"no", None]
END = 259
ANSWER = 'root ::= ("yes" | "no") "."'


def bits(mask, size):
    return [token for token in range(size) if mask[token // 32] >> (token % 32) & 1]


def test_matchers_follow_a_text():
    matcher = Grammar(ANSWER).compile(LETTERS, end=END).matcher()
    assert matcher.allowed == sorted([ord("y"), ord("n"), 256, 257, 258])
    assert not matcher.advance(ord("x")) and matcher.num_tokens == 0
    assert matcher.advance(256) and matcher.allowed == [ord("s")]
    assert matcher.expected()
    other = matcher.copy()
    assert other.advance(ord("s")) and other.advance(ord(".")) and other.can_end and not matcher.can_end
    assert other.allowed == [END] and other.advance(END) and other.ended
    other.rollback(2)
    assert other.allowed == [ord(".")] and not other.ended
    other.rollback(2)
    assert other.num_tokens == 0
    with pytest.raises(semfuse.Error):
        other.rollback(1)
    with pytest.raises(semfuse.Error, match="none of this vocabulary"):
        other.advance(1000)


def test_masks_are_bits():
    compiled = Grammar(ANSWER).compile(LETTERS, end=END)
    matcher = compiled.matcher()
    mask = semfuse.bitmask(2, compiled.vocab_size)
    assert mask.shape == (2, 9) and mask.dtype == np.int32
    matcher.fill(mask, 1)
    assert bits(mask[1], 260) == matcher.allowed and not mask[0].any()
    with pytest.raises(semfuse.Error, match="bitmask"):
        matcher.fill(np.zeros(3, np.int32))
    with pytest.raises(TypeError):
        matcher.fill(np.zeros(9, np.int64))


def test_batches_are_filled_by_threads():
    compiled = Grammar('root ::= [a-z]+ ("," [a-z]+)* "."').compile(LETTERS, end=END)
    draw = random.Random(1)
    matchers = []
    for _ in range(100):
        matcher = compiled.matcher()
        for _ in range(draw.randrange(20)):
            if not matcher.ended:
                matcher.advance(draw.choice(matcher.allowed))
        matchers.append(matcher)
    masks = semfuse.bitmask(len(matchers), compiled.vocab_size)
    semfuse.fill_batch(matchers, masks, threads=4)
    for matcher, mask in zip(matchers, masks):
        assert bits(mask, 260) == matcher.allowed


def test_masks_fill_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    compiled = Grammar(ANSWER).compile(LETTERS, end=END)
    mask = torch.zeros((1, 9), dtype=torch.int32)
    compiled.matcher().fill(mask)
    assert bits(mask[0].numpy(), 260) == compiled.matcher().allowed


SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "stars": {"type": "integer", "minimum": 1, "maximum": 5}},
          "required": ["name", "stars"], "additionalProperties": False}


def test_schemas_and_regular_expressions_are_grammars():
    grammar = Grammar(json_schema=SCHEMA)
    assert grammar.accepts('{"name": "Bob", "stars": 4}') and not grammar.accepts('{"name": "Bob", "stars": 6}')
    tight = Grammar(json_schema=json.dumps(SCHEMA), whitespace="none")
    assert tight.accepts('{"name":"Bob","stars":4}') and not tight.accepts('{"name": "Bob", "stars": 4}')
    assert not tight.accepts('{"stars":4,"name":"Bob"}')
    assert Grammar(json_schema=SCHEMA, whitespace="none", any_order=True).accepts('{"stars":4,"name":"Bob"}')
    number = Grammar(regex="[0-9]{3}-[0-9]{2}")
    assert number.accepts("123-45") and not number.accepts("123-4")
    assert Grammar(number.gbnf).accepts("123-45")


def test_forced_text_is_found():
    compiled = Grammar(json_schema=SCHEMA, whitespace="none").compile(LETTERS, end=END)
    matcher = compiled.matcher()
    assert matcher.forced == b'{"name":"'
    for token in matcher.forced_tokens:
        assert matcher.advance(token)
    assert matcher.num_tokens > 0 and compiled.promises_end


def test_random_texts_of_a_schema_validate():
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    vocabulary = Vocabulary(LETTERS, end=END)
    compiled = Grammar(json_schema=SCHEMA, whitespace="spaced").compile(vocabulary)
    whole = 0
    for seed in range(30):
        ids, ended = random_text(compiled, seed)
        if ended:
            text = b"".join(LETTERS[i] for i in ids[:-1]).decode("utf-8")
            jsonschema.validate(json.loads(text), SCHEMA)
            whole += 1
    assert whole > 10


def test_grammars_pickle():
    compiled = Grammar(ANSWER).compile(LETTERS, end=END)
    again = pickle.loads(pickle.dumps(compiled))
    assert again.matcher().allowed == compiled.matcher().allowed
    schema = Grammar(json_schema=SCHEMA, whitespace="none")
    assert pickle.loads(pickle.dumps(schema)).accepts('{"name":"Bob","stars":4}')
    first, second = pickle.loads(pickle.dumps([compiled, Grammar('root ::= "no"').compile(compiled.vocabulary)]))
    assert first.vocabulary is second.vocabulary


@pytest.mark.parametrize("make, says", [
    (lambda: Grammar("root ::= ("), "grammar:1:"),
    (lambda: Grammar(json_schema={"type": "nothing"}), "schema#"),
    (lambda: Grammar(json_schema={}, whitespace="some"), "none, spaced or flexible"),
    (lambda: Grammar(regex="(a"), "regex:1:"),
    (lambda: Grammar(), "just one"),
    (lambda: Grammar("x", regex="y"), "just one"),
    (lambda: Grammar(builtin="nothing").compile(LETTERS, end=END), "nothing"),
    (lambda: Grammar(ANSWER).compile(LETTERS), "end="),
    (lambda: Grammar(ANSWER).compile([b"x", None], end=7), "end"),
    (lambda: Grammar(ANSWER).compile([b"x", None], end=1), "vocabulary"),
    (lambda: Grammar(ANSWER).compile(7), "no vocabulary"),
])
def test_bad_grammars_are_errors(make, says):
    with pytest.raises(semfuse.Error, match=says):
        make()


def test_own_models_write_in_the_language(model, text_model):
    compiled = model.compile(Grammar(builtin="one-clause"))
    for text in model.generate(n=20, grammar=compiled):
        matcher = compiled.matcher()
        for token in model.tokenizer.encode(text):
            assert matcher.advance(token)
        assert matcher.can_end
    assert set(text_model.generate(n=5, grammar=ANSWER)) <= {"yes.", "no."}
    tokens = Grammar(ANSWER).compile(text_model.tokenizer).matcher()
    for token in text_model.tokenizer.encode("yes."):
        assert tokens.advance(token)


def random_text(compiled, seed):
    """Whatever the grammar allows, token by token; the text as the tokens' bytes."""
    draw = random.Random(seed)
    matcher = compiled.matcher()
    ids = []
    while len(ids) < 400 and not matcher.ended:
        allowed = matcher.allowed
        token = compiled.vocabulary.end if compiled.vocabulary.end in allowed and draw.random() < 0.5 else draw.choice(allowed)
        assert matcher.advance(token)
        ids.append(token)
    return ids, matcher.ended


def gpt2():
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    folder = SHARED / "models/tokenizers/gpt2"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}, so the real vocabulary of GPT-2 was not tried")
    return tokenizers.ByteLevelBPETokenizer.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))


def test_tokenizers_of_hugging_face_are_read():
    tokenizer = gpt2()
    vocabulary = Vocabulary.of(tokenizer._tokenizer)
    assert len(vocabulary) == 50257 and vocabulary.end == 50256
    text = "Hello, naïve world!\n\t  日本語 1234"
    assert b"".join(vocabulary.later[i] for i in tokenizer.encode(text).ids) == text.encode()
    compiled = Grammar('root ::= "{" ("\\"" [a-z]+ "\\": " [0-9]+)? "}"').compile(vocabulary)
    for seed in range(5):
        ids, ended = random_text(compiled, seed)
        if ended:
            value = json.loads(tokenizer.decode(ids[:-1]))
            assert isinstance(value, dict) and len(value) <= 1


def test_vocabularies_of_tiktoken_are_read():
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = {bytes([byte]): byte for byte in range(256)}
    ranks |= {b"ye": 256, b"yes": 257}
    encoding = tiktoken.Encoding("small", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 258})
    compiled = Grammar(ANSWER).compile(encoding)
    matcher = compiled.matcher()
    for token in encoding.encode("yes."):
        assert matcher.advance(token)
    assert matcher.allowed == [258]


def test_metaspace_vocabularies_drop_the_first_blank():
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    from tokenizers import decoders, models
    pieces = {"<unk>": 0, "<s>": 1, "</s>": 2, **{f"<0x{byte:02X}>": 3 + byte for byte in range(256)}, "\u2581yes": 259, "\u2581": 260, "es": 261}
    tokenizer = tokenizers.Tokenizer(models.BPE(pieces, [], byte_fallback=True, unk_token="<unk>"))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    vocabulary = Vocabulary.of(tokenizer)
    assert vocabulary.end == 2 and vocabulary.later[259] == b" yes" and vocabulary.first[259] == b"yes"
    compiled = Grammar('root ::= "yes yes"').compile(vocabulary)
    matcher = compiled.matcher()
    assert matcher.advance(259) and matcher.advance(259) and matcher.allowed == [2]
    assert tokenizer.decode([259, 259]) == "yes yes"
