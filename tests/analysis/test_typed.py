"""The tables of typed sentences, against the encoder's own measurements."""

import numpy as np
import pytest
from support.tiny import random_sentences

from clsviz import analysis
from clsviz.encoder import Encoder
from clsviz.experiment import View
from clsviz.settings import Pooling, Unit

SENTENCES = ["the cat sat on the mat .", "a big dog ran under the old tree", "the cat sat"]


def test_the_tables_hold_what_is_measured(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    tokens = analysis.typed.token_table(typed)
    assert tokens[tokens["sentence"] == 3]["token"].tolist() == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    layers = analysis.typed.layer_table(typed, None)
    np.testing.assert_allclose(
        layers.pivot(index="sentence", columns="layer", values="norm"),
        tiny_encoder.measure(SENTENCES).cls_norms,
        rtol=1e-5,
    )
    pooler = analysis.typed.pooler_table(typed)
    assert pooler.columns.tolist() == ["sentence", "cls", "dense", "pooler", "near_one"]
    np.testing.assert_allclose(pooler["pooler"], tiny_encoder.measure(SENTENCES).pooler_norms[:, 0], rtol=1e-5)


def test_length_and_norm_are_those_of_the_view(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    view = View(layer=1, pooling=Pooling.MEAN, unit=Unit.WORDS)
    vectors = tiny_encoder.vectors([SENTENCES[1]]).of(Pooling.MEAN, 1)
    assert typed.length(1, view) == 8
    assert typed.norm(1, view) == pytest.approx(float(np.linalg.norm(vectors[0])), rel=1e-5)
    assert typed.has(view)
    assert not typed.has(View(layer=3))


def test_pairs_are_ranked_among_those_of_the_corpus(tiny_encoder: Encoder) -> None:
    typed = analysis.typed.measure(tiny_encoder, SENTENCES)
    corpus = tiny_encoder.vectors(random_sentences(30, seed=2))
    table = analysis.typed.similarity_table(typed, corpus, View())
    assert table[["first", "second"]].to_numpy().tolist() == [[1, 2], [1, 3], [2, 3]]
    assert table["second_sentence"].tolist() == [SENTENCES[1], SENTENCES[2], SENTENCES[2]]
    assert table["first_sentence"].tolist() == [SENTENCES[0], SENTENCES[0], SENTENCES[1]]
    of = corpus.of(Pooling.CLS, None).astype(float)
    of /= np.linalg.norm(of, axis=1, keepdims=True)
    pairs = [float(of[a] @ of[b]) for a in range(30) for b in range(a)]
    mine = typed.vectors.of(Pooling.CLS, None).astype(float)
    mine /= np.linalg.norm(mine, axis=1, keepdims=True)
    np.testing.assert_allclose(table["similarity"], [mine[0] @ mine[1], mine[0] @ mine[2], mine[1] @ mine[2]])
    expected = [100 * np.mean([pair < similarity for pair in pairs]) for similarity in table["similarity"]]
    np.testing.assert_allclose(table["percentile"], expected)
