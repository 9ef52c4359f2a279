from pathlib import Path

import numpy as np
import pytest
from support.tiny import random_sentences, write_bert

import clsviz

SENTENCES = random_sentences(40, seed=4)


@pytest.fixture(scope="module")
def encoder(tiny_folder: Path) -> clsviz.Encoder:
    return clsviz.Encoder(str(tiny_folder), device="cpu")


def test_norms_are_those_of_the_vectors(encoder: clsviz.Encoder) -> None:
    for pooling in ("cls", "mean", "max", "pooler"):
        for layer in (0, 1, 2, None):
            norms = encoder.norms(SENTENCES, layer=layer, pooling=pooling)
            vectors = encoder.vectors(SENTENCES, layer=layer, pooling=pooling)
            assert (norms.shape, vectors.shape) == ((40,), (40, 16))
            assert norms.dtype == vectors.dtype == np.float32
            np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), norms, rtol=1e-5)
            np.testing.assert_array_equal(encoder.encode(SENTENCES, layer=layer, pooling=pooling), vectors)


def test_the_table_is_in_the_order_of_the_sentences(encoder: clsviz.Encoder) -> None:
    table = encoder.table(SENTENCES)
    assert table["sentence"].tolist() == SENTENCES
    assert table["n_tokens"].tolist() == [len(encoder.tokens(sentence)) for sentence in SENTENCES]
    np.testing.assert_array_equal(table["cls_1"], encoder.norms(SENTENCES, layer=1))


def test_what_the_model_is_can_be_asked(encoder: clsviz.Encoder) -> None:
    assert (encoder.label, encoder.n_layers, encoder.max_length, encoder.has_pooler) == ("tiny-bert", 2, 64, True)
    assert encoder.name in repr(encoder)


def test_what_cannot_be_is_an_error_of_ours(encoder: clsviz.Encoder, tmp_path: Path) -> None:
    for call, named in [
        (lambda: encoder.norms("a cat."), "is one text"),
        (lambda: encoder.vectors(["a cat.", 3]), "Item 2"),  # type: ignore[list-item]
        (lambda: encoder.norms(SENTENCES, layer=3), "layers 0 to 2"),
        (lambda: encoder.norms(SENTENCES, pooling="sum"), "pooling is “sum”"),
        (lambda: clsviz.Encoder("two words"), "is not the name of a model"),
        (lambda: clsviz.Encoder(str(tmp_path), precision="half"), "config.json|precision"),
    ]:
        with pytest.raises(clsviz.ClsvizError, match=named):
            call()  # type: ignore[no-untyped-call]
    plain = clsviz.Encoder(str(write_bert(tmp_path / "plain", pooler=False)), device="cpu")
    with pytest.raises(clsviz.ClsvizError, match="has no pooler"):
        plain.norms(SENTENCES, pooling="pooler")
