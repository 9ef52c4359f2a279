import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.tiny import SPECIAL, WORDS, random_sentences, write_bert, write_tokenizer

from clsviz import models
from clsviz.encoder import Encoder, plan_batches, token_budget
from clsviz.errors import CancelledError, ModelError
from clsviz.models import Weights

SENTENCES = [*random_sentences(60, seed=3, longest=40), "cat", "", "the " * 200, "cat"]


def reference(weights: Weights, sentence: str) -> tuple[np.ndarray, float, int]:
    """Norms of one sentence by transformers' own means: a tokenizer that truncates, a model that gives all states."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)
    model = transformers.AutoModel.from_pretrained(weights.folder, dtype=torch.float32).eval()
    limit = min(512, model.config.max_position_embeddings)
    inputs = tokenizer(sentence, truncation=True, max_length=limit, return_tensors="pt")
    with torch.inference_mode():
        output = model(**inputs, output_hidden_states=True)
    norms = [float(state[0, 0].double().norm()) for state in output.hidden_states]
    length = len(tokenizer(sentence)["input_ids"]) - 2
    return np.array(norms), float(output.pooler_output[0].double().norm()), length


def test_measurements_are_those_of_transformers_one_sentence_at_a_time(tiny_encoder: Encoder) -> None:
    measured = tiny_encoder.measure(SENTENCES)
    for index, sentence in enumerate(SENTENCES):
        norms, pooler_norm, length = reference(tiny_encoder.weights, sentence)
        np.testing.assert_allclose(measured.cls_norms[index], norms, rtol=1e-5)
        np.testing.assert_allclose(measured.pooler_norms[index, 0], pooler_norm, rtol=1e-5)
        assert measured.n_tokens[index] == length
        assert measured.truncated[index] == (length > 62)
    assert measured.cls_norms.dtype == measured.pooler_norms.dtype == np.float32
    assert measured.truncated.sum() == 1


def test_the_built_in_model_agrees_with_transformers(minilm_encoder: Encoder) -> None:
    sentences = ["Sinan loves a beautiful day", "Hi.", "Words and " * 300, "Ünïcödé 漢字 👋🏽", "\N{ZERO WIDTH SPACE}"]
    measured = minilm_encoder.measure(sentences)
    for index, sentence in enumerate(sentences):
        norms, pooler_norm, length = reference(minilm_encoder.weights, sentence)
        np.testing.assert_allclose(measured.cls_norms[index], norms, rtol=1e-5)
        np.testing.assert_allclose(measured.pooler_norms[index, 0], pooler_norm, rtol=1e-5)
        assert measured.n_tokens[index] == length
    assert measured.n_layers == 6
    assert measured.truncated.tolist() == [False, False, True, False, False]


def test_batches_change_nothing(minilm_encoder: Encoder) -> None:
    sentences = [" ".join(sentence.split()[:words]) for sentence in SENTENCES[:40] for words in (1, 7, 30)]
    together = minilm_encoder.measure(sentences)
    alone = [minilm_encoder.measure([sentence]) for sentence in sentences]
    np.testing.assert_allclose(together.cls_norms, np.concatenate([one.cls_norms for one in alone]), rtol=1e-5)
    np.testing.assert_allclose(together.pooler_norms, np.concatenate([one.pooler_norms for one in alone]), rtol=1e-5)


def test_tokens_are_shown_as_the_model_cuts_them(minilm_encoder: Encoder) -> None:
    assert minilm_encoder.tokens("Sinan loves a beautiful day") == ["sin", "##an", "loves", "a", "beautiful", "day"]
    assert minilm_encoder.tokens("") == []


def test_the_embedding_layer_says_nothing_of_the_sentence(tiny_encoder: Encoder) -> None:
    assert np.ptp(tiny_encoder.measure(SENTENCES).cls_norms[:, 0]) == 0


def count_rows(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the batches that the model is given from now on."""
    sizes: list[int] = []
    forward = encoder._forward

    def counted(ids: Any, lengths: list[int]) -> Any:
        sizes.append(len(ids))
        return forward(ids, lengths)

    monkeypatch.setattr(encoder, "_forward", counted)
    return sizes


def test_duplicates_are_measured_once(tiny_encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = count_rows(tiny_encoder, monkeypatch)
    measured = tiny_encoder.measure(["the cat", "a dog", "the cat", "the cat"])
    assert sum(sizes) == 2
    assert measured.cls_norms[0].tolist() == measured.cls_norms[2].tolist() == measured.cls_norms[3].tolist()
    assert measured.cls_norms[0].tolist() != measured.cls_norms[1].tolist()


def test_every_batch_is_reported_and_can_end_the_work(tiny_weights: Weights) -> None:
    encoder = Encoder(tiny_weights, device="cpu", token_budget=64)
    done: list[int] = []
    encoder.measure(SENTENCES, done.append)
    assert done == sorted(set(done))
    assert done[-1] == len(SENTENCES)

    def stop(_: int) -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError):
        encoder.measure(SENTENCES, stop)


