"""A whole test of vectors whose norm is 1 / length, whose truth is known."""

import json

import numpy as np
import pytest

import clsviz
from clsviz import words
from clsviz.api.inputs import Bar
from clsviz.errors import CorpusError, UnsearchableError
from clsviz.settings import Fix, Pooling, SimilarityFunction
from clsviz.statistics.ridge import unit
from clsviz.store import results

N, WIDTH = 500, 32
COSINE, DOT = SimilarityFunction


@pytest.fixture(scope="module")
def made() -> dict[str, object]:
    rng = np.random.default_rng(3)
    n_tokens = rng.permutation(np.arange(20, 20 + N))
    directions = unit(rng.standard_normal((N, WIDTH)) + 1)
    return {
        "texts": [f"text {i} " + "word " * n for i, n in enumerate(n_tokens)],
        "vectors": directions / n_tokens[:, None],
        "queries": [f"query {i}" for i in range(N)],
        "query_vectors": unit(directions + 0.1 * rng.standard_normal((N, WIDTH))),
        "right": range(N),
        "n_tokens": n_tokens,
        "progress": False,
    }


@pytest.fixture(scope="module")
def result(made: dict[str, object]) -> clsviz.SearchTestResult:
    return clsviz.search_test_vectors(**made, similarity="dot", length_power=1.0)


def test_the_verdict_and_the_advice_are_the_truth(result: clsviz.SearchTestResult) -> None:
    test = result.test
    assert result.answer.startswith("Yes: by dot product, the shortest fifth takes ")
    assert result.advice.startswith("Normalise your vectors: on held-out searches, recall rises from ")
    assert words.search.verdict(test, COSINE).startswith(("Hardly: by cosine", "No sign of it: by cosine"))
    dot, cosine = (test.ranking(similarity) for similarity in (DOT, COSINE))
    assert cosine.recall_at_10 > 0.8 > dot.recall_at_10
    fixes = test.consequences[DOT].fixes
    assert fixes[Fix.NORMALIZED].ranking.recall_at_10 == cosine.recall_at_10
    # Score × tokens undoes a norm of 1 / tokens exactly.
    assert fixes[Fix.TOKENS_POWER].ranking.recall_at_10 == pytest.approx(cosine.recall_at_10, abs=0.005)
    assert fixes[Fix.TOKENS_POWER].difference == pytest.approx(cosine.recall_at_10 - dot.recall_at_10, abs=0.005)
    assert fixes[Fix.CALIBRATED].interval[0] > 0
    assert Fix.WHITENED not in fixes  # the halves have 250 texts, and 320 are needed
    assert test.consequences[COSINE].advice.fix is None


