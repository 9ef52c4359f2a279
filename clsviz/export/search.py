"""A search test as a table and ready for JSON."""

import pandas as pd

from clsviz import words
from clsviz.analysis.search_test import SearchTest
from clsviz.settings import SimilarityFunction
from clsviz.statistics.exposure import Fifth, Ranking


def table(test: SearchTest, similarity: SimilarityFunction) -> pd.DataFrame:
    """One row per ranking and fifth of the searched texts by length."""
    rankings = {"BM25": ("", test.bm25)}
    rankings |= {words.search.ranker(of.pooling, of.similarity): ("", ranking) for of, ranking in test.rankings.items()}
    own = words.search.ranker(test.pooling, similarity)
    fixes = test.consequences[similarity].fixes.items()
    rows = [(name, *row) for name, row in rankings.items()]
    rows += [(own, fix.value, result.ranking) for fix, result in fixes]
    return pd.DataFrame(
        [
            {
                "ranking": name,
                "fix": fix,
                "fifth": words.search.FIFTHS[place],
                **_of_fifth(fifth),
                "exposure": fifth.exposure,
                "exposure_low": fifth.exposure_interval and fifth.exposure_interval[0],
                "exposure_high": fifth.exposure_interval and fifth.exposure_interval[1],
            }
            for name, fix, ranking in rows
            for place, fifth in enumerate(ranking.fifths)
        ]
    ).astype(dict.fromkeys(("recall_at_10", "ndcg_at_10", "exposure", "exposure_low", "exposure_high"), float))


def summary(test: SearchTest, similarity: SimilarityFunction) -> dict[str, object]:
    """The result, ready for JSON; undefined values are None."""
    other = next(one for one in SimilarityFunction if one is not similarity)
    of = test.consequences[similarity]
    return {
        "task": test.task,
        "similarity": similarity,
        "n_searches": test.n_searches,
        "n_texts": test.n_texts,
        "truncated_share": test.truncated_share,
        "normalizes": test.normalizes,
        **ranked(test.ranking(similarity)),
        "bm25": ranked(test.bm25),
        "other_similarity": {"similarity": other, **ranked(test.ranking(other))},
        "poolings": [
            {"pooling": ranker.pooling, "similarity": ranker.similarity, **ranked(ranking)}
            for ranker, ranking in test.rankings.items()
        ],
        "fixes": {
            fix.value: {
                "recall_at_10": result.ranking.recall_at_10,
                "difference": result.difference,
                "interval": list(result.interval),
                "exposure": list(result.ranking.exposure),
            }
            for fix, result in of.fixes.items()
        },
        "advice": {"fix": of.advice.fix, "sentence": words.search.advice(of.advice)},
        "correction": of.correction
        and {"formula": of.correction.formula, "coefficients": dict(of.correction.coefficients)},
        "threshold": {"similarity": of.threshold.similarity, "shares": list(of.threshold.shares)},
        "examples": [
            {
                "query": example.query,
                "found_tokens": [text.n_tokens for text in example.found],
                "right_tokens": example.right.n_tokens,
                "right_rank": example.right_rank,
            }
            for example in of.examples
        ],
    }


def ranked(ranking: Ranking) -> dict[str, object]:
    """One ranking, ready for JSON."""
    intervals = [fifth.exposure_interval for fifth in ranking.fifths]
    return {
        "recall_at_10": ranking.recall_at_10,
        "ndcg_at_10": ranking.ndcg_at_10,
        "recall_interval": list(ranking.recall_interval),
        "exposure": list(ranking.exposure),
        "exposure_interval": [interval and list(interval) for interval in intervals],
        "fifths": [_of_fifth(fifth) for fifth in ranking.fifths],
    }


def _of_fifth(fifth: Fifth) -> dict[str, object]:
    names = ("from_tokens", "to_tokens", "n_texts", "recall_at_10", "ndcg_at_10")
    return {name: getattr(fifth, name) for name in names}
