from pathlib import Path

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from support.reference import encoder_of, norms, norms_by_transformers
from support.tiny import write_bert, write_tokenizer

from clsviz import models
from clsviz.encoder import Encoder
from clsviz.errors import ModelError


def test_a_sentence_that_spells_the_special_token_does_not_mislead(tiny_encoder: Encoder) -> None:
    folder, sentence = tiny_encoder.weights.folder, "the [CLS] cat"
    np.testing.assert_allclose(norms(tiny_encoder, [sentence]), norms_by_transformers(folder, [sentence]), rtol=1e-5)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tiny_encoder.measure([sentence]).n_tokens[0] == len(tokenizer(sentence)["input_ids"]) - 2


def test_a_cls_token_at_the_end_is_found(tmp_path: Path, tiny_encoder: Encoder) -> None:
    """As XLNet has it: the vector measured is the last of every sentence, wherever its padding begins."""
    folder = write_bert(tmp_path / "cls-last")
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [SEP] [CLS]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
    encoder = encoder_of(folder)
    measured = encoder.measure(["the cat sat", "a dog"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    for index, sentence in enumerate(["the cat sat", "a dog"]):
        inputs = tokenizer(sentence, return_tensors="pt")
        assert inputs["input_ids"][0, -1] == tokenizer.cls_token_id
        with torch.inference_mode():
            last = model(**inputs).last_hidden_state[0, -1]
        np.testing.assert_allclose(measured.cls_norms[index, -1], float(last.norm()), rtol=1e-5)


def test_tokens_of_several_types_keep_them(tmp_path: Path) -> None:
    """As XLNet's tokenizer gives its [CLS] a type of its own."""
    folder = write_bert(tmp_path / "m", type_vocab_size=3)
    write_tokenizer(folder, model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS]:2 $A:1 [SEP]:0", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    backend.save(str(folder / "tokenizer.json"))
    encoder = encoder_of(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    measured = encoder.measure(["the cat sat", "a dog"])
    for index, sentence in enumerate(["the cat sat", "a dog"]):
        inputs = tokenizer(sentence, return_tensors="pt")
        assert inputs["token_type_ids"][0].tolist() == [2, *[1] * len(sentence.split()), 0]
        with torch.inference_mode():
            norm = float(model(**inputs).last_hidden_state[0, 0].norm())
        np.testing.assert_allclose(measured.cls_norms[index, -1], norm, rtol=1e-5)
    assert encoder.slow_path_reason.startswith("its tokens are of several types")


@pytest.mark.parametrize("single", ["[CLS] [CLS] $A [SEP]", "$A [SEP]", "$A"])
def test_frames_of_all_kinds_are_measured_or_refused(tmp_path: Path, single: str) -> None:
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
        with pytest.raises(ModelError, match=r"adds no \[CLS\] to"):
            Encoder(weights, device="cpu")