def test_batches_keep_the_token_budget_and_hold_every_sentence_once() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=256)
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].max() * len(batch) <= 256 for batch in batches)
    assert [lengths[batch].max() for batch in batches] == sorted(
        (lengths[batch].max() for batch in batches), reverse=True
    )


@pytest.mark.parametrize("gigabytes", [100, 8, 0.001])
def test_the_budget_of_a_card_follows_its_free_memory(monkeypatch: pytest.MonkeyPatch, gigabytes: float) -> None:
    """A token of BERT base takes 4 * (8 * 768 + 2 * 3072 + 512 * 12) / 1e3 = 73.7 kB at the widest, four times."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(gigabytes * 1e9), int(200e9)))
    budget = token_budget(transformers.BertConfig(), torch.device("cuda"))
    assert budget == pytest.approx(min(131_072, max(512, gigabytes * 1e9 / 4 / 73_728)), abs=1)


def test_without_padding_a_batch_holds_as_many_tokens_as_the_budget() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 500)
    batches = plan_batches(lengths, token_budget=256, pads=False)
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].sum() <= 256 for batch in batches)
    for batch, following in pairwise(batches):
        assert lengths[batch].sum() + lengths[following[0]] > 256
    assert plan_batches(np.array([300, 5]), 256, pads=False)[0].tolist() == [0]


def test_a_sentence_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    assert [batch.tolist() for batch in plan_batches(np.array([5, 300, 5]), token_budget=256)] == [[1], [0, 2]]


def test_running_out_of_memory_halves_the_budget_and_goes_on(
    tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(tiny_weights, device="cpu", token_budget=4096)
    expected = encoder.measure(SENTENCES)
    forward = encoder._forward
    sizes: list[int] = []

    def small_memory(ids: Any, lengths: list[int]) -> Any:
        sizes.append(ids.numel())
        if sizes[-1] > 200:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(ids, lengths)

    monkeypatch.setattr(encoder, "_forward", small_memory)
    measured = encoder.measure(SENTENCES)
    np.testing.assert_allclose(measured.cls_norms, expected.cls_norms, rtol=1e-5)
    assert max(sizes) > 200
    assert sizes[-1] <= 200
    assert encoder._budget <= 200


def test_too_little_memory_for_one_sentence_is_explained(
    tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(tiny_weights, device="cpu")

    def no_memory(*_: Any, **__: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes.")

    monkeypatch.setattr(encoder, "_forward", no_memory)
    with pytest.raises(ModelError, match="needs more memory"):
        encoder.measure(SENTENCES)


def test_another_fault_of_the_model_is_not_taken_for_memory(
    tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(tiny_weights, device="cpu")

    def fault(*_: Any, **__: Any) -> Any:
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(encoder, "_forward", fault)
    with pytest.raises(RuntimeError, match="shapes"):
        encoder.measure(["the cat"])


def test_norms_that_are_no_numbers_are_reported(tiny_weights: Weights) -> None:
    encoder = Encoder(tiny_weights, device="cpu")
    encoder._loaded.model.embeddings.word_embeddings.weight.data.fill_(float("nan"))
    with pytest.raises(ModelError, match="no numbers"):
        encoder.measure(["the cat"])


def test_a_sentence_that_spells_the_special_token_does_not_mislead(tiny_encoder: Encoder) -> None:
    norms, _, length = reference(tiny_encoder.weights, "the [CLS] cat")
    measured = tiny_encoder.measure(["the [CLS] cat"])
    np.testing.assert_allclose(measured.cls_norms[0], norms, rtol=1e-5)
    assert measured.n_tokens[0] == length


def test_a_tokenizer_that_pads_on_the_left_changes_nothing(tmp_path: Path, tiny_encoder: Encoder) -> None:
    folder = write_bert(tmp_path / "left")
    write_tokenizer(folder, padding_side="left")
    left = Encoder(models.find(str(folder)), device="cpu")
    assert left._loaded.tokenizer.padding_side == "left"
    np.testing.assert_allclose(left.measure(SENTENCES).cls_norms, tiny_encoder.measure(SENTENCES).cls_norms, rtol=1e-5)


def test_a_cls_token_at_the_end_is_found(tmp_path: Path, tiny_encoder: Encoder) -> None:
    """As XLNet has it: the vector measured is the last of every sentence, wherever its padding begins."""
    folder = write_bert(tmp_path / "cls-last")
    import tokenizers

    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [SEP] [CLS]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
    encoder = Encoder(models.find(str(folder)), device="cpu")
    measured = encoder.measure(["the cat sat", "a dog"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for index, sentence in enumerate(["the cat sat", "a dog"]):
        inputs = tokenizer(sentence, return_tensors="pt")
        assert inputs["input_ids"][0, -1] == tokenizer.cls_token_id
        with torch.inference_mode():
            last = model(**inputs).last_hidden_state[0, -1]
        np.testing.assert_allclose(measured.cls_norms[index, -1], float(last.norm()), rtol=1e-5)


def test_a_model_without_pooler_has_no_pooler_norm(tmp_path: Path) -> None:
    encoder = Encoder(models.find(str(write_bert(tmp_path / "m", pooler=False))), device="cpu")
    assert not encoder.has_pooler
    assert encoder.measure(["the cat"]).pooler_norms.shape == (1, 0)


def test_roberta_has_fewer_positions_than_its_table(tmp_path: Path) -> None:
    config = transformers.RobertaConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=34,
        pad_token_id=0,
    )
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    encoder = Encoder(models.find(str(tmp_path)), device="cpu")
    assert encoder.max_length == 33
    measured = encoder.measure(["the " * 31, "the " * 32])
    assert measured.truncated.tolist() == [False, True]


def test_a_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"cls_token": "[CLS]",', ""))
    with pytest.raises(ModelError, match=r"no \[CLS\] token"):
        Encoder(models.find(str(tmp_path)))


def test_a_model_whose_cls_sees_nothing_is_refused(tmp_path: Path) -> None:
    """As a decoder's whose tokenizer has a [CLS]: every sentence would have the same."""
    config = transformers.GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="does not see the words that follow it: this is a decoder"):
        Encoder(models.find(str(tmp_path)))


