"""Whether length bends a search, as tables and ready for JSON."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from clsviz import words
from clsviz.analysis.search import Joined, Similarity, Way
from clsviz.jobs import Found
from clsviz.statistics.similarity import lengths_of_nearest


def pairs(found: Similarity) -> pd.DataFrame:
    """One row per pair of tenths: their shortest and longest, and the mean cosine of two sentences, one from each.

    Beside it stands what it is with the lengths shuffled, and that of shared words (NaN where there are none).
    """
    nothing = np.full_like(found.bias.cosine_by_length, np.nan)
    by_words = found.by_words.cosine_by_length if found.by_words else nothing
    rows = [
        (
            *found.ranges[first],
            *found.ranges[second],
            found.bias.cosine_by_length[first, second],
            found.chance.cosine_by_length[first, second],
            by_words[first, second],
        )
        for first, second in np.ndindex(nothing.shape)
    ]
    columns = ["from_length", "to_length", "other_from_length", "other_to_length", "cosine"]
    return pd.DataFrame(rows, columns=[*columns, "cosine_shuffled", "cosine_of_shared_words"])


def ways(found: Similarity, *, is_imported: bool = False) -> pd.DataFrame:
    """One row per way to compare: the view's vector, as it is and after each remedy, other vectors, shared words.

    is_imported: whether the vectors were, and so are no [CLS].
    """
    by_words = found.by_words
    of_words: tuple[float | None, ...] = (None,) * 5
    if by_words:
        of_words = (by_words.length_share, by_words.neighbour_correlation, None, by_words.lengths_apart, None)
    rows = [
        (
            "Vector" if is_imported else words.POOLINGS[way.pooling].short,
            words.similarity.REMEDIES[way.remedy],
            *(way.length_share, way.neighbour_correlation, way.held_out, way.lengths_apart, way.kept),
            way.problem,
        )
        for way in (*found.remedies, *found.poolings)
    ]
    columns = ["vector", "remedy", "length_share_of_cosine", "neighbor_length_correlation", "held_out_correlation"]
    columns += ["neighbor_length_difference", "neighbors_kept", "problem"]
    table = pd.DataFrame(
        [*rows, (words.similarity.SHARED_WORDS, "", *of_words, found.by_words_problem)], columns=columns
    )
    return table.astype(dict.fromkeys(columns[2:-1], float))


def neighbours(found: Found, similarity: Similarity) -> pd.DataFrame:
    """One row per sentence compared: itself, its length, and the mean length of its ten nearest."""
    means = lengths_of_nearest(similarity.lengths, similarity.bias.neighbours).mean(axis=1)
    table = pd.DataFrame({"sentence": [found.sentences[i] for i in similarity.index], "length": similarity.lengths})
    table["mean_length_of_neighbors"] = means
    if similarity.by_words:
        by_words = lengths_of_nearest(similarity.lengths, similarity.by_words.neighbours).mean(axis=1)
        table["mean_length_of_neighbors_by_shared_words"] = by_words
    return table


def summary(found: Similarity, joined: Sequence[Joined], joined_problem: str) -> dict[str, object]:
    """The result, ready for JSON; undefined values are None."""
    bias, chance, by_words = found.bias, found.chance, found.by_words
    return {
        "n_used": len(found.index),
        "n_equal": found.n_equal,
        "length_deciles": [list(ends) for ends in found.ranges],
        "cosine_by_length": bias.cosine_by_length.tolist(),
        "cosine_by_length_shuffled": chance.cosine_by_length.tolist(),
        "length_share_of_cosine": bias.length_share,
        "length_share_of_cosine_shuffled": chance.length_share,
        "length_share_of_cosine_shuffled_limit": chance.length_share_limit,
        "neighbor_length_correlation": bias.neighbour_correlation,
        "neighbor_length_correlation_shuffled": chance.neighbour_correlation,
        "neighbor_length_correlation_shuffled_limit": chance.neighbour_correlation_limit,
        "neighbor_length_difference": bias.lengths_apart,
        "random_length_difference": found.random_apart,
        "found_as_neighbor": bias.times_found.tolist(),
        "n_without_neighbors": bias.n_without,
        "n_tied_neighbors": bias.n_tied,
        "tfidf_share": by_words and by_words.length_share,
        "tfidf_neighbor_length_correlation": by_words and by_words.neighbour_correlation,
        "tfidf_n_without_neighbors": by_words and by_words.n_without,
        "tfidf_n_tied_neighbors": by_words and by_words.n_tied,
        "tfidf_problem": found.by_words_problem or None,
        "remedies": [{"remedy": way.remedy or "none"} | _way(way) for way in found.remedies],
        "poolings": [{"pooling": way.pooling} | _way(way) for way in found.poolings],
        "joined": [
            {
                "sentences": row.n_sentences,
                "texts": row.n,
                "tokens": row.length,
                "cosine_with_another_text": row.to_text,
                "cosine_with_own_first_sentence": row.to_own,
                "cosine_with_another_sentence": row.to_sentence,
                "tfidf_with_another_text": row.words_to_text,
                "tfidf_with_own_first_sentence": row.words_to_own,
                "tfidf_with_another_sentence": row.words_to_sentence,
            }
            for row in joined
        ],
        "joined_problem": joined_problem or None,
    }


def _way(way: Way) -> dict[str, object]:
    return {
        "length_share_of_cosine": way.length_share,
        "neighbor_length_correlation": way.neighbour_correlation,
        "neighbor_length_correlation_held_out": way.held_out,
        "neighbor_length_difference": way.lengths_apart,
        "neighbors_kept": way.kept,
        "problem": way.problem or None,
    }
