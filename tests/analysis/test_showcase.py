"""What was read from the measurements that come with clsviz is what anybody would read from them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clsviz import analysis
from clsviz.analysis import result_key, sentences_key, showcase
from clsviz.analysis.typed import CHECK_EXAMPLE
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment, View
from clsviz.jobs import SHOWCASE, Encoders, Extraction, Found
from clsviz.measurements import POOLED, Kind
from clsviz.progress import Progress
from clsviz.settings import Lengths, Pooling, Precision
from clsviz.statistics.probes import Profile, Readout
from clsviz.statistics.ridge import ridge_probe
from clsviz.store import Store
from clsviz.store.results import ResultCache

pytestmark = pytest.mark.slow

CACHE = ResultCache(None, SHOWCASE / "results")

MOST_MEGABYTES = 5


def shipped(tmp_path: Path, kind: Kind, model: str = "minilm") -> Found:
    store = Store(tmp_path, shipped=SHOWCASE)
    extraction = Extraction(Experiment(model), store, Encoders(), kind=kind, outlines=True)
    assert extraction.look_up(Progress()).seconds == 0
    assert extraction.found is not None
    assert extraction.found.n_shipped == 5000
    return extraction.found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The vectors of the default experiment, measured on this machine."""
    store = Store(tmp_path_factory.mktemp("store"))
    return Extraction(Experiment(), store, Encoders(), kind=Kind.VECTORS).run(Progress())


def of(name: str, found: Found, view: View, depends_on: str = "") -> Any:
    result = CACHE.get(result_key(name, found, view=view, depends_on=depends_on))
    assert result is not None
    return result


def test_it_is_small() -> None:
    n_bytes = sum(path.stat().st_size for path in SHOWCASE.rglob("*") if path.is_file())
    assert n_bytes < MOST_MEGABYTES * 1e6


@pytest.mark.parametrize("model", ["minilm", "untrained:minilm"])
def test_the_norm_of_the_mean_opens_with_what_averaging_does(tmp_path: Path, model: str) -> None:
    found, view = shipped(tmp_path, Kind.MEANS, model), View(pooling=Pooling.MEAN)
    kept, again = of("averaging", found, view), analysis.averaging(found, view)
    assert again is not None
    assert kept.on_averaging.slope == pytest.approx(again.on_averaging.slope)
    assert 6 < kept.on_averaging.slope < 8 if model == "minilm" else 1 < kept.on_averaging.slope < 1.3
    assert of("shapes", found, view) is not None
    norms = shipped(tmp_path, Kind.NORMS, model).measurements
    np.testing.assert_allclose(found.measurements.cls_norms, norms.cls_norms, rtol=1e-5)


@pytest.mark.parametrize("pooling", [Pooling.CLS, Pooling.POOLER])
def test_what_is_read_from_norms_is_read_anew(tmp_path: Path, pooling: Pooling) -> None:
    found, view = shipped(tmp_path, Kind.NORMS), View(pooling=pooling)
    shown, known = analysis.select(found, view), analysis.select(found, view, cache=CACHE)
    assert known.fit is not None
    assert shown.fit is not None
    for name in ("n", "n_clusters", "slope", "r_squared", "spearman", "slope_interval", "r_squared_interval", "t"):
        assert getattr(known.fit, name) == pytest.approx(getattr(shown.fit, name), rel=1e-6), name
    np.testing.assert_array_equal(known.clusters, shown.clusters)
    assert of("quantiles", found, view).slopes == pytest.approx(analysis.quantiles(shown).slopes, rel=1e-3)
    assert of("flat", found, view).r_squared == pytest.approx(analysis.flat(shown, view).r_squared, rel=1e-6)
    *_, shape = analysis.shapes(found, view)
    known_shape = of("shapes", found, view)
    assert known_shape.curve_r_squared == pytest.approx(shape.curve_r_squared, rel=1e-4)
    assert known_shape.spread_ratio_interval == pytest.approx(shape.spread_ratio_interval, rel=1e-4)
    assert known_shape.mutual_information == pytest.approx(shape.mutual_information, abs=1e-4)
    whole = replace(view, length_cutoff=512)
    np.testing.assert_allclose(of("by_cutoff", found, whole), analysis.by_cutoff(found, whole), rtol=1e-5)


def test_measured_anew_the_norms_of_the_vectors_are_the_same(tmp_path: Path, here: Found) -> None:
    """All of them, in the same batches but perhaps on another machine."""
    outline = shipped(tmp_path, Kind.VECTORS).vectors
    np.testing.assert_array_equal(outline.n_tokens, here.vectors.n_tokens)
    np.testing.assert_array_equal(outline.layer_norms, here.vectors.layer_norms)
    for pooling in POOLED:
        for layer in range(7):
            np.testing.assert_allclose(outline.norms(pooling, layer), here.vectors.norms(pooling, layer), rtol=2e-5)


