from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import clsviz
from clsviz.analyses.norms import fit, points
from clsviz.analyses.select import select
from clsviz.errors import SettingError
from clsviz.results.norms import lengths_of, verdict_of
from clsviz.results.norms import result as result_of
from clsviz.sources.corpora import Reading
from clsviz.statistics.curve import Curve
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line

LINE = Line(
    n_clusters=1000,
    slope=-0.01,
    slope_interval=(-0.012, -0.008),
    intercept=8.0,
    r2=0.034,
    r2_interval=(0.02, 0.05),
    is_few_decide=False,
    length_mean=15.0,
    norm_mean=7.6,
    norm_sd=0.4,
    squared_margins=np.eye(2),
)
FLAT = replace(LINE, r2_interval=(0.0, 0.01), r2=0.002)
CURVE = Curve(
    r2=0.3, line_r2=0.03, is_significant=True, knots=np.arange(5.0), coefficients=np.ones(7)
)
EVEN, UNEVEN = Spread(1.1, (1.0, 1.2), False), Spread(2.5, (2.0, 3.0), False)


NO_CURVE = replace(CURVE, is_significant=False)
SHARE = "of the differences between norms."
NEITHER = "No sign of a trend: neither a line nor a curve stands out from chance."

STRAIGHT = replace(CURVE, r2=0.029)
FEW_DECIDE = replace(LINE, is_few_decide=True)
STEEP, FAINT = replace(LINE, slope=1.0, r2=0.93), replace(CURVE, r2=0.06)
REVERSE = Spread(1 / 150, (1 / 200, 0.01), False)
BUT = "On average, hardly; but"
FALLING, RISING = "a straight line, falling", "a straight line, rising"

VERDICTS = [
    (replace(LINE, norm_sd=0.007), CURVE, EVEN, "Only on paper: norms are nearly constant."),
    (FEW_DECIDE, STRAIGHT, EVEN, "Uncertain: few sentences decide the line."),
    (FEW_DECIDE, CURVE, EVEN, f"Partly: a smooth curve in length accounts for 30% {SHARE}"),
    (LINE, STRAIGHT, UNEVEN, f"{BUT} short sentences’ norms vary 2.5× as much as long ones’."),
    (FLAT, NO_CURVE, REVERSE, f"{BUT} long sentences’ norms vary 150× as much as short ones’."),
    (LINE, STRAIGHT, EVEN, f"Hardly: {FALLING} with length, accounts for 3.4% {SHARE}"),
    (STEEP, NO_CURVE, UNEVEN, f"Almost entirely: {RISING} with length, accounts for 93% {SHARE}"),
    (FLAT, FAINT, EVEN, f"A little: a smooth curve in length accounts for 6% {SHARE}"),
    (FLAT, NO_CURVE, Spread(2.5, (0.9, 3.0), False), NEITHER),
    (FLAT, NO_CURVE, replace(UNEVEN, is_by_slope=True), NEITHER),
]


@pytest.mark.parametrize(("line", "curve", "spread", "verdict"), VERDICTS)
def test_verdicts(line: Line, curve: Curve, spread: Spread, verdict: str) -> None:
    assert verdict_of(line, curve, spread, LINE) == verdict
    assert len(verdict.split()) <= 20


@pytest.mark.parametrize(
    ("norm_of", "verdict"),
    [
        (lambda x: 3 + 20 / x, "Almost entirely: a smooth curve in length accounts for over 99%"),
        (lambda x: 3 + 9.0 * (x >= np.sort(x)[-3]), "Uncertain: few sentences decide the curve."),
    ],
)
def test_few_sentences_that_decide_the_curve_are_told_from_a_curve(
    norm_of: Callable, verdict: str, tmp_path: Path
) -> None:
    random = np.random.RandomState(6)
    lengths = random.geometric(1 / 12, 600).clip(1, 79)
    lengths[:3] = 70, 75, 79
    norms = norm_of(lengths) + 0.3 * random.randn(600)
    texts = [" ".join(f"{random.randint(10**6)}" for _ in range(n)) for n in lengths]
    np.savez(tmp_path / "own.npz", text=texts, vector=norms[:, None])
    result = clsviz.measure(vectors=tmp_path / "own.npz", store=tmp_path)
    assert result.verdict.startswith(verdict)


def test_the_table_has_every_sentence_and_those_that_are_used(
    measured, experiment, n_tokens
) -> None:
    table = select(measured, experiment)
    assert list(table["sentence"]) == measured.sample.sentences()
    assert list(table["n_tokens"]) == list(n_tokens)
    assert list(table["is_used"]) == list(n_tokens < 30)
    np.testing.assert_array_equal(table["norm"], measured.norms.cls[:, -1])
    for unit, count in {"words": lambda text: len(text.split()), "characters": len}.items():
        table = select(measured, replace(experiment, unit=unit))
        assert list(table["length"]) == list(map(count, table["sentence"]))


def test_the_facts_are_those_of_the_sentences_under_the_cutoff(measured, experiment, store) -> None:
    view = replace(experiment, layer=1)
    result = result_of(fit(measured, view, store), view)
    used = result.table[result.table["is_used"]]
    r = np.corrcoef(used["n_tokens"], used["cls_1"])[0, 1]
    slope, intercept = np.polyfit(used["n_tokens"], used["cls_1"], 1)
    answer = result.json()
    assert answer["r_squared"] == pytest.approx(r**2, rel=1e-6)
    assert (answer["slope"], answer["intercept"]) == pytest.approx((slope, intercept), rel=1e-5)
    assert answer["n_used"] == len(used) < 280
    assert answer["layers"][1]["r_squared"] == pytest.approx(r**2, rel=1e-6)


