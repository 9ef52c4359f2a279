import numpy as np

from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.figures import thumbnail
from clsviz.figures.layers import HIGH, WIDE


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


def points_of(path: str) -> np.ndarray:
    """The corners of a path, (n, 2)."""
    return np.array([part.split() for part in path.replace("h0", "").replace("L", "M").split("M")[1:]], float)


def test_a_thumbnail_has_the_norms_of_its_layer_and_its_line() -> None:
    every = every_layer()
    after, drawn = every.layers[2], thumbnail(every, 2, np.array([4, 7]))
    x, y = points_of(drawn["points"]).T
    low, high = after.norms.min(), after.norms.max()
    np.testing.assert_allclose(x, WIDE * every.lengths / (every.lengths.max() + 1), atol=0.06)
    np.testing.assert_allclose(high - y / HIGH * (high - low), after.norms, atol=1e-3 * (high - low))
    np.testing.assert_array_equal(points_of(drawn["marked"]), np.stack([x, y], axis=1)[[4, 7]])
    ends = np.polyval(np.polyfit(every.lengths, after.norms, 1), [every.lengths.min(), every.lengths.max()])
    np.testing.assert_allclose(high - points_of(drawn["line"])[:, 1] / HIGH * (high - low), ends, atol=0.5)


def test_rounding_is_not_magnified_and_where_there_is_no_line_none_is_drawn() -> None:
    drawn = thumbnail(every_layer(), 0)
    np.testing.assert_allclose(points_of(drawn["points"])[:, 1], HIGH / 2)
    assert (drawn["line"], drawn["marked"]) == ("", "")


def test_nothing_to_draw_is_drawn_empty() -> None:
    layers = (AfterLayer(0, np.empty(0, np.float32), 0.0, 0.0, problem="no line"),)
    nothing = EveryLayer(0, np.empty(0, np.intp), np.empty(0, np.int32), layers)
    assert set(thumbnail(nothing, 0).values()) == {""}
