import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from clsviz.figures import Axes, Density, Drawn, Palette, Points, drawn, is_dense, labels_of, scatter
from clsviz.figures.density import (
    MOST_ABOVE,
    MOST_COLUMNS,
    MOST_SELECTED,
    N_BINS,
    cells,
    colour_axis,
    count,
    labels,
    n_sampled,
)
from clsviz.statistics.lengths import bins
from clsviz.statistics.line import fit
from clsviz.statistics.shape import quantiles

N = 120_000
RANDOM = np.random.default_rng(0)
LENGTHS = np.minimum(RANDOM.geometric(0.06, N) + 2, 79).astype(np.int32)
NORMS = (8 - 0.01 * LENGTHS + 0.3 * RANDOM.normal(size=N)).astype(np.float32)
ZOOM = (10.5, 40.5, 7.5, 7.75)


def counted(density: Density) -> np.ndarray:
    """The same counts, by numpy."""
    columns = np.append(density.lengths, density.lengths[-1] + density.step) - 0.5
    return np.histogram2d(LENGTHS, NORMS, bins=(columns, density.edges))[0]


def inside(zoom: tuple[float, ...]) -> np.ndarray:
    left, right, low, high = zoom
    lengths, norms = LENGTHS, NORMS.astype(float)
    return (left <= lengths) & (lengths <= right) & (low <= norms) & (norms <= high)


@pytest.mark.parametrize("zoom", [(), ZOOM, (0, 80, 7.7, 7.7001), (0, 80, -1e99, 1e99), (5, 5, 7, 7), (90, 99, 20, 30)])
def test_every_sentence_is_counted_once_whatever_is_seen(zoom: tuple[float, ...]) -> None:
    found = count(LENGTHS, NORMS, zoom)
    assert found.counts.dtype == np.int64
    assert found.counts.sum() == N
    assert (np.diff(found.edges) > 0).all()
    assert (found.edges[0], found.edges[-1]) == (NORMS.min(), NORMS.max())
    assert found.lengths.tolist() == list(range(LENGTHS.min(), LENGTHS.max() + 1))
    np.testing.assert_array_equal(found.counts, counted(found))


def test_bins_are_finer_where_it_is_seen_and_there_alone() -> None:
    whole, zoomed = count(LENGTHS, NORMS), count(LENGTHS, NORMS, ZOOM)
    assert len(whole.edges) == N_BINS + 1
    assert np.isin(whole.edges, zoomed.edges).all()
    seen = (zoomed.edges[:-1] >= ZOOM[2]) & (zoomed.edges[1:] <= ZOOM[3])
    widths, before = np.diff(zoomed.edges), np.diff(whole.edges)[0]
    assert N_BINS / 2 < seen.sum() < 2 * N_BINS
    np.testing.assert_allclose(widths[seen], widths[seen][0])
    assert before / widths[seen][0] == pytest.approx(round(np.ptp(NORMS) / 0.25 / 2) * 2, abs=8)
    far = (zoomed.edges[1:] < ZOOM[2] - 0.2) | (zoomed.edges[:-1] > ZOOM[3] + 0.2)
    np.testing.assert_allclose(widths[far], before)


def test_counts_at_a_fine_resolution_serve_all_zooms() -> None:
    edges = np.linspace(NORMS.min().astype(float), NORMS.max().astype(float), 64 * N_BINS + 1)
    fine = Density(np.arange(3, 80, dtype=np.int32), edges, np.empty(0, np.int64))
    fine = Density(fine.lengths, edges, counted(fine).astype(np.int64))
    for zoom in ((), ZOOM):
        direct, seen = count(LENGTHS, NORMS, zoom), fine.as_seen(zoom)
        np.testing.assert_allclose(seen.edges, direct.edges)
        assert seen.counts.sum() == N
        assert np.abs(seen.counts - direct.counts).sum() <= 4  # a norm on an edge, to the last bit
    assert len(fine.as_seen((0, 80, 7.5, 7.5001)).edges) < 64 * N_BINS


def test_many_lengths_share_columns() -> None:
    lengths = LENGTHS * 20
    found = count(lengths, NORMS)
    assert len(found.lengths) <= MOST_COLUMNS
    assert found.step == math.ceil((np.ptp(lengths) + 1) / MOST_COLUMNS)
    of_lengths = [((first <= lengths) & (lengths < first + found.step)).sum() for first in found.lengths]
    np.testing.assert_array_equal(found.counts.sum(axis=1), of_lengths)
    assert labels(found, "characters")[0][0] == f"60–{59 + found.step} characters"


