"""What the page about the layers says, case by case."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from support.prose import Values, profile_of
from support.snapshots import assert_said

from clsviz import words
from clsviz.analysis.layers import NormBreakdown, SentLen
from clsviz.analysis.probes import Origin, Published
from clsviz.experiment import Experiment
from clsviz.settings import Alteration, Lengths, NearDuplicates, Pooling, Unit
from clsviz.statistics.dimensions import AS_IT_IS, WITHOUT_BIAS, WITHOUT_EITHER, WITHOUT_GAIN, Dimensions, NormOf
from clsviz.statistics.erasure import AFTER, BEFORE, CONTROL, Erasure, Left
from clsviz.statistics.probes import Leg, Profile, Projection, Reading, Readout, Travel
from clsviz.statistics.sentlen import Code, Result

NAN = float("nan")
WITH_AND_WITHOUT = AS_IT_IS, WITHOUT_BIAS, WITHOUT_GAIN, WITHOUT_EITHER
VECTOR: Values = (None, 0.99, 0.62)
ABOUT_NORM = Pooling.CLS, 1, Readout.NORM
PROBED, MEAN = (Pooling.CLS, 1, Readout.VECTOR), (Pooling.MEAN, 2, Readout.VECTOR)
MEAN_NORM = Pooling.MEAN, 2, Readout.NORM

PROFILES: dict[str, Profile] = {
    "the best is not the last": profile_of(VECTOR, direction=(None, 0.98, 0.6), mean=(0.5, 0.9, 0.95), pooler=0.6),
    "the norm is the length": profile_of((None, 0.7, 0.9), (None, 0.9, 0.9999), (None, 0.6, 0.7), mean=(0.5, 0.9, 0.9)),
    "a constant direction": profile_of(VECTOR, direction=(None, None, None)),
    "the direction tells more": profile_of((None, 0.5, 0.4), direction=(None, 0.6, 0.4), of_norm=0.02),
    "little is not all of a little": profile_of((None, 0.07, 0.06), direction=(None, 0.03, 0.03), of_norm=0.3),
    "the last norm does not vary": profile_of(VECTOR, (None, 0.2, None), (None, 0.9, 0.5), of_norm=NAN),
    "a norm that barely varies": replace(
        barely := profile_of(VECTOR, (None, 1.0, 0.1)),
        readings={**barely.readings, ABOUT_NORM: replace(barely.readings[ABOUT_NORM], norm_sd=2.3e-4)},
    ),
    "the embeddings are the best": profile_of((0.99, 0.9, 0.9), (0.1, 0.2, 0.2)),
    "one layer": profile_of((0.8, 0.99), (0.1, 0.2)),
    "noise": profile_of((None, 0.01, -0.3), (None, 0.01, 0.003)),
    "noise, of few sentences": profile_of((None, 0.01, -0.3), (None, 0.01, 0.003), n=110),
    "a norm that no probe of the vector sees": profile_of((None, 0.01, -0.02), (None, 1.0, 0.2)),
    "the best of many lines on nothing": profile_of((None, 0.01, -0.02), (None, 0.07, 0.02), n=110),
    "few for so many dimensions": profile_of(VECTOR, n=119),
    "enough for them": profile_of(VECTOR, n=120),
    "a last layer that is constant": profile_of((None, 0.99, None), mean=(0.5, 0.9, None)),
    "nothing can be fitted": profile_of((None, None, None), mean=(0.5, 0.9, 0.9)),
    "nothing can be fitted, and nothing read elsewhere": profile_of((None, None, None), mean=(0.01, 0.02, 0.01)),
    "99 sentences": profile_of(VECTOR, n=99),
    "copies of 6": profile_of(VECTOR, n=300, n_different=6),
    "copies of 110": profile_of(VECTOR, n=500, n_different=110),
    "no sentences": profile_of((None, None, None), (None, None, None), n=0),
    "one sentence": profile_of((None, None, None), (None, None, None), n=1),
    "norms alone so far": profile_of(VECTOR, made=3),
    "two layers so far": profile_of(VECTOR, made=5),
    "all layers, no directions so far": profile_of(VECTOR, made=6),
    "it keeps": profile_of((None, 0.99, 0.98)),
    "twice the error after the last": profile_of((None, 0.9999, 0.998)),
    "to the token": profile_of((None, 0.99999, 0.9996)),
    "partly": profile_of((None, 0.3, 0.2)),
    "what others might take away": replace(
        chance := profile_of((None, 0.06, 0.01), (None, 0.01, 0.003)),
        readings={**chance.readings, PROBED: replace(chance.readings[PROBED], interval=(-0.02, 0.12))},
    ),
    **{
        f"a mean that is {name}": replace(
            beside := profile_of(VECTOR, mean=(None, 0.9, mean)),
            readings={**beside.readings, MEAN: replace(beside.readings[MEAN], beyond_cls=beyond)},
        )
        for name, mean, beyond in (
            ("better", 0.7, (0.02, 0.14)),
            ("worse", 0.5, (-0.2, -0.04)),
            ("not told apart", 0.7, (-0.02, 0.18)),
        )
    },
    "one vector of each": replace(profile_of((0.9,), (0.3,), (0.85,), n=400), n_poolings=1, n_layers=0),
    "one vector of each, of one direction": replace(profile_of((0.9,), (0.3,), (None,)), n_poolings=1, n_layers=0),
}


def test_what_a_profile_is_answered() -> None:
    assert {answer: words.profile.headline(None, Experiment()) for answer in ("",)} == {"": words.profile.FITTING}
    headlines = {name: words.profile.headline(profile, Experiment()) for name, profile in PROFILES.items()}
    controls = {
        "shuffled": Experiment(lengths=Lengths.SHUFFLED),
        "untrained": Experiment(model="untrained:minilm"),
        "both": Experiment(model="untrained:minilm", lengths=Lengths.SHUFFLED),
    }
    for profile, experiment in itertools.product(PROFILES.values(), (Experiment(), *controls.values())):
        assert len(words.profile.headline(profile, experiment).split()) <= 25 + (profile.n_different < 100)
    one = PROFILES["the best is not the last"]
    headlines |= {name: words.profile.headline(one, experiment) for name, experiment in controls.items()}
    headlines |= {f"{name}, in full": words.profile.answer(one, experiment) for name, experiment in controls.items()}
    headlines["being fitted"] = words.profile.headline(None, Experiment())
    of_others = [
        ("the mean", one, Pooling.MEAN),
        ("the mean, not all of it yet", profile_of(VECTOR, mean=(0.5, 0.9, 0.95), made=7), Pooling.MEAN),
        ("the pooler", one, Pooling.POOLER),
        ("the pooler, of noise", profile_of(VECTOR, pooler=0.01), Pooling.POOLER),
    ]
    for name, profile, pooling in of_others:
        headlines[name] = words.profile.headline(profile, Experiment(pooling=pooling))
    headlines["in words"] = words.profile.headline(one, Experiment(unit=Unit.WORDS))
    assert_said("layers_headlines", headlines)
    assert words.profile.answer(None, Experiment()) == headlines["being fitted"]
    assert words.profile.in_numbers(None, Experiment()) == ""
    assert_said(
        "layers_numbers",
        {
            f"{pooling}, {near_duplicates}": words.profile.in_numbers(
                one, Experiment(length_cutoff=90, pooling=pooling, near_duplicates=near_duplicates)
            )
            for pooling, near_duplicates in itertools.product((Pooling.MEAN, Pooling.POOLER), NearDuplicates)
        },
    )


def test_the_titles_of_cards_are_findings_of_a_profile() -> None:
    of_mean = {
        name: replace(profile_of(VECTOR), readings=profile_of(VECTOR).readings | {MEAN_NORM: Reading(*MEAN_NORM, *of)})
        for name, of in {
            "the norm of the mean tells more": (0.67, (), "", 1, 1, None, 3.6),
            "it tells less": (0.01, (), "", 1, 1, None, 6.5),
            "about as much": (0.12, (), "", 1, 1, None, 6.2),
            "there is no line on it": (None, (), "The norm is the same for all 500 sentences, so there is none."),
        }.items()
    }
    neither = profile_of(VECTOR, (None, 0.2, 0.01))
    neither = replace(neither, readings=neither.readings | {MEAN_NORM: of_mean["it tells less"].readings[MEAN_NORM]})
    constant = profile_of(VECTOR, (None, 0.2, None))
    constant = replace(constant, readings=constant.readings | {MEAN_NORM: Reading(*MEAN_NORM, 0.6, error=4.0)})
    cards = words.layer_cards
    assert_said(
        "layers_cards",
        {
            **{f"direction: {name}": cards.direction(profile, "tokens") for name, profile in PROFILES.items()},
            **{f"norms: {name}": cards.norms(profile, "tokens") for name, profile in of_mean.items()},
            "norms: neither tells it": cards.norms(neither, "words"),
            "norms: that of [CLS] is constant": cards.norms(constant, "words"),
            "norms: few": cards.norms(PROFILES["99 sentences"], "tokens"),
            "a norm": cards.norm("Norm of the [CLS] embedding", "By a straight line, hardly: it accounts for 1.8%."),
            "a norm without a line": cards.norm(
                "Norm", "No straight trend stands out; curves are still being checked."
            ),
            "the picture": [cards.picture(band) for band in (None, *Lengths)],
            "so far": [cards.so_far(n) for n in (1, 256)],
            "not known": [
                f"{name}: {why}"
                for name, why in zip(
                    cards.NAMES.values(), itertools.cycle((cards.NOT_ASKED, cards.BEING_COMPUTED, cards.IMPOSSIBLE))
                )
            ],
        },
    )


def test_what_a_profile_says_in_full() -> None:
    assert_said(
        "layers_in_full",
        {
            name: [
                words.profile.in_numbers(profile, Experiment()),
                *words.profile.in_full(profile, Experiment(unit=Unit.WORDS)),
            ]
            for name, profile in PROFILES.items()
        },
    )


def test_of_one_length_it_is_not_concluded_that_the_vectors_are_one() -> None:
    """The norm is the same, and no probe can be fitted: but because there is nothing to predict."""
    profile = replace(profile_of((None, None, None), (None, None, None)), guess_error=0.0)
    assert "is the same for every sentence" not in " ".join(words.profile.details(profile))


def legs(*across: float) -> tuple[Leg, ...]:
    return tuple(Leg(layer, 0.9, 1.0 + layer, 1 - e / 10, e, 0.8, 1.5 + layer) for layer, e in enumerate(across))


def test_what_becomes_of_probes_elsewhere_and_once_the_length_is_erased() -> None:
    def travelled(*across: float, n_there: int = 400, n_different: int | None = None, unit: str = "tokens") -> str:
        found = Travel(500, n_there, 2, 6.0, 7.0, 5.0, legs(*across))
        return words.probing.travelled(replace(found, n_clusters=n_different), "Docs", "Novels", unit)

    before = Left((0.9, 0.8), (0.95, 0.95), (0.6, 0.7))
    left = {
        BEFORE: before,
        AFTER: Left((-0.004, 0.0), (0.7, 0.8), (0.5, 0.5)),
        CONTROL: Left((0.85, 0.85), (0.88, 0.92), (0.6, 0.7)),
    }
    odd = left | {AFTER: Left((-30.0,), (-0.3,), (NAN,))}

    def projected(r_squared: float, of_vector: float | None, n_different: int | None = None) -> str:
        found = Projection(np.zeros((400, 2), np.float32), (0.2, 0.06), r_squared, (r_squared,))
        return words.probing.projected(found, "[CLS] after layer 2", of_vector, n_different=n_different)

    assert_said(
        "layers_probes",
        {
            "on another corpus": travelled(NAN, 2.5, 4.0),
            "worse than a guess after the last": travelled(NAN, 2.5, 9.0, unit="words"),
            "worse after the first": travelled(NAN, 9.0, 2.0),
            "worse after both": travelled(NAN, 8.0, 9.0),
            "so far": travelled(NAN, 2.0),
            "not read": travelled(NAN),
            "few there": travelled(NAN, 2.0, n_there=4),
            "copies": travelled(NAN, 2.0, n_different=6),
            "being fitted": words.probing.travelled(None, "Docs", "Novels"),
            "erased": words.probing.erased(Erasure(400, 2, 2, left)),
            "erased, so far": words.probing.erased(Erasure(400, 5, 2, left)),
            "erased, with odd numbers": words.probing.erased(Erasure(400, 1, 1, odd)),
            "erased, one sentence": words.probing.erased(Erasure(400, 2, 2, left, n_clusters=1)),
            "being erased": words.probing.erased(None),
            "titles of other corpora": [
                words.layer_cards.travelled(replace(found, n_clusters=n), "Novels <b>", "tokens")
                for n in (None, 6)
                for found in [Travel(500, 400, 2, 6.0, 7.0, 5.0, legs(NAN, across, 9.0)) for across in (2.5, 8.0)]
            ],
            "titles of erasing": [
                words.layer_cards.erased(
                    Erasure(400, 2, 2, {BEFORE: before, AFTER: after, CONTROL: before}, n_clusters=n)
                )
                for after, n in (
                    (left[AFTER], None),
                    (Left((0.0, 0.01), (0.01, -0.2), (0.1, 0.1)), None),
                    (left[AFTER], 6),
                )
            ],
            "title of little to erase": words.layer_cards.erased(
                Erasure(400, 1, 1, {BEFORE: Left((0.01,), (0.02,), (0.1,)), AFTER: odd[AFTER]})
            ),
            "titles of two dimensions": [
                words.layer_cards.projected(
                    Projection(np.zeros((400, 2), np.float32), (0.2, 0.06), value, (value,)),
                    Reading(Pooling.CLS, 2, Readout.VECTOR, of_all),
                    n,
                )
                for value, of_all, n in ((0.41, 0.99, 400), (-0.3, None, 400), (0.9, 0.99, 6))
            ],
            "projected": projected(0.414, 0.987),
            "projected, below nothing": projected(-0.3, None),
            "projected, nothing": projected(-0.001, None),
            "projected, copies": projected(0.9, 0.99, n_different=6),
            "being projected": words.probing.projected(None, "[CLS]", None),
        },
    )


def test_what_the_published_task_says() -> None:
    result = Result(0.5, (0.4, 0.6), 0.55, 1.0, 600, 12, 24, np.zeros((6, 6), np.intp))
    below = replace(result, accuracy=0.1, interval=(0.05, 0.15))
    codes = Code(600, 900.4, 1551.0), Code(600, 1400.2, 1551.0)

    def verdict(draws: Sequence[float], vector: Result = result, *others: object) -> str:
        return words.sentlen.verdict(SentLen(16, vector, None, "", tuple(draws), *others))  # type: ignore[arg-type]

    def of_file(low: float, high: float) -> str:
        vector = replace(result, accuracy=(low + high) / 2, interval=(low, high))
        return words.sentlen.of_file(Published("own.txt", "", 6, 600, 60, 120, 16, 1 / 6, vector))

    assert_said(
        "layers_sentlen",
        {
            "told from guessing": verdict((0.5, 0.6)),
            "some draws are not": verdict((0.1, 0.2)),
            "none is": verdict((0.1, 0.16)),
            "one draw": verdict((0.15,)),
            "worse than guessing": verdict((0.1, 0.16), below),
            "worse in the first draw alone": verdict((0.1, 0.4), below),
            "with the norm alone": words.sentlen.verdict(SentLen(16, result, result, "", (0.5,), (0.2,))),
            "with the bits": words.sentlen.verdict(SentLen(16, result, result, "", (0.5,), (0.2,), *codes)),
            "with those of the vector alone": verdict((0.5,), result, (), codes[0]),
            "nothing": words.sentlen.verdict(SentLen(16, None, None, "too few")),
            "a file": of_file(0.4, 0.6),
            "a file, not told apart": of_file(0.1, 0.3),
            "a file, worse": of_file(0.05, 0.15),
            "titles": [
                words.layer_cards.sentlen(SentLen(16, replace(result, n_train=n), None, "", draws))
                for n, draws in ((600, (0.5, 0.6)), (600, (0.1, 0.2)), (24, (0.5, 0.6)))
            ],
            "title of nothing": words.layer_cards.sentlen(SentLen(16, None, None, "too few")),
            "few to train on": words.sentlen.caveat(SentLen(384, replace(result, n_train=246), None)),
            "as many as that said": words.sentlen.caveat(SentLen(384, replace(result, n_train=8 * 246), None)),
        },
    )


def test_which_dimensions_hold_the_norm_and_what_gain_and_bias_do_to_it() -> None:
    def dominated(shares: Sequence[float], of_variance: Sequence[float] | None, *dominant: int) -> str:
        of = np.array([*shares, *[(1 - sum(shares)) / (32 - len(shares))] * (32 - len(shares))])
        varies = None if of_variance is None else np.array([*of_variance, *[0.0] * (32 - len(of_variance))])
        r_squared = None if varies is None else 0.25
        found = Dimensions(of, varies, np.argsort(-of), dominant, r_squared, "", 0.75, "", 7.0, 0.5, 6.0, 0.4)
        return words.layer_cards.dimensions_sentence(found)

    few = Dimensions(np.array([0.01, 0.97]), None, np.array([1, 0]), (), None, "", None, "", 7.0, 0.5, 7.0, 0.5)
    plain = {name: NormOf(name, 7.0, 0.3 + at / 10, 0.1 * at, "", True) for at, name in enumerate(WITH_AND_WITHOUT)}

    def normed(**changes: object) -> str:
        rows = [replace(row, **changes) if row.name == WITHOUT_EITHER else row for row in plain.values()]  # type: ignore[arg-type]
        return words.layer_cards.layer_norm_sentence(rows)

    constant = [replace(row, varies=False) for row in plain.values()]
    assert_said(
        "layers_dimensions",
        {
            "one": dominated([0.4], [0.5], 0),
            "one that is all of the variance": dominated([0.4], [1.0], 0),
            "two that are none of it": dominated([0.3, 0.3], [0.0, 0.0], 0, 1),
            "one that evens it out": dominated([0.4], [-1.0], 0),
            "three, much less of the variance": dominated([0.3, 0.2, 0.2], [0.1, 0.1, 0.1], 0, 1, 2),
            "the norm does not vary": dominated([0.4], None, 0),
            "none": dominated([], []),
            "nearly all, of few": words.layer_cards.dimensions_sentence(few),
            "gain and bias are all of the variation": normed(varies=False, norm_sd=0.0, r_squared=None),
            "the norm varies without them": normed(),
            "the gain erases dimensions": [normed(left_out=1), normed(left_out=3)],
            "titles": [
                words.layer_cards.breakdown(NormBreakdown(found, "The norm is constant, so no.", None, ""))
                for found in (
                    few,
                    replace(few, dominant=(1,)),
                    replace(few, shares=np.full(2, 0.5), dominant=(0, 1)),
                    None,
                )
            ],
            "nothing varies": words.layer_cards.layer_norm_sentence(constant),
        },
    )


def test_where_a_probe_gets_the_length_from() -> None:
    def readings(*values: float | None) -> tuple[Reading, ...]:
        return tuple(
            Reading(Pooling.CLS, layer, Readout.VECTOR, value, (), "" if value else "All 250 are equal, so no.")
            for layer, value in enumerate(values)
        )

    altered = {alteration: readings(None, 0.5 + at / 10, -0.2) for at, alteration in enumerate(Alteration)}
    again = {alteration: (layers,) * 4 for alteration, layers in list(altered.items())[:3]}
    found = Origin(250, 250, 2, 24, 9.0, readings(None, 0.9, 0.6), altered, redrawn=again)
    so_far = replace(found, altered={Alteration.SHUFFLED: altered[Alteration.SHUFFLED][:2]})
    assert list(words.probing.ALTERATIONS) == list(Alteration)
    assert all("Catches a probe that needs" in label.catches for label in words.probing.ALTERATIONS.values())
    assert_said(
        "layers_origin",
        {
            "in full": words.probing.origin(found),
            "so far": words.probing.origin(so_far),
            "the last is the best": words.probing.origin(replace(found, natural=readings(None, 0.5, 0.6))),
            "hardly read": words.probing.origin(replace(found, natural=readings(None, 0.04, 0.03))),
            "titles": [
                words.layer_cards.origin(one)
                for one in (
                    found,
                    replace(found, natural=readings(None, 0.52, 0.5)),
                    replace(found, natural=readings(None, 0.04, 0.03)),
                    replace(found, n_clusters=99),
                    replace(found, altered={}),
                )
            ],
            "no probe": words.probing.origin(replace(found, natural=readings(None, None, None))),
            "few": words.probing.origin(replace(found, n_clusters=99)),
            "being fitted": [words.probing.origin(None), words.probing.origin(replace(so_far, natural=()))],
            "how many": [words.probing.origin_note(found), words.probing.origin_note(replace(found, width=768))],
        },
    )
