"""Models of others: imported, adapted, and what they are not made for."""
import json
import struct

import numpy as np
import pytest
from conftest import SHARED, reviews

import semfuse

WIDTH, HIDDEN, HEADS, VOCABULARY, CONTEXT = 32, 48, 2, 300, 96


def write_llama(folder):
    """A model of random numbers and its tokenizer, as llama2.c has them."""
    draw = np.random.default_rng(1)
    sizes = [VOCABULARY * WIDTH, WIDTH, *[WIDTH * WIDTH] * 4, WIDTH, *[WIDTH * HIDDEN] * 3, WIDTH, CONTEXT * WIDTH // HEADS]
    numbers = [np.ones(size) if size == WIDTH else draw.normal(0, 0.3, size) for size in sizes]
    header = struct.pack("<7i", WIDTH, HIDDEN, 1, HEADS, HEADS, VOCABULARY, CONTEXT)
    (folder / "model.bin").write_bytes(header + np.concatenate(numbers).astype("<f4").tobytes())
    pieces = [("<unk>", 0), ("<s>", 0), ("</s>", 0), *((f"<0x{byte:02X}>", 0) for byte in range(256))]
    pieces += [(" ", -9), *((letter, -9) for letter in "abcdefghijklmnopqrstuvwxyz"), (" a", -1), ("ab", -2)]
    entries = [struct.pack("<fi", score, len(text)) + text.encode() for text, score in pieces]
    (folder / "tokenizer.bin").write_bytes(struct.pack("<i", 6) + b"".join(entries))
    return folder / "model.bin"


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imported")
    return semfuse.import_model(write_llama(folder), folder / "model")


@pytest.fixture(scope="module")
def adapted(imported, tmp_path_factory):
    rows = reviews(80)
    run = semfuse.adapt(imported, [text for text, _ in rows], labels={"good": [good for _, good in rows]}, out=tmp_path_factory.mktemp("adapted") / "run",
                        rank=2, config={"training.epochs": 2, "training.learning_rate": 0.01}, calibrate=False, progress=False)
    return run


def test_imported_models_write(imported):
    texts = imported.generate("ab", n=3, seed=2, max_tokens=20)
    assert len(texts) == 3 and all(text.startswith("ab") for text in texts) and texts == imported.generate("ab", n=3, seed=2, max_tokens=20)
    stream = imported.stream("ab", seed=2, max_tokens=20)
    assert "ab" + "".join(stream) == stream.text == texts[0]
    table = imported.explain("ab", seed=2, max_tokens=20)
    assert len(table["word"]) == len(imported.generate_records("ab", seed=2, max_tokens=20)[0]["tokens"])
    assert set(imported.generate("", n=4, grammar='root ::= "ab" | "ba" "b"')) <= {"ab", "bab"}
    assert imported.knobs == {} and f"{imported.parameter_count:,}" in repr(imported)


def test_imported_models_are_read_out(imported):
    tokenizer = imported.tokenizer
    ids = tokenizer.encode("ab a")
    assert tokenizer.decode(ids) == "ab a" and len(tokenizer) == VOCABULARY + 3
    logits = imported.logits("ab a")
    assert logits.shape == (len(ids) + 1, VOCABULARY + 3) and imported.hidden("ab a").shape == (len(ids) + 1, WIDTH)
    np.testing.assert_array_equal(logits, imported.logits(ids))
    greedy = imported.generate_records("ab a", temperature=0.0, max_tokens=len(ids) + 1)[0]["ids"][0]
    assert greedy == int(np.argmax(logits[-1]))
    np.testing.assert_array_equal(imported.logits(ids[:1])[-1], logits[1])
    matcher = semfuse.Grammar('root ::= "ab a"').compile(tokenizer).matcher()
    assert all(matcher.advance(token) for token in ids) and matcher.can_end


@pytest.mark.parametrize("what", [
    lambda model, folder: model.features("ab"),
    lambda model, folder: semfuse.audit(model),
    lambda model, folder: semfuse.evaluate(model),
    lambda model, folder: semfuse.sweep(model),
    lambda model, folder: semfuse.words.add(model.origin, [{"word": "ab", "class": "noun"}], folder / "more"),
    lambda model, folder: semfuse.train(out=folder / "run", init=model.origin, progress=False),
    lambda model, folder: model.generate("ab", knobs={"polarity": 1}),
    lambda model, folder: model.generate("ab" * CONTEXT),
    lambda model, folder: model.weight_dlpack("tok.weight"),
], ids=["features", "audit", "evaluate", "sweep", "words", "init", "knobs", "context", "weights"])
def test_what_an_imported_model_cannot_do_is_an_error(imported, tmp_path, what):
    with pytest.raises(semfuse.Error) as caught:
        what(imported, tmp_path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 20


def test_bad_imports_are_errors(tmp_path):
    (tmp_path / "noise.bin").write_bytes(b"noise" * 100)
    with pytest.raises(semfuse.Error, match="noise.bin"):
        semfuse.import_model(tmp_path / "noise.bin", tmp_path / "out")
    with pytest.raises(semfuse.Error, match="none, q8 or q4"):
        semfuse.import_model(write_llama(tmp_path), tmp_path / "out", quantize="q5")
    assert not (tmp_path / "out").exists()


def test_quantised_models_are_nearly_the_same(imported, tmp_path):
    small = semfuse.import_model(write_llama(tmp_path), tmp_path / "out", quantize="q8")
    difference = np.abs(small.logits("ab a")[:, 3:] - imported.logits("ab a")[:, 3:])
    assert 0 < difference[difference < 1e20].max() < 0.5


def test_adapted_models_have_knobs(adapted, imported):
    model = adapted.model
    assert set(model.knobs) == {"good"}
    np.testing.assert_array_equal(model.logits("the a"), imported.logits("the a"))
    assert not np.array_equal(model.logits("the a", {"good": 1.0}), model.logits("the a", {"good": 0.0}))
    assert model.generate("the", n=3, seed=5, max_tokens=30) == imported.generate("the", n=3, seed=5, max_tokens=30)
    assert model.generate("the", n=3, seed=5, max_tokens=30, knobs={"good": 1.0}) != model.generate("the", n=3, seed=5, max_tokens=30)
    stream = model.stream("the", seed=5, max_tokens=30)
    first = next(stream)
    stream.knobs["good"] = 1.0
    assert ("the" + first + "".join(stream)).startswith("the" + first)
    assert semfuse.evaluate(adapted)["ppl"] == pytest.approx(adapted.evaluations[-1]["ppl"])
    assert sum(array.size for array in model.weights.values()) < imported.parameter_count
    with pytest.raises(semfuse.Error):
        semfuse.load_torch(model) if has_torch() else semfuse.audit(model)


def has_torch():
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def test_a_real_model_says_what_transformers_does(tmp_path):
    folder = SHARED / "models/stories260K"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}, so no real imported model was tried")
    model = semfuse.import_model(folder / "stories260K.bin", tmp_path / "model", tokenizer=folder / "tok512.bin")
    for case in json.loads((folder / "golden.json").read_text())["cases"]:
        ids = model.tokenizer.encode(case["prompt"])
        assert [token - 3 for token in ids] == case["prompt_ids"][1:]
        last = model.logits(ids)[-1]
        expected = np.array(case["last_logits_first16"])
        found = last[3:19]
        np.testing.assert_allclose(found[3:], expected[3:], atol=1e-3)  # Before are those that begin and end texts.
        text = model.generate(case["prompt"], temperature=0.0, max_tokens=len(ids) + len(case["greedy_ids"]))[0]
        assert text == case["greedy_text"]
