"""What the main page says, case by case."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from support.prose import found_of, shown_of
from support.snapshots import assert_said

from clsviz import words
from clsviz.analysis import ViewData
from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.analysis.view import More
from clsviz.errors import OutOfTimeError, UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Job, Plan, State
from clsviz.settings import Lengths, NearDuplicates, Trait, Unit
from clsviz.statistics.lengths import slices
from clsviz.statistics.line import Audit, by_cutoff, flat
from clsviz.statistics.shape import Shape, shape, shapes
from clsviz.store import Store
from clsviz.words import waiting

LENGTHS = np.random.default_rng(0).integers(3, 60, 1500)
NOISE = np.random.default_rng(1).standard_normal(1500)
SLOPES = -0.008, 0.025, 0.04, 0.1, 1.0
FEW = np.random.default_rng(6).integers(3, 60, 12)
NAN = float("nan")


def shape_of(shown: ViewData) -> Shape:
    """All but the mutual information."""
    return next(shapes(shown.lengths, shown.norms, shown.clusters))


def answer(lengths: np.ndarray, norms: np.ndarray, clusters: np.ndarray | None = None) -> str:
    shown = shown_of(lengths, norms, clusters)
    return words.answer(shown, Experiment(), shape_of(shown))


def test_what_norms_of_a_known_kind_are_answered() -> None:
    skewed = np.random.default_rng(0).gamma(2, 10, 1500).round() + 3
    ends = np.resize([*range(3, 9), *range(9, 40, 2), *range(41, 61, 3)], 1500)
    copied = np.repeat(np.arange(120), 10)[np.random.default_rng(0).permutation(1200)]
    drawn = np.random.default_rng(6).integers(3, 60, 120)
    of_copies = (9 + np.random.default_rng(6).standard_normal(120) + 0.1 * (drawn - drawn.mean()) / drawn.std())[copied]
    of_copies += 0.01 * np.random.default_rng(1).standard_normal(1200)
    lone, alone = np.full(200, 5), np.full(200, 7.0)
    lone[7], alone[7], lone[150], alone[150] = 60, 8.0, 30, 7.9
    two = np.resize([4, 4, 9], 300)
    apart = np.where(np.random.default_rng(3).standard_normal(1500) > 0, 5, -5)
    sides = shown_of(LENGTHS, 9 + np.where(np.abs(LENGTHS - 31) < 6, apart, NOISE))
    assert_said(
        "norm_vs_length_answers",
        {
            "a line that rises": answer(LENGTHS, 9 + 0.05 * LENGTHS + NOISE),
            "a line that falls": answer(LENGTHS, 9 - 0.05 * LENGTHS + NOISE),
            "a U, which is no line": answer(LENGTHS, 9 + ((LENGTHS - 31) / 20) ** 2 + 0.3 * NOISE),
            "noise": answer(LENGTHS, 9 + NOISE),
            "a funnel, wide at the shortest": answer(LENGTHS, 9 + NOISE * (LENGTHS / 30) ** -0.5),
            "a funnel, wide at the longest": answer(LENGTHS, 9 + NOISE * (LENGTHS / 30) ** 0.5),
            "a line alone, whose slope among the longest is no spread": answer(skewed, 3 + skewed / 4),
            "the same with noise that is": answer(skewed, 3 + skewed / 4 + NOISE * (5 + skewed)),
            "a slope that may hide a spread": answer(ends, 10 + 0.1 * ends + np.where(ends < 9, 0.48, 0.02) * NOISE),
            "norms that vary among the longest alone": answer(LENGTHS, np.where(LENGTHS > 50, 10 + NOISE, 10)),
            "a line that is nearly exact": answer(LENGTHS, 3 + LENGTHS / 4 + 0.03 * NOISE),
            "copies, taken for different sentences": answer(drawn[copied], of_copies),
            "copies, known to be": answer(drawn[copied], of_copies, copied),
            "too many of one length to test a curve": answer(lone, alone),
            "two lengths": answer(two, 9 + 0.2 * two + NOISE[:300]),
            **{f"a line of slope {slope}": answer(LENGTHS, 9 + slope * LENGTHS + NOISE) for slope in SLOPES},
            "a U, hardly": answer(LENGTHS, 9 + 0.28 * ((LENGTHS - 31) / 20) ** 2 + NOISE),
            "a line, hardly, and a funnel": answer(LENGTHS, 9 + 0.008 * LENGTHS + NOISE * (LENGTHS / 30) ** -0.5),
            "a line above a funnel": answer(LENGTHS, 9 + 0.1 * LENGTHS + NOISE * (LENGTHS / 30) ** -0.5),
            "a small difference in spread": answer(LENGTHS, 9 + NOISE * np.where(LENGTHS > 31, 1.15, 1)),
            "middling norms on either side": words.answer(sides, Experiment(), shape(LENGTHS, sides.norms)),
        },
    )


def test_what_forbids_a_verdict_comes_first() -> None:
    told, untold = shown_of(LENGTHS, 9 + 0.05 * LENGTHS + NOISE), shown_of(LENGTHS, 9 + NOISE)
    whole, of_noise, line = shape_of(told), shape_of(untold), told.fit
    assert line is not None
    shuffled = Experiment(lengths=Lengths.SHUFFLED)
    constant = replace(told, fit=None, norms=np.full(1500, 7.0, np.float32), problem="Same.")
    problems = (
        "A line through 2 sentences says nothing: at least 3 are needed. Take more.",
        "No whole sentence is shorter than the length cutoff.",
        "Not measurable in the fast precision: the norm varies by 0.1.",
    )
    nothing = [
        replace(constant, index=constant.index[:2], lengths=LENGTHS[:2], norms=constant.norms[:2], problem=problem)
        for problem in problems
    ]
    nearly = replace(told, fit=replace(line, norm_sd=0.0009 * line.norm_mean))
    untested = replace(of_noise, curve_r_squared=NAN, curve_null=NAN)
    few = [shown_of(LENGTHS[:n], 9 + 0.05 * LENGTHS[:n] + NOISE[:n]) for n in (40, 99, 3)]
    assert_said(
        "norm_vs_length_first",
        {
            "shuffled, and a line": words.answer(told, shuffled, whole),
            "shuffled, and nothing": words.answer(untold, shuffled, of_noise),
            "shuffled, no curve tested": words.answer(untold, shuffled),
            "shuffled, and a curve": words.answer(untold, shuffled, replace(of_noise, curve_r_squared=0.02)),
            "constant": words.answer(constant, Experiment()),
            "no line": [words.answer(shown, shuffled) for shown in nothing],
            "no line, below": [words.in_numbers(shown, Experiment(), 2) for shown in nothing],
            "few": [words.answer(shown, Experiment()) for shown in few],
            "three, below": words.in_numbers(few[-1], Experiment(), 3),
            "nearly constant": words.answer(nearly, Experiment(), whole),
            "near-duplicates not looked for": words.answer(replace(told, clusters=None), Experiment(), whole),
            "a few decide": words.answer(replace(told, fit=replace(line, rests_on_few=True)), Experiment(), whole),
            "no curve can be tested": words.answer(untold, Experiment(), untested),
            "so far": [words.answer_so_far(shown) for shown in (told, untold, few[0], constant)],
        },
    )


def test_every_combination_of_line_curve_and_spread_is_told_in_at_most_20_words() -> None:
    told, untold = (shown_of(LENGTHS, 9 + slope * LENGTHS + NOISE) for slope in (-0.05, 0.0))
    true = shape_of(told)
    spreads = {"short": (2.5, 2.1, 3.0), "long": (0.4, 0.3, 0.5), "the same": (1.0, 0.9, 1.1), "unknown": (NAN,) * 3}
    cases = {"line": words.answer(told, Experiment()), "none": words.answer(untold, Experiment())}
    cases["interval not known"] = words.answer(replace(told, clusters=None), Experiment())
    for (line, shown), curve, (spread, (ratio, *ends)) in itertools.product(
        {"line": told, "no line": untold}.items(), (True, False), spreads.items()
    ):
        found = replace(
            true,
            curve_r_squared=0.523 if curve else 0.001,
            curve_null=0.01,
            spread_ratio=ratio,
            spread_ratio_interval=tuple(ends),
        )
        name = f"{line}, {'curve' if curve else 'no curve'}, spread: {spread}"
        cases[name] = words.answer(shown, Experiment(), found)
    for name, said in cases.items():
        assert len(said.split()) <= 20, (name, said)
        assert len(re.findall(r"\.(?= |$)", said)) == 1  # one sentence
    assert_said("norm_vs_length_combinations", cases)


def test_numbers_below_the_answer_are_those_of_line_and_shape() -> None:
    shown = shown_of(LENGTHS, 9 + NOISE * 10 / LENGTHS)
    found, short, two = shape(LENGTHS, shown.norms), LENGTHS < 35, np.resize([4, 4, 9], 300)
    of_two = shown_of(two, 9 + 0.2 * two + NOISE[:300])
    steep = shown_of(LENGTHS, 3 + LENGTHS / 4 + 0.03 * NOISE)
    assert_said(
        "norm_vs_length_numbers",
        {
            "on one line": words.in_numbers(shown, Experiment(), 1600),
            "a line that is nearly exact": words.in_numbers(steep, Experiment(unit=Unit.WORDS), 1500),
            "one that is": words.in_numbers(shown_of(LENGTHS, 3 + LENGTHS / 4), Experiment(), 1500),
            "intervals not known": words.in_numbers(replace(shown, clusters=None), Experiment(), 1500),
            "without a line": words.in_numbers(replace(shown, fit=None), Experiment(), 1600),
            "by name": words.key_numbers(shown, Unit.TOKENS, flat(LENGTHS, shown.norms), found),
            "by name, intervals not known": words.key_numbers(replace(shown, clusters=None), Unit.WORDS),
            "by name, of two lengths": words.key_numbers(
                of_two, Unit.TOKENS, flat(two, of_two.norms), shape_of(of_two)
            ),
            "by name, some lengths absent, and a curve that cannot be tested": words.key_numbers(
                shown_of(LENGTHS, shown.norms, np.arange(1500) // 2),
                Unit.TOKENS,
                flat(LENGTHS[short], shown.norms[short]),
                replace(found, curve_r_squared=NAN),
            ),
            "by name, without a line": words.key_numbers(shown_of(FEW * 0 + 6, NOISE[:12]), Unit.TOKENS),
        },
    )


def test_what_else_there_is_to_know_of_an_answer() -> None:
    norms, forty = 9 + NOISE, shown_of(LENGTHS[:40], 9 + NOISE[:40])
    hanging = shown_of(np.append(LENGTHS % 3 + 5, [60, 61]), np.append(norms, [12.0, 13.0]))
    constant = replace(shown_of(LENGTHS, norms), fit=None, norms=np.full(1500, 7.0), problem="The norm is the same.")
    untrained = Experiment(model="untrained:minilm")
    audited = Audit(n=256, norm_sd=0.3, largest_error=0.01, mean_error=0.002, r_squared_change=-0.0012)
    copies = np.repeat(np.arange(12), 100)
    advice = {
        "raise the cutoff": (More(by_cutoff=True), 400),
        "take more": (More(by_cutoff=True), 45),
        "there are no more": (More(by_cutoff=True, by_sample=False), 45),
        "a larger corpus": (More(by_sample=False), 40),
        "some are to come": (More(is_to_come=True), 40),
    }

    def caveats(shown: ViewData, experiment: Experiment = Experiment(), n: int = 1500) -> list[str]:  # noqa: B008
        return words.caveats(shown, experiment, n)

    assert_said(
        "norm_vs_length_caveats",
        {
            "nothing": caveats(shown_of(LENGTHS, 10 + 0.2 * NOISE)),
            "the norm barely varies": caveats(shown_of(LENGTHS, 10 + 0.0002 * NOISE)),
            "a few sentences decide": caveats(hanging),
            "copies of a few texts": caveats(shown_of(FEW[copies], norms[:12][copies], copies)),
            "untrained": caveats(constant, untrained),
            "untrained, but no word has reached it": caveats(constant, replace(untrained, layer=0)),
            "trained, and constant": caveats(constant),
            "shuffled": caveats(forty, Experiment(lengths=Lengths.SHUFFLED), 400),
            "near-duplicates not grouped": caveats(
                shown_of(LENGTHS, norms), Experiment(near_duplicates=NearDuplicates.INDEPENDENT)
            ),
            "fast": caveats(replace(shown_of(LENGTHS, norms), audit=audited)),
            "few, in full": words.result(forty, Experiment(), 40),
            **{
                f"few: {name}": caveats(replace(forty, more=more), n=n_sampled)[0]
                for name, (more, n_sampled) in advice.items()
            },
        },
    )
    with pytest.raises(UndefinedFitError, match="at least 100 different sentences to describe, and there are 12"):
        answer(FEW[copies], norms[:12][copies], copies)


def test_what_cutoffs_and_norms_say() -> None:
    bent = by_cutoff(LENGTHS, LENGTHS, np.minimum(LENGTHS / 20, 2 - LENGTHS / 20) + 0.1 * NOISE)
    exact = by_cutoff(LENGTHS, LENGTHS, LENGTHS / 4 + 1e-3 * NOISE)
    some = np.concatenate([np.full(500, 5), np.arange(10, 60).repeat(20), np.full(500, 8)])
    of_some = np.concatenate([np.linspace(1, 2, 500), np.linspace(5, 6, 1000), np.linspace(9, 10, 500)])
    tied = np.repeat([1.0, 2.0, 3.0, 4.0], [40, 300, 600, 60])
    half = np.concatenate([np.full(500, 7.0), 8 + np.arange(500) / 500])

    def at_norms(lengths: np.ndarray, norms: np.ndarray) -> str:
        return words.lengths_at_norms(slices(lengths, norms), lengths, Unit.TOKENS)

    assert_said(
        "norm_vs_length_cutoffs",
        {
            "the slope changes its sign": words.by_cutoff(bent),
            "it falls": words.by_cutoff(by_cutoff(LENGTHS, LENGTHS, -LENGTHS + NOISE), Unit.WORDS),
            "nothing": words.by_cutoff(by_cutoff(LENGTHS, LENGTHS, np.random.default_rng(2).standard_normal(1500))),
            "nearly exact": words.by_cutoff(exact[exact["length_cutoff"] > 20]),
            "one cutoff": words.by_cutoff(by_cutoff(LENGTHS, LENGTHS, 9 + NOISE).tail(1)),
            "none": words.by_cutoff(bent.head(0)),
            "lengths at norms": at_norms(some, of_some),
            "norms that tie": at_norms(LENGTHS[:1000], tied),
            "half of them tie": at_norms(LENGTHS[:1000], half),
            "one length": at_norms(np.full(150, 1), 7 + NOISE[:150]),
            "one norm": at_norms(LENGTHS[:300], np.full(300, 7.0)),
            "norms too much alike": at_norms(LENGTHS[:300], 7 + 1e-7 * NOISE[:300]),
            "two sentences": at_norms(np.array([1, 2]), np.array([3.0, 4.0])),
        },
    )


def test_what_is_selected_is_counted() -> None:
    lengths, norms = LENGTHS[:200].astype(np.int32), (7 + 0.1 * LENGTHS[:200] + NOISE[:200]).astype(np.float32)
    shown = ViewData(np.arange(200), lengths, norms, None, "")
    even, alone = lengths % 2 == 0, ViewData(np.arange(1), lengths[:1], norms[:1], None, "")
    selected, by_trait = words.selection.selected, words.selection.by_trait
    assert_said(
        "norm_vs_length_selection",
        {
            "some": selected(shown, np.flatnonzero(lengths > 20)),
            "two": selected(shown, np.array([3, 4])),
            "of one length": selected(shown, np.flatnonzero(lengths == lengths[0])),
            "some have a trait": by_trait(Trait.DIGIT, shown, even),
            "none": by_trait(Trait.QUESTION, shown, even & False),
            "one": by_trait(Trait.CAPITAL, shown, shown.index == 7),
            "all": by_trait(Trait.FULL_STOP, shown, even | True),
            "the only one": by_trait(Trait.DIGIT, alone, np.array([True])),
            "not the only one": by_trait(Trait.DIGIT, alone, np.array([False])),
            "a density": words.selection.density(120_000, 120_000, 5_000, 0, is_zoomed=False),
            "a density, one more selected": words.selection.density(120_000, 120_000, 5_000, 1, is_zoomed=False),
            "a density, zoomed": words.selection.density(120_000, 9_000, 5_000, 0, is_zoomed=True),
            "a density, all in this part": words.selection.density(120_000, 432, 432, 12, is_zoomed=True),
            "a density, nothing in this part": words.selection.density(120_000, 0, 0, 0, is_zoomed=True),
        },
    )


def test_what_is_said_of_every_layer() -> None:
    def every(*r_squared: float | None, n: int = 5000) -> EveryLayer:
        layers = [AfterLayer(layer, np.empty(0, "f4"), 1.0, 1.0, known) for layer, known in enumerate(r_squared)]
        return EveryLayer(n, np.arange(min(n, 400)), np.arange(min(n, 400), dtype=np.int32), tuple(layers))

    assert_said(
        "norm_vs_length_every_layer",
        {
            "the best and the last": words.every_layer(every(None, 0.4, 0.123)),
            "the embeddings are the best": words.every_layer(every(0.5, 0.1, None)),
            "the last is the best": words.every_layer(every(0.1, 0.2)),
            "no line": words.every_layer(every(None, None)),
        },
    )


def test_what_a_run_that_waits_or_has_ended_is_told(store: Store) -> None:
    job = Job(Extraction(Experiment(), store, Encoders()), None)
    said: dict[str, str] = {f"{place} come first": waiting.in_queue(place) for place in (0, 1, 3)}
    job.state = State.QUEUED
    said |= {f"queued, {place} come first": waiting.for_points(job, place) for place in (0, 2)}
    job.state, job.error = State.CANCELLED, OutOfTimeError("Stopped after 300 s.")
    said["time is up"] = waiting.for_points(job)
    job.error = None
    said["stopped"] = waiting.for_points(job)
    job.state = State.FAILED
    said["failed"] = waiting.for_points(job)
    job.state = State.WAITING
    said["to be looked at first"] = waiting.for_points(job)
    job.is_held = False
    said["it takes long"] = waiting.for_points(job)
    job.is_refused = True
    said["refused"] = waiting.for_points(job)
    said |= {f"refused, {n} are going": waiting.refused(n) for n in (1, 3)}
    assert_said("waiting", said)


def test_a_plan_says_how_long_how_much_and_from_what() -> None:
    n = 74_004_228
    plan = Plan(n, n - 100, 1_200_000_000, 100.0, True, 7_200.0, 4_500_000_000, 4_400_000_000_000, 440)
    judged = replace(plan, is_counted=False, n_missing=n, megabytes=0, n_tokens=5_812)
    assert_said(
        "plan",
        {
            "on eight machines": words.waiting.plan_lines(plan, 8),
            "judged": words.waiting.plan_lines(judged, 1),
            "on one line": words.waiting.plan_line(plan),
            "on one line, judged, of vectors": words.waiting.plan_line(judged, of_vectors=True),
        },
    )


def test_intervals_are_said_to_be_as_they_were_computed() -> None:
    shown, found = shown_of(LENGTHS, 9 + NOISE), found_of(Experiment())

    def line(shown: ViewData = shown, n_asked: int = 0, **settings: object) -> str:
        return words.settings(Experiment(**settings), replace(found, n_asked=n_asked), shown)["Line"]  # type: ignore[arg-type]

    whole = replace(found, sample=replace(found.sample, whole=object()), n_asked=40)  # of which these are a sample
    assert "like these" not in words.settings(Experiment(), whole, shown)["Line"]
    assert_said(
        "intervals",
        {
            "a sample": line(),
            "all of a corpus": line(n_asked=40),
            "few row groups": line(replace(shown, row_groups=np.arange(1500) % 9)),
            "row groups": line(replace(shown, row_groups=np.arange(1500) % 10)),
            "near-duplicates not looked for": line(replace(shown, clusters=None)),
            "near-duplicates not grouped": line(near_duplicates=NearDuplicates.INDEPENDENT),
        },
    )
