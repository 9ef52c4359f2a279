"""Which sentences, lengths and norms a view shows, and what is said where it shows none."""

from dataclasses import replace

import numpy as np
import pytest
from support import measured as made_up
from support.tiny import different_sentences

from clsviz import analysis
from clsviz.analysis import select, shapes, unmeasurable_layers
from clsviz.analysis.view import More, advised, more_than
from clsviz.errors import SettingError, TooFewError, UndefinedFitError
from clsviz.experiment import Selection, View
from clsviz.export.picture import density_of_all
from clsviz.jobs import Found
from clsviz.measurements import Measurements, Vectors
from clsviz.settings import ALL, Lengths, Pooling, Precision, Unit
from clsviz.sources.catalogue import Corpus
from clsviz.sources.sampling import Sample
from clsviz.statistics.line import fit
from clsviz.statistics.summary import Census


def measurements(n: int, start: int = 0) -> Measurements:
    """Made up; sentences of even length are truncated."""
    made = made_up.measurements(n, start)
    return replace(made, truncated=made.n_tokens % 2 == 0)


def found(measured: Measurements, exact: Measurements | None = None) -> Found:
    """As an extraction has it; fast where what is `exact` is given as well."""
    sample = Sample(None, different_sentences(len(measured)), "")
    if exact is None:
        return Found(None, sample, measurements=measured)
    audit = Found(None, sample.head(len(exact)), measurements=exact)
    return Found(None, sample, Precision.FAST, measured, audit=audit)


def test_only_whole_sentences_under_the_cutoff_are_shown() -> None:
    shown = select(found(measurements(100)), View(length_cutoff=10))  # those of even length are truncated
    assert shown.index.tolist() == shown.lengths.tolist() == [1, 3, 5, 7, 9]
    assert shown.n_truncated == 5
    np.testing.assert_allclose(shown.norms, np.array([1, 3, 5, 7, 9]) + 0.2, rtol=1e-6)
    assert shown.fit is not None
    assert shown.fit.slope == pytest.approx(1)


def test_the_layer_and_the_pooler_are_selected() -> None:
    assert select(found(measurements(20)), View(layer=0)).norms[0] == 1
    assert select(found(measurements(20)), View(pooling=Pooling.POOLER)).norms[0] == 1.5


def test_nothing_under_the_cutoff_is_explained() -> None:
    shown = select(found(measurements(100, start=50)), View(length_cutoff=2))
    assert shown.fit is None
    assert shown.problem.endswith("cutoff. Raise the length cutoff, or take more.")
    short, long = np.array([1, 50], np.int32), np.array([True, False])
    shown = select(found(replace(measurements(2), n_tokens=short, truncated=long)), View(length_cutoff=2))
    assert "Raise the length cutoff, or take more. 1 left out" in shown.problem
    shown = select(found(replace(measurements(2), truncated=np.array([True, True]))), View(length_cutoff=2))
    assert "beginning of every sentence" in shown.problem  # no cutoff would help
    assert "Raise" not in shown.problem


def test_what_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(SettingError, match="layers 0 to 2"):
        select(found(measurements(20)), View(layer=3))
    whole = measurements(20)
    without = Measurements(whole.n_tokens, whole.truncated, whole.cls_norms, np.empty((20, 0), np.float32))
    with pytest.raises(SettingError, match="no pooler"):
        select(found(without), View(pooling=Pooling.POOLER))


def off_by(whole: Measurements, errors: list[float]) -> Measurements:
    """The same, with an error of so much, up and down by turns, in the norms of each layer."""
    signs = np.where(np.arange(len(whole)) % 4 < 2, 1, -1)[:, None]
    norms = (whole.cls_norms + signs * np.array(errors)).astype(np.float32)
    return Measurements(whole.n_tokens, whole.truncated, norms, whole.pooler_norms)