@pytest.mark.parametrize("length_power", [None, 0.5])
def test_its_bar_ends_full(
    made: dict[str, object], length_power: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars: list[Bar] = []

    class Kept(Bar):
        def __exit__(self, *raised: object) -> None:
            bars.append(self)

    monkeypatch.setattr("clsviz.api.search.Bar", Kept)
    clsviz.search_test_vectors(**made, length_power=length_power)
    assert [(bar.stage, bar.done) for bar in bars] == [("Searching", bars[0].total)]


def test_missed_searches_are_those_whose_ten_differ_most(result: clsviz.SearchTestResult) -> None:
    examples = result.test.consequences[DOT].examples
    ratios = [abs(np.log(np.mean([t.n_tokens for t in e.found]) / e.right.n_tokens)) for e in examples]
    assert ratios == sorted(ratios, reverse=True)
    assert all(example.right_rank > 10 and len(example.found) == 10 for example in examples)
    assert examples[0].right.n_tokens > 400 > 60 > np.mean([text.n_tokens for text in examples[0].found])


def test_unrelated_pairs_pass_by_length(made: dict[str, object], result: clsviz.SearchTestResult) -> None:
    scores = np.asarray(made["query_vectors"]) @ np.asarray(made["vectors"]).T
    unrelated = ~np.eye(N, dtype=bool)
    limit = np.quantile(scores[unrelated], 0.99)
    threshold = result.test.consequences[DOT].threshold
    assert threshold.similarity == pytest.approx(limit, rel=1e-3)
    shortest = np.argsort(made["n_tokens"])[:100]
    assert threshold.shares[0] == pytest.approx((scores[:, shortest] > limit).mean(), rel=0.05)
    assert threshold.shares[4] == 0


@pytest.mark.parametrize("fix", [Fix.CENTRED, Fix.ERASED, Fix.WHITENED, Fix.CALIBRATED, Fix.TOKENS_POWER])
def test_the_lines_of_python_do_what_was_tested(fix: Fix, made: dict[str, object]) -> None:
    """Printed for one's own search, they rank as the fix that is fitted to the same vectors."""
    from clsviz.analysis.search_test import Correction
    from clsviz.statistics.ranking import calibrate, fit_vectors, times_power

    texts, queries = (np.asarray(made[name]) * 100 for name in ("vectors", "query_vectors"))
    n_tokens = np.asarray(made["n_tokens"])
    if fix is Fix.CALIBRATED:
        fitted = calibrate(queries, texts, n_tokens)
    elif fix is Fix.TOKENS_POWER:
        fitted = times_power(fix, 0.7, n_tokens)
    else:
        fitted = fit_vectors(fix, texts, n_tokens)
    names = {"vectors": texts, "queries": queries, "n_tokens": n_tokens, "scores": queries @ texts.T}
    exec(words.search.python_lines(Correction(fix, fitted.formula, fitted.coefficients)), names)
    if fix in (Fix.CALIBRATED, Fix.TOKENS_POWER):
        expected = (queries @ texts.T - (0 if fitted.shift is None else fitted.shift)) * fitted.scale
        np.testing.assert_allclose(names["scores"], expected, atol=1e-9)
    else:
        expected = fitted.apply(queries) @ fitted.apply(texts).T
        np.testing.assert_allclose(
            names["queries"] @ names["vectors"].T, expected, rtol=1e-3, atol=1e-3 * expected.std()
        )


def test_a_result_is_kept_as_it_is(result: clsviz.SearchTestResult) -> None:
    arrays: results.Arrays = {}
    plain = json.loads(json.dumps(results.to_json(result.test, arrays)))
    assert results.from_json(plain, arrays) == result.test


def test_tables_json_and_pictures_hold_the_test(result: clsviz.SearchTestResult) -> None:
    test, table = result.test, result.table()
    own = table[(table["ranking"] == "[CLS], dot product") & (table["fix"] == "")]
    np.testing.assert_array_equal(own["exposure"], test.ranking(DOT).exposure)
    printed = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert printed["exposure"] == list(test.ranking(DOT).exposure)
    assert printed["other_similarity"]["recall_at_10"] == test.ranking(COSINE).recall_at_10
    assert printed["advice"] == {"fix": "normalized", "sentence": result.advice}
    figure = result.plot()
    expected = np.maximum(test.ranking(DOT).exposure, 0.02)
    assert any(
        len(line.y) == 5 and np.allclose(np.array(line.y, float), expected)
        for line in figure.data
        if line.y is not None
    )
    assert result.image("svg").startswith(b"<?xml")
    assert len(result) == N
    assert test.ranking(DOT, Pooling.CLS) is test.ranking(DOT)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vectors": np.ones((3, WIDTH))}, CorpusError, "There are 500 texts, and vectors of the shape"),
        ({"query_vectors": np.ones((N, 5))}, CorpusError, "Texts have 32 dimensions, queries 5"),
        ({"vectors": np.full((N, WIDTH), np.nan)}, CorpusError, r"^vectors\[0\] has NaN"),
        ({"n_tokens": [1] * 3}, CorpusError, "There are 500 texts and 3 n_tokens"),
        ({"right": [N] * N}, CorpusError, "numbers from 0 to 499"),
        ({"queries": [], "query_vectors": np.ones((0, WIDTH)), "right": []}, UnsearchableError, "Only 0 searches"),
        ({"n_tokens": np.full(N, 7)}, UnsearchableError, "same length"),
    ],
)
def test_what_cannot_be_tested_says_why(
    made: dict[str, object], change: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        clsviz.search_test_vectors(**made | change)
