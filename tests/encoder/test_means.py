"""The norms that need every token's vector, against transformers' own hidden states, a sentence at a time."""

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.tiny import random_sentences

from clsviz.encoder import Encoder
from clsviz.measurements import DEALT, FIXED, KINDS, Kind, Means
from clsviz.settings import Pooling
from clsviz.sources import models

SENTENCES = ["the cat sat .", "a dog", "the", "the big red dog saw a cat .", *random_sentences(60, seed=1)]


@pytest.fixture(scope="module")
def measured(tiny_encoder: Encoder) -> Means:
    return tiny_encoder.means(SENTENCES)


def test_they_are_those_of_the_models_own_tokens(tiny_encoder: Encoder, measured: Means) -> None:
    folder = models.find(tiny_encoder.weights.name).folder
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for at, sentence in enumerate(SENTENCES):
        with torch.inference_mode():
            read = tokenizer(sentence, return_tensors="pt", return_token_type_ids=False)
            layers = model(**read, output_hidden_states=True).hidden_states
        last = layers[-1][0].double()
        assert measured.n_pooled[at] == len(last)
        assert measured.token_squares[at] == pytest.approx(float(last.square().sum(1).mean()), rel=1e-5)
        for layer, tokens in enumerate(layers):
            assert measured.norms(Pooling.MEAN, layer)[at] == pytest.approx(float(tokens[0].mean(0).norm()), rel=1e-4)
            assert measured.norms(Pooling.MAX, layer)[at] == pytest.approx(float(tokens[0].amax(0).norm()), rel=1e-4)
            assert measured.norms(Pooling.CLS, layer)[at] == pytest.approx(float(tokens[0, 0].norm()), rel=1e-4)
        words = last[1:-1]
        if len(words) < FIXED:
            assert np.isnan(measured.fixed_norms[at])
        elif len(words) == FIXED:
            assert measured.fixed_norms[at] == pytest.approx(float(words.mean(0).norm()), rel=1e-4)


def test_which_tokens_are_drawn_depends_on_the_sentence_alone(tiny_encoder: Encoder, measured: Means) -> None:
    turned = tiny_encoder.means(SENTENCES[::-1])
    np.testing.assert_allclose(turned.fixed_norms[::-1], measured.fixed_norms, rtol=1e-4)


def test_tokens_are_dealt_out_among_neighbours(tiny_encoder: Encoder, minilm_encoder: Encoder) -> None:
    alone = tiny_encoder.means(SENTENCES[:1])  # it gets its own tokens back
    np.testing.assert_allclose(alone.dealt_norms, alone.mean_norms[:, -1], rtol=1e-5)
    sentences = random_sentences(DEALT + 40, seed=2)
    large = minilm_encoder.means(sentences[:DEALT])
    # The more tokens, the nearer to the mean of all: averaging alone.
    assert np.corrcoef(large.dealt_norms.astype(float) ** 2, 1 / large.n_pooled)[0, 1] > 0.8
    has_more = large.n_tokens > FIXED
    assert np.isclose(large.fixed_norms[has_more], large.mean_norms[has_more, -1], rtol=1e-3).mean() < 0.05
    (streamed,) = tiny_encoder.stream([sentences], kind=Kind.MEANS)
    runs = [tiny_encoder.means(sentences[:DEALT]), tiny_encoder.means(sentences[DEALT:])]
    np.testing.assert_allclose(streamed.dealt_norms, Means.concatenate(runs).dealt_norms, rtol=1e-5)


def test_a_part_of_them_is_read_as_it_was_written(measured: Means, tmp_path: Path) -> None:
    again = KINDS[Kind.MEANS].from_arrays(measured.to_arrays())
    assert isinstance(again, Means)
    for name, array in measured.to_arrays().items():
        np.testing.assert_array_equal(getattr(again, name), array)
    assert len(Means.concatenate([Means.none(), measured.head(3)])) == 3