def test_a_fast_precision_is_shown_with_its_error() -> None:
    exact = measurements(200)
    shown = select(found(off_by(exact, [0, 0, 0.5]), exact.head(60)), View(length_cutoff=41))
    assert len(shown.index) == 20
    assert shown.audit.n == 20
    assert shown.audit.largest_error == pytest.approx(0.5, rel=1e-5)
    assert shown.audit.norm_sd == pytest.approx(np.arange(1, 41, 2).std())
    lengths = np.arange(1, 41, 2)
    fast = lengths + np.where(lengths % 4 < 2, 0.5, -0.5)
    assert shown.audit.r_squared_change == pytest.approx(np.corrcoef(lengths, fast)[0, 1] ** 2 - 1, rel=1e-4)


def test_what_varies_less_than_the_error_is_not_shown() -> None:
    exact = measurements(200)
    fast = found(off_by(exact, [0, 100, 0.5]), exact.head(60))
    shown = select(fast, View(layer=1))
    assert len(shown.index) == len(shown.norms) == len(shown.lengths) == 0
    assert shown.fit is None
    assert shown.problem.startswith("Not measurable in the fast precision: the norm varies by ")
    assert "the error reaches 1e+02" in shown.problem
    assert unmeasurable_layers(fast, View()) == [1]
    assert unmeasurable_layers(found(exact), View()) == []


def test_errors_that_follow_the_length_are_not_shown_as_r_squared() -> None:
    exact = measurements(200)
    noise = np.random.default_rng(0).normal(7, 0.3, (200, 3)).astype(np.float32)
    exact = replace(exact, cls_norms=noise)
    fast = replace(exact, cls_norms=noise + 0.1 * (exact.n_tokens[:, None] / exact.n_tokens.std() - 1))
    shown = select(found(fast, exact), View(length_cutoff=512))
    assert shown.fit is None
    assert shown.audit is not None
    whole = ~exact.truncated
    without, with_errors = (np.corrcoef(exact.n_tokens[whole], m.cls_norms[whole, 2])[0, 1] ** 2 for m in (exact, fast))
    off = f"R² differs by {abs(with_errors - without):.3f}."
    assert f"on {whole.sum()} sentences measured both ways, {off}" in shown.problem
    assert unmeasurable_layers(found(fast, exact), View(length_cutoff=512)) == [0, 1, 2]


def test_a_fast_precision_that_is_not_yet_checked_is_not_shown() -> None:
    shown = select(found(measurements(50), Measurements.none()), View())
    assert shown.fit is None
    assert "not known yet" in shown.problem
    assert len(shown.index) == 0


def test_the_error_is_that_of_all_where_few_are_shown() -> None:
    exact = measurements(100, start=20)
    assert select(found(exact, exact), View(length_cutoff=5)).audit.n == 100


def test_lengths_are_counted_in_the_unit_and_cut_in_tokens() -> None:
    sentences = ["word " * (100 - n) for n in range(100)]
    of = Found(None, Sample(None, sentences, ""), measurements=measurements(100))
    shown = select(of, View(length_cutoff=10, unit=Unit.WORDS))
    assert shown.index.tolist() == [1, 3, 5, 7, 9]
    assert shown.lengths.tolist() == [99, 97, 95, 93, 91]
    assert shown.fit is not None
    assert shown.fit.slope == pytest.approx(-1)
    assert select(of, View(length_cutoff=10, unit=Unit.CHARACTERS)).lengths.tolist() == [495, 485, 475, 465, 455]


def test_shuffled_lengths_are_the_same_of_other_sentences_and_always_the_same() -> None:
    true = select(found(measurements(400)), View(length_cutoff=400))
    shuffled = select(found(measurements(400)), View(length_cutoff=400, lengths=Lengths.SHUFFLED))
    assert sorted(shuffled.lengths) == sorted(true.lengths)
    np.testing.assert_array_equal(shuffled.norms, true.norms)
    assert true.fit is not None
    assert shuffled.fit is not None
    assert true.fit.r_squared > 0.99 > 0.05 > shuffled.fit.r_squared
    again = select(found(measurements(400)), View(length_cutoff=400, lengths=Lengths.SHUFFLED))
    np.testing.assert_array_equal(again.lengths, shuffled.lengths)


