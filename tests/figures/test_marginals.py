"""The histograms beside the cloud."""

import numpy as np
import pytest

from clsviz.figures import Axes, Palette, Points, labels_of, scatter
from clsviz.figures.density import CLOUD_HEIGHT, CLOUD_WIDTH


@pytest.mark.parametrize("longest", [40, 500])
def test_every_sentence_is_counted_once_in_each_histogram(longest: int) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(1, longest + 1, 800).astype(np.int32)
    norms = random.normal(7, 1, 800).astype(np.float32)
    figure = scatter(Points(labels_of(["x"] * 800), lengths, norms), Axes(longest=longest), Palette())
    of_lengths, of_norms = [trace for trace in figure.data if trace.type == "bar"]
    assert of_lengths.y.sum() == of_norms.x.sum() == 800
    width = of_lengths.width
    for middle, count in zip(of_lengths.x, of_lengths.y, strict=True):
        assert count == ((middle - width / 2 < lengths) & (lengths < middle + width / 2)).sum()
    middles, widths = np.asarray(of_norms.y), np.asarray(of_norms.width)
    for middle, width, count in zip(middles, widths, of_norms.x, strict=True):
        among = (middle - width / 2 - 1e-6 <= norms) & (norms <= middle + width / 2 + 1e-6)
        assert abs(int(among.sum()) - count) <= 1  # a norm on an edge counts on either side


def test_the_histograms_lie_beside_the_cloud_and_share_its_axes() -> None:
    shown = Points(labels_of(["a", "b"]), np.array([3, 9], np.int32), np.array([7, 8], np.float32))
    layout = scatter(shown, Axes(), Palette()).layout
    assert (layout.xaxis.domain, layout.yaxis.domain) == ((0, CLOUD_WIDTH), (0, CLOUD_HEIGHT))
    assert layout.xaxis2.domain[0] > CLOUD_WIDTH
    assert layout.yaxis2.domain[0] > CLOUD_HEIGHT
    assert (layout.xaxis2.anchor, layout.yaxis2.anchor) == ("y", "x")


def test_norms_that_are_all_the_same_have_a_histogram_too() -> None:
    shown = Points(labels_of(["a"] * 3), np.array([3, 4, 5], np.int32), np.full(3, 16, np.float32))
    _, of_norms = [trace for trace in scatter(shown, Axes(), Palette()).data if trace.type == "bar"]
    assert of_norms.x.sum() == 3
