"""What stands on PyTorch: the network as a module, and grammars for models of `transformers`."""
import json

import numpy as np
import pytest
from conftest import SHARED

import semfuse

torch = pytest.importorskip("torch", reason="torch is not installed, so load_torch and semfuse.hf were not tested")


@pytest.mark.parametrize("which", ["run", "text_run"])
def test_the_module_has_the_logits_of_the_model(which, request):
    run = request.getfixturevalue(which)
    model, module = run.model, semfuse.load_torch(run)
    for text in model.generate(n=5, seed=3):
        ids = model.tokenizer.encode(text)
        features = torch.tensor(model.features(ids))[None]
        with torch.no_grad():
            found = module(torch.tensor([[1, *ids]]), features)[0].numpy()
        np.testing.assert_allclose(found, model.logits(ids), atol=1e-4)
    assert {name for name, _ in module.named_parameters()} == {name for name in model.weights if not name.startswith("memberships.")}


def test_the_module_can_be_trained(model):
    module = semfuse.load_torch(model).train()
    loss = module(torch.tensor([[1, 5, 6]])).square().mean()
    loss.backward()
    assert module.tok.weight.grad.abs().sum() > 0
    before = model.weights["tok.weight"].copy()
    with torch.no_grad():
        module.tok.weight.zero_()
    np.testing.assert_array_equal(model.weights["tok.weight"], before)


GRAMMAR = 'root ::= "{" "\\"" [a-z]{1,6} "\\": " [0-9]{1,3} "}"'


@pytest.fixture(scope="module")
def gpt2():
    # transformers asks for it at each pass, and a PyTorch without its GPU libraries (bench/make_torch) cannot answer.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        yield real_vocabulary_and_small_model()


def real_vocabulary_and_small_model():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed, so semfuse.hf was not tested")
    tokenizers = pytest.importorskip("tokenizers")
    folder = SHARED / "models/tokenizers/gpt2"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}, so semfuse.hf was not tried with a real vocabulary")
    backend = tokenizers.ByteLevelBPETokenizer.from_file(str(folder / "vocab.json"), str(folder / "merges.txt"))._tokenizer
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    torch.manual_seed(1)
    config = transformers.GPT2Config(vocab_size=50304, n_embd=32, n_layer=1, n_head=2, eos_token_id=50256, bos_token_id=50256)
    return tokenizer, transformers.GPT2LMHeadModel(config).eval()


@pytest.mark.parametrize("how", [
    {"do_sample": True}, {"do_sample": False}, {"do_sample": False, "num_beams": 4, "num_return_sequences": 2},
    {"do_sample": True, "num_beams": 3}])
def test_transformers_write_in_the_language(gpt2, how):
    from semfuse.hf import GrammarLogitsProcessor

    tokenizer, model = gpt2
    compiled = semfuse.Grammar(GRAMMAR).compile(tokenizer)
    processor = GrammarLogitsProcessor(compiled)
    inputs = tokenizer(["The answer:", "And so"], return_tensors="pt", padding=True)
    for _ in range(2):  # The same object for another call.
        rows = model.generate(**inputs, max_new_tokens=40, pad_token_id=50256, logits_processor=[processor], **how)
        for row in rows[:, inputs["input_ids"].shape[1]:]:
            text = tokenizer.decode([token for token in row.tolist() if token != 50256])
            assert len(json.loads(text)) == 1, text


def test_scores_keep_their_type(gpt2):
    from semfuse.hf import GrammarLogitsProcessor

    processor = GrammarLogitsProcessor(semfuse.Grammar(GRAMMAR).compile(gpt2[0]))
    scores = torch.zeros((1, 50304), dtype=torch.bfloat16)
    found = processor(torch.tensor([[5]]), scores)
    assert found.dtype == torch.bfloat16 and not torch.isinf(scores).any()
    allowed = torch.nonzero(~torch.isinf(found[0]))[:, 0].tolist()
    assert allowed == semfuse.Grammar(GRAMMAR).compile(gpt2[0]).matcher().allowed
