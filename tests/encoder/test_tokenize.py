from pathlib import Path

import numpy as np
import pytest
import tokenizers
import transformers
from support.reference import encoder_of, frame_tokens, norms, norms_by_transformers
from support.tiny import SPECIAL, WORDS, random_sentences, write_bert, write_tokenizer

from clsviz.encoder import Encoder
from clsviz.errors import ModelError

SENTENCES = [*random_sentences(60, seed=3, longest=40), "cat", "", "the " * 200, "cat"]


def test_tokens_are_shown_as_the_model_cuts_them(minilm_encoder: Encoder) -> None:
    assert minilm_encoder.tokens("Sinan loves a beautiful day") == ["sin", "##an", "loves", "a", "beautiful", "day"]
    assert minilm_encoder.tokens("") == []


def test_tokens_may_be_made_ahead(tiny_encoder: Encoder) -> None:
    tokens = tiny_encoder.tokenize(SENTENCES)
    assert len(tokens.n_tokens) == len(set(SENTENCES))
    ahead, at_once = tiny_encoder.measure(tokens), tiny_encoder.measure(SENTENCES)
    assert ahead.cls_norms.tolist() == at_once.cls_norms.tolist()
    assert ahead.n_tokens.tolist() == at_once.n_tokens.tolist()


def test_a_tokenizer_that_cannot_read_a_sentence_says_so(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.model = tokenizers.models.WordPiece({"[CLS]": 2, "[SEP]": 3, "a": 6, "cat": 7}, unk_token="[UNK]")
    backend.save(str(folder / "tokenizer.json"))
    encoder = encoder_of(folder)
    assert len(encoder.measure(["a cat"])) == 1
    with pytest.raises(ModelError, match="cannot read a sentence: WordPiece error: Missing"):
        encoder.measure(["a dog"])


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tmp_path: Path) -> None:
    folder = write_bert(tmp_path / "m")
    model = transformers.BertModel.from_pretrained(folder)
    model.resize_token_embeddings(len(SPECIAL) + 3)
    model.save_pretrained(folder)
    encoder = encoder_of(folder)
    assert len(encoder.measure(WORDS[:3])) == 3
    with pytest.raises(ModelError, match="gives token 8, but the model knows only 8"):
        encoder.measure(WORDS[:4])


def test_framed_tokens_are_all_that_the_model_reads(minilm_encoder: Encoder) -> None:
    framed = minilm_encoder.framed_tokens("Sinan loves a beautiful day")
    assert [identity for _, identity in framed] == [101, 8254, 2319, 7459, 1037, 3376, 2154, 102]
    assert [token for token, _ in framed] == ["[CLS]", "sin", "##an", "loves", "a", "beautiful", "day", "[SEP]"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(minilm_encoder.weights.folder)
    long = "many words " * 500
    expected = tokenizer(long, truncation=True, max_length=512)["input_ids"]
    assert [identity for _, identity in minilm_encoder.framed_tokens(long)] == expected


def test_a_sentence_that_spells_the_special_token_does_not_mislead(tiny_encoder: Encoder) -> None:
    folder, sentence = tiny_encoder.weights.folder, "the [CLS] cat"
    np.testing.assert_allclose(norms(tiny_encoder, [sentence]), norms_by_transformers(folder, [sentence]), rtol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tiny_encoder.measure([sentence]).n_tokens[0] == len(tokenizer(sentence)["input_ids"]) - 2


def test_a_cls_token_at_the_end_is_found(tmp_path: Path) -> None:
    """As XLNet has it: the vector measured is the last of every sentence, wherever its padding begins."""
    folder = write_bert(tmp_path, pooler=False)
    frame_tokens(folder, "$A [SEP] [CLS]")
    sentences = ["the cat sat", "a dog"]
    expected = norms_by_transformers(folder, sentences, cls=-1)[:, :3]  # transformers draws a pooler
    np.testing.assert_allclose(norms(encoder_of(folder), sentences), expected, rtol=1e-5)


def test_tokens_of_several_types_keep_them(tmp_path: Path) -> None:
    """As XLNet's tokenizer gives its [CLS] a type of its own."""
    folder = write_bert(tmp_path, type_vocab_size=3)
    write_tokenizer(folder, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    frame_tokens(folder, "[CLS]:2 $A:1 [SEP]:0")
    sentences = ["the cat sat", "a dog"]
    encoder = encoder_of(folder)
    expected = norms_by_transformers(folder, sentences, with_types=True)
    np.testing.assert_allclose(norms(encoder, sentences), expected, rtol=1e-5)
    assert encoder.slow_path_reason.startswith("its tokens are of several types")


@pytest.mark.parametrize("single", ["[CLS] [CLS] $A [SEP]", "$A [SEP]", "$A"])
def test_frames_of_all_kinds_are_measured_or_refused(tmp_path: Path, single: str) -> None:
    folder = write_bert(tmp_path)
    frame_tokens(folder, single)
    if "[CLS]" in single:
        assert encoder_of(folder).measure(["the cat"]).n_tokens.tolist() == [2]
    else:
        with pytest.raises(ModelError, match=r"adds no \[CLS\] to"):
            encoder_of(folder)


def test_a_sentence_is_truncated_from_the_first_token_that_does_not_fit(tiny_encoder: Encoder) -> None:
    room = tiny_encoder.max_length - len(tiny_encoder.framed_tokens(""))
    sentences = [" ".join(["the"] * n) for n in (room - 1, room, room + 1)]
    measured = tiny_encoder.measure(sentences)
    assert measured.n_tokens.tolist() == [room - 1, room, room + 1]
    assert measured.truncated.tolist() == [False, False, True]
    assert len(tiny_encoder.framed_tokens(sentences[1])) == tiny_encoder.max_length


@pytest.mark.parametrize("settings", [{"padding_side": "left"}, {"pad_token": "[NEW]"}])
def test_padding_by_another_token_or_on_the_left_changes_nothing(
    settings: dict[str, str], tmp_path: Path, tiny_encoder: Encoder
) -> None:
    folder = write_bert(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side=settings.get("padding_side", "right"))
    if "pad_token" in settings:
        tokenizer.add_special_tokens(settings)
        assert tokenizer.pad_token_id == len(SPECIAL) + len(WORDS)  # which the model does not have
    tokenizer.save_pretrained(folder)
    encoder = encoder_of(folder)
    assert encoder.anatomy.tokenizer.padding_side == settings.get("padding_side", "right")
    expected = tiny_encoder.measure(SENTENCES).cls_norms
    np.testing.assert_allclose(encoder.measure(SENTENCES).cls_norms, expected, rtol=1e-5)