@pytest.mark.parametrize(
    ("n_shown", "n_measured", "expected"),
    [
        (100_000, 100_000, True),
        (99_965, 100_000, True),
        (99_999, 99_999, False),
        (50_000, 1_000_000, True),
        (49_999, 1_000_000, False),
        (0, 0, False),
    ],
)
def test_from_which_sample_on_it_is_drawn(n_shown: int, n_measured: int, expected: bool) -> None:
    assert is_dense(n_shown, n_measured) is expected


def test_below_every_sentence_is_a_point() -> None:
    found = drawn(LENGTHS[:300], NORMS[:300], 300, ZOOM, np.array([1]))
    assert found.density is None
    assert found.points.tolist() == list(range(300))


def test_the_points_are_the_first_of_the_sample_that_are_seen_and_those_selected() -> None:
    whole = drawn(LENGTHS, NORMS, N)
    assert whole.points.tolist() == list(range(MOST_ABOVE))
    assert (whole.n_seen, whole.n_sampled) == (N, MOST_ABOVE)
    zoomed = drawn(LENGTHS, NORMS, N, ZOOM)
    np.testing.assert_array_equal(zoomed.points, np.flatnonzero(inside(ZOOM))[:MOST_ABOVE])
    assert zoomed.n_seen == inside(ZOOM).sum() > MOST_ABOVE
    reversed_ = drawn(LENGTHS, NORMS, N, (ZOOM[1], ZOOM[0], ZOOM[3], ZOOM[2]))
    np.testing.assert_array_equal(reversed_.points, zoomed.points)
    few = (10.5, 40.5, 7.5, 7.505)
    assert 0 < inside(few).sum() < MOST_ABOVE
    np.testing.assert_array_equal(drawn(LENGTHS, NORMS, N, few).points, np.flatnonzero(inside(few)))
    selected = np.array([7, N - 1])
    marked = drawn(LENGTHS, NORMS, N, (), selected)
    assert marked.points.tolist() == [*range(MOST_ABOVE), N - 1]
    assert marked.n_sampled == MOST_ABOVE == n_sampled(LENGTHS, NORMS)
    too_many = np.arange(N - MOST_SELECTED - 1, N)
    assert drawn(LENGTHS, NORMS, N, (), too_many).points.tolist() == list(range(MOST_ABOVE))


def picture(found: Drawn, **more: object):  # type: ignore[no-untyped-def]
    at = found.points
    points = Points(labels_of([f"Sentence {number}." for number in at]), LENGTHS[at], NORMS[at])
    return scatter(points, Axes(), Palette(), density=found.density, **more)  # type: ignore[arg-type]


def test_cells_say_what_is_in_them_and_empty_ones_nothing() -> None:
    found = Density(np.array([12, 13], np.int32), np.array([1.23, 1.24, 1.26]), np.array([[345, 0], [1, 12_345]]))
    assert cells(found, "tokens") == {
        "z": [[math.log10(345), 0], [None, math.log10(12_345)]],
        "text": [
            ["12 tokens, norm 1.23–1.24: 345 sentences", "13 tokens, norm 1.23–1.24: 1 sentence"],
            ["", "13 tokens, norm 1.24–1.26: 12,345 sentences"],
        ],
    }
    narrow = Density(found.lengths, np.array([7, 7.0001, 7.0003]), found.counts)
    assert labels(narrow, "words")[1] == ["norm 7.0000–7.0001", "norm 7.0001–7.0003"]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (1, ["1", "2"]),
        (7, ["1", "2", "5"]),
        (80, ["1", "2", "5", "10", "20", "50"]),
        (1234, ["1", "10", "100", "1,000"]),
    ],
)
def test_the_bar_of_colours_has_plain_counts_on_a_logarithmic_scale(most: int, expected: list[str]) -> None:
    found = Density(np.array([3], np.int32), np.array([0.0, 1, 2]), np.array([[most, 0]]))
    axis = colour_axis(found, Palette())
    bar = axis["colorbar"]
    assert bar["title"]["text"] == "sentences"
    assert bar["ticktext"] == expected
    np.testing.assert_allclose(10 ** np.array(bar["tickvals"]), [int(text.replace(",", "")) for text in expected])
    assert (axis["cmin"], 10 ** axis["cmax"]) == (0, pytest.approx(max(most, 2)))


