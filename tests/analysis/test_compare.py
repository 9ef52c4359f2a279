"""Several models on the same sentences: against numbers computed one model and one sentence at a time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import transformers
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.tiny import random_sentences, write_piecewise_bert

from clsviz import analysis, statistics, words
from clsviz.analysis import ViewData
from clsviz.analysis.compare import Norms, Row
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.measurements import Kind, Measurements
from clsviz.measuring import Encoders, Extraction, Found, Store
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling, Unit
from clsviz.statistics import STRENGTHS, folds_of, ridge_probe

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
        line = LinearRegression().fit(lengths[:, None], norms)
        fit = statistics.fit(lengths, norms)
        assert (cells["model"], cells["label"], cells["n_sentences"]) == (row.model, row.label, len(index))
        assert cells["r_squared"] == pytest.approx(line.score(lengths[:, None], norms))
        assert cells["slope"] == pytest.approx(line.coef_[0])
        assert (cells["r_squared_low"], cells["r_squared_high"]) == pytest.approx(fit.r_squared_interval)
        assert (cells["slope_low"], cells["slope_high"]) == pytest.approx(fit.slope_interval)
        assert cells["spearman"] == pytest.approx(fit.spearman)
        assert (cells["norm_mean"], cells["norm_sd"]) == pytest.approx((norms.mean(), norms.std(ddof=1)))
        assert cells["mean_length"] == pytest.approx(lengths.mean())
        assert cells["mean_tokens"] == pytest.approx(found.measurements.n_tokens[index].mean())
        assert (cells["sentences_per_second"], cells["n_parameters"], cells["problem"]) == (100, 2048, "")
    assert analysis.compare.table(rows)["n_layers"].tolist() == [2, 3]


def test_the_best_probe_is_that_of_a_pipeline_written_out(
    rows: list[Row], founds: dict[Kind, list[Found]], folders: list[str]
) -> None:
    index = [i for i in kept(founds, folders) if i < 200]  # of which vectors are measured
    sentences = [founds[Kind.NORMS][0].sentences[i] for i in index]
    lengths = [n_words(sentence) for sentence in sentences]
    folds = PredefinedSplit(folds_of(sentences))
    pipeline = make_pipeline(StandardScaler(), RidgeCV(STRENGTHS))
    cells = analysis.compare.table(rows)
    shown = analysis.compare.curves(rows)
    for row, found in zip(rows, founds[Kind.VECTORS], strict=True):
        n_layers = found.vectors.n_layers
        scores = [
            cross_val_score(
                pipeline, found.vectors.of(Pooling.CLS, layer)[index], lengths, cv=folds, scoring="r2"
            ).mean()
            for layer in range(1, n_layers + 1)
        ]
        exact = [
            ridge_probe(found.vectors.of(Pooling.CLS, layer)[index], lengths, folds_of(sentences)).r_squared
            for layer in range(1, n_layers + 1)
        ]
        np.testing.assert_allclose(exact, scores, atol=0.05)  # which takes another rule for the penalty
        mine = cells[cells["label"] == row.label].iloc[0]
        assert mine["probe_r_squared"] == pytest.approx(max(exact))
        assert mine["probe_layer"] == 1 + int(np.argmax(exact))
        curve = shown[shown["model"] == row.label]
        assert curve["layer"].tolist() == list(range(n_layers + 1))
        assert curve["depth"].tolist() == pytest.approx(np.linspace(0, 1, n_layers + 1))
        np.testing.assert_allclose(curve["vector"][1:], exact)
        assert np.isnan(curve["vector"].iloc[0])  # [CLS] is the same in every sentence before the first layer


def test_the_curve_of_the_norm_is_the_squared_correlation_after_every_layer(
    rows: list[Row], founds: dict[Kind, list[Found]], folders: list[str]
) -> None:
    index = kept(founds, folders)
    lengths = [n_words(founds[Kind.NORMS][0].sentences[i]) for i in index]
    for row, found in zip(rows, founds[Kind.NORMS], strict=True):
        assert row.norms is not None
        assert np.isnan(row.norms.r_squared[0])
        norms = found.measurements.cls_norms[index]
        expected = [np.corrcoef(lengths, norms[:, layer])[0, 1] ** 2 for layer in range(1, norms.shape[1])]
        np.testing.assert_allclose(row.norms.r_squared[1:], expected, rtol=1e-4)


def test_only_what_is_compared_is_read_of_the_vectors(
    founds: dict[Kind, list[Found]], experiment: Experiment, folders: list[str]
) -> None:
    *_, profile = analysis.compare.read_vectors(founds[Kind.VECTORS][0], experiment.view, np.arange(300))
    assert profile.n == 200
    assert not profile.is_complete


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
    assert list(analysis.compare.curves(nothing)) == ["model", "layer", "depth", "norm", "vector"]
    assert list(analysis.compare.points(nothing, [])) == ["model", "sentence", "n_tokens", "length", "norm"]
    assert len(analysis.compare.curves(nothing)) == len(analysis.compare.points(nothing, [])) == 0
    assert words.comparison.answer(nothing, Experiment()) == words.comparison.tokenizers(nothing, Unit.TOKENS) == ""


@pytest.fixture(scope="module")
def lengths() -> np.ndarray:
    return np.random.default_rng(0).integers(3, 40, 500).astype(np.int32)


@pytest.fixture(scope="module")
def row_of(lengths: np.ndarray) -> Callable[..., Row]:
    """A row of 500 sentences whose norm follows the length so much."""

    def row_of(label: str, strength: float, spread: float = 0.2, **settings: object) -> Row:
        noise = np.random.default_rng(len(label)).normal(size=500)
        norms = (7 + spread * (strength * (lengths - lengths.mean()) / lengths.std() + noise)).astype(np.float32)
        fit, problem = None, ""
        try:
            fit = statistics.fit(lengths, norms)
        except UndefinedFitError as error:
            problem = str(error)
        shown = ViewData(np.arange(500), lengths, norms, fit, problem, 0, clusters=np.arange(500))
        return Row(label, label, 600, True, Norms(shown, lengths, np.array([np.nan, 0.5])), **settings)

    return row_of


def test_the_answer_names_most_and_least(row_of: Callable[..., Row]) -> None:
    rows = [row_of("strong", 1.0), row_of("weak", 0.1), row_of("middling", 0.5)]
    text = words.comparison.answer(rows, Experiment(length_cutoff=40))
    strong, weak = rows[0].fit, rows[1].fit
    assert strong
    assert weak
    assert text.startswith(
        f"Most in strong, where a straight line in length explains {strong.r_squared:.1%} of the norm’s variance (R² "
    )
    assert f"least in weak, where it explains {weak.r_squared:.1%} (R² {weak.r_squared:.3f}, 95% interval" in text
    assert text.endswith("The comparison uses 500 of 600 sentences: those under 40 tokens for every model.")
    assert "overlap" not in text
    assert words.comparison.answer(rows[::-1], Experiment(length_cutoff=40)) == text


def test_the_answer_says_where_the_order_may_be_chance_or_there_is_none(row_of: Callable[..., Row]) -> None:
    assert "The intervals overlap, so the order may be due to chance." in words.comparison.answer(
        [row_of("one", 0.5), row_of("other", 0.55)], Experiment()
    )
    one = row_of("one", 0.5)
    assert words.comparison.answer([one, replace(one, label="same")], Experiment()).startswith(
        "The same to three decimals in both: a straight line in length explains "
    )
    assert words.comparison.answer([one, replace(one, label="a"), replace(one, label="b")], Experiment()).startswith(
        "The same to three decimals in all 3:"
    )
    assert words.comparison.answer([row_of("one", 0.01), row_of("other", 0.1)], Experiment()).startswith(
        "In none of them does a straight line account for as much as 5% of the norm’s variance. Most in other"
    )


def test_the_answer_explains_what_has_no_line(row_of: Callable[..., Row]) -> None:
    constant = row_of("constant", 1.0, spread=0.0)
    text = words.comparison.answer([row_of("one", 0.5), constant], Experiment())
    assert text.startswith("In one, a straight line in length explains ")
    assert "There is no regression line for constant: the norm is the same for all 500 sentences (7.0000)" in text
    assert "until it is trained" not in text
    assert "until it is trained" in words.comparison.answer([replace(constant, model="untrained:minilm")], Experiment())
    assert words.comparison.answer([constant], Experiment()).startswith(
        "None of the models has a regression line here. There is"
    )
    still = words.comparison.answer([row_of("still", 0.5, spread=0.0001), row_of("other", 2)], Experiment())
    assert "In still, the norm barely varies: its standard deviation is 1.1 × 10⁻⁴, around a mean of 7.00." in still
    assert "As a control" in words.comparison.answer([constant], Experiment(lengths=Lengths.SHUFFLED))


def test_a_model_that_is_still_measured_is_not_ranked(row_of: Callable[..., Row]) -> None:
    rows = [row_of("one", 0.5), row_of("other", 0.1), replace(row_of("early", 3), is_whole=False)]
    text = words.comparison.answer(rows, Experiment())
    assert text.startswith("Most in one")
    assert text.endswith("Not included, because not measured on the whole sample: early.")
    assert words.comparison.answer([*rows, Row("failed", "failed")], Experiment()).endswith(
        "on the whole sample: early, failed."
    )
    assert words.comparison.answer(rows[2:], Experiment()) == ""


def test_whether_lengths_compare_is_said(rows: list[Row], row_of: Callable[..., Row]) -> None:
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


def test_shuffled_lengths_are_of_the_same_sentences(
    founds: dict[Kind, list[Found]], experiment: Experiment, rows: list[Row]
) -> None:
    shuffled = analysis.compare.norms_of(
        founds[Kind.NORMS][0], replace(experiment, lengths=Lengths.SHUFFLED).view, rows[0].norms.shown.index
    )
    own = rows[0].norms.shown.lengths
    assert sorted(shuffled.shown.lengths) == sorted(own)
    assert shuffled.shown.lengths.tolist() != own.tolist()
    assert shuffled.shown.norms.tolist() == rows[0].norms.shown.norms.tolist()


def test_the_headline_says_whether_most_and_least_are_told_apart(row_of: Callable[..., Row]) -> None:
    rows = [row_of("strong", 1.0), row_of("weak", 0.1), row_of("middling", 0.5)]
    shares = {
        row.label: f"{100 * np.corrcoef(row.norms.shown.lengths, row.norms.shown.norms)[0, 1] ** 2:.1f}%"
        for row in rows
        if row.norms
    }
    headline = words.comparison.headline(rows)
    assert headline == (
        f"Told apart: a line in length explains {shares['strong']} of the differences between norms in strong, "
        f"{shares['weak']} in weak."
    )
    assert words.comparison.headline(rows[::-1]) == headline
    one, other = row_of("one", 0.5), row_of("other", 0.55)
    assert one.fit
    assert other.fit
    assert other.fit.r_squared_interval[0] < one.fit.r_squared_interval[1]
    assert words.comparison.headline([one, other]).startswith("Not told apart: a line in length explains ")
    assert words.comparison.headline([one, replace(one, label="same")]).startswith("Not told apart: ")


def test_nothing_is_told_apart_for_sure_where_it_is_not_known_which_sentences_are_alike(
    row_of: Callable[..., Row],
) -> None:
    def of_many(row: Row) -> Row:
        assert row.norms is not None
        return replace(row, norms=replace(row.norms, shown=replace(row.norms.shown, clusters=None)))

    known = [row_of("strong", 1.0), row_of("weak", 0.1)]
    rows = list(map(of_many, known))
    assert words.comparison.headline(rows).startswith(
        "Told apart if no sentences are alike: a line in length explains "
    )
    assert "if there are any, the intervals are too narrow." in words.comparison.answer(rows, Experiment())
    assert "narrow" not in words.comparison.answer(known, Experiment())


def test_copies_of_a_few_sentences_are_too_few(row_of: Callable[..., Row]) -> None:
    def copies(row: Row) -> Row:
        assert row.norms is not None
        shown = row.norms.shown
        few = np.resize(shown.lengths[:6], 300), np.resize(shown.norms[:6], 300)
        fit = statistics.fit(*few, np.resize(np.arange(6), 300))
        profile = statistics.Profile(300, 16, 2, False, {}, n_clusters=6)
        return replace(row, profile=profile, norms=replace(row.norms, shown=replace(shown, fit=fit)))

    rows = [copies(row_of("strong", 1.0)), copies(row_of("weak", 0.1))]
    assert words.comparison.headline(rows).startswith("Too few sentences to tell: a line in length explains ")
    assert words.comparison.headline(rows[:1]).endswith("between norms of only 6 different sentences (of 300).")
    assert "Among them are only 6 different sentences, too few for a firm answer." in words.comparison.answer(
        rows, Experiment()
    )
    caption = words.comparison.probe_curves(rows)
    assert caption.endswith("on the first 300 sentences. 6 different sentences (of 300) are too few to tell.")


def test_the_headline_of_one_model_and_of_none(row_of: Callable[..., Row]) -> None:
    one, constant = row_of("one", 0.5), row_of("constant", 1.0, spread=0.0)
    assert one.fit
    alone = f"In one, a straight line in length explains {one.fit.r_squared:.1%} of the differences between norms."
    partly = replace(row_of("partly", 1.0), is_whole=False)
    for others in ([], [constant], [partly], [Row("a/b", "b")]):
        assert words.comparison.headline([one, *others]) == alone
    none = row_of("none", 0.0)
    assert none.fit
    assert none.fit.r_squared_interval[0] == 0
    assert words.comparison.headline([none]).endswith("of the differences between norms, not told apart from nothing.")
    assert words.comparison.headline([constant]) == "None of the models has a regression line here."
    assert words.comparison.headline([constant, partly]) == "None of the models has a regression line here."
    for nothing in ([], [partly], [Row("a/b", "b", problem="It is gone.")]):
        assert words.comparison.headline(nothing) == ""
