import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clsviz import words
from clsviz.analysis import ViewData
from clsviz.analysis.view import More
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Found
from clsviz.settings import Lengths, NearDuplicates, Pooling, Unit
from clsviz.sources.catalogue import Corpus
from clsviz.sources.models import Weights
from clsviz.sources.sampling import Sample
from clsviz.statistics.lengths import slices
from clsviz.statistics.line import by_cutoff, fit, flat
from clsviz.statistics.shape import shape, shapes


def shown_of(lengths: np.ndarray, norms: np.ndarray, clusters: np.ndarray | None = None) -> ViewData:
    """As a view has it, of sentences of which none are alike."""
    clusters = np.arange(len(lengths)) if clusters is None else clusters
    found = fit(lengths, norms, clusters)
    return ViewData(np.arange(len(lengths)), lengths.astype(np.int32), norms, found, "", clusters=clusters)


def random_lengths(n: int = 1500, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 60, n)


def noise(n: int = 1500, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(n)


def answer_of(lengths: np.ndarray, norms: np.ndarray, clusters: np.ndarray | None = None) -> str:
    shown = shown_of(lengths, norms, clusters)
    return words.answer(shown, Experiment(), shape(lengths, norms, shown.clusters))


U = ((random_lengths() - 31) / 20) ** 2
SHUFFLED = Experiment(lengths=Lengths.SHUFFLED)


@pytest.mark.parametrize(
    ("norms", "answer"),
    [
        (0.04 * random_lengths(), r"Partly: a straight line, rising with length, accounts for 3\d% of the differences"),
        (
            -0.04 * random_lengths(),
            r"Partly: a straight line, falling with length, accounts for 3\d% of the differences",
        ),
        (-0.008 * random_lengths(), r"Hardly: a straight line, falling with length, accounts for \d\.\d% of the"),
        (0.025 * random_lengths(), r"A little: a straight line, rising with length, accounts for 1\d% of the"),
        (0.1 * random_lengths(), r"Largely: a straight line, rising with length, accounts for 7\d% of the"),
        (1.0 * random_lengths(), r"Almost entirely: a straight line, rising with length, accounts for >99% of the"),
        (0.12 * random_lengths() + 6 * np.log(random_lengths()), r"Almost entirely: a smooth curve in length accounts"),
        (0.28 * U, r"Hardly: no straight trend stands out, but a smooth curve accounts for \d\.\d% of the differences"),
        (2.0 * U, r"Largely: no straight trend stands out, but a smooth curve accounts for \d\d% of the differences"),
        (0.0 * U, r"No sign of a trend: neither a line nor a curve stands out from chance\."),
    ],
)
def test_each_judgement_is_said_of_what_it_is_true_of_and_of_nothing_else(norms: np.ndarray, answer: str) -> None:
    lengths = random_lengths()
    said = answer_of(lengths, 9 + norms + noise())
    assert re.match(answer, said), said
    share = re.search(r"accounts for >?([\d.]+)%", said)
    if share and "curve" not in said:
        explained = 100 * np.corrcoef(lengths, norms + noise())[0, 1] ** 2
        assert float(share[1]) == pytest.approx(explained, abs=0.7)


def test_a_hint_is_one_of_mutual_information_alone() -> None:
    """Norms of middling sentences stand far apart on either side: no trend, and the same spread at both ends."""
    lengths = random_lengths()
    middle = np.abs(lengths - 31) < 6
    sides = np.where(noise(seed=3) > 0, 5, -5)
    norms = 9 + np.where(middle, sides, noise())
    assert answer_of(lengths, norms) == "No trend stands out, though another measure hints at a link."


@pytest.mark.parametrize(("power", "more", "less"), [(-0.5, "short", "long"), (0.5, "long", "short")])
def test_whose_norms_vary_more(power: float, more: str, less: str) -> None:
    lengths = random_lengths()
    norms = 9 + noise() * (lengths / 30) ** power
    ends = norms[lengths <= np.quantile(lengths, 0.2)], norms[lengths >= np.quantile(lengths, 0.8)]
    times = max(ends[0].std() / ends[1].std(), ends[1].std() / ends[0].std())
    spread = f"but {more} sentences’ norms vary {times:.1f}× as much as {less} ones’."
    assert answer_of(lengths, norms) == f"On average, no trend stands out; {spread}"
    told = 9 + noise() * (lengths / 30) ** power + 0.008 * lengths
    assert re.match(
        f"On average, hardly; but {more} sentences’ norms vary .* as much as {less} ones’", answer_of(lengths, told)
    )
    strong = answer_of(lengths, 9 + noise() * (lengths / 30) ** power + 0.1 * lengths)
    assert re.match("(Partly|Largely): a ", strong)  # the trend comes first


def test_a_difference_in_spread_that_is_small_or_of_the_slope_is_not_told() -> None:
    lengths = random_lengths()
    small = 9 + noise() * np.where(lengths > 31, 1.15, 1)
    low, _ = shape(lengths, small).spread_ratio_interval
    assert low < 1
    assert "vary" not in answer_of(lengths, small)
    skewed = np.random.default_rng(0).gamma(2, 10, 1500).round() + 3
    norms = 3 + skewed / 4
    _, high = shape(skewed, norms).spread_ratio_interval
    assert high < 1  # lengths are further apart among the longest, and so are norms
    bent = np.where(
        skewed < np.quantile(skewed, 0.2), skewed, np.where(skewed > np.quantile(skewed, 0.8), skewed - 30, 12)
    )
    assert "vary" not in answer_of(skewed, 9 + bent)


def test_norms_that_do_not_vary_among_the_shortest_are_said_not_to() -> None:
    lengths = random_lengths()
    norms = np.where(lengths > 50, 10 + noise(), 10)
    assert answer_of(lengths, norms).endswith("; but the shortest sentences’ norms do not vary at all.")


def test_where_no_curve_can_be_tested_none_is_told_of() -> None:
    lengths, norms = np.full(200, 5), np.full(200, 7.0)
    lengths[7], norms[7], lengths[150], norms[150] = 60, 8.0, 30, 7.9
    found = shape(lengths, norms)
    assert np.isnan(found.curve_null)
    assert "curve" not in answer_of(lengths, norms)
    assert "shuffled" not in words.key_numbers(shown_of(lengths, norms), Unit.TOKENS, shape=found)["R² of a curve"]
    undefined = replace(found, curve_r_squared=np.nan)
    assert words.key_numbers(shown_of(lengths, norms), Unit.TOKENS, shape=undefined)["R² of a curve"] == "–"
    shown = shown_of(random_lengths(), 9 + noise())
    untested = replace(shape(random_lengths(), shown.norms), curve_r_squared=np.nan, curve_null=np.nan)
    assert words.answer(shown, Experiment(), untested) == (
        "No sign of a trend: a straight line does not stand out from chance."
    )


@pytest.mark.parametrize(("spread", "share"), [(0.0, "100%"), (0.03, ">99%")])
def test_only_what_is_exact_is_accounted_for_whole(spread: float, share: str) -> None:
    lengths = random_lengths()
    shown = shown_of(lengths, 3 + lengths / 4 + spread * noise())
    assert f"it accounts for {share} of" in words.answer(shown, Experiment())
    assert "rests on" not in words.result(shown, Experiment(), len(lengths))
    line = words.in_numbers(shown, Experiment(), 1500)
    assert ("Straight line, rising: 100.0% (95% interval 100.0–100.0%)" in line) == (spread == 0)


def test_what_copies_alone_show_is_no_trend() -> None:
    """A hundred and twenty texts that are there ten times each are as many points, and no line is sure of them."""
    lengths, norms = random_lengths(120, 6), 9 + noise(120, 6)
    norms += 0.1 * (lengths - lengths.mean()) / lengths.std()
    order = np.random.default_rng(0).permutation(1200)
    copies = np.repeat(lengths, 10)[order], (np.repeat(norms, 10) + 0.01 * noise(1200))[order]
    clusters = np.repeat(np.arange(120), 10)[order]
    assert "accounts for" in answer_of(*copies)
    found = shape(*copies, clusters)
    shown = shown_of(*copies, clusters)
    assert "accounts for" not in words.answer(shown, Experiment(), replace(found, mutual_information=np.nan))


def test_what_forbids_a_verdict_comes_first() -> None:
    lengths = random_lengths()
    told, untold = shown_of(lengths, 9 + 0.05 * lengths + noise()), shown_of(lengths, 9 + noise())
    whole, of_noise = shape(lengths, told.norms), shape(lengths, untold.norms)
    assert told.fit is not None
    share = f"{100 * np.corrcoef(lengths, told.norms)[0, 1] ** 2:.0f}%"
    assert words.answer(told, SHUFFLED, whole) == f"Lengths shuffled: a line accounts for {share}, by chance."
    assert words.answer(untold, SHUFFLED, of_noise) == "Lengths shuffled: nothing shows, as it should."
    assert words.answer(untold, SHUFFLED) == "Lengths shuffled: no line stands out, as it should."
    bent = replace(of_noise, curve_r_squared=0.02)
    assert words.answer(untold, SHUFFLED, bent) == "Lengths shuffled: a smooth curve accounts for 2.0%, by chance."
    constant = ViewData(np.arange(300), lengths[:300].astype(np.int32), np.full(300, 7.0, np.float32), None, "Same.")
    assert words.answer(constant, Experiment()) == "No: every sentence has the same norm, up to rounding."
    for problem, said in (
        (
            "A line through 2 sentences says nothing: at least 3 are needed. Take more.",
            "a line through 2 sentences says nothing",
        ),
        ("No whole sentence is shorter than the length cutoff.", "no whole sentence is shorter than the length cutoff"),
        ("Not measurable in the fast precision: the norm varies by 0.1.", "not measurable in the fast precision"),
    ):
        nothing = replace(constant, index=constant.index[:2], lengths=constant.lengths[:2], problem=problem)
        assert words.answer(nothing, SHUFFLED) == f"Can’t tell: {said}."
        assert words.in_numbers(nothing, Experiment(), 2) == problem
    few = shown_of(lengths[:99], 9 + 0.05 * lengths[:99] + noise(99))
    assert words.answer(few, Experiment()).startswith("Too few sentences to say; a straight line accounts for ")
    three = shown_of(lengths[:3], 9 + 0.05 * lengths[:3] + noise(3))
    assert words.answer(three, Experiment()) == (
        "Too few sentences to say: with 3, a straight line comes near any norms."
    )
    assert words.in_numbers(three, Experiment(), 3).startswith("3 of 3 sentences")
    nearly = replace(told, fit=replace(told.fit, norm_sd=0.0009 * told.fit.norm_mean))
    assert words.answer(nearly, Experiment(), whole) == (
        f"Only on paper: norms are nearly constant; a line accounts for {share} of what variation there is."
    )
    assert words.answer(replace(told, clusters=None), Experiment(), whole) == (
        f"A straight line accounts for {share} of the differences between norms."
    )
    rests = replace(told, fit=replace(told.fit, rests_on_few=True))
    assert words.answer(rests, Experiment(), whole) == (
        f"Uncertain: a line accounts for {share} of the differences, but few sentences decide it."
    )
    assert (
        words.answer(told, Experiment()) == f"By a straight line, partly: it accounts for {share} of the differences."
    )
    assert words.answer(untold, Experiment()) == "No straight trend stands out; curves are still being checked."


def test_while_more_is_measured_no_verdict_is_given() -> None:
    lengths = random_lengths()
    rising, level = (shown_of(lengths, 9 + slope * lengths + noise()) for slope in (0.04, 0))
    few = shown_of(lengths[:40], (9 + noise())[:40])
    line = words.numbers.share_in_short(np.corrcoef(rising.lengths, rising.norms)[0, 1] ** 2)
    assert words.answer_so_far(rising) == (
        f"Measuring: so far, a straight line accounts for {line} of the differences between norms."
    )
    assert words.answer_so_far(level) == "Measuring: so far, no straight trend stands out."
    assert words.answer_so_far(few) == "Measuring: there are too few sentences so far to say."


def test_every_headline_is_one_sentence_of_at_most_20_words() -> None:
    lengths = random_lengths()
    for slope, power, bent in itertools.product((0, 0.008, -0.1), (-0.5, 0, 0.5), (0, 0.3, 3)):
        norms = 9 + slope * lengths + bent * U + noise() * (lengths / 30) ** power
        shown, found = shown_of(lengths, norms), next(shapes(lengths, norms))
        for experiment in (Experiment(), SHUFFLED):
            said = words.answer(shown, experiment, found)
            assert len(said.split()) <= 20, said
            assert len(re.findall(r"\.(?= |$)", said)) == 1
            assert len(re.findall(r"\d+(?:\.\d+)?", said)) <= 1  # one number


def test_the_numbers_stand_in_one_quiet_line() -> None:
    lengths = random_lengths()
    shown = shown_of(lengths, 9 + 0.05 * lengths + noise())
    assert shown.fit is not None
    low, high = shown.fit.r_squared_interval
    found = shape(lengths, shown.norms)
    assert words.in_numbers(shown, Experiment(unit=Unit.WORDS), 1600, found) == (
        f"Straight line, rising: {100 * np.corrcoef(lengths, shown.norms)[0, 1] ** 2:.1f}% (95% interval "
        f"{100 * low:.1f}–{100 * high:.1f}%) · smooth curve: {100 * found.curve_r_squared:.1f}% · spread, shortest "
        f"against longest fifth: {found.spread_ratio:.1f}× · 1,500 of 1,600 sentences, 3–59 words"
    )
    unknown = words.in_numbers(replace(shown, clusters=None), Experiment(), 1500)
    assert "interval" not in unknown
    assert "interval" not in words.key_numbers(replace(shown, clusters=None), Unit.TOKENS)["R²"]
    assert words.in_numbers(shown_of(lengths, 9 + noise()), Experiment(), 1500).startswith("Straight line: ")


def test_an_interval_that_a_few_sentences_decide_is_said_to() -> None:
    lengths, norms = np.append(random_lengths(1500) % 3 + 5, [60, 61]), np.append(9 + noise(1500), [12.0, 13.0])
    assert words.caveats(shown_of(lengths, norms), Experiment(), 1502) == [
        "The interval of R² rests on a few sentences, or groups of near-duplicates; it may be too narrow."
    ]


def test_copies_of_a_few_texts_are_a_few_sentences() -> None:
    lengths, norms = random_lengths(12, 6), 9 + noise(12, 6)
    clusters = np.repeat(np.arange(12), 100)[(order := np.random.default_rng(0).permutation(1200))]
    copies = np.repeat(lengths, 100)[order], np.repeat(norms, 100)[order]
    assert words.caveats(shown_of(*copies, clusters), Experiment(), 1200) == [
        "With only 12 different sentences, curve and spread are not known; take more for a firm answer."
    ]
    with pytest.raises(UndefinedFitError, match="at least 100 different sentences to describe, and there are 12"):
        shape(*copies, clusters)


def test_the_numbers_are_those_of_line_and_shape() -> None:
    lengths = random_lengths()
    shown = shown_of(lengths, 9 + noise() * 10 / lengths)
    assert shown.fit is not None
    found = shape(lengths, shown.norms)
    numbers = words.key_numbers(shown, Unit.TOKENS, flat(lengths, shown.norms), found)
    low, high = found.spread_ratio_interval
    assert numbers["Spread, shortest over longest fifth"] == (
        f"{found.spread_ratio:.2f} (95% interval {low:.2f} to {high:.2f})"
    )
    lower, median, upper = (found.quantile_slopes[q] * np.log(2) for q in (0.05, 0.5, 0.95))
    assert numbers["Per doubling of tokens"] == (
        f"5% quantile {words.number(lower, sign='+')}, median {words.number(median, sign='+')}, 95% quantile "
        f"{words.number(upper, sign='+')}"
    )
    extreme = np.argsort(shown.norms, kind="stable")
    extreme = np.append(extreme[:15], extreme[-15:])
    assert numbers["Most extreme norms"].startswith(
        f"{np.mean(lengths[extreme] < np.median(lengths)):.0%} of the 30 are of sentences under "
    )
    assert words.number(found.mutual_information) in numbers["Mutual information"]
    assert words.number(found.curve_r_squared) in numbers["R² of a curve"]
    assert numbers["Sentences"] == "1,500"
    assert numbers["R² if each length from 4 to 39 counted alike"] == words.number(flat(lengths, shown.norms).r_squared)
    short = lengths < 35
    absent = words.key_numbers(shown, Unit.TOKENS, flat(lengths[short], shown.norms[short]))
    assert absent["R² if each length from 4 to 39 counted alike"].endswith("(no sentence is 35 to 39 long)")
    alike = shown_of(lengths, shown.norms, np.arange(1500) // 2)
    assert words.key_numbers(alike, Unit.TOKENS)["Sentences"] == "1,500, in 750 groups of near-duplicates"


def test_what_the_cutoff_changes_is_said() -> None:
    lengths = random_lengths()
    table = by_cutoff(lengths, lengths, np.minimum(lengths / 20, 2 - lengths / 20) + 0.1 * noise())
    most, least = table["r_squared"].idxmax(), table["r_squared"].idxmin()
    text = words.by_cutoff(table)
    for at in (most, least):
        low, high = table["lower"][at], table["upper"][at]
        cutoff = table["length_cutoff"][at]
        assert f"{table['r_squared'][at]:.3f} ({low:.3f} to {high:.3f}) under {cutoff} tokens" in text
    assert text.endswith("Even the slope changes its sign.")
    falling = by_cutoff(lengths, lengths, -lengths + noise())
    assert words.by_cutoff(falling).endswith("Wherever the line is told apart from nothing, it falls with length.")
    assert words.by_cutoff(by_cutoff(lengths, lengths, noise(seed=2))).endswith(
        "At no cutoff is the line told apart from nothing."
    )
    always = by_cutoff(lengths, lengths, lengths / 4)
    assert words.by_cutoff(always).startswith(
        "R² and slope are those of all sentences under the cutoff: R² is 1.000 at "
    )
    nearly = by_cutoff(lengths, lengths, lengths / 4 + 1e-3 * noise())
    assert "R² is >0.999 at each." in words.by_cutoff(nearly[nearly["length_cutoff"] > 20])
    assert words.by_cutoff(falling.head(0)) == "At no cutoff is there a line."


def test_a_norm_that_hardly_varies_is_said_to() -> None:
    lengths = random_lengths()
    barely, plainly = (shown_of(lengths, 10 + scale * noise()) for scale in (0.0002, 0.2))
    (caveat,) = words.caveats(barely, Experiment(), 1500)
    assert "the norm barely varies: its standard deviation is 2.0 × 10⁻⁴, around a mean of 10.00" in caveat
    assert words.caveats(plainly, Experiment(), 1500) == []


def test_training_is_not_said_to_change_a_norm_that_no_word_has_reached() -> None:
    """Before the first layer [CLS] is the same for every sentence, trained or not."""
    lengths = random_lengths(300)
    constant = ViewData(np.arange(300), lengths.astype(np.int32), np.full(300, 7.0), None, "The norm is the same.")
    untrained = Experiment(model="untrained:minilm")
    (said,) = words.caveats(constant, untrained, 300)
    assert said.endswith("the same norm until it is trained. Look at the pooler output instead, if there is one.")
    assert words.caveats(constant, replace(untrained, layer=0), 300) == []
    assert words.caveats(constant, Experiment(), 300) == []


def test_few_sentences_are_said_to_be_few() -> None:
    shown = shown_of(random_lengths(40), 9 + noise(40))
    text = words.result(shown, Experiment(), 40)
    assert text.startswith("Too few sentences to say; a straight line accounts for ")
    assert text.endswith("With only 40 sentences, curve and spread are not known; take more for a firm answer.")
    for more, n_sampled, said in (
        (More(by_cutoff=True), 400, "raise the length cutoff for a firm answer."),
        (More(by_cutoff=True), 45, "take more for a firm answer."),
        (More(by_cutoff=True, by_sample=False), 45, "raise the length cutoff for a firm answer."),
        (More(by_sample=False), 40, "the corpus has no more, and a firm answer takes a larger one."),
        (More(is_to_come=True), 40, "not all of the sample is measured yet."),
    ):
        assert words.result(replace(shown, more=more), Experiment(), n_sampled).endswith(f"not known; {said}")


@pytest.mark.parametrize(
    ("experiment", "question"),
    [
        (Experiment(), "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS]?"),
        (
            Experiment("google/electra-base", layer=3),
            "Does electra-base encode the length of a sentence in the norm of its [CLS] after layer 3?",
        ),
        (
            Experiment(layer=0),
            "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS] at the embedding layer?",
        ),
        (
            Experiment("bert-base-uncased", pooling=Pooling.POOLER),
            "Does BERT base, uncased encode the length of a sentence in the norm of its pooler output?",
        ),
    ],
)
def test_the_question_names_model_and_vector(experiment: Experiment, question: str) -> None:
    assert words.question(experiment) == question


def test_the_axis_is_called_as_in_the_original() -> None:
    assert words.axis_title(Experiment().view) == "Norm of the [CLS] embedding"
    assert words.axis_title(Experiment(layer=2).view) == "Norm of the [CLS] embedding, layer 2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.53164, "7.5316"),
        (-0.0049, "−0.0049"),
        (0.0, "0.0000"),
        (0.00049, "4.9 × 10⁻⁴"),
        (-1.234e-12, "−1.2 × 10⁻¹²"),
        (float("inf"), "∞"),
        (float("-inf"), "−∞"),
        (float("nan"), "–"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert words.number(value) == text


def test_signed_numbers() -> None:
    assert words.number(0.25, sign="+") == "+0.2500"
    assert words.number(-0.25, sign="+") == "−0.2500"
    assert words.number(0.2549, digits=2) == "0.25"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (8.4, "8 s"), (89, "89 s"), (95, "2 min"), (3600, "60 min"), (9000, "2.5 h")]
)
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_the_other_direction_in_words() -> None:
    lengths = np.concatenate([np.full(500, 5), np.arange(10, 60).repeat(20), np.full(500, 8)])
    norms = np.concatenate([np.linspace(1, 2, 500), np.linspace(5, 6, 1000), np.linspace(9, 10, 500)])
    text = words.lengths_at_norms(slices(lengths, norms), lengths, Unit.TOKENS)
    low, high = np.quantile(lengths, (0.05, 0.95))
    assert f"of all sentences, nine in ten are {low:.0f} to {high:.0f} tokens long" in text
    assert "Of the 1% with the lowest norms" in text
    assert "nine in ten are 5;" in text
    assert "of the middle half, 12 to 57" in text
    assert "with the highest (9.9619 and up), 8;" in text
    assert "too few" in words.lengths_at_norms(slices([1, 2], [3, 4]), np.array([1, 2]), Unit.TOKENS)


@pytest.mark.parametrize(("length", "said"), [(6, "6 tokens"), (1, "1 token")])
def test_one_length_is_no_range(length: int, said: str) -> None:
    lengths = np.full(150, length)
    text = words.lengths_at_norms(slices(lengths, 7 + noise(150)), lengths, Unit.TOKENS)
    assert text == f"The other way round, no norm goes with other lengths than another: all sentences have {said}."


def test_one_norm_goes_with_no_lengths_of_its_own() -> None:
    lengths = random_lengths(300)
    assert words.lengths_at_norms(slices(lengths, np.full(300, 7.0)), lengths, Unit.TOKENS) == (
        "There are too few different norms to say which lengths go with which."
    )
    text = words.lengths_at_norms(slices(lengths, 7 + 1e-7 * noise(300)), lengths, Unit.TOKENS)
    assert text == "The norms are too much alike to say which lengths go with which norm."


def test_norms_that_are_the_same_are_told_of_together() -> None:
    lengths, norms = random_lengths(1000), np.repeat([1.0, 2.0, 3.0, 4.0], [40, 300, 600, 60])
    text = words.lengths_at_norms(slices(lengths, norms), lengths, Unit.TOKENS)
    for said, norm in (("4% with the lowest norms (up to 1.0000), nine in ten are", 1), ("60% in the middle,", 3)):
        low, high = np.quantile(lengths[norms == norm], (0.05, 0.95))
        assert f"Of the {said} {low:.0f} to {high:.0f}" in text or f"of the {said} {low:.0f} to {high:.0f}" in text
    assert "of the 6% with the highest (4.0000 and up), " in text
    norms = np.concatenate([np.full(500, 7.0), 8 + np.arange(500) / 500])
    text = words.lengths_at_norms(slices(lengths, norms), lengths, Unit.TOKENS)
    assert "Of the 50% with the lowest norms (up to 7.0000)" in text
    assert "middle" not in text


def test_two_lengths_have_no_curve_and_no_range_between() -> None:
    lengths = np.resize([4, 4, 9], 300)
    norms = 9 + 0.2 * lengths + noise(300)
    explained = np.corrcoef(lengths, norms)[0, 1] ** 2
    assert answer_of(lengths, norms) == (
        f"A little: a straight line, rising with length, accounts for {explained:.0%} of the differences between norms."
    )
    numbers = words.key_numbers(shown_of(lengths, norms), Unit.TOKENS, flat(lengths, norms), shape(lengths, norms))
    assert "Most extreme norms" not in numbers  # no sentence is shorter than the median
    (of_flat,) = (text for name, text in numbers.items() if "counted alike" in name)
    assert of_flat.endswith("(no sentence is 5 to 8, 10 to 39 long)")


def test_a_single_cutoff_changes_nothing() -> None:
    lengths = np.resize([3, 9, 14], 60)
    text = words.by_cutoff(by_cutoff(lengths, lengths, 9 + noise(60)).tail(1))
    assert " and " not in text.split(": R² is ")[1].split("under 15 tokens")[0]
    assert "change with it" not in text
    assert text.count("under 15 tokens") == 1


def of(experiment: Experiment) -> Found:
    """What is found where names already say which commit they mean."""
    weights = Weights(experiment.model, "", Path(), "")
    corpus = Corpus(experiment.selection, "", "", None, experiment.corpus)
    return Found(weights, Sample(corpus, [], ""))


def test_the_command_measures_the_same() -> None:
    experiment = Experiment(model="/a folder/it's", sample_size=50, layer=0)
    assert words.command(experiment, of(experiment)) == (
        "python -m clsviz measure --model '/a folder/it'\"'\"'s' --sample-size 50 --layer 0"
    )
    assert words.command(Experiment(), of(Experiment())) == "python -m clsviz measure"


def test_the_intervals_of_a_sample_that_is_all_of_its_corpus_are_said_to_be_for_more_like_it() -> None:
    shown, found = shown_of(random_lengths(40), 9 + noise(40)), of(Experiment())
    of_all = replace(found, n_asked=40)
    assert "for more sentences like these" in words.settings(Experiment(), of_all, shown)["Line"]
    assert "like these" not in words.settings(Experiment(), replace(found, n_asked=0), shown)["Line"]
    whole = replace(found.sample, whole=object())  # of which the sentences are a sample
    assert "like these" not in words.settings(Experiment(), replace(of_all, sample=whole), shown)["Line"]


def test_the_intervals_are_said_to_be_as_they_were_computed() -> None:
    shown, found = shown_of(random_lengths(), 9 + noise()), of(Experiment())
    line = words.settings(Experiment(), found, shown)["Line"]
    assert "count near-duplicates as one" in line
    assert "row groups" not in line
    few, many = (replace(shown, row_groups=np.arange(1500) % n) for n in (9, 10))
    assert words.settings(Experiment(), found, few)["Line"] == line
    assert "row groups" in words.settings(Experiment(), found, many)["Line"]
    by_row_groups = fit(shown.lengths, shown.norms, shown.clusters, many.row_groups)
    assert by_row_groups.r_squared_interval != fit(shown.lengths, shown.norms, shown.clusters).r_squared_interval
    unknown = words.settings(Experiment(), found, replace(shown, clusters=None))["Line"]
    assert "treat all sentences as different ones, as near-duplicates are not looked for" in unknown
    independent = words.settings(Experiment(near_duplicates=NearDuplicates.INDEPENDENT), found, shown)["Line"]
    assert "near-duplicates are not grouped" in independent
