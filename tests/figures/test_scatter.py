import base64
import json
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from clsviz import figures
from clsviz.figures import Axes, Palette, Points, hover_label, labels_of, scatter, to_html
from clsviz.statistics.lengths import bins, slices
from clsviz.statistics.line import fit
from clsviz.statistics.shape import quantiles

PALETTE = Palette()


def points(n: int) -> Points:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 60, n).astype(np.int32)
    norms = (7 - 0.01 * lengths + random.normal(size=n)).astype(np.float32)
    return Points(labels_of([f"Sentence {index}." for index in range(n)]), lengths, norms)


def drawn(figure: go.Figure) -> int:
    """How many traces there are beside the histograms."""
    return sum(trace.type == "scattergl" for trace in figure.data)


def numbers(array: Any) -> np.ndarray:
    """An array as Plotly puts it into JSON."""
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
    return np.asarray(array)


def test_every_sentence_is_a_point_with_its_text_and_its_distance_from_the_line() -> None:
    shown = points(120)
    line = fit(shown.lengths, shown.norms)
    figure = json.loads(scatter(shown, Axes(), PALETTE, fit=line).to_json())
    cloud, *_ = figure["data"]
    assert cloud["type"] == "scattergl"
    np.testing.assert_array_equal(numbers(cloud["x"]), shown.lengths)
    np.testing.assert_array_equal(numbers(cloud["y"]), shown.norms)
    np.testing.assert_allclose(numbers(cloud["customdata"]), shown.norms - line.predict(shown.lengths), atol=1e-6)
    assert cloud["text"] == list(shown.labels)
    assert all(field in cloud["hovertemplate"] for field in ("%{text}", "%{x} tokens", "norm %{y", "%{customdata"))


def test_the_rounding_of_numbers_is_not_magnified() -> None:
    norms = np.array([16, 16 + 2e-6, 16 - 2e-6], np.float32)
    shown = Points(labels_of(["a", "b", "c"]), np.array([3, 4, 5], np.int32), norms)
    low, high = json.loads(scatter(shown, Axes(), PALETTE).to_json())["layout"]["yaxis"]["autorangeoptions"]["include"]
    assert high - low > 50 * np.ptp(norms)


def test_without_a_line_nothing_is_said_of_a_distance() -> None:
    cloud, *_ = json.loads(scatter(points(120), Axes(), PALETTE).to_json())["data"]
    assert "%{text}" in cloud["hovertemplate"]
    assert "customdata" not in cloud["hovertemplate"]


def test_the_line_and_its_band_lie_over_the_points() -> None:
    shown = points(120)
    line = fit(shown.lengths, shown.norms)
    band, straight = scatter(shown, Axes(), PALETTE, fit=line).layout.shapes
    ends = np.array([shown.lengths.min(), shown.lengths.max()])
    assert [straight.x0, straight.x1] == ends.tolist()
    np.testing.assert_allclose([straight.y0, straight.y1], line.predict(ends))
    corner = band.path.removeprefix("M").split("L")[0].split(",")
    assert float(corner[0]) == ends[0]
    assert float(corner[1]) == pytest.approx(line.band(ends[:1])[1][0])
    assert band.layer == straight.layer is None  # the default is above


def test_a_line_of_unknown_certainty_has_no_band() -> None:
    shown = Points(labels_of(["a"] * 4), np.array([5, 5, 5, 40], np.int32), np.array([7, 7.1, 7.3, 9], np.float32))
    assert len(scatter(shown, Axes(), PALETTE, fit=fit(shown.lengths, shown.norms)).layout.shapes) == 1


def test_the_wide_band_of_a_few_sentences_does_not_stretch_the_axis() -> None:
    shown = Points(labels_of(["a"] * 4), np.array([3, 7, 12, 20], np.int32), np.array([5, 5.3, 4.9, 5.2], np.float32))
    line = fit(shown.lengths, shown.norms)
    lower, upper = line.band([3, 20])
    assert np.ptp([*lower, *upper]) > 4 * np.ptp(shown.norms)

    def reach(own: Points | None = None) -> np.ndarray:
        band, _ = scatter(shown, Axes(), PALETTE, fit=line, own=own).layout.shapes
        return np.array([float(corner.split(",")[1]) for corner in band.path.strip("MZ").split("L")])

    norms = reach()
    assert 4.9 - 0.1 * 0.4 < norms.min() < 4.9 < 5.3 < norms.max() < 5.3 + 0.1 * 0.4
    own = Points(labels_of(["mine"]), np.array([5], np.int32), np.array([5.5], np.float32))
    assert 5.5 < reach(own).max() < 5.5 + 0.1 * 0.6


def test_overlays_are_drawn_when_given() -> None:
    shown = points(2000)
    by_length, by_norm = bins(shown.lengths, shown.norms), slices(shown.lengths, shown.norms)
    figure = scatter(shown, Axes(), PALETTE, bins=by_length, slices=by_norm)
    _, medians, ranges, *_ = figure.data
    np.testing.assert_allclose(medians.y, by_length["median"])
    np.testing.assert_allclose(medians.error_y.array + by_length["median"], by_length["upper"])
    np.testing.assert_allclose(by_length["median"] - medians.error_y.arrayminus, by_length["lower"])
    np.testing.assert_allclose(ranges.error_x.array + by_norm["median"], by_norm["upper"])
    assert drawn(scatter(shown, Axes(), PALETTE)) == 1
    assert drawn(scatter(shown, Axes(), PALETTE, bins=by_length[:0], slices=pd.DataFrame())) == 1


