"""What untrained models give away: measured with a tiny one, and said of data that would make it false."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.snapshots import assert_said

from clsviz import analysis, export, words
from clsviz.analysis.random_weights import RandomWeights, random_weights, shuffles, summary, table
from clsviz.errors import AlterationError
from clsviz.experiment import Experiment, View
from clsviz.jobs import Encoders, Extraction, Found, measure_untrained
from clsviz.measurements import Kind, Vectors
from clsviz.progress import Progress
from clsviz.settings import Alteration, Lengths, Pooling
from clsviz.statistics.probes import CurvePoint, Profile, Reading, Readout
from clsviz.store import Store


@pytest.fixture(scope="module")
def experiment(tiny_folder: Path, text_file: Path) -> Experiment:
    return Experiment(model=str(tiny_folder), corpus=str(text_file), sample_size=300, probe_size=300)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def found(experiment: Experiment, store: Store) -> Found:
    return Extraction(experiment, store, Encoders(), kind=Kind.VECTORS).run(Progress())


@pytest.fixture(scope="module")
def result(experiment: Experiment, store: Store, found: Found) -> RandomWeights:
    encoders = Encoders()

    def measure(seed: int, alteration: Alteration | None) -> Vectors:
        return measure_untrained(seed, experiment, found, store, encoders, Progress(), alteration)

    *early, last = random_weights(found, experiment.view, measure)
    assert [step.n_done for step in early] == list(range(1, last.n_steps))
    assert not early[-1].is_complete
    return last


def test_five_initialisations_are_those_of_five_models(
    experiment: Experiment, store: Store, found: Found, result: RandomWeights
) -> None:
    assert result.is_complete
    assert len({layers[-1].error for layers in result.draws}) == 5
    for seed in (0, 3):
        model = f"untrained{f'-{seed}' if seed else ''}:{experiment.model}"
        extraction = Extraction(replace(experiment, model=model), store, Encoders(), kind=Kind.VECTORS)
        extraction.look_up(Progress())
        assert extraction.found is not None
        assert extraction.found.n_missing == 0  # they are measured already
        *_, profile = analysis.layers.profiles(extraction.found, experiment.view)
        line = profile.line(Pooling.CLS, Readout.VECTOR)
        assert [reading.error for reading in result.draws[seed]][1:] == [of.error for of in line if of][1:]
        assert result.draws[seed][-1].curve == line[-1].curve  # type: ignore[union-attr]
    band = result.band()
    errors = [layers[-1].error for layers in result.draws]
    values = [layers[-1].r_squared or 0 for layers in result.draws]
    assert band.iloc[-1].tolist() == [result.n_layers, min(errors), max(errors), min(values), max(values)]
    assert np.isnan(band["lowest"][0])  # [CLS] is the same for all sentences


@pytest.mark.parametrize("pooling", [Pooling.CLS, Pooling.MEAN, Pooling.POOLER])
def test_five_shuffles_of_the_lengths_leave_nothing(found: Found, pooling: Pooling) -> None:
    view = View(pooling=pooling, lengths=Lengths.SHUFFLED)
    *early, last = shuffles(found, view)
    assert [step.is_complete for step in early] == [False] * 4
    assert last.is_complete
    *_, profile = analysis.layers.profiles(found, view)  # of the first draw
    first = profile.get(pooling, None, Readout.VECTOR)
    assert first is not None
    assert last.draws[0][-1].error == first.error
    assert len({reading.error for reading in last.at(None)}) == 5
    assert max(reading.r_squared for reading in last.at(None)) < 0.05  # type: ignore[type-var]
    assert bool(last.at(1)) == (pooling is not Pooling.POOLER)


def test_without_position_vectors_it_is_another_model(result: RandomWeights) -> None:
    assert len(result.without_positions) == result.n_layers + 1
    assert result.without_positions[-1].error != result.draws[0][-1].error


def test_a_model_that_has_other_positions_says_so(found: Found, experiment: Experiment) -> None:
    def measure(seed: int, alteration: Alteration | None) -> Vectors:
        if alteration:
            raise AlterationError("No position vectors.")
        return found.vectors

    *_, last = random_weights(found, experiment.view, measure)
    assert last.is_complete
    assert (last.without_positions, last.problem) == ((), "No position vectors.")


def test_it_is_ready_for_json_and_a_table(found: Found, experiment: Experiment, result: RandomWeights) -> None:
    *_, profile = analysis.layers.profiles(found, experiment.view)
    written = json.loads(json.dumps(summary(result), allow_nan=False))
    assert [draw["seed"] for draw in written["draws"]] == [0, 1, 2, 3, 4]
    assert written["draws"][1]["layers"][-1]["error"] == result.draws[1][-1].error
    assert written["learning_curve"][-1]["n"] == result.n == profile.n
    rows = table(result, profile)
    assert rows["random_highest"].iloc[-1] == max(layers[-1].error for layers in result.draws)
    assert rows["random_linear_share"].iloc[-1] == result.draws[0][-1].linear_share
    assert table(None, profile)["error"].iloc[-1] == rows["error"].iloc[-1]
    lines = export.tables.learning_curves(profile, result)
    assert {"whole vector", "random weights", "random, no positions"} <= set(lines["line"])


def reading(r_squared: float, error: float, share: float = 0.1, over_mean: float = 1e-4) -> Reading:
    curve = (CurvePoint(350, 0.3, (0.2, 0.4), 5.0), CurvePoint(900, 0.6, (0.5, 0.7), 4.0))
    return Reading(
        Pooling.CLS,
        1,
        Readout.VECTOR,
        r_squared,
        error=error,
        linear_share=share,
        linear_over_mean=over_mean,
        curve=curve,
    )


def made(*draws: Reading, without: Reading | None = None) -> RandomWeights:
    return RandomWeights(
        900, 0, tuple((draw,) for draw in draws), (without,) if without else (), "" if without else " "
    )


def profile_of(last: Reading) -> Profile:
    step = Pooling.CLS, 0, Readout.VECTOR
    return Profile(900, 8, 0, False, {step: replace(last, layer=0)}, guess_error=6.6)


TRAINED = profile_of(reading(0.56, 4.3, 0.003, 3e-4))


def test_what_untrained_models_give_away_is_said_only_of_those_that_do() -> None:
    much, little, none = reading(0.94, 1.5), reading(0.3, 5.0), reading(0.01, 6.5)
    nothing = Reading(Pooling.CLS, 0, Readout.VECTOR, problem="The vector is the same for all sentences.")
    said, title = words.random_weights.said, words.random_weights.title
    without = reading(0.65, 3.7)
    nearly, mixed = [*[much] * 4, reading(0.93, 1.64)], [*[much] * 4, little]
    of_mean = profile_of(reading(0.5, 4.0, 0.2, 2e-5))
    first, whole = TRAINED.readings[Pooling.CLS, 0, Readout.VECTOR].curve
    curves = {
        "more sentences find more": (first, whole),
        "more sentences, intervals that overlap": (first, replace(whole, interval=(0.39, 0.7))),
        "more sentences find less": (replace(first, interval=(0.75, 0.8)), whole),
        "more sentences, not known": (),
    }
    assert_said(
        "random_weights",
        {
            "all do": title(made(*[much] * 5, without=much), "tokens", is_asked=True),
            "all do, beside another vector": title(
                made(*[much] * 5, without=much), "tokens", is_asked=True, vector="[CLS]"
            ),
            "one does not": title(made(*[much] * 4, little, without=much), "words", is_asked=True),
            "none does": title(made(*[none] * 5, without=none), "tokens", is_asked=True),
            "no probe": title(made(*[nothing] * 5, without=nothing), "tokens", is_asked=True),
            "being measured": title(made(*[much] * 4), "tokens", is_asked=True),
            "not asked": title(None, "tokens", is_asked=False),
            "in full: all do": said(made(*nearly, without=without), TRAINED, "tokens"),
            "in full: one does not": said(made(*mixed, without=without), TRAINED, "tokens"),
            "in full: none does": said(made(*[none] * 5, without=without), TRAINED, "words"),
            "in full: less of the mean": said(made(*[much] * 5, without=without), of_mean, "tokens"),
            "in full: no probe": said(made(*[nothing] * 5, without=without), TRAINED, "tokens"),
        }
        | {
            name: words.random_weights.curve_title(profile_of(replace(reading(0.56, 4.3), curve=curve)))
            for name, curve in curves.items()
        },
    )


@pytest.mark.parametrize(
    "text",
    [
        words.random_weights.ABOUT,
        words.HOW_TO_READ_LAYERS,
        words.random_weights.ABOUT_CURVE,
        words.layer_cards.picture(Lengths.TRUE),
    ],
)
def test_nothing_says_that_training_removes_length(text: str) -> None:
    for claim in ("removes", "erases", "forgets", "owes nothing to training", "takes no training"):
        assert claim not in text
