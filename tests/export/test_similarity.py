import json

import numpy as np
import pytest
from support.searched import N, found_of, lengths, with_length

from clsviz import analysis, export
from clsviz.analysis.search import Joined, Similarity
from clsviz.experiment import View
from clsviz.jobs import Found
from clsviz.sources.models import Weights

ROWS = [Joined(1, 90, 15.0, 1.0, 0.1, 0.1, None, None, None), Joined(8, 90, 120.0, 0.5, 0.12, 0.35, None, None, None)]


@pytest.fixture(scope="module")
def found(tiny_weights: Weights) -> Found:
    return found_of(tiny_weights, with_length(1))


@pytest.fixture(scope="module")
def similarity(found: Found) -> Similarity:
    *_, whole = analysis.search.compare(found, View())
    return whole


def test_the_table_of_pairs_has_every_cell(similarity: Similarity) -> None:
    table = export.similarity.pairs(similarity)
    assert table.shape == (100, 7)
    np.testing.assert_array_equal(table["cosine"].to_numpy().reshape(10, 10), similarity.bias.cosine_by_length)
    last = table.iloc[9]
    assert (last["from_length"], last["other_to_length"]) == (lengths().min(), lengths().max())
    assert table["cosine_of_shared_words"].between(0, 1).all()


def test_the_table_of_ways_has_remedies_vectors_and_words(similarity: Similarity) -> None:
    table = export.similarity.ways(similarity)
    assert table["remedy"].tolist() == ["As it is", "Centred", "Whitened", "Length erased", "As it is", ""]
    assert table["vector"].tolist() == ["[CLS]"] * 4 + ["Mean", "Shared words (tf-idf)"]
    assert table["neighbors_kept"].isna().tolist() == [True, False, False, False, False, True]
    assert table["length_share_of_cosine"].iloc[0] == similarity.bias.length_share


def test_the_table_of_neighbours_has_a_row_a_sentence(found: Found, similarity: Similarity) -> None:
    table = export.similarity.neighbours(found, similarity)
    assert len(table) == N
    assert table["mean_length_of_neighbors"].iloc[4] == lengths()[similarity.bias.neighbours[4]].mean()
    assert table["sentence"].iloc[4] == found.sentences[4]


def test_the_summary_has_the_keys_that_scripts_read(similarity: Similarity) -> None:
    summary = json.loads(json.dumps(export.similarity.summary(similarity, ROWS, ""), allow_nan=False))
    assert np.shape(summary["cosine_by_length"]) == np.shape(summary["cosine_by_length_shuffled"]) == (10, 10)
    for name in ("length_share_of_cosine", "neighbor_length_correlation"):
        assert abs(summary[f"{name}_shuffled"]) < 0.1 < summary[name]
    assert summary["tfidf_share"] == similarity.by_words.length_share
    assert [remedy["remedy"] for remedy in summary["remedies"]] == ["none", "centred", "whitened", "leace"]
    assert [row["sentences"] for row in summary["joined"]] == [1, 8]
    assert summary["joined"][1]["cosine_with_another_text"] == 0.35
    assert summary["joined"][1]["tfidf_with_another_text"] is None
