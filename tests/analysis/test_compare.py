"""Several models on the same sentences: against numbers computed one model and one sentence at a time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import transformers
from support.prose import row_of
from support.tiny import random_sentences, write_piecewise_bert

from clsviz import analysis, words
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.measurements import Kind, Measurements
from clsviz.progress import Progress
from clsviz.settings import Pooling, Unit
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics import line as regression
from clsviz.statistics.ridge import folds_of, ridge_probe
from clsviz.store import Store

CUTOFF = 20


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> list[str]:
    other = write_piecewise_bert(tmp_path_factory.mktemp("models") / "by-pieces")
    return [str(tiny_folder), str(other)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpora") / "sentences.txt"
    path.write_text("\n".join(random_sentences(400, seed=1)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def experiment(corpus: Path) -> Experiment:
    return Experiment(corpus=str(corpus), sample_size=300, probe_size=200, length_cutoff=CUTOFF, unit=Unit.WORDS)


@pytest.fixture(scope="module")
def founds(
    folders: list[str], experiment: Experiment, tmp_path_factory: pytest.TempPathFactory
) -> dict[Kind, list[Found]]:
    store, encoders = Store(tmp_path_factory.mktemp("store")), Encoders()
    return {
        kind: [
            Extraction(replace(experiment, model=name), store, encoders, kind=kind).run(Progress()) for name in folders
        ]
        for kind in Kind
    }


@pytest.fixture(scope="module")
def rows(founds: dict[Kind, list[Found]], folders: list[str], experiment: Experiment) -> list[Row]:
    indices = analysis.compare.common([found.measurements for found in founds[Kind.NORMS]], experiment.view)
    made = []
    for name, norms, vectors, index in zip(folders, founds[Kind.NORMS], founds[Kind.VECTORS], indices, strict=True):
        of = replace(experiment, model=name)
        *_, profile = analysis.compare.read_vectors(vectors, of, index)
        made.append(
            Row(
                name,
                Path(name).name,
                len(norms.sentences),
                True,
                analysis.compare.norms_of(norms, of, index),
                profile,
                True,
                100.0,
                2048,
            )
        )
    return made


def n_words(sentence: str) -> int:
    return len(sentence.split())


def kept(founds: dict[Kind, list[Found]], folders: list[str]) -> list[int]:
    """Which sentences both tokenizers cut into fewer tokens than the cutoff: sentence by sentence."""
    cut = [transformers.AutoTokenizer.from_pretrained(folder).tokenize for folder in folders]
    sentences = founds[Kind.NORMS][0].sentences
    return [i for i, sentence in enumerate(sentences) if all(len(tokenize(sentence)) < CUTOFF for tokenize in cut)]


def test_all_models_have_the_sentences_that_are_short_for_every_one(
    founds: dict[Kind, list[Found]], folders: list[str], experiment: Experiment
) -> None:
    measured = [found.measurements for found in founds[Kind.NORMS]]
    first, second = analysis.compare.common(measured, experiment.view)
    assert first.tolist() == second.tolist() == kept(founds, folders)
    alone = [np.count_nonzero(measurements.n_tokens < CUTOFF) for measurements in measured]
    assert len(first) == min(alone) < max(alone) < 300


def test_a_model_that_is_still_measured_is_judged_as_far_as_it_is(
    founds: dict[Kind, list[Found]], folders: list[str], experiment: Experiment
) -> None:
    """And never by what only reads the beginning of a sentence."""
    whole, other = (found.measurements for found in founds[Kind.NORMS])
    expected = kept(founds, folders)
    first, second = analysis.compare.common([whole, other.head(50)], experiment.view)
    assert second.tolist() == [i for i in expected if i < 50]
    assert [i for i in first if i < 50] == second.tolist()
    assert [i for i in first if i >= 50] == [i for i in range(50, 300) if whole.n_tokens[i] < CUTOFF]
    cut = replace(other, truncated=np.arange(300) == expected[0])
    assert [index.tolist() for index in analysis.compare.common([whole, cut], experiment.view)] == [expected[1:]] * 2
    assert analysis.compare.common([], experiment.view) == []
    nothing, alone = analysis.compare.common([Measurements.none(), whole], experiment.view)
    assert len(nothing) == 0
    assert alone.tolist() == np.flatnonzero(whole.n_tokens < CUTOFF).tolist()


def test_the_table_has_what_each_model_says_alone(
    rows: list[Row], founds: dict[Kind, list[Found]], folders: list[str]
) -> None:
    index = kept(founds, folders)
    sentences = [founds[Kind.NORMS][0].sentences[i] for i in index]
    lengths = np.array([n_words(sentence) for sentence in sentences])
    for row, found, (_, cells) in zip(rows, founds[Kind.NORMS], analysis.compare.table(rows).iterrows(), strict=True):
        norms = found.measurements.cls_norms[index, -1].astype(float)
        fit = regression.fit(lengths, norms)
        assert (cells["model"], cells["label"], cells["n_sentences"]) == (row.model, row.label, len(index))
        assert (cells["r_squared"], cells["slope"]) == pytest.approx((fit.r_squared, fit.slope))
        assert (cells["r_squared_low"], cells["r_squared_high"]) == pytest.approx(fit.r_squared_interval)
        assert (cells["slope_low"], cells["slope_high"]) == pytest.approx(fit.slope_interval)
        assert cells["spearman"] == pytest.approx(fit.spearman)
        assert (cells["norm_mean"], cells["norm_sd"]) == pytest.approx((norms.mean(), norms.std(ddof=1)))
        assert cells["mean_length"] == pytest.approx(lengths.mean())
        assert cells["mean_tokens"] == pytest.approx(found.measurements.n_tokens[index].mean())
        assert (cells["sentences_per_second"], cells["n_parameters"], cells["problem"]) == (100, 2048, "")
    assert analysis.compare.table(rows)["n_layers"].tolist() == [2, 3]


def test_the_best_probe_is_that_of_the_layer_where_it_is_highest(
    rows: list[Row], founds: dict[Kind, list[Found]], folders: list[str]
) -> None:
    index = [i for i in kept(founds, folders) if i < 200]  # of which vectors are measured
    sentences = [founds[Kind.NORMS][0].sentences[i] for i in index]
    lengths = [n_words(sentence) for sentence in sentences]
    cells, shown = analysis.compare.table(rows), analysis.compare.curves(rows)
    for row, found in zip(rows, founds[Kind.VECTORS], strict=True):
        n_layers = found.vectors.n_layers
        of_layers = (found.vectors.of(Pooling.CLS, layer)[index] for layer in range(1, n_layers + 1))
        exact = [ridge_probe(vectors, lengths, folds_of(clusters_of(sentences))).r_squared for vectors in of_layers]
        mine = cells[cells["label"] == row.label].iloc[0]
        assert mine["probe_r_squared"] == pytest.approx(max(exact))
        assert mine["probe_layer"] == 1 + int(np.argmax(exact))
        curve = shown[shown["model"] == row.label]
        assert curve["layer"].tolist() == list(range(n_layers + 1))
        assert curve["depth"].tolist() == pytest.approx(np.linspace(0, 1, n_layers + 1))
        np.testing.assert_allclose(curve["vector"][1:], exact)
        assert np.isnan(curve["vector"].iloc[0])  # [CLS] is the same in every sentence before the first layer


def test_the_points_are_the_sentences_with_each_models_length_and_norm(
    rows: list[Row], founds: dict[Kind, list[Found]], folders: list[str]
) -> None:
    index = kept(founds, folders)
    sentences = founds[Kind.NORMS][0].sentences
    listed = analysis.compare.points(rows, sentences)
    assert len(listed) == 2 * len(index)
    for row, found in zip(rows, founds[Kind.NORMS], strict=True):
        mine = listed[listed["model"] == row.label]
        assert mine["sentence"].tolist() == [sentences[i] for i in index]
        assert mine["length"].tolist() == [n_words(sentences[i]) for i in index]
        assert mine["n_tokens"].tolist() == found.measurements.n_tokens[index].tolist()
        assert mine["norm"].tolist() == found.measurements.cls_norms[index, -1].tolist()


def test_tables_of_nothing_have_their_columns() -> None:
    nothing = [Row("a/b", "b", problem="It is gone.")]
    assert analysis.compare.table(nothing)["problem"].tolist() == ["It is gone."]
    assert analysis.compare.table(nothing)["n_sentences"].isna().all()
    assert list(analysis.compare.curves(nothing)) == ["model", "layer", "depth", "norm", "vector", "error"]
    assert list(analysis.compare.points(nothing, [])) == ["model", "sentence", "n_tokens", "length", "norm"]
    assert len(analysis.compare.curves(nothing)) == len(analysis.compare.points(nothing, [])) == 0
    assert words.comparison.answer(nothing, Experiment()) == words.comparison.tokenizers(nothing, Unit.TOKENS) == ""


def test_whether_lengths_compare_is_said(rows: list[Row]) -> None:
    assert analysis.compare.tokens_agree(rows) is False
    first, second = (row.norms.n_tokens.mean() for row in rows if row.norms)
    assert f"on average {first:.1f} tokens for tiny-bert, {second:.1f} for by-pieces." in words.comparison.tokenizers(
        rows, Unit.TOKENS
    )
    assert words.comparison.tokenizers(rows, Unit.WORDS).startswith(
        "Lengths are counted in words, which are the same for all"
    )
    alike = [row_of("one", 0.5), row_of("other", 0.1)]
    assert analysis.compare.tokens_agree(alike) is True
    assert "the same number of tokens" in words.comparison.tokenizers(alike, Unit.TOKENS)
    assert analysis.compare.tokens_agree(alike[:1]) is None
    assert analysis.compare.tokens_agree([alike[0], replace(alike[1], is_whole=False)]) is None
