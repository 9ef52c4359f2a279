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
from clsviz.settings import NearDuplicates, Pooling, Unit
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
    return words.answer(shown, Unit.TOKENS, next(shapes(lengths, norms, shown.clusters)))


SAME_SPREAD = "no difference in spread shows."


@pytest.mark.parametrize(("slope", "direction"), [(0.05, "rising"), (-0.05, "falling")])
def test_a_line_is_said_to_rise_or_to_fall(slope: float, direction: str) -> None:
    lengths = random_lengths()
    norms = 9 + slope * lengths + noise()
    explained = np.corrcoef(lengths, norms)[0, 1] ** 2
    assert next(shapes(lengths, norms)).curve_r_squared < explained  # held out
    assert answer_of(lengths, norms) == (
        f"A line {direction} with length explains {100 * explained:.1f}% of the differences between norms (3–59 "
        f"tokens), a curve no more; {SAME_SPREAD}"
    )
    shown = shown_of(lengths, norms)
    assert "norms (3–59 words)" in words.answer(shown, Unit.WORDS)
    assert words.in_numbers(shown, Experiment(), 1500).endswith("1,500 of 1,500 sentences, those under 80 tokens")


def test_a_u_of_the_length_is_denied_as_a_line_alone() -> None:
    lengths = random_lengths()
    answer = answer_of(lengths, 9 + ((lengths - 31) / 20) ** 2 + 0.3 * noise())
    told = re.fullmatch(
        r"A line explains 0\.\d% of the differences between norms \(3–59 tokens\), not told apart from nothing; a "
        r"curve (\d+\.\d)%\.",  # and nothing of spread, as the curve falls and rises among the shortest and longest
        answer,
    )
    assert told
    assert 60 < float(told[1]) < 90


def test_the_slope_among_the_shortest_and_the_longest_is_not_taken_for_spread() -> None:
    lengths = np.random.default_rng(0).gamma(2, 10, 1500).round() + 3
    alone = words.answer(shown_of(lengths, 3 + lengths / 4), Unit.TOKENS, next(shapes(lengths, 3 + lengths / 4)))
    _, high = next(shapes(lengths, 3 + lengths / 4)).spread_ratio_interval
    assert high < 1  # lengths are further apart among the longest, and so are norms
    assert "spread" not in alone
    steep = 3 + lengths / 4 + noise() * (5 + lengths)
    assert answer_of(lengths, steep).endswith("× as wide.")  # here noise is most of it


def test_a_slope_may_hide_a_difference_in_spread_so_that_none_is_denied() -> None:
    lengths = np.resize([*range(3, 9), *range(9, 40, 2), *range(41, 61, 3)], 1500)
    noisy = np.where(lengths < 9, 0.48, 0.02)  # so the shortest vary as much as the slope makes the longest do
    norms = 10 + 0.1 * lengths + noisy * noise()
    low, high = next(shapes(lengths, norms)).spread_ratio_interval
    assert low <= 1 <= high
    assert "spread" not in answer_of(lengths, norms)


def test_norms_that_do_not_vary_among_the_shortest_are_said_not_to() -> None:
    lengths = random_lengths()
    norms = np.where(lengths > 50, 10 + noise(), 10)
    assert answer_of(lengths, norms).endswith("; among the shortest, the norm does not vary.")


def test_where_no_curve_can_be_tested_none_is_told_of() -> None:
    lengths, norms = np.full(200, 5), np.full(200, 7.0)
    lengths[7], norms[7], lengths[150], norms[150] = 60, 8.0, 30, 7.9
    found = next(shapes(lengths, norms))
    assert np.isnan(found.curve_null)
    assert "curve" not in answer_of(lengths, norms)
    assert "shuffled" not in words.key_numbers(shown_of(lengths, norms), Unit.TOKENS, shape=found)["R² of a curve"]
    undefined = replace(found, curve_r_squared=np.nan)
    assert words.key_numbers(shown_of(lengths, norms), Unit.TOKENS, shape=undefined)["R² of a curve"] == "–"


@pytest.mark.parametrize(("spread", "share"), [(0.0, "100.0%"), (0.03, ">99.9%")])
def test_only_what_is_exact_is_explained_whole(spread: float, share: str) -> None:
    lengths = random_lengths()
    shown = shown_of(lengths, 3 + lengths / 4 + spread * noise())
    assert f"explains {share} of" in words.answer(shown, Unit.TOKENS)
    said = words.result(shown, Experiment(), len(lengths))
    assert "rests on" not in said
    assert ("R² 1.0000 (95% interval 1.0000 to 1.0000)" in words.in_numbers(shown, Experiment(), 1500)) == (spread == 0)


def test_noise_is_not_told_apart_from_nothing() -> None:
    lengths = random_lengths()
    answer = answer_of(lengths, 9 + noise())
    assert re.fullmatch(
        r"Neither a line \((?:0\.\d|<0\.1)% of the differences between norms, 3–59 tokens\) nor a curve is told "
        r"apart from nothing; no difference in spread shows\.",
        answer,
    )


@pytest.mark.parametrize(("power", "wider"), [(-0.5, "short"), (0.5, "long")])
def test_a_funnel_is_said_to_be_one(power: float, wider: str) -> None:
    lengths = random_lengths()
    norms = 9 + noise() * (lengths / 30) ** power
    ends = norms[lengths <= np.quantile(lengths, 0.2)], norms[lengths >= np.quantile(lengths, 0.8)]
    times = max(ends[0].std() / ends[1].std(), ends[1].std() / ends[0].std())
    answer = answer_of(lengths, norms)
    assert "nor a curve is told apart from nothing;" in answer
    assert answer.endswith(f"; {wider} sentences spread {times:.1f}× as wide.")