def test_read_anew_from_vectors_measured_here_it_is_the_same(tmp_path: Path, here: Found) -> None:
    found, view = shipped(tmp_path, Kind.VECTORS), View()
    index, lengths = analysis.layers.used_sentences(here, view)
    folds = analysis.layers.folds(here, view, index)
    profile = of("profiles", found, view)
    assert isinstance(profile, Profile)
    assert profile.is_complete
    for pooling, layer in ((Pooling.CLS, 1), (Pooling.CLS, 6), (Pooling.MEAN, 6), (Pooling.POOLER, None)):
        probe = ridge_probe(here.vectors.of(pooling, layer)[index], lengths, folds)
        reading = profile.get(pooling, layer, Readout.VECTOR)
        assert reading is not None
        assert reading.r_squared == pytest.approx(probe.r_squared, abs=2e-4)
        assert reading.fold_r_squared == pytest.approx(probe.fold_r_squared, abs=1e-3)
        assert reading.error == pytest.approx(probe.error, rel=1e-3)
    breakdown, known = (
        analysis.layers.norm_breakdown(here, replace(view, layer=3)),
        of("norm_breakdown", found, replace(view, layer=3)),
    )
    np.testing.assert_allclose(known.by_dimension.shares, breakdown.by_dimension.shares, rtol=1e-3)
    assert [row.norm_mean for row in known.layer_norm] == pytest.approx([r.norm_mean for r in breakdown.layer_norm])
    draw = next(analysis.layers.classifications(here, view))
    task = of("classifications", found, view)
    assert task.vector.accuracy == pytest.approx(draw.vector.accuracy, abs=0.03)  # a few sentences may fall otherwise
    assert len(task.vector_draws) == 5
    first = next(analysis.probes.erasures(here, view))
    erased = of("erasures", found, view)
    assert erased.n_done == erased.n_folds
    for name, left in first.left.items():
        assert erased.left[name].linear[0] == pytest.approx(left.linear[0], abs=1e-3)
        assert erased.left[name].nonlinear[0] == pytest.approx(left.nonlinear[0], abs=1e-3)
    is_shuffled = replace(view, lengths=Lengths.SHUFFLED)
    shuffles, first_draw = of("shuffles", found, is_shuffled), next(analysis.random_weights.shuffles(here, is_shuffled))
    assert shuffles.is_complete
    errors = [reading.error for reading in first_draw.draws[0][1:]]
    assert [reading.error for reading in shuffles.draws[0][1:]] == pytest.approx(errors, rel=1e-3)
    similarity = next(analysis.search.compare(here, view))
    compared = of("compare", found, view)
    np.testing.assert_allclose(compared.bias.cosine_by_length, similarity.bias.cosine_by_length, atol=1e-5)
    assert (compared.bias.neighbours == similarity.bias.neighbours).mean() > 0.999
    assert len(compared.remedies) == 4


def test_the_comparison_and_the_joined_sentences_are_there(tmp_path: Path) -> None:
    found, control = (shipped(tmp_path, Kind.VECTORS, model) for model in ("minilm", "untrained:minilm"))
    for of_model in (found, control):
        index, _ = analysis.under_cutoff(of_model.vectors, View())
        profile = of("read_vectors", of_model, View(), analysis.digest(index))
        assert all(profile.line(Pooling.CLS, Readout.VECTOR))
    assert [row.n_sentences for row in of("join", found, View())] == [1, 2, 4, 8]


def test_the_examples_are_what_the_model_makes_of_them(minilm_encoder: Encoder) -> None:
    weights = minilm_encoder.weights

    def example(name: str, *sentences: str) -> object:
        return CACHE.get(sentences_key(name, weights, Precision.EXACT, list(sentences)))

    typed, measured = (
        example("typed", analysis.typed.EXAMPLE),
        analysis.typed.measure(minilm_encoder, [analysis.typed.EXAMPLE]),
    )
    assert typed.tokens == measured.tokens
    np.testing.assert_allclose(typed.vectors.cls_norms, measured.vectors.cls_norms, rtol=2e-5)
    np.testing.assert_allclose(typed.output_norms, measured.output_norms, rtol=2e-5)
    check, anatomy = example("pooler_check", CHECK_EXAMPLE), example("anatomy")
    assert analysis.typed.largest_error(anatomy, check) < analysis.typed.TOLERANCE
    np.testing.assert_allclose(check.cls, minilm_encoder.cls_and_pooler([CHECK_EXAMPLE])[0][0], atol=1e-5)
    assert anatomy.parameter_table().equals(minilm_encoder.anatomy.parameter_table())
    np.testing.assert_array_equal(anatomy.pooler.weight, minilm_encoder.anatomy.pooler.weight)


def test_every_view_that_is_offered_is_read(tmp_path: Path) -> None:
    found = shipped(tmp_path, Kind.VECTORS)
    for view in [*showcase.views(6, [*Pooling]), *showcase.controls()]:
        assert result_key("profiles", found, view=view.of_all_vectors) in CACHE
        assert result_key("norm_breakdown", found, view=view) in CACHE