def test_own_sentences_are_marked_and_named() -> None:
    own = Points(labels_of(["<b>mine</b>", "two"]), np.array([3, 4], np.int32), np.array([7, 8], np.float32))
    figure = scatter(points(10), Axes(), PALETTE, own=own)
    (star,) = [trace for trace in figure.data if getattr(trace.marker, "symbol", "") == "star"]
    assert star.marker.symbol == "star"
    assert list(star.x) == [3, 4]
    assert star.text[0] == "&lt;b&gt;mine&lt;/b&gt;"
    assert [annotation.text for annotation in figure.layout.annotations] == ["<b>yours, 1</b>", "<b>yours, 2</b>"]


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("Short.", "Short."),
        ("<b>bold</b> & <a href='x'>link</a>", "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;a href='x'&gt;link&lt;/a&gt;"),
        ("word " * 12, "word " * 10 + "word<br>word"),
        ("x" * 200, "x" * 54 + "<br>" + "x" * 54 + "…"),
        ("a\x00b\x1bc\u202ed", "a b c d"),
        ("", ""),
    ],
)
def test_a_hover_label_is_short_and_plain(sentence: str, label: str) -> None:
    assert hover_label(sentence.strip()) == label.strip()


def test_a_page_of_its_own_needs_no_network_and_cannot_be_broken_out_of() -> None:
    evil = Points(labels_of(["</script><script>alert(1)</script>"] * 3), np.arange(3, dtype="i4"), np.ones(3, "f4"))
    markup = to_html(scatter(evil, Axes(), PALETTE))
    assert "alert(1)" in markup
    assert "<script>alert" not in markup
    assert 'src="http' not in markup
    assert len(markup) > 1_000_000  # with all of plotly.js


def test_long_lengths_in_characters_keep_their_value() -> None:
    lengths = np.array([3, 40_000, 70_000], np.int32)
    points = figures.Points(figures.labels_of(["a", "b", "c"]), lengths, np.ones(3, np.float32))
    figure = figures.scatter(points, figures.Axes(unit="characters", longest=70_000), figures.Palette())
    assert figure.data[0].x.tolist() == lengths.tolist()


def test_the_quantile_curves_lie_over_the_points_with_their_names_at_their_ends() -> None:
    shown = points(400)
    curves = quantiles(shown.lengths, shown.norms)
    figure = scatter(shown, Axes(), PALETTE, quantiles=curves)
    assert drawn(figure) == 1
    for name, quantile, shape, label in zip(
        ("5%", "median", "95%"), (0.05, 0.5, 0.95), figure.layout.shapes, figure.layout.annotations, strict=True
    ):
        path = np.array([point.split(",") for point in shape.path.removeprefix("M").split("L")], float)
        np.testing.assert_allclose(path[:, 1], curves.at(quantile, path[:, 0]))
        assert path[[0, -1], 0].tolist() == pytest.approx([shown.lengths.min(), shown.lengths.max()])
        assert shape.line.color == label.font.color == PALETTE.summary
        assert (label.text, label.x, label.y) == (name, pytest.approx(path[-1, 0]), pytest.approx(path[-1, 1]))


def test_points_of_one_group_have_another_colour() -> None:
    shown = points(60)
    groups = shown.lengths > 30
    cloud = scatter(shown, Axes(), PALETTE, groups=groups).data[0]
    np.testing.assert_array_equal(cloud.marker.color, groups)
    assert [colour for _, colour in cloud.marker.colorscale] == [PALETTE.points, PALETTE.other]
    assert (cloud.marker.cmin, cloud.marker.cmax) == (0, 1)


def test_a_few_selected_points_have_rings_and_many_have_none() -> None:
    shown = points(60)
    few, many = (scatter(shown, Axes(), PALETTE, selected=np.arange(n)) for n in (3, 20))
    (rings,) = [trace for trace in few.data if getattr(trace.marker, "symbol", "") == "circle-open"]
    np.testing.assert_array_equal(rings.x, shown.lengths[:3])
    np.testing.assert_array_equal(rings.y, shown.norms[:3])
    assert drawn(many) == 1
    assert list(many.data[0].selectedpoints) == list(range(20))


def test_axes_stay_where_sentences_can_be_and_of_a_few_no_r_squared_is_told() -> None:
    shown, few = points(120), points(3)
    figure = scatter(
        shown, Axes(longest=80), PALETTE, own=Points(labels_of(["long"]), np.array([200]), np.array([9.0]))
    )
    assert (figure.layout.xaxis.minallowed, figure.layout.xaxis.maxallowed) == (0, 201)
    assert figure.layout.yaxis.minallowed < shown.norms.min()
    assert figure.layout.yaxis.maxallowed > 9
    texts = [note.text for note in scatter(few, Axes(), PALETTE, fit=fit(few.lengths, few.norms)).layout.annotations]
    assert not any("R²" in text for text in texts)


def test_labels_of_stars_never_overlap() -> None:
    own = Points(labels_of(["a", "b", "c"]), np.array([10, 11, 60], np.int32), np.array([7, 7.01, 7], np.float32))
    notes = [note for note in scatter(points(120), Axes(), PALETTE, own=own).layout.annotations if "yours" in note.text]
    first, second, far = (note.yshift for note in notes)
    assert (first, far) == (0, 0)
    assert second > 12  # pixels above the first, beyond what the norms are apart
