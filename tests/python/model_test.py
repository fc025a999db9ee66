import threading

import numpy as np
import pytest

import semfuse


def test_generates_the_same_texts_for_a_seed(model):
    texts = model.generate(n=5, seed=7)
    assert len(texts) == 5 and all(isinstance(text, str) and text for text in texts)
    assert texts == model.generate(n=5, seed=7)
    assert texts != model.generate(n=5, seed=8)


def test_prompts_begin_texts(model):
    assert all(text.startswith("Alice reviews") for text in model.generate("Alice reviews", n=3))
    texts = model.generate(["Alice reviews", "Carol starts"], n=2)
    assert [text.split()[0] for text in texts] == ["Alice", "Alice", "Carol", "Carol"]


def test_knobs_are_read(model):
    good = model.generate(n=40, knobs={"polarity": 1.0}, guidance=3)
    bad = model.generate(n=40, knobs={"polarity": 0.0}, guidance=3)
    words = {word: [text.count(word) for text in (" ".join(good), " ".join(bad))] for word in ("good", "bad")}
    assert words["good"][0] > words["good"][1] and words["bad"][1] > words["bad"][0]
    one_way = model.generate(n=3, knobs={"mark": "?"})
    assert one_way == model.generate(n=3, knobs={"mark": {"?": 1.0}})
    assert one_way == model.generate(n=3, knobs={"mark": {"?": np.float32(1.0), ".": 0}})


@pytest.mark.parametrize("options, says", [
    ({"knobs": {"polarty": 0.5}}, "polarity"),
    ({"knobs": {"polarity": 7}}, "out of range"),
    ({"knobs": {"polarity": object()}}, "no number"),
    ({"knobs": {"mark": {"?": 0.2}}}, "sum to"),
    ({"temperature": -1.0}, "temperature"),
    ({"top_p": 0.0}, "top"),
    ({"grammar": "root ::= ("}, "grammar:1:"),
    ({"guidance": 50.0, "knobs": {"polarity": 1}}, "guidance"),
])
def test_bad_options_are_errors_with_a_sentence(model, options, says):
    with pytest.raises(semfuse.Error, match=says) as caught:
        model.generate(**options)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options, says", [
    ({"tempreature": 1.0}, "unknown option \"tempreature\"; there are knobs, guidance, seed, temperature"),
    ({"seed": "three"}, "seed: 'three' is not a whole number"),
    ({"seed": -1}, "seed: -1 is not"),
    ({"top_p": "much"}, "top_p: 'much' is not a number"),
    ({"knobs": 7}, "knobs: 7 is not a dict"),
    ({"guidance": "much"}, "guidance: 'much' is not a number, or one by knob"),
    ({"prompt": ["Alice", 3]}, "a prompt is a str"),
])
def test_options_of_another_type_are_type_errors(model, options, says):
    for call in (model.generate, model.generate_records, model.explain):
        with pytest.raises(TypeError, match=says):
            call(**options)
    if "prompt" not in options:
        with pytest.raises(TypeError, match=says):
            model.stream(**options)


def test_any_mapping_is_a_dict_of_knobs(model):
    from types import MappingProxyType
    asked = MappingProxyType({"polarity": np.float32(0.75), "mark": MappingProxyType({"?": 1})})
    assert model.generate(n=3, knobs=asked) == model.generate(n=3, knobs={"polarity": 0.75, "mark": "?"})
    assert model.generate(n=3, knobs=asked, guidance=MappingProxyType({"polarity": 2})) == model.generate(n=3, knobs=dict(asked), guidance={"polarity": 2})


def test_a_missing_model_is_an_error(tmp_path):
    with pytest.raises(semfuse.Error, match="nothing"):
        semfuse.Model.load(tmp_path / "nothing")


def test_an_unknown_word_of_a_prompt_is_an_error(model):
    with pytest.raises(semfuse.Error, match="Alicia"):
        model.generate("Alicia reviews")


def test_records_say_how_texts_ended(model):
    record = model.generate_records("Alice reviews", max_tokens=3)[0]
    assert record["finish"] == "max_tokens" and record["prompt_tokens"] == 2
    assert len(record["ids"]) == len(record["tokens"]) == len(record["log_probabilities"]) == 1


def test_explanations_are_columns(model):
    table = model.explain("Alice reviews", grammar=semfuse.Grammar(builtin="one-clause"))
    rows = {len(column) for column in table.values()}
    assert len(rows) == 1 and rows.pop() == len(table["word"])
    assert all(0 <= p <= 1 for p in table["sampler"])
    pandas = pytest.importorskip("pandas")
    assert list(pandas.DataFrame(table).columns) == list(table)


