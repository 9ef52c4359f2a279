from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import WORDS
from sklearn.preprocessing import normalize

from clsviz import Encoder, api
from clsviz.analyses.probes import PENDING, ProbeNumbers, ProbeScores, control, find, score
from clsviz.analyses.recall import Recalls
from clsviz.errors import SettingError
from clsviz.measurements import Vectors
from clsviz.progress import silent
from clsviz.results.probes import advice_of, findings, verdict_of
from clsviz.results.probes import result as result_of
from clsviz.results.result import Fact, Result
from clsviz.settings import Experiment
from clsviz.sources import models
from clsviz.sources.sampling import Measured, Prepared
from clsviz.statistics import ridge
from clsviz.statistics.intervals import folds
from clsviz.store.results import Results

NAN = np.nan


def readings_of(r2s: list[float], errors: list[float], n: int = 1000, low: float = 0.01):
    numbers = [(r2, low, 1.0, error, NAN, NAN) for r2, error in zip(r2s, errors, strict=True)]
    names = tuple(map(str, range(len(r2s))))
    problems = tuple("" if r2 == r2 else "The vector is constant." for r2 in r2s)
    return ProbeScores(names, np.array(numbers), problems, "Choose.", 6.6, n, n, n, 0, 384)


PROBE = "a linear probe misses length by"
FADES = f"After layer 1, then it fades: {PROBE}"
ALMOST_NONE = "a linear probe finds almost no length in the [CLS] vector, after any layer."

VERDICTS = [
    ([NAN, NAN], [NAN, NAN], "Can’t tell: the vector is constant."),
    ([NAN, 0.99, 0.56], [NAN, 0.64, 4.3], f"{FADES} only 0.6 tokens."),
    ([NAN, 0.99, 0.97], [NAN, 0.6, 1.3], f"{FADES} only 0.6 tokens."),
    ([NAN, 0.99, NAN], [NAN, 0.02, NAN], f"{FADES} under 0.1 tokens."),
    ([NAN, 0.95, 0.93], [NAN, 1.2, 1.44], f"Even after the last layer: there {PROBE} 1.4 tokens."),
    # an error below half a token is none
    ([1, 0.999], [0.01, 0.3], f"Even after the last layer: there {PROBE} 0.3 tokens."),
    ([NAN, 0.3, 0.89], [NAN, 5, 2.9], f"Largely: {PROBE} 2.9 tokens after layer 2."),
    ([0.4, 0.3], [2.9, 3.1], f"Partly: {PROBE} 2.9 tokens after layer 0 (embeddings)."),
    ([0.1, 0.2], [5, 4], "A little: after layer 1, a linear probe beats guessing somewhat."),
    ([0.02, 0.04], [5, 4], f"Hardly: with this many sentences, {ALMOST_NONE}"),
]


@pytest.mark.parametrize(("r2s", "errors", "verdict"), VERDICTS)
def test_verdicts(r2s: list[float], errors: list[float], verdict: str) -> None:
    assert verdict_of(readings_of(r2s, errors), "tokens") == verdict
    assert len(verdict.split()) <= 20


@pytest.mark.parametrize("options", [{"n": 40}, {"low": -0.01}])
def test_a_layer_that_chance_explains_is_none(options: dict) -> None:
    assert verdict_of(readings_of([0.1, 0.2], [5, 4], **options), "tokens").startswith("Hardly")


@pytest.mark.parametrize(
    ("direction", "half", "shuffled", "titles"),
    [
        (2.1, 4.3, -0.001, ["better", "almost as well", "shuffled lengths, a probe finds nothing"]),
        (4.2, 4.9, 0.02, ["as well", "worse", "In shuffled lengths, a probe finds some"]),
        (4.7, NAN, NAN, ["worse"]),
    ],
)
def test_checks_are_put_in_words(direction, half, shuffled, titles) -> None:
    errors = {"vector_error": 4.1, "direction_error": direction, "half_error": half}
    values = {**errors, "shuffled_probe_r_squared": shuffled}
    facts = tuple(Fact(key, key, value) for key, value in values.items())
    table = pd.DataFrame()
    found = findings(Result("probes", "", "", table, facts, picture={"unit": "tokens"}))
    assert len(found) == len(titles)
    assert all(title in words for title, (words, _) in zip(titles, found, strict=True))
    assert ("may be chance" in str(found)) == (shuffled == 0.02)


def answer(measured: Measured, experiment: Experiment, store: Results) -> Result:
    scores = score(measured, None, experiment, store, silent)
    controls = control(measured, None, experiment, scores, store)
    prepared = Prepared(measured.weights, measured.sample)
    return result_of(ProbeNumbers(prepared, scores, controls), experiment)