@pytest.mark.parametrize("pooling", [Pooling.MEAN, Pooling.MAX])
def test_mean_and_maximum_are_measured_apart(pooling: Pooling) -> None:
    with pytest.raises(SettingError, match="a measurement of their own"):
        select(found(measurements(20)), View(pooling=pooling))
    pooled = np.random.default_rng(0).normal(size=(3, 2, 30, 4)).astype(np.float32)
    lengths = np.arange(1, 31, dtype=np.int32)
    shown = select(found(Vectors.pack(lengths, lengths > 40, pooled)), View(pooling=pooling, layer=0))
    np.testing.assert_allclose(
        shown.norms, np.linalg.norm(pooled[1 if pooling is Pooling.MEAN else 2, 0], axis=1), rtol=1e-6
    )


SIZE = 40
"""Sentences, of 0 to 39 tokens, all of which the model reads whole."""


def drawn(of: Measurements | None = None, n_sentences: int | None = SIZE, **others: object) -> Found:
    of = made_up.measurements(SIZE) if of is None else of
    corpus = Corpus(Selection("x.txt"), "x", "f" * 64, n_sentences, "x.txt")
    return Found(None, Sample(corpus, different_sentences(SIZE), ""), measurements=of, **others)


@pytest.mark.parametrize(
    ("of", "cutoff", "more", "advice"),
    [
        (drawn(), 512, More(by_sample=False), "The corpus has no more: choose a larger one."),
        (drawn(), 40, More(by_sample=False), "The corpus has no more: choose a larger one."),
        (drawn(), 39, More(by_cutoff=True, by_sample=False), "Raise the length cutoff."),
        (drawn(n_sentences=SIZE + 1), 40, More(), "Take more."),
        (drawn(n_sentences=SIZE + 1), 39, More(by_cutoff=True), "Raise the length cutoff, or take more."),
        (drawn(n_sentences=None), 40, More(), "Take more."),
        (drawn(n_sentences=None, n_asked=SIZE), 40, More(), "Take more."),
        (
            drawn(n_sentences=None, n_asked=SIZE + 1),
            40,
            More(by_sample=False),
            "The corpus has no more: choose a la",
        ),
        (drawn(n_sentences=None, n_asked=ALL), 40, More(by_sample=False), "The corpus has no more: choose a larger"),
        (
            drawn(made_up.measurements(30)),
            40,
            More(by_sample=False, is_to_come=True),
            "Not all of the sample is measured yet.",
        ),
    ],
)
def test_advice_is_what_would_help(of: Found, cutoff: int, more: More, advice: str) -> None:
    assert more_than(of, View(length_cutoff=cutoff)) == more
    assert more.advice.startswith(advice)


def test_a_higher_cutoff_is_no_help_against_what_the_model_does_not_read_whole() -> None:
    of = made_up.measurements(SIZE)
    cut = replace(of, truncated=of.n_tokens >= 20)
    assert not more_than(drawn(cut), View(length_cutoff=20)).by_cutoff
    assert more_than(drawn(cut), View(length_cutoff=19)).by_cutoff
    longest = replace(of, n_tokens=np.full(SIZE, 512, np.int32))
    assert not more_than(drawn(longest), View(length_cutoff=512)).by_cutoff  # there is none higher


class CountedWithAnother:
    """What is counted of a whole corpus, with one sentence of 90 tokens that is not in the sample."""

    n = SIZE + 1

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        of = made_up.measurements(SIZE)
        return Census.of(np.append(of.n_tokens, 90), np.append(of.norms(pooling, layer), 1.0))

    def n_truncated(self, _: int) -> int:
        return 0


def test_of_a_whole_corpus_all_sentences_count() -> None:
    of = drawn(n_asked=ALL, census=CountedWithAnother())
    assert more_than(of, View(length_cutoff=80)) == More(by_cutoff=True, by_sample=False)
    assert more_than(of, View(length_cutoff=91)) == More(by_sample=False)
    few = select(of, View(length_cutoff=2))
    assert few.n == 2
    assert few.problem.endswith("at least 3 are needed. Raise the length cutoff.")