def test_logits_are_arrays(model):
    ids = model.tokenizer.encode("Alice reviews the paper")
    logits = model.logits("Alice reviews the paper")
    assert logits.dtype == np.float32 and logits.shape == (len(ids) + 1, len(model.tokenizer))
    np.testing.assert_array_equal(logits, model.logits(ids))
    assert not np.array_equal(logits, model.logits(ids, knobs={"polarity": 1.0}))
    assert logits.flags.writeable and logits.flags.c_contiguous


def test_hidden_states_and_features_are_arrays(model):
    text = "Alice reviews the paper"
    rows = len(model.tokenizer.encode(text)) + 1
    assert model.hidden(text).shape == (rows, 32)
    features = model.features(text)
    assert features.shape == (rows, len(model.feature_names)) and features.min() >= 0 and features.max() <= 1
    with pytest.raises(semfuse.Error, match="token 99999"):
        model.hidden([99999])


def test_logits_agree_with_what_is_drawn(model):
    record = model.generate_records("Alice reviews", temperature=0.0, max_tokens=3)[0]
    assert record["ids"][0] == int(np.argmax(model.logits("Alice reviews")[-1]))


def test_weights_are_views(model):
    weights = model.weights
    assert sum(array.size for array in weights.values()) == model.parameter_count
    table = weights["tok.weight"]
    assert not table.flags.writeable and not table.flags.owndata
    assert np.shares_memory(table, model.weights["tok.weight"])
    with pytest.raises(ValueError):
        table[0, 0] = 1
    with pytest.raises(semfuse.Error, match="no weight"):
        model.weight_dlpack("nothing")


def test_weights_go_through_dlpack(model):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.from_dlpack(model.weight_dlpack("tok.weight"))
    np.testing.assert_array_equal(tensor.numpy(), model.weights["tok.weight"])
    assert tensor.data_ptr() == model.weights["tok.weight"].ctypes.data


def test_tokenizers_cut_and_join(model, text_model):
    for each, text in [(model, "Alice reviews the paper, very good!"), (text_model, "The soup was naïve.")]:
        ids = each.tokenizer.encode(text)
        assert each.tokenizer.decode(ids) == text
        assert each.tokenizer.decode_bytes(ids) == text.encode()
    surfaces = text_model.tokenizer.surfaces()
    assert b"".join(surfaces[i] for i in text_model.tokenizer.encode("The soup")).strip() == b"The soup"
    assert text_model.tokenizer.decode([3 + 0xFF]) == "\ufffd"
    copy = text_model.tokenizer.to_json()
    assert "words" in repr(text_model.tokenizer) and copy.startswith("{")


def test_models_say_what_they_are(model, text_model):
    assert set(model.knobs) == {"polarity", "strength", "mark"}
    assert model.knobs["mark"]["labels"] == [".", "!", "?"]
    assert text_model.knobs["good"]["kind"] == "probability"
    assert "parameters" in repr(model) and "width" in model.config


def test_objects_outlive_each_other(run):
    for order in range(4):
        model = run.model
        tokenizer, weight, logits = model.tokenizer, model.weights["tok.weight"], model.logits("Alice")
        compiled = model.compile("root ::= \"Alice reviews the paper.\"")
        matcher = compiled.matcher()
        total = float(weight.sum())
        kept = {"tokenizer": tokenizer, "weight": weight, "logits": logits, "compiled": compiled, "matcher": matcher}
        del model, tokenizer, weight, logits, compiled, matcher
        if order == 1:
            del kept["compiled"], kept["tokenizer"]
        if order == 2:
            del kept["weight"], kept["logits"]
        assert kept["matcher"].allowed
        if "weight" in kept:
            assert float(kept["weight"].sum()) == total and kept["logits"].shape[0] == 2
        if "tokenizer" in kept:
            assert kept["tokenizer"].decode(kept["tokenizer"].encode("Alice reviews")) == "Alice reviews"


def test_many_threads_get_the_same_texts(model):
    compiled = model.compile(semfuse.Grammar(builtin="one-clause"))
    expected = {seed: (model.generate(n=4, seed=seed), model.generate(n=2, seed=seed, grammar=compiled), model.logits("Alice").sum())
                for seed in range(6)}
    failures = []

    def work(first):
        for i in range(12):
            seed = (first + i) % 6
            found = (model.generate(n=4, seed=seed), model.generate(n=2, seed=seed, grammar=compiled), model.logits("Alice").sum())
            if found != expected[seed]:
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