@pytest.fixture(scope="module")
def used(n_tokens: np.ndarray):
    """Lengths, rows and folds of the sentences under the cutoff."""
    rows = np.flatnonzero(n_tokens < 30)
    return n_tokens[rows].astype(float), rows, folds(np.arange(len(rows)))


def error_of(vectors, lengths, fold_of) -> float:
    """The mean absolute error of a probe."""
    return abs(ridge.predict(vectors, lengths[:, None], fold_of)[:, 0] - lengths).mean()


def test_errors_are_of_the_sentences_under_the_cutoff(measured, experiment, store, used) -> None:
    table = answer(measured, experiment, store).table
    y, rows, fold_of = used
    vectors = [measured.norms.of("cls", 1), measured.norms.of("mean"), measured.norms.of("pooler")]
    for row, x in zip((1, 3, 4), vectors, strict=True):
        assert np.isclose(table["probe_error"][row], error_of(x[rows], y, fold_of))
    errors = abs(ridge.predict_by_line(measured.norms.cls[rows, 1], y, fold_of) - y)
    assert np.isclose(table["norm_error"][1], errors.mean())
    assert list(table["vector"]) == ["cls", "cls", "cls", "mean", "pooler"]
    assert list(table["layer"]) == [0, 1, 2, 2, 2]


def test_checks_are_of_the_vector_that_is_chosen(measured, experiment, store, used) -> None:
    y, rows, fold_of = used
    x = measured.norms.of("cls", 1)[rows]
    result = answer(measured, replace(experiment, layer=1), store)
    direction = error_of(normalize(x.astype(float)), y, fold_of)
    assert result.fact("direction_error") == pytest.approx(direction, rel=1e-5)
    n = len(y) // 2
    half = error_of(x[:n], y[:n], folds(np.arange(n)))
    assert result.fact("half_error") == pytest.approx(half)
    assert -0.1 < result.fact("shuffled_probe_r_squared") < 0.05
    assert result.fact("vector_error") == result.table["probe_error"][1]


def test_lengths_are_in_the_unit(measured, experiment, store, used) -> None:
    result = answer(measured, replace(experiment, unit="characters"), store)
    y = np.array(list(map(len, measured.sample.sentences())), float)[used[1]]
    assert result.fact("guess_error") == pytest.approx(abs(ridge.guess(y, used[2]) - y).mean())


def test_numbers_are_found_without_measuring(measured, experiment, store) -> None:
    computed = answer(measured, experiment, store)
    prepared = Prepared(measured.weights, measured.sample)
    stored = find(prepared, replace(experiment, layer=2), Results(store.root))
    stored_result = result_of(ProbeNumbers(prepared, *stored), experiment)
    assert stored_result.json() == computed.json() | {"seconds": 0}
    for changes in ({"length_cutoff": 31}, {"unit": "words"}, {"precision": "fast"}):
        assert find(prepared, replace(experiment, **changes), store) is None


def test_a_vector_without_a_probe_is_refused(measured, experiment, store) -> None:
    with pytest.raises(SettingError, match="layer is 1, and probes of mean-pooled vectors"):
        answer(measured, replace(experiment, layer=1, pooling="mean"), store)
    with pytest.raises(SettingError, match="probe_size is 6,000, and sample_size only 5,000"):
        api.probe(probe_size=6000, store=store.root)


def test_too_few_sentences_are_said_to_be(measured, experiment, store) -> None:
    few = replace(experiment, length_cutoff=10, sample_size=300)
    result = answer(measured, few, store)
    assert result.verdict.startswith("Can’t tell: only ")
    assert result.advice == "Raise the length cutoff, or take a larger corpus."
    prepared = Prepared(measured.weights, measured.sample)
    scores, _ = find(prepared, few, store)
    with_random = ProbeNumbers(prepared, scores, PENDING, [scores])
    assert result_of(with_random, few).caveats == result.caveats
    first = {name: column[:90] for name, column in vars(measured.norms).items()}
    part = replace(measured, norms=Vectors.from_slices([first]))
    fewer = answer(part, replace(experiment, probe_size=90, length_cutoff=80), store)
    assert fewer.advice == "Raise probe_size."
    assert not any("are few for" in caveat for caveat in result.caveats)
    layer = result.json()["layers"][1]
    assert {layer[key] for key in layer if key != "layer"} == {None}


def test_sentences_left_out_are_counted(measured, experiment, store, used) -> None:
    cut = replace(measured.norms, truncated=np.isin(np.arange(280), used[1][:7]))
    sample = replace(measured.sample, seed=1)
    result = answer(replace(measured, norms=cut, sample=sample), experiment, store)
    assert result.caveats[-2:] == (
        f"Left out: {280 - len(used[1])} sentences of 30 tokens or more.",
        "Left out: 7 sentences longer than the model reads.",
    )
    assert result.fact("n_used") == len(used[1]) - 7


