"""What is said of several models, against numbers made for it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from clsviz import words
from clsviz.analysis import ViewData
from clsviz.analysis.compare import Norms, Row
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.settings import Lengths
from clsviz.statistics import line
from clsviz.statistics.probes import Profile


@pytest.fixture(scope="module")
def lengths() -> np.ndarray:
    return np.random.default_rng(0).integers(3, 40, 500).astype(np.int32)


@pytest.fixture(scope="module")
def row_of(lengths: np.ndarray) -> Callable[..., Row]:
    """A row of 500 sentences whose norm follows the length so much."""

    def row_of(label: str, strength: float, spread: float = 0.2, **settings: object) -> Row:
        noise = np.random.default_rng(len(label)).normal(size=500)
        norms = (7 + spread * (strength * (lengths - lengths.mean()) / lengths.std() + noise)).astype(np.float32)
        fit, problem = None, ""
        try:
            fit = line.fit(lengths, norms)
        except UndefinedFitError as error:
            problem = str(error)
        shown = ViewData(np.arange(500), lengths, norms, fit, problem, 0, clusters=np.arange(500))
        return Row(label, label, 600, True, Norms(shown, lengths, np.array([np.nan, 0.5])), **settings)

    return row_of


def test_the_answer_names_most_and_least(row_of: Callable[..., Row]) -> None:
    rows = [row_of("strong", 1.0), row_of("weak", 0.1), row_of("middling", 0.5)]
    text = words.comparison.answer(rows, Experiment(length_cutoff=40))
    strong, weak = rows[0].fit, rows[1].fit
    assert strong
    assert weak
    assert text.startswith(
        f"Most in strong, where a straight line in length explains {strong.r_squared:.1%} of the norm’s variance (R² "
    )
    assert f"least in weak, where it explains {weak.r_squared:.1%} (R² {weak.r_squared:.3f}, 95% interval" in text
    assert text.endswith("The comparison uses 500 of 600 sentences: those under 40 tokens for every model.")
    assert "overlap" not in text
    assert words.comparison.answer(rows[::-1], Experiment(length_cutoff=40)) == text


def test_the_answer_says_where_the_order_may_be_chance_or_there_is_none(row_of: Callable[..., Row]) -> None:
    assert "On the same sentences, the order may be due to chance." in words.comparison.answer(
        [row_of("one", 0.5), row_of("other", 0.55)], Experiment()
    )
    one = row_of("one", 0.5)
    assert words.comparison.answer([one, replace(one, label="same")], Experiment()).startswith(
        "The same to three decimals in both: a straight line in length explains "
    )
    assert words.comparison.answer([one, replace(one, label="a"), replace(one, label="b")], Experiment()).startswith(
        "The same to three decimals in all 3:"
    )
    assert words.comparison.answer([row_of("one", 0.01), row_of("other", 0.1)], Experiment()).startswith(
        "In none of them does a straight line account for as much as 5% of the norm’s variance. Most in other"
    )


def test_the_answer_explains_what_has_no_line(row_of: Callable[..., Row]) -> None:
    constant = row_of("constant", 1.0, spread=0.0)
    text = words.comparison.answer([row_of("one", 0.5), constant], Experiment())
    assert text.startswith("In one, a straight line in length explains ")
    assert "There is no regression line for constant: the norm is the same for all 500 sentences (7.0000)" in text
    assert "until it is trained" not in text
    assert "until it is trained" in words.comparison.answer([replace(constant, model="untrained:minilm")], Experiment())
    assert words.comparison.answer([constant], Experiment()).startswith(
        "Can’t compare: no model gives a line here. There is"
    )
    still = words.comparison.answer([row_of("still", 0.5, spread=0.0001), row_of("other", 2)], Experiment())
    assert "In still, the norm barely varies: its standard deviation is 1.1 × 10⁻⁴, around a mean of 7.00." in still
    assert "As a control" in words.comparison.answer([constant], Experiment(lengths=Lengths.SHUFFLED))


def test_a_model_that_is_still_measured_is_not_ranked(row_of: Callable[..., Row]) -> None:
    rows = [row_of("one", 0.5), row_of("other", 0.1), replace(row_of("early", 3), is_whole=False)]
    text = words.comparison.answer(rows, Experiment())
    assert text.startswith("Most in one")
    assert text.endswith("Not included, because not measured on the whole sample: early.")
    assert words.comparison.answer([*rows, Row("failed", "failed")], Experiment()).endswith(
        "on the whole sample: early, failed."
    )
    assert words.comparison.answer(rows[2:], Experiment()) == ""


def test_the_headline_says_whose_line_accounts_for_more_only_where_the_same_sentences_say_so(
    row_of: Callable[..., Row],
) -> None:
    rows = [row_of("strong", 1.0), row_of("weak", 0.1), row_of("middling", 0.5)]
    (highest,) = (
        f"{np.corrcoef(row.norms.shown.lengths, row.norms.shown.norms)[0, 1] ** 2:.0%}"
        for row in rows
        if row.norms and row.label == "strong"
    )
    headline = words.comparison.headline(rows)
    assert headline == f"strong more than weak: a straight line accounts for {highest} of its norm differences."
    assert words.comparison.headline(rows[::-1]) == headline
    one, other = row_of("one", 0.5), row_of("other", 0.55)
    assert one.fit
    assert other.fit
    assert words.comparison.headline([one, replace(one, label="same")]).startswith("Too close to call: the highest is ")
    # norms that follow each other are told apart though each has a wide interval of its own
    assert one.norms is not None
    shown = one.norms.shown
    noisier = shown.norms + np.random.default_rng(0).normal(0, 0.7 * shown.norms.std(), len(shown.norms))
    fit = line.fit(shown.lengths, noisier, shown.clusters)
    assert fit.r_squared_interval[1] > one.fit.r_squared_interval[0]
    blurred = replace(one, label="blurred", norms=replace(one.norms, shown=replace(shown, norms=noisier, fit=fit)))
    assert words.comparison.headline([one, blurred]).startswith("one more than blurred: ")
    hardly = [row_of("least", 0.05), row_of("most", 0.1)]
    assert words.comparison.headline(hardly).startswith("By a straight line, hardly any: at most ")


def test_nothing_is_told_apart_for_sure_where_it_is_not_known_which_sentences_are_alike(
    row_of: Callable[..., Row],
) -> None:
    def of_many(row: Row) -> Row:
        assert row.norms is not None
        return replace(row, norms=replace(row.norms, shown=replace(row.norms.shown, clusters=None)))

    known = [row_of("strong", 1.0), row_of("weak", 0.1)]
    rows = list(map(of_many, known))
    assert words.comparison.headline(rows).startswith("If there are no near-duplicates, strong more than weak: ")
    assert "if there are any, the intervals are too narrow." in words.comparison.answer(rows, Experiment())
    assert "narrow" not in words.comparison.answer(known, Experiment())


def test_copies_of_a_few_sentences_are_too_few(row_of: Callable[..., Row]) -> None:
    def copies(row: Row) -> Row:
        assert row.norms is not None
        shown = row.norms.shown
        few = np.resize(shown.lengths[:6], 300), np.resize(shown.norms[:6], 300)
        fit = line.fit(*few, np.resize(np.arange(6), 300))
        profile = Profile(300, 16, 2, False, {}, n_clusters=6)
        return replace(row, profile=profile, norms=replace(row.norms, shown=replace(shown, fit=fit)))

    rows = [copies(row_of("strong", 1.0)), copies(row_of("weak", 0.1))]
    assert words.comparison.headline(rows).startswith("Too few sentences to say; the highest is ")
    assert "Among them are only 6 different sentences, too few for a firm answer." in words.comparison.answer(
        rows, Experiment()
    )
    caption = words.comparison.probe_curves(rows)
    assert caption.endswith("on the first 300 sentences. 6 different sentences (of 300) are too few to tell.")


def test_the_headline_of_one_model_and_of_none(row_of: Callable[..., Row]) -> None:
    one, constant = row_of("one", 0.5), row_of("constant", 1.0, spread=0.0)
    assert one.fit
    alone = f"Only one gives a line: it accounts for {one.fit.r_squared:.0%} of the differences."
    partly = replace(row_of("partly", 1.0), is_whole=False)
    for others in ([], [constant], [partly], [Row("a/b", "b")]):
        assert words.comparison.headline([one, *others]) == alone
    assert words.comparison.headline([constant]) == "Can’t compare: no model gives a line here."
    assert words.comparison.headline([constant, partly]) == "Can’t compare: no model gives a line here."
    for nothing in ([], [partly], [Row("a/b", "b", problem="It is gone.")]):
        assert words.comparison.headline(nothing) == ""