def test_a_decoder_with_something_before_its_cls_is_refused(tmp_path: Path) -> None:
    import tokenizers

    config = transformers.GPT2Config(vocab_size=30, n_embd=8, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    backend = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[SEP] [CLS] $A", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(ModelError, match="this is a decoder"):
        Encoder(models.find(str(tmp_path)))


def test_tokens_of_several_types_keep_them(tmp_path: Path) -> None:
    """As XLNet's tokenizer gives its [CLS] a type of its own."""
    import tokenizers

    folder = write_bert(tmp_path / "m", type_vocab_size=3)
    write_tokenizer(folder, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:2 $A:1 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
    encoder = Encoder(models.find(str(folder)), device="cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    measured = encoder.measure(["the cat sat", "a dog"])
    for index, sentence in enumerate(["the cat sat", "a dog"]):
        inputs = tokenizer(sentence, return_tensors="pt")
        assert inputs["token_type_ids"][0].tolist() == [2, *[1] * len(sentence.split()), 0]
        with torch.inference_mode():
            norm = float(model(**inputs).last_hidden_state[0, 0].norm())
        np.testing.assert_allclose(measured.cls_norms[index, -1], norm, rtol=1e-5)
    assert encoder.slower_because.startswith("its tokens are of several types")


def test_a_padding_token_that_the_model_lacks_does_no_harm(tmp_path: Path, tiny_encoder: Encoder) -> None:
    folder = write_bert(tmp_path / "m")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"pad_token": "[NEW]"})
    tokenizer.save_pretrained(folder)
    encoder = Encoder(models.find(str(folder)), device="cpu")
    assert encoder._loaded.tokenizer.pad_token_id == len(SPECIAL) + len(WORDS)
    np.testing.assert_allclose(
        encoder.measure(SENTENCES).cls_norms, tiny_encoder.measure(SENTENCES).cls_norms, rtol=1e-5
    )


def test_special_tokens_that_the_model_lacks_are_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    model = transformers.BertModel.from_pretrained(folder)
    model.resize_token_embeddings(3)  # without [SEP]
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="has special tokens that the model does not know"):
        Encoder(models.find(str(folder)))


def test_a_tokenizer_that_cannot_read_a_sentence_says_so(tmp_path: Path) -> None:
    import tokenizers

    folder = write_bert(tmp_path / "m")
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.model = tokenizers.models.WordPiece({"[CLS]": 2, "[SEP]": 3, "a": 6, "cat": 7}, unk_token="[UNK]")
    backend.save(str(folder / "tokenizer.json"))
    encoder = Encoder(models.find(str(folder)))
    assert len(encoder.measure(["a cat"])) == 1
    with pytest.raises(ModelError, match="cannot read a sentence: WordPiece error: Missing"):
        encoder.measure(["a dog"])


def test_too_little_memory_for_the_model_is_explained(tiny_weights: Weights, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)")

    monkeypatch.setattr("clsviz.encoder.choice.Blocks", no_memory)
    monkeypatch.setattr("clsviz.encoder.encoder.Blocks", no_memory)
    monkeypatch.setattr("clsviz.encoder.blocks.Blocks", no_memory)
    with pytest.raises(ModelError, match="does not fit into the memory of cpu"):
        Encoder(tiny_weights, device="cpu")


def test_a_bert_that_decodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a decoder"):
        Encoder(models.find(str(write_bert(tmp_path / "m", is_decoder=True))))


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_that_is_none_does_not_count(tmp_path: Path, tiny_encoder: Encoder, limit: int) -> None:
    folder = write_bert(tmp_path / "m")
    write_tokenizer(folder, model_max_length=limit)
    encoder = Encoder(models.find(str(folder)), device="cpu")
    assert encoder.max_length == tiny_encoder.max_length == 64


def test_a_model_without_room_for_a_sentence_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    write_tokenizer(folder, model_max_length=2)
    with pytest.raises(ModelError, match="reads 2 tokens at most, which leaves no room"):
        Encoder(models.find(str(folder)))


def test_a_model_of_pictures_is_refused(tmp_path: Path) -> None:
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=8, patch_size=4
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        Encoder(models.find(str(tmp_path)))


@pytest.mark.parametrize("single", ["[CLS] [CLS] $A [SEP]", "$A [SEP]", "$A"])
def test_frames_of_all_kinds_are_measured_or_refused(tmp_path: Path, single: str) -> None:
    import tokenizers

    folder = write_bert(tmp_path / "m")
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single=single, special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
    weights = models.find(str(folder))
    if "[CLS]" in single:
        assert Encoder(weights, device="cpu").measure(["the cat"]).n_tokens.tolist() == [2]
    else:
        with pytest.raises(ModelError, match=r"puts no \[CLS\] around"):
            Encoder(weights, device="cpu")


def test_tokens_may_be_made_ahead(tiny_encoder: Encoder) -> None:
    tokens = tiny_encoder.tokenize(SENTENCES)
    assert len(tokens.n_tokens) == len(set(SENTENCES))
    ahead, at_once = tiny_encoder.measure(tokens), tiny_encoder.measure(SENTENCES)
    assert ahead.cls_norms.tolist() == at_once.cls_norms.tolist()
    assert ahead.n_tokens.tolist() == at_once.n_tokens.tolist()
    assert len(tiny_encoder.measure([])) == 0


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    transformers.T5Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="with a decoder"):
        Encoder(models.find(str(tmp_path)))


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = write_bert(tmp_path / "m") / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(path).items() if "layer.1" not in name}
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks 16 of its encoder's weights"):
        Encoder(models.find(str(path.parent)))


def test_weights_of_another_shape_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_bert(tmp_path / "m")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"intermediate_size": 64}))
    with pytest.raises(ModelError, match="lacks 6 of its encoder's weights"):  # of two layers: dense, bias, dense
        Encoder(models.find(str(folder)))
    assert capfd.readouterr().err == ""  # the library's own report would be more than one line


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    model = transformers.BertModel.from_pretrained(folder)
    model.resize_token_embeddings(len(SPECIAL) + 3)
    model.save_pretrained(folder)
    encoder = Encoder(models.find(str(folder)))
    assert len(encoder.measure(WORDS[:3])) == 3
    with pytest.raises(ModelError, match="gives token 8, but the model has only 8"):
        encoder.measure(WORDS[:4])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", '{"model_type": "no-such-type"}'),
        ("config.json", '{"model_type": "bert", "num_hidden_layers": "many"}'),
        ("tokenizer.json", "{}"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path: Path, name: str, content: str) -> None:
    folder = write_bert(tmp_path / "m")
    (folder / name).write_text(content)
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        Encoder(models.find(str(folder)))
    assert "\n" not in str(caught.value)


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Model: pass\n")
    config = folder / "config.json"
    config.write_text(config.read_text().replace("{", '{"auto_map": {"AutoModel": "evil.Model"},', 1))
    Encoder(models.find(str(folder))).measure(["the cat"])
    config.write_text('{"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}')
    with pytest.raises(ModelError, match="cannot be loaded"):
        Encoder(models.find(str(folder)))
    assert not (tmp_path / "ran").exists()
