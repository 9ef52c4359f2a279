import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from clsviz.figures.still import Arrangement, Frame, Text, still
from clsviz.figures.still_traces import HEIGHT, WIDTH

COLOURS = {"#4c7da8": "var(--points)"}


def text(said: str, x: float, y: float = 400) -> Text:
    return {"text": said, "x": x, "y": y, "size": 12, "angle": 0, "colour": "axis", "weight": "400", "on": False}


def arranged(width: float, *texts: Text) -> Arrangement:
    return {"width": width, "margins": [70, 20, 30, 60], "texts": [*texts], "legend": []}


def frame(wide: list[Text] = [], narrow: list[Text] = []) -> Frame:  # noqa: B006
    axes: Any = {
        "x": {"range": [0, 80], "domain": [0, 1], "grid": []},
        "y": {"range": [6, 9], "domain": [0, 1], "grid": [7]},
    }
    return {"height": 470, "axes": axes, "wide": arranged(980, *wide), "narrow": arranged(358, *narrow)}


def drawn(*traces: Any, around: Frame | None = None, **layout: Any) -> str:
    figure = go.Figure(traces, layout).to_plotly_json()
    return still({"data": figure["data"], "layout": figure["layout"]}, around or frame(), COLOURS)


def places(markup: str) -> set[tuple[int, int]]:
    """Where the points of all paths are, followed from move to move."""
    found = set()
    for path in re.findall(r'<path d="(m[^"]+)"', markup):
        moves = re.findall(r"m(-?\d+) ?(-?\d+)z", path)
        assert "".join(re.split(r"m-?\d+ ?-?\d+z", path)) == ""
        found |= {(int(x), int(y)) for x, y in np.cumsum(np.array(moves, int), axis=0)}
    return found


def test_points_are_where_the_axes_put_them() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.integers(1, 79, 300), generator.uniform(6, 9, 300)
    markup = drawn(go.Scattergl(x=x, y=y, mode="markers", marker={"size": 5, "color": "#4c7da8", "opacity": 0.25}))
    expected = {
        (round(a / 80 * WIDTH), round((9 - b) / 3 * HEIGHT)) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    }
    found = places(markup)
    assert len(found) == len(expected)
    assert all(any(abs(a - c) <= 1 and abs(b - d) <= 1 for c, d in found) for a, b in expected)
    assert "stroke:var(--points);stroke-opacity:0.25;stroke-width:5px" in markup


def test_points_that_overlap_are_on_different_paths_so_that_they_darken() -> None:
    y = np.linspace(7, 7.1, 16)
    markup = drawn(go.Scattergl(x=[10] * 16, y=y, mode="markers", marker={"size": 5, "color": "#4c7da8"}))
    assert len(re.findall(r'<path d="m', markup)) == 16


def test_bars_lie_one_upon_the_other() -> None:
    bars = [go.Bar(x=[10, n], y=["a", "b"], orientation="h", marker={"color": "#4c7da8"}) for n in (20, 40)]
    around = frame()
    around["axes"]["y"]["range"] = [1.5, -0.5]
    first, second = re.findall(r'<path d="([^"]+)" style="fill', drawn(*bars, around=around, bargap=0.5))
    assert re.findall(r"M[\d.]+ ", first) == ["M0 ", "M0 "]
    assert re.findall(r"M([\d.]+) ", second) == ["375", "750"]  # 10 and 20 of 80


def test_a_line_ends_where_a_value_is_missing() -> None:
    line = {"color": "#000000", "width": 2, "dash": "dot"}
    markup = drawn(go.Scatter(x=[0, 8, 16, 24], y=[6, 7.5, np.nan, 9], mode="lines", line=line))
    assert 'd="M0 1000L300 500M900 0"' in markup
    assert "stroke-dasharray:3 3" in markup
    assert f'class="grid" d="M0 666.7h{WIDTH}"' in markup


def test_a_text_in_both_arrangements_moves_with_the_width() -> None:
    markup = drawn(around=frame([text("a<b", 525)], [text("a<b", 214)]))  # drawn once, in the middle of the plot
    (found,) = re.findall(r"left:calc\(([\d.]+)px \+ ([\d.]+)%\)[^>]+>a&lt;b<", markup)
    pixels, share = map(float, found)
    assert abs(pixels + share / 100 * 980 - 525) < 0.1
    assert abs(pixels + share / 100 * 358 - 214) < 0.1


def test_a_text_in_one_arrangement_alone_is_drawn_in_that() -> None:
    markup = drawn(around=frame([text("10", 515)], []))
    assert re.search(r'<div class="wide"><i class="axis" style="left:calc\(25\.0px \+ 50\.00%\)', markup)
    assert "narrow" not in markup


def test_what_no_page_opens_with_is_refused() -> None:
    with pytest.raises(KeyError):
        drawn(go.Pie(values=[1, 2]))
