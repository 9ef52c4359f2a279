"""What is said of several models, against numbers made for it."""

from dataclasses import replace

import numpy as np
from support.prose import row_of
from support.snapshots import assert_said

from clsviz import words
from clsviz.analysis.compare import Row
from clsviz.analysis.search_test import Advice, Consequences, Ranker, SearchTest, Threshold
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, NearDuplicates, Pooling, SimilarityFunction, Task, Unit
from clsviz.statistics import line
from clsviz.statistics.exposure import Ranking
from clsviz.statistics.probes import Profile


def many(row: Row) -> Row:
    """The same where it is not known which sentences are alike."""
    assert row.norms is not None
    return replace(row, norms=replace(row.norms, shown=replace(row.norms.shown, clusters=None)))


def copies(row: Row) -> Row:
    """The same of six sentences, fifty times each."""
    assert row.norms is not None
    shown = row.norms.shown
    few = np.resize(shown.lengths[:6], 300), np.resize(shown.norms[:6], 300)
    fit = line.fit(*few, np.resize(np.arange(6), 300))
    profile = Profile(300, 16, 2, False, {}, n_clusters=6)
    return replace(row, profile=profile, norms=replace(row.norms, shown=replace(shown, fit=fit)))


def blurred(row: Row) -> Row:
    """The same norms with noise of their own, so that what else they have in common cancels out."""
    assert row.norms is not None
    shown = row.norms.shown
    norms = shown.norms + np.random.default_rng(9).normal(0, 0.6 * shown.norms.std(), len(shown.norms))
    norms_of = replace(row.norms, shown=replace(shown, norms=norms, fit=line.fit(shown.lengths, norms, shown.clusters)))
    return replace(row, label="blurred", norms=norms_of)


def test_what_models_side_by_side_say() -> None:
    strong, weak, middling = row_of("strong", 1.0), row_of("weak", 0.1, seed=1), row_of("middling", 0.5, seed=2)
    half, other = row_of("half", 0.5), row_of("a bit more", 0.55, seed=3)
    constant, still, none = (
        row_of("constant", 1.0, spread=0.0),
        row_of("still", 0.5, spread=0.0001),
        row_of("none", 0.0),
    )
    early, failed = replace(row_of("early", 3.0), is_whole=False), Row("failed", "failed", problem="It is gone.")
    cases: dict[str, tuple[list[Row], Experiment]] = {
        "three": ([strong, weak, middling], Experiment(length_cutoff=40)),
        "the intervals overlap": ([half, other], Experiment()),
        "the intervals overlap, and the same sentences differ": ([half, blurred(half)], Experiment()),
        "two that are the same": ([half, replace(half, label="same")], Experiment()),
        "three that are": ([half, replace(half, label="a"), replace(half, label="b")], Experiment()),
        "hardly anything": ([row_of("one", 0.01), row_of("two", 0.1, seed=1)], Experiment()),
        "one has no line": ([half, constant], Experiment()),
        "which is not trained": ([half, replace(constant, model="untrained:minilm")], Experiment()),
        "none has": ([constant], Experiment(lengths=Lengths.SHUFFLED)),
        "one barely varies": ([still, row_of("other", 2.0)], Experiment()),
        "one is still measured, one failed": ([half, weak, early, failed], Experiment()),
        "nothing is measured": ([early, failed], Experiment()),
        "one alone": ([half], Experiment()),
        "one, not told apart": ([none], Experiment()),
        "near-duplicates not looked for": ([many(strong), many(weak)], Experiment()),
        "near-duplicates not grouped": ([strong, weak], Experiment(near_duplicates=NearDuplicates.INDEPENDENT)),
        "copies of six sentences": ([copies(strong), copies(weak)], Experiment()),
        "one, of copies": ([copies(strong)], Experiment()),
    }
    fits = [row.fit for row in (half, blurred(half)) if row.fit]
    assert fits[1].r_squared_interval[1] > fits[0].r_squared_interval[0]
    three, _ = cases["three"]
    assert words.comparison.headline(three[::-1]) == words.comparison.headline(three)
    assert_said(
        "comparison",
        {
            name: [
                words.comparison.headline(rows),
                words.comparison.in_numbers(rows, experiment),
                words.comparison.caveats(rows, experiment),
            ]
            for name, (rows, experiment) in cases.items()
        }
        | {"the caption of copies": words.comparison.probe_curves([copies(strong)], Unit.TOKENS)},
    )


def test_search_comes_first_where_it_was_tested() -> None:
    def row(label: str, low: float, high: float) -> Row:
        ranking = Ranking((low + high) / 2, (low, high), 0.5, ())
        nothing = Consequences({}, Advice(None), None, (), Threshold(0.5, (0.01,) * 5))
        of = {Ranker(Pooling.MEAN, None, SimilarityFunction.COSINE): ranking}
        of_both = dict.fromkeys(SimilarityFunction, nothing)
        test = SearchTest(Task.TITLES, 400, 400, 0.0, True, Pooling.MEAN, None, of, ranking, of_both)
        return Row(label, label, search=test)

    better, worse = row("A", 0.93, 0.97), row("B", 0.89, 0.93 - 1e-6)
    assert words.comparison.searches([worse, better]) == "A finds the right text more often than B: 95% against 91%."
    alike = words.comparison.searches([better, row("C", 0.9, 0.94)])
    assert alike == "A and C find the right text about equally often."
    assert words.comparison.searches([better, Row("D", "D")]) == ""