def test_colours_reach_as_far_as_the_counts_that_are_seen() -> None:
    whole, zoomed = count(LENGTHS, NORMS), count(LENGTHS, NORMS, (60.5, 79.5, 7, 8))
    assert whole.most == whole.counts.max()
    assert 0 < zoomed.most < whole.most
    columns = (zoomed.lengths >= 61) & (zoomed.lengths <= 79)
    rows = (zoomed.edges[1:] > 7) & (zoomed.edges[:-1] < 8)
    assert zoomed.most == zoomed.counts[columns][:, rows].max()


def lightness(colour: str) -> float:
    """Relative luminance, by WCAG."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_more_sentences_are_further_from_the_background_in_lightness_in_both_themes() -> None:
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    light, dark = (config[scheme]["chartSequentialColors"] for scheme in ("light", "dark"))
    assert tuple(light) == Palette().scale
    steps = [np.diff([lightness(colour) for colour in scale]) for scale in (light, dark)]
    assert (steps[0] < 0).all()
    assert (steps[1] > 0).all()
    ends = [(lightness(scale[0]), lightness(scale[-1])) for scale in (light, dark)]
    assert all((max(pair) + 0.05) / (min(pair) + 0.05) > 3.5 for pair in ends)


def test_what_lies_over_and_beside_it_is_of_all_sentences() -> None:
    line, curves = fit(LENGTHS, NORMS), quantiles(LENGTHS, NORMS)
    figure = picture(drawn(LENGTHS, NORMS, N), fit=line, quantiles=curves, bins=bins(LENGTHS, NORMS))
    kinds = [trace.type for trace in figure.data]
    assert kinds == ["heatmap", "scattergl", "scattergl", "bar", "bar"]
    of_lengths, of_norms = figure.data[3:]
    assert of_lengths.y.sum() == of_norms.x.sum() == N
    for middle, sentences in zip(of_lengths.x, of_lengths.y, strict=True):
        assert sentences == (np.abs(LENGTHS - middle) < of_lengths.width / 2).sum()
    edges = np.append(np.asarray(of_norms.y) - np.asarray(of_norms.width) / 2, NORMS.max() + 1)
    below = np.searchsorted(np.sort(NORMS), edges[1:-1])
    assert np.abs(np.cumsum(of_norms.x)[:-1] - below).max() <= 2  # a norm on an edge, to the last bit
    straight = next(shape for shape in figure.layout.shapes if shape.type == "line")
    assert [straight.x0, straight.x1] == [LENGTHS.min(), LENGTHS.max()]
    off = figure.data[1].customdata
    np.testing.assert_allclose(off, NORMS[:MOST_ABOVE] - line.predict(LENGTHS[:MOST_ABOVE]), atol=1e-5)


def test_the_axis_of_norms_is_the_same_whatever_part_is_seen() -> None:
    whole, zoomed = (picture(drawn(LENGTHS, NORMS, N, zoom)) for zoom in ((), ZOOM))
    low, high = whole.layout.yaxis.autorangeoptions.include
    assert low < NORMS.min() < NORMS.max() < high
    assert whole.layout.yaxis == zoomed.layout.yaxis
    np.testing.assert_array_equal(whole.data[3].x, zoomed.data[3].x)
    np.testing.assert_array_equal(whole.data[2].y, zoomed.data[2].y)


def test_points_stand_out_and_have_colours_as_those_of_a_cloud_do() -> None:
    found = drawn(LENGTHS, NORMS, N)
    figure = picture(found, selected=np.array([3, 5]), groups=LENGTHS[found.points] > 20)
    cells_, cloud, *_, rings = figure.data
    assert list(cloud.selectedpoints) == [3, 5]
    np.testing.assert_array_equal(rings.x, LENGTHS[[3, 5]])
    np.testing.assert_array_equal(cloud.marker.color, LENGTHS[found.points] > 20)
    assert cloud.marker.opacity > picture(found).data[1].marker.opacity
    assert cells_.type == "heatmap"
    assert list(picture(found, selected=np.empty(0, np.intp)).data[1].selectedpoints) == []
