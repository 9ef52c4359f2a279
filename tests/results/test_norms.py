from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clsviz.errors import SettingError
from clsviz.experiment import Experiment
from clsviz.jobs.jobs import Job
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.jobs.worker import InProcess
from clsviz.results.norms import norms, verdict_of
from clsviz.results.select import select
from clsviz.sources.models import Weights
from clsviz.sources.sampling import draw
from clsviz.statistics.curve import Curve
from clsviz.statistics.lengths import Spread
from clsviz.statistics.line import Line
from clsviz.store.chunks import Chunks
from clsviz.store.results import Results

LINE = Line(
    n=1000,
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
CURVE = Curve(r2=0.3, line_r2=0.03, stands_out=True, knots=np.arange(5.0), coefficients=np.ones(7))
EVEN, UNEVEN = Spread(1.1, (1.0, 1.2), False), Spread(2.5, (2.0, 3.0), False)


@pytest.mark.parametrize(
    ("line", "curve", "spread", "verdict"),
    [
        (replace(LINE, n_clusters=99), None, None, "Too few sentences to say."),
        (replace(LINE, norm_sd=0.007), CURVE, EVEN, "Only on paper: norms are nearly constant."),
        (
            replace(LINE, is_few_decide=True),
            CURVE,
            EVEN,
            "Uncertain: few sentences decide the line.",
        ),
        (
            LINE,
            None,
            UNEVEN,
            "On average, hardly; but short sentences’ norms vary 2.5× as much as long ones’.",
        ),
        (
            FLAT,
            replace(CURVE, stands_out=False),
            Spread(0.5, (0.4, 0.6), False),
            "On average, hardly; but long sentences’ norms vary 2× as much as short ones’.",
        ),
        (
            LINE,
            replace(CURVE, r2=0.029),
            EVEN,
            "Hardly: a straight line, falling with length, accounts for 3.4% of the differences"
            " between norms.",
        ),
        (
            replace(LINE, slope=1.0, r2=0.93),
            None,
            UNEVEN,
            "Almost entirely: a straight line, rising with length, accounts for 93% of the"
            " differences between norms.",
        ),
        (
            LINE,
            CURVE,
            UNEVEN,
            "Partly: a smooth curve in length accounts for 30% of the differences between norms.",
        ),
        (
            FLAT,
            replace(CURVE, r2=0.06),
            EVEN,
            "A little: a smooth curve in length accounts for 6% of the differences between norms.",
        ),
        (
            FLAT,
            replace(CURVE, stands_out=False),
            Spread(2.5, (0.9, 3.0), False),
            "No sign of a trend: neither a line nor a curve stands out from chance.",
        ),
        (
            FLAT,
            None,
            replace(UNEVEN, is_by_slope=True),
            "No sign of a trend: neither a line nor a curve stands out from chance.",
        ),
    ],
)
def test_verdicts(line: Line, curve: Curve | None, spread: Spread | None, verdict: str) -> None:
    assert verdict_of(line, curve, spread) == verdict
    assert len(verdict.split()) <= 20


@pytest.fixture(scope="module")
def experiment(corpus_file: Path) -> Experiment:
    return Experiment(model="tiny", corpus=str(corpus_file), sample_size=250, length_cutoff=30)


@pytest.fixture(scope="module")
def measured(
    experiment: Experiment, tiny_weights: Weights, tmp_path_factory: pytest.TempPathFactory
) -> Measured:
    root = tmp_path_factory.mktemp("store")
    prepared, job = Prepared(tiny_weights, draw(experiment, root)), Job()
    list(measure(job, prepared, experiment, "norms", Chunks(root), InProcess()))
    return job.result


def test_the_table_has_every_sentence_and_those_that_are_used(
    measured: Measured, experiment: Experiment
) -> None:
    table = select(measured, experiment)
    assert list(table["sentence"]) == measured.sample.sentences()
    n_tokens = [len(sentence.split()) for sentence in table["sentence"]]
    assert list(table["n_tokens"]) == n_tokens
    assert list(table["is_used"]) == [n < 30 for n in n_tokens]
    np.testing.assert_array_equal(table["norm"], measured.norms.cls[:, -1])


@pytest.mark.parametrize(
    ("unit", "count"), [("words", lambda text: len(text.split())), ("characters", len)]
)
def test_lengths_are_in_the_unit(measured: Measured, experiment: Experiment, unit, count) -> None:
    table = select(measured, replace(experiment, unit=unit))
    assert list(table["length"]) == list(map(count, table["sentence"]))


def test_the_facts_are_those_of_the_sentences_under_the_cutoff(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    result = norms(measured, replace(experiment, layer=1), Results(tmp_path))
    used = result.table[result.table["is_used"]]
    r = np.corrcoef(used["n_tokens"], used["cls_1"])[0, 1]
    slope, intercept = np.polyfit(used["n_tokens"], used["cls_1"], 1)
    answer = result.json()
    assert answer["r_squared"] == pytest.approx(r**2, rel=1e-6)
    assert (answer["slope"], answer["intercept"]) == pytest.approx((slope, intercept), rel=1e-5)
    assert answer["n_used"] == len(used) < 250
    assert answer["layers"][1]["r_squared"] == pytest.approx(r**2, rel=1e-6)


def test_there_is_no_verdict_before_all_sentences_are_in(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    result = norms(replace(measured, is_complete=False), experiment, Results(tmp_path))
    assert result.verdict == "The answer comes when all sentences are in."
    assert result.fact("r_squared") is None
    assert result.fact("n_used") == result.table["is_used"].sum()


def test_a_line_that_is_undefined_is_told_with_its_cause(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    result = norms(measured, replace(experiment, length_cutoff=2), Results(tmp_path))
    assert result.verdict.startswith("Can’t tell: ")
    assert result.json()["layers"][0]["r_squared"] is None
    assert result.advice


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layer": 3}, "layer is 3, and Tiny has layers 0 to 2."),
        ({"layer": 1, "pooling": "pooler"}, "layer is 1, and the pooler stands after the last"),
    ],
)
def test_a_vector_that_the_model_lacks_is_refused(
    measured: Measured, experiment: Experiment, changes: dict, reason: str
) -> None:
    with pytest.raises(SettingError, match=reason):
        select(measured, replace(experiment, **changes))


def test_what_is_left_out_is_counted(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    n_tokens = measured.norms.n_tokens
    is_cut = (np.cumsum(n_tokens < 30) <= 7) & (n_tokens < 30)
    cut = replace(measured.norms, truncated=is_cut)
    result = norms(
        replace(measured, norms=cut), replace(experiment, sample_size=400), Results(tmp_path)
    )
    assert result.caveats[:3] == (
        f"{(n_tokens >= 30).sum()} sentences of 30 tokens or more are left out.",
        "7 sentences longer than the model reads are left out.",
        "The corpus has 250 sentences: the sample is all of them.",
    )
    assert not result.table["is_used"][is_cut].any()


def test_json_has_no_nan_and_repeats_the_settings(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    import json

    answer = norms(measured, experiment, Results(tmp_path)).json()
    json.dumps(answer, allow_nan=False)
    assert (answer["length_cutoff"], answer["sample_size"]) == (30, 250)
    assert answer["model_fingerprint"] == "0123456789abcdef"


def test_norms_that_the_fast_precision_blurs_have_no_line(
    measured: Measured, experiment: Experiment, tmp_path: Path
) -> None:
    blurred = measured.norms.cls[:, 1].std() / measured.norms.cls[:, 1].mean()
    error = np.full_like(measured.norms.cls, np.nan)
    error[:5] = [0, blurred, 0]
    fast = replace(measured, norms=replace(measured.norms, error=error))
    view = replace(experiment, precision="fast", layer=1)
    result = norms(fast, view, Results(tmp_path))
    assert result.verdict.startswith("Can’t tell: the fast precision misses norms by up to")
    shares = [layer["r_squared"] for layer in result.details["layers"]]
    assert shares[1] is None
    assert shares[2] is not None
    assert "In the fast precision, norms of 5 sentences" in " ".join(result.caveats)