def test_random_weights_are_of_three_seeds(
    tiny_model: Path, experiment: Experiment, vectors_of, used, tmp_path: Path
) -> None:
    view = replace(experiment, model=str(tiny_model))
    result = api.probe(**asdict(view), random_weights=True, store=tmp_path)
    y, rows, fold_of = used
    untrained = [vectors_of(models.find(f"untrained:{tiny_model}", seed)) for seed in range(3)]
    errors = [error_of(one.norms.of("cls", 1)[rows], y, fold_of) for one in untrained]
    row = result.table.iloc[1]
    assert (row["random_low"], row["random_high"]) == pytest.approx((min(errors), max(errors)))
    assert len(set(errors)) == 3
    assert result.json()["random_weights"][0] == {"layer": 0, "low": None, "high": None}


@pytest.fixture(scope="module")
def titled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 150 texts, each with every third of its words as its title."""
    rows = [[w for n, w in enumerate(WORDS) if row * 7919 >> n & 1] for row in range(1, 151)]
    texts = [f"{' '.join(words)} {row}" for row, words in enumerate(rows)]
    table = pd.DataFrame({"title": [" ".join(text.split()[::3]) for text in texts], "text": texts})
    path = tmp_path_factory.mktemp("titled") / "titled.csv"
    table.to_csv(path, index=False)
    return path


def test_recall_is_that_of_the_vectors_after_each_layer(
    tiny_model: Path, experiment: Experiment, titled: Path, tmp_path: Path
) -> None:
    view = asdict(replace(experiment, model=str(tiny_model)))
    result = api.probe(**view, recall=True, search_corpus=str(titled), store=tmp_path)
    encoder, table = Encoder(str(tiny_model)), pd.read_csv(titled)
    for name, layer in [("cls", 1), ("cls", 2), ("mean", None), ("pooler", None)]:
        pair = [encoder.encode(list(table[column]), name, layer) for column in ("title", "text")]
        cosines = normalize(pair[0].astype(float)) @ normalize(pair[1].astype(float)).T
        ranks = (cosines > np.diag(cosines)[:, None] + 1e-9).sum(axis=1)
        rows = result.table[result.table["vector"] == name].set_index("layer")
        assert rows["recall_at_10"][layer or 2] == pytest.approx((ranks < 10).mean(), abs=0.02)
    layers = result.json()["layers"]
    assert layers[0]["recall_at_10"] == pytest.approx(10 / 150)
    low, high = layers[2]["recall_at_10_interval"]
    assert low < layers[2]["recall_at_10"] < high
    stored = api.probe(**view, recall=None, search_corpus=str(titled), store=tmp_path)
    assert stored.json() == result.json() | {"seconds": 0}
    assert f"--recall --search-corpus {titled}" in result.command
    with pytest.raises(SettingError, match="Probes search nothing without recall"):
        api.probe(**view, search_corpus=str(titled), store=tmp_path)


LAST = "Take the last layer: there [CLS] finds 60% of right texts, "


@pytest.mark.parametrize(
    ("best", "ends", "advice"),
    [
        (0.3, (-0.4, -0.2), f"{LAST}surely more than after any other."),
        (0.62, (-0.02, 0.06), f"{LAST}and after no other surely more."),
        (0.7, (0.05, 0.15), "Take layer 1: there [CLS] finds 70% of right texts, surely more than"),
    ],
)
def test_the_layer_to_take_is_surely_the_best_or_the_last(best, ends, advice) -> None:
    numbers = np.array([[0.01, 0.0, 0.02], [best, best, best], [0.6, 0.55, 0.65]])
    recalls = Recalls(numbers, 0.01, 0, 1, best - 0.6, *ends)
    assert advice_of(recalls, 2).startswith(advice)
    nothing = replace(recalls, chance=0.9)
    assert advice_of(nothing, 2).startswith("No layer to take")


def test_the_default_view_is_shipped(tmp_path) -> None:
    for view in (Experiment(), Experiment(layer=6), Experiment(pooling="mean")):
        result = api.probe(**asdict(view), random_weights=True, recall=True, store=tmp_path)
        assert round(result.table["recall_at_10"][6], 2) == 0.53
        assert round(result.table["probe_error"][6], 1) == 4.3
        assert round(result.table["probe_error"][1], 1) == 0.6
        assert result.json()["random_weights"][6]["high"] < 1.5
    assert not list(tmp_path.iterdir())