def test_what_copies_alone_show_is_not_told_apart_from_nothing() -> None:
    """A hundred and twenty texts that are there ten times each are as many points, and no line is sure of them."""
    lengths, norms = random_lengths(120, 6), 9 + noise(120, 6)
    norms += 0.1 * (lengths - lengths.mean()) / lengths.std()
    order = np.random.default_rng(0).permutation(1200)
    copies = np.repeat(lengths, 10)[order], (np.repeat(norms, 10) + 0.01 * noise(1200))[order]
    clusters = np.repeat(np.arange(120), 10)[order]
    assert answer_of(*copies).startswith("A line rising with length explains ")
    assert "nor a curve is told apart from nothing" in answer_of(*copies, clusters)


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
        answer_of(*copies, clusters)


def test_the_answer_is_one_sentence_that_says_each_thing_once() -> None:
    lengths = random_lengths()
    for norms in (noise(), noise() + lengths / 5, noise() * lengths, noise() + (lengths - 30) ** 2 / 200):
        answer = answer_of(lengths, 9 + norms)
        assert len(re.findall(r"\.(?= |$)", answer)) == 1
        assert answer.count("line") == answer.count("curve") == answer.count("spread") == 1
        assert not re.search("Hardly|Weakly|Partly|Largely", answer)


def in_all_cases() -> list[tuple[bool, bool, str, str]]:
    """Whether the line and the curve are told apart, whose norms spread wider, and the answer: every combination."""
    lengths = random_lengths()
    told, untold = (shown_of(lengths, 9 + slope * lengths + noise()) for slope in (-0.05, 0.0))
    true = next(shapes(lengths, told.norms))
    spreads = {"short": (2.5, (2.1, 3.0)), "long": (0.4, (0.3, 0.5)), "": (1.0, (0.9, 1.1)), "none": (np.nan,) * 2}
    found = []
    for line, curve, (wider, (ratio, ends)) in itertools.product((True, False), (True, False), spreads.items()):
        found_shape = replace(
            true,
            curve_r_squared=0.523 if curve else 0.001,
            curve_null=0.01,
            spread_ratio=ratio,
            spread_ratio_interval=ends if wider != "none" else (np.nan, np.nan),
        )
        found.append((line, curve, wider, words.answer(told if line else untold, Unit.TOKENS, found_shape)))
    return found


def test_every_combination_of_line_curve_and_spread_is_told_as_it_is_in_at_most_25_words() -> None:
    for line, curve, wider, answer in in_all_cases():
        assert len(answer.split()) <= 25, answer
        assert answer.startswith("A line falling with length explains ") == line
        assert ("a curve 52.3%" in answer) == curve
        assert re.search(r"nothing|told apart", answer.split("spread")[0]) or (line and curve)
        if wider in ("short", "long"):
            assert answer.endswith(f"; {wider} sentences spread 2.5× as wide.")
        elif wider:
            assert "spread" not in answer
        else:
            assert answer.endswith(SAME_SPREAD)
    assert len({answer for *_, answer in in_all_cases()}) == 16


def test_the_answer_with_what_is_still_pending_is_at_most_25_words() -> None:
    lengths = random_lengths()
    for slope in (0.0, 0.05, -0.05):
        answer = words.answer(shown_of(lengths, 9 + slope * lengths + noise()), Unit.TOKENS)
        assert len(f"{answer} {words.PENDING}".split()) <= 25, answer


def test_before_the_curve_is_known_the_line_stands_alone() -> None:
    lengths = random_lengths()
    shown = shown_of(lengths, 9 + 0.05 * lengths + noise())
    explained = np.corrcoef(lengths, shown.norms)[0, 1] ** 2
    share = f"{100 * explained:.1f}% of the differences between norms (3–59 tokens)."
    assert words.answer(shown, Unit.TOKENS) == f"A line rising with length explains {share}"
    not_told = words.answer(shown_of(lengths, 9 + noise()), Unit.TOKENS)
    assert re.fullmatch(
        r"A line explains (0\.\d|<0\.1)% of the differences between norms \(3–59 tokens\), not told apart from "
        r"nothing\.",
        not_told,
    )
    unknown = words.answer(replace(shown, clusters=None), Unit.TOKENS)
    assert unknown == f"A straight line explains {share}"  # its interval is not known yet
    numbers = words.key_numbers(replace(shown, clusters=None), Unit.TOKENS)
    assert not any("interval" in text for text in numbers.values())
    assert "interval" not in words.in_numbers(replace(shown, clusters=None), Experiment(), 1500)
    assert words.in_numbers(shown, Experiment(), 1500).count("95% interval") == 2


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
    low, high = shown.fit.r_squared_interval
    low_slope, high_slope = shown.fit.slope_interval
    assert words.in_numbers(shown, Experiment(), 1600) == (
        f"R² {words.number(np.corrcoef(lengths, shown.norms)[0, 1] ** 2)} (95% interval {words.number(low)} to "
        f"{words.number(high)}) · slope per token {words.number(np.polyfit(lengths, shown.norms, 1)[0])} (95% interval "
        f"{words.number(low_slope)} to {words.number(high_slope)}) · 1,500 of 1,600 sentences, those under 80 tokens"
    )
    assert words.in_numbers(replace(shown, fit=None), Experiment(), 1600) == ""


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
    assert "not told apart from nothing" in text
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
        f"A line rising with length explains {100 * explained:.1f}% of the differences between norms (4 or 9 tokens); "
        f"{SAME_SPREAD}"
    )
    numbers = words.key_numbers(
        shown_of(lengths, norms), Unit.TOKENS, flat(lengths, norms), next(shapes(lengths, norms))
    )
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
