import numpy as np
import pytest
from support.figures import EVIL, PALETTE

from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.figures import labels_of, layer_panel, played_layers


def every_layer(n: int = 50, n_layers: int = 3) -> EveryLayer:
    random = np.random.default_rng(1)
    lengths = random.integers(3, 40, n).astype(np.int32)
    layers = [AfterLayer(0, np.full(n, 7, np.float32), 7.0, 0.0, problem="constant")]
    for layer in range(1, n_layers + 1):
        norms = (10**layer + 0.01 * layer * lengths + random.normal(size=n)).astype(np.float32)
        slope, intercept = np.polyfit(lengths, norms, 1).tolist()
        mean, sd = float(norms.mean(dtype=float)), float(norms.std(dtype=float, ddof=1))
        layers.append(AfterLayer(layer, norms, mean, sd, np.corrcoef(lengths, norms)[0, 1] ** 2, slope, intercept))
    return EveryLayer(n, np.arange(n), lengths, tuple(layers))


LABELS = labels_of([EVIL] * 50)


def test_rounding_is_not_magnified() -> None:
    figure = layer_panel(every_layer(), 0, LABELS, PALETTE)
    assert figure.layout.yaxis.autorangeoptions.include == pytest.approx((7 * (1 - 1e-5), 7 * (1 + 1e-5)))
    assert "constant" in figure.layout.annotations[0].text
    assert np.isnan(figure.data[1].y).all()


def test_each_frame_has_the_same_sentences_in_standard_deviations_of_its_layer() -> None:
    every = every_layer()
    figure = played_layers(every, LABELS, PALETTE)
    assert [frame.name for frame in figure.frames] == ["0", "1", "2", "3"]
    reach = figure.layout.yaxis.range[1]
    for frame, after in zip(figure.frames, every.layers, strict=True):
        cloud, line = frame.data
        assert cloud.x is None  # only the norms move
        np.testing.assert_array_equal(cloud.customdata, after.norms)
        if after.sd:
            np.testing.assert_allclose(cloud.y, (after.norms - after.mean) / after.sd, atol=1e-6)
            slope = (line.y[1] - line.y[0]) / np.ptp(every.lengths)
            assert slope == pytest.approx(after.slope / after.sd)
        else:
            assert not cloud.y.any()
        assert np.abs(cloud.y).max() < reach
        assert f"{after.layer}" in frame.layout.annotations[0].text or after.layer == 0


def test_it_begins_at_the_first_layer_with_a_line_and_moves_only_by_its_controls() -> None:
    figure = played_layers(every_layer(), LABELS, PALETTE)
    np.testing.assert_array_equal(figure.data[0].y, figure.frames[1].data[0].y)
    assert figure.layout.sliders[0].active == 1
    assert [step.label for step in figure.layout.sliders[0].steps] == ["0", "1", "2", "3"]
    play, pause = figure.layout.updatemenus[0].buttons
    assert (play.method, pause.method) == ("animate", "animate")
    assert play.args[1]["fromcurrent"]
    assert list(pause.args[0]) == [None]