def test_there_is_no_verdict_before_all_sentences_are_in(measured, experiment, store) -> None:
    result = result_of(points(replace(measured, is_complete=False), experiment), experiment)
    assert result.verdict == "The answer comes when all sentences are in."
    assert result.fact("r_squared") == pytest.approx(fit(measured, experiment, store).line.r2)


@pytest.mark.parametrize(("size", "more"), [(280, "sample"), (300, "corpus"), ("all", "corpus")])
def test_too_few_sentences_are_told_with_what_is_possible(
    measured, experiment, store, size, more: str
) -> None:
    hub = replace(measured.sample.corpus, reading=Reading(revision="0123"))
    larger = replace(measured, sample=replace(measured.sample, corpus=hub))
    for cutoff in (2, 5):
        view = replace(experiment, length_cutoff=cutoff, sample_size=size)
        result = result_of(fit(larger, view, store), view)
        assert result.verdict.startswith("Can’t tell: ")
        assert result.json()["layers"][0]["r_squared"] is None
        assert result.advice == f"Raise the length cutoff, or take a larger {more}."


def test_sentences_of_one_length_take_other_ones(tiny_model: Path, tmp_path: Path) -> None:
    options = {"corpus": ["the cat sings", "a dog runs"] * 60, "model": str(tiny_model)}
    result = clsviz.measure(**options, store=tmp_path)
    assert result.verdict == "Can’t tell: all 120 sentences have the same length, 3."
    assert result.advice == "Take a larger corpus."
    assert clsviz.measure(**options, sample_size=9, store=tmp_path).advice == (
        "Take a larger sample."
    )


def test_own_vectors_that_are_normalised_are_said_to_be(tmp_path: Path) -> None:
    vectors = np.random.RandomState(0).randn(120, 4)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = ["word " * (1 + n % 9) for n in range(120)]
    path = tmp_path / "own.npz"
    np.savez(path, text=texts, vector=vectors)
    result = clsviz.measure(vectors=path, length_cutoff=9, store=tmp_path)
    assert "the same norm up to rounding" in result.verdict
    assert result.advice == "Give the vectors as they are before they are normalised."
    assert "Left out: 13 sentences of 9 words or more." in result.caveats


def test_a_vector_that_the_model_lacks_is_refused(measured, experiment) -> None:
    with pytest.raises(SettingError, match="layer is 3, and Tiny has layers 0 to 2"):
        select(measured, replace(experiment, layer=3))
    with pytest.raises(SettingError, match="layer is 1, and the pooler stands after the last"):
        select(measured, replace(experiment, layer=1, pooling="pooler"))


def test_sentences_left_out_are_counted(measured, experiment, store, n_tokens) -> None:
    is_cut = (np.cumsum(n_tokens < 30) <= 7) & (n_tokens < 30)
    cut = replace(measured, key="cut", norms=replace(measured.norms, truncated=is_cut))
    view = replace(experiment, sample_size=400)
    result = result_of(fit(cut, view, store), view)
    assert result.caveats[0].startswith("5% of the tokens are unknown to Tiny")
    assert result.caveats[1:4] == (
        f"Left out: {(n_tokens >= 30).sum()} sentences of 30 tokens or more.",
        "Left out: 7 sentences longer than the model reads.",
        "The corpus has 280 sentences: the sample is all of them.",
    )
    assert not result.table["is_used"][is_cut].any()


def test_norms_that_the_fast_precision_blurs_have_no_line(measured, experiment, store) -> None:
    blurred = measured.norms.cls[:, 1].std() / measured.norms.cls[:, 1].mean()
    error = np.full_like(measured.norms.cls, np.nan)
    error[:5] = [0, blurred, 0]
    fast = replace(measured, norms=replace(measured.norms, error=error))
    view = replace(experiment, precision="fast", layer=1)
    result = result_of(fit(fast, view, store), view)
    assert result.verdict.startswith("Can’t tell: the fast precision misses norms by up to")
    shares = [layer["r_squared"] for layer in result.details["layers"]]
    assert shares[1] is None
    assert shares[2] is not None
    assert "%, in 5 sentences measured both ways." in " ".join(result.caveats)


def test_layers_whose_norms_are_nearly_constant_are_marked(measured, experiment, store) -> None:
    cls = measured.norms.cls.copy()
    spreads = np.random.RandomState(0).randn(len(cls), 1) * [5e-4, 2e-3]
    cls[:, 1:3] = 5 * (1 + spreads)
    flat = replace(measured, key="flat", norms=replace(measured.norms, cls=cls))
    layers = fit(flat, experiment, store).layers
    assert [layer["is_nearly_constant"] for layer in layers[:3]] == [None, True, False]


def test_lengths_of_what_was_picked_stand_next_to_those_of_all() -> None:
    table = pd.DataFrame({"n_tokens": [5, 19, 20, 40, 90], "is_used": [True] * 4 + [False]})
    picked = "Of these 3 sentences, 67% have fewer than 20 tokens (all: 50%)."
    assert lengths_of(table, [0, 1, 3]) == f"{picked} Their median is 19 tokens (all: 19.5)."
