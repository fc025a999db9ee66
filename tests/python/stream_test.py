import asyncio
import threading

import pytest

import semfuse


def test_a_stream_is_the_text_of_generate(model, text_model):
    for each, prompt in [(model, "Alice reviews"), (model, ""), (text_model, ""), (text_model, "The soup")]:
        for seed in range(1, 6):
            stream = each.stream(prompt, seed=seed)
            pieces = list(stream)
            assert prompt + "".join(pieces) == stream.text == each.generate(prompt, seed=seed)[0]
            assert list(stream) == []


def test_knobs_act_from_the_next_token_on(model):
    changed = 0
    for seed in range(1, 11):
        plain = list(model.stream(seed=seed, knobs={"polarity": 1.0}))
        stream = model.stream(seed=seed, knobs={"polarity": 1.0})
        turned = [next(stream), next(stream)]
        stream.knobs["polarity"] = 0.0
        stream.knobs["mark"] = "?"
        turned += list(stream)
        assert turned[:2] == plain[:2] and dict(stream.knobs) == {"polarity": 0.0, "mark": "?"}
        changed += turned != plain
    assert changed >= 8


def test_the_first_token_reads_what_was_set_before_it(model):
    for seed in range(1, 6):
        stream = model.stream(seed=seed)
        stream.knobs["polarity"] = 0.0
        assert "".join(stream) == model.generate(seed=seed, knobs={"polarity": 0.0})[0]


def test_bad_knobs_change_nothing(model):
    stream = model.stream(knobs={"polarity": 0.5})
    next(stream)
    with pytest.raises(semfuse.Error, match="out of range"):
        stream.knobs["polarity"] = 7
    assert dict(stream.knobs) == {"polarity": 0.5}
    del stream.knobs["polarity"]
    assert not stream.knobs and isinstance("".join(stream), str)


def test_bad_requests_are_errors(model):
    with pytest.raises(semfuse.Error, match="Alicia"):
        next(model.stream("Alicia"))
    with pytest.raises(semfuse.Error, match="temperature"):
        next(model.stream(temperature=-1.0))


def test_streams_can_be_left(model):
    for _ in range(20):
        stream = model.stream(max_tokens=60)
        next(stream)
        del stream
    with model.stream() as stream:
        next(stream)
    assert list(stream) == []
    untouched = model.stream()
    del untouched


def test_streams_keep_their_model(run):
    stream = run.model.stream("Alice reviews", seed=2)
    assert "Alice reviews" + "".join(stream) == run.model.generate("Alice reviews", seed=2)[0]


def test_async_for(model):
    async def collect(seed):
        return "".join([piece async for piece in model.stream(seed=seed)])

    async def all_of_them():
        return await asyncio.gather(*(collect(seed) for seed in range(1, 6)))

    assert asyncio.run(all_of_them()) == [model.generate(seed=seed)[0] for seed in range(1, 6)]


def test_streams_of_many_threads(model):
    expected = {seed: model.generate(seed=seed)[0] for seed in range(1, 9)}
    found = {}

    def work(seed):
        found[seed] = "".join(model.stream(seed=seed))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected
