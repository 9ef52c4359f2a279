import json
from pathlib import Path

import pytest
import transformers
from safetensors.torch import load_file, save_file
from support.reference import encoder_of
from support.tiny import SPECIAL, WORDS, write_bert, write_tokenizer

from clsviz.encoder import Encoder
from clsviz.errors import ModelError


def test_a_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    transformers.GPT2Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"cls_token": "[CLS]",', ""))
    with pytest.raises(ModelError, match=r"no \[CLS\] token"):
        encoder_of(tmp_path)


def test_a_bert_that_decodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is a decoder"):
        encoder_of(write_bert(tmp_path / "m", is_decoder=True))


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    config = transformers.T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    transformers.T5Model(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="with a decoder"):
        encoder_of(tmp_path)


def test_a_model_of_pictures_is_refused(tmp_path: Path) -> None:
    config = transformers.ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8, image_size=8, patch_size=4
    )
    transformers.ViTModel(config).save_pretrained(tmp_path)
    write_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder_of(tmp_path)


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    path = write_bert(tmp_path / "m") / "model.safetensors"
    tensors = {name: tensor for name, tensor in load_file(path).items() if "layer.1" not in name}
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks 16 of its encoder's weights"):
        encoder_of(path.parent)


def test_weights_of_another_shape_are_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = write_bert(tmp_path / "m")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"intermediate_size": 64}))
    with pytest.raises(ModelError, match="lacks 6 of its encoder's weights"):  # of two layers: dense, bias, dense
        encoder_of(folder)
    assert capfd.readouterr().err == ""  # the library's own report would be more than one line


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
        encoder_of(folder)
    assert "\n" not in str(caught.value)


def test_code_that_comes_with_a_model_is_not_run(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Model: pass\n")
    config = folder / "config.json"
    config.write_text(config.read_text().replace("{", '{"auto_map": {"AutoModel": "evil.Model"},', 1))
    encoder_of(folder).measure(["the cat"])
    config.write_text('{"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}')
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder_of(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_that_is_none_does_not_count(tmp_path: Path, tiny_encoder: Encoder, limit: int) -> None:
    folder = write_bert(tmp_path / "m")
    write_tokenizer(folder, model_max_length=limit)
    encoder = encoder_of(folder)
    assert encoder.max_length == tiny_encoder.max_length == 64


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
    encoder = encoder_of(tmp_path)
    assert encoder.max_length == 33
    measured = encoder.measure(["the " * 31, "the " * 32])
    assert measured.truncated.tolist() == [False, True]


def test_a_model_without_room_for_a_sentence_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    write_tokenizer(folder, model_max_length=2)
    with pytest.raises(ModelError, match="reads at most 2 tokens, which leaves no room"):
        encoder_of(folder)


def test_special_tokens_that_the_model_lacks_are_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    model = transformers.BertModel.from_pretrained(folder)
    model.resize_token_embeddings(3)  # without [SEP]
    model.save_pretrained(folder)
    with pytest.raises(ModelError, match="has special tokens that the model does not know"):
        encoder_of(folder)