def test_where_there_are_too_few_the_view_and_the_sample_decide_what_is_advised() -> None:
    with pytest.raises(UndefinedFitError, match=r"there are 40\. The corpus has no more: choose a larger one\.$"):
        next(shapes(drawn(), View(length_cutoff=60)))
    with pytest.raises(UndefinedFitError, match=r"there are 3\. Raise the length cutoff, or take more\.$"):
        next(shapes(drawn(n_sentences=900), View(length_cutoff=3)))
    with pytest.raises(UndefinedFitError, match=r"^All alike\.$"), advised(drawn(), View()):
        raise UndefinedFitError("All alike.")
    with pytest.raises(UndefinedFitError, match=r"^Two\. The corpus"), advised(drawn(), View()):
        raise TooFewError("Two.")


def test_only_sentences_of_those_that_are_too_few_are_a_reason_to_raise_the_cutoff() -> None:
    of = drawn(n_sentences=SIZE)
    assert more_than(of, View(length_cutoff=39), lambda text: text == different_sentences(40)[39]).by_cutoff
    assert not more_than(of, View(length_cutoff=39), lambda text: text == different_sentences(40)[38]).by_cutoff


N, DRAWN = 5_000, 1_000


def random_measurements(n: int) -> Measurements:
    random = np.random.default_rng(0)
    n_tokens = random.integers(1, 40, n).astype(np.int32)
    norms = random.normal(10 + 0.05 * n_tokens[:, None], [0.5, 1, 2], (n, 3)).astype(np.float32)
    return Measurements(n_tokens, np.zeros(n, np.bool_), norms, norms[:, :1])


class Counted:
    """A census of what was measured, as `take_census` gives one of a store."""

    n, n_layers, has_pooler = N, 2, True

    def __init__(self, measured) -> None:
        self.measured = measured

    def vector(self, pooling: Pooling, layer: int | None) -> Census:
        return Census.of(self.measured.n_tokens, self.measured.norms(pooling, layer))

    def n_truncated(self, _: int) -> int:
        return 7


@pytest.fixture(scope="module")
def whole_corpus() -> Found:
    whole = random_measurements(N)
    sample = Sample(None, [f"number {number}" for number in range(DRAWN)], "")
    return Found(None, sample, measurements=whole.head(DRAWN), census=Counted(whole))


@pytest.mark.parametrize("cutoff", [10, 513])
def test_the_line_is_of_all_and_the_points_are_of_the_sample(whole_corpus: Found, cutoff: int) -> None:
    view = View(length_cutoff=cutoff, layer=1)
    shown = analysis.select(whole_corpus, view)
    whole = whole_corpus.census.measured
    short = whole.n_tokens < cutoff
    expected = fit(whole.n_tokens[short], whole.norms(Pooling.CLS, 1)[short])
    assert shown.fit is not None
    assert (shown.n, shown.fit.r_squared, shown.fit.slope) == pytest.approx(
        (short.sum(), expected.r_squared, expected.slope)
    )
    assert len(shown.index) == short[:DRAWN].sum()
    assert shown.n_truncated == 7


@pytest.mark.parametrize("view", [View(unit=Unit.WORDS), View(lengths=Lengths.SHUFFLED)])
def test_what_is_not_counted_is_told_of_the_sample(whole_corpus: Found, view: View) -> None:
    shown = analysis.select(whole_corpus, view)
    assert shown.census is None
    assert shown.n <= DRAWN


def test_cells_count_all_sentences_under_the_cutoff(whole_corpus: Found) -> None:
    view = View(length_cutoff=20)
    cells = density_of_all(analysis.select(whole_corpus, view))
    assert cells is not None
    whole = whole_corpus.census.measured
    short = whole.n_tokens < 20
    norms = whole.norms(Pooling.CLS, None)[short].astype(float)
    edges = np.append(cells.lengths, cells.lengths[-1] + 1) - 0.5
    expected, *_ = np.histogram2d(whole.n_tokens[short], norms, (edges, cells.edges))
    assert cells.counts.sum() == pytest.approx(short.sum(), rel=0.01)
    assert np.abs(cells.counts - expected).sum() <= 0.001 * short.sum()  # float32 edges
    n_bins = len(cells.edges) - 1
    assert n_bins % 128 == 0
    assert (n_bins // 128) & (n_bins // 128 - 1) == 0
    assert np.ptp(np.diff(cells.edges)) < 1e-9 * np.ptp(cells.edges)
