"""What holds for every figure: its colours, texts and unit, and that there may be next to nothing to draw.

How figures are drawn is kept in `drawn`: SNAPSHOTS=write pytest tests/figures writes that anew.
"""

import base64
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from support.figures import EVIL, PALETTE, PLACEHOLDERS, ranges_of
from support.lines import sample

from clsviz import figures
from clsviz.analysis.layers import AfterLayer, EveryLayer
from clsviz.figures import Axes, Palette, Points, labels_of
from clsviz.statistics.lengths import bins, slices
from clsviz.statistics.line import by_cutoff, fit

LENGTHS, NORMS = sample(300)
LENGTHS = LENGTHS.astype(np.int32)


def points(text: str, n: int = 300) -> Points:
    return Points(labels_of([text] * n), LENGTHS[:n], NORMS[:n])


def profile(*values: float, line: str = "norm") -> pd.DataFrame:
    rows = [(line, layer, value, value - 0.1, value + 0.1) for layer, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["line", "layer", "r_squared", "lowest", "highest"])


def errors(*values: float, line: str = "[CLS] vector") -> pd.DataFrame:
    rows = [(line, layer, value, 1 - value / 7, 0.9 - value / 7, np.nan) for layer, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["line", "layer", "error", "r_squared", "lower", "upper"]).assign(upper=0.95)


def spread(means: list[float], sds: list[float]) -> pd.DataFrame:
    return pd.DataFrame({"layer": range(len(means)), "mean": means, "sd": sds})


def grown(*words: str) -> pd.DataFrame:
    n = range(1, len(words) + 1)
    return pd.DataFrame({"variant": "as typed", "n_words": n, "tokens": n, "norm": 8.0, "added": words})


def path(name: str, *norms: float) -> pd.DataFrame:
    return pd.DataFrame({"name": name, "layer": range(len(norms)), "norm": norms})


def depths(name: str, *values: float) -> pd.DataFrame:
    n = len(values)
    return pd.DataFrame({"model": name, "layer": range(n), "depth": np.linspace(0, 1, n), "value": values})


def every_layer(n: int = 300) -> EveryLayer:
    after = AfterLayer(1, NORMS[:n], 7.4, 0.4, 0.1, -0.005, 7.6) if n else AfterLayer(1, NORMS[:0], 0.0, 0.0)
    layers = (replace(after, layer=0, r_squared=None, slope=None, intercept=None, problem="no line"), after)
    return EveryLayer(n, np.arange(n), LENGTHS[:n], layers if n else tuple(replace(one, problem="") for one in layers))


DRAWS = pd.DataFrame({"layer": [0, 1], "lowest": [1.3, 1.3], "highest": [1.4, 1.5], "least": 0.93, "most": 0.95})
QUARTILES = pd.DataFrame({"length": range(2, 80), "lower": 7.0, "median": 8.0, "upper": 8.5})
GROUPS = pd.DataFrame({"group": ["Layer 1"], "weights": [40], "share": [1.0], "attention": [15], "feed_forward": [20]})
SPANS = [f"{low}–{low + 3}" for low in range(2, 22, 2)]

FIGURES: dict[str, Callable[[Palette, str, str], go.Figure]] = {
    "scatter": lambda palette, text, unit: figures.scatter(
        points(text),
        Axes(unit=unit),
        palette,
        fit=fit(LENGTHS, NORMS),
        bins=bins(LENGTHS, NORMS),
        slices=slices(LENGTHS, NORMS),
        own=points(text, 2),
        selected=np.array([2, 3]),
    ),
    "panels": lambda palette, text, unit: figures.small_multiples(
        [(text, points(text), fit(LENGTHS, NORMS)), (text, points(text), None)], palette, shared_y=True, unit=unit
    ),
    "cutoffs": lambda palette, text, unit: figures.cutoff_lines(
        by_cutoff(LENGTHS, LENGTHS, NORMS), 30, palette, unit=unit.removesuffix("s")
    ),
    "lines": lambda palette, text, unit: figures.layer_lines(profile(0.5, 0.9, line=text), palette),
    "errors": lambda palette, text, unit: figures.errors_by_layer(
        errors(0.5, 4.0, line=text), palette, 6.5, unit=unit, n_layers=1, drawn=DRAWS, drawn_name="random"
    ),
    "spread": lambda palette, text, unit: figures.norm_spread(spread([7, 8], [0, 0.1]), palette),
    "dimensions": lambda palette, text, unit: figures.dimension_shares(np.array([0.1, 0.9]), np.array([1, 0]), palette),
    "growth": lambda palette, text, unit: figures.growth(grown("a", text), QUARTILES, palette, "Norm", unit=unit),
    "paths": lambda palette, text, unit: figures.layer_path(path(text, 6, 7), None, palette),
    "depths": lambda palette, text, unit: figures.relative_depth(depths(text, 0.5, 0.9), palette, y_title="R²"),
    "heat map": lambda palette, text, unit: figures.heat_map(np.ones((1, 1)), [text], [text], palette, marked=(0, 0)),
    "map": lambda palette, text, unit: figures.length_map(np.eye(10), SPANS, palette, unit),
    "way of [CLS]": lambda palette, text, unit: figures.way_of_cls(GROUPS, [(text, 1.5), ("Layer 1", 8.0)], palette),
    "projection": lambda palette, text, unit: figures.projection(
        np.stack([NORMS, NORMS], axis=1), LENGTHS, labels_of([text] * 300), palette, shares=(0.2, 0.05), unit=unit
    ),
}

HAS_TEXT = (
    "scatter",
    "panels",
    "lines",
    "errors",
    "growth",
    "paths",
    "depths",
    "heat map",
    "projection",
)
HAS_UNIT = ("scatter", "panels", "errors", "growth", "map", "projection")


def drawn(figure: go.Figure) -> str:
    """What is drawn, and not how Plotly looks by default."""
    made = json.loads(figure.to_json())
    made["layout"].pop("template", None)
    return json.dumps(made, ensure_ascii=False)


@pytest.mark.parametrize("name", FIGURES)
def test_colours_are_those_of_the_palette_so_that_a_theme_can_exchange_them(name: str) -> None:
    text = drawn(FIGURES[name](PLACEHOLDERS, "A sentence.", "tokens")).lower()
    assert any(colour in text for colour in vars(PLACEHOLDERS).values() if isinstance(colour, str))
    for role in ("points", "line", "summary", "own"):
        assert getattr(PALETTE, role).lower() not in text, role


@pytest.mark.parametrize("name", HAS_TEXT)
def test_text_is_no_markup(name: str) -> None:
    text = drawn(FIGURES[name](PALETTE, EVIL, "tokens"))
    assert "<b>bold" not in text
    assert "&lt;b&gt;b" in text


@pytest.mark.parametrize("name", HAS_UNIT)
def test_lengths_are_in_the_unit_that_was_asked(name: str) -> None:
    text = drawn(FIGURES[name](PALETTE, "A sentence.", "words")).lower()
    assert "token" not in text
    assert "word" in text


NOTHING: dict[str, Callable[[], go.Figure]] = {
    "scatter": lambda: figures.empty(Axes()),
    "no panels": lambda: figures.small_multiples([], PALETTE, shared_y=True),
    "panels of nothing": lambda: figures.small_multiples([("bert", points("", 0), None)], PALETTE, shared_y=False),
    "no lines": lambda: figures.layer_lines(profile(), PALETTE),
    "lines of one layer": lambda: figures.layer_lines(profile(0.5), PALETTE),
    "lines of nothing defined": lambda: figures.layer_lines(profile(np.nan, np.nan), PALETTE),
    "no errors": lambda: figures.errors_by_layer(errors(), PALETTE, float("nan")),
    "errors of nothing defined": lambda: figures.errors_by_layer(errors(np.nan, np.nan), PALETTE, 6.5, n_layers=1),
    "errors of one vector": lambda: figures.errors_by_layer(errors(1.5), PALETTE, 6.5),
    "no spread": lambda: figures.norm_spread(spread([], []), PALETTE),
    "spread of one layer": lambda: figures.norm_spread(spread([7], [0]), PALETTE),
    "spread of nothing": lambda: figures.norm_spread(spread([np.nan, 0], [np.nan, 0]), PALETTE),
    "dimensions": lambda: figures.dimension_shares(np.empty(0), np.empty(0, np.intp), PALETTE),
    "no growth": lambda: figures.growth(grown(), None, PALETTE, "Norm"),
    "the corpus alone": lambda: figures.growth(grown(), QUARTILES, PALETTE, "Norm"),
    "paths": lambda: figures.layer_path(path(""), None, PALETTE),
    "depths": lambda: figures.relative_depth(depths("").head(0), PALETTE, y_title="R²"),
    "heat map": lambda: figures.heat_map(np.empty((0, 0)), [], [], PALETTE),
    "heat map of nothing defined": lambda: figures.heat_map(np.full((1, 2), np.nan), ["a"], ["0", "1"], PALETTE),
    **{
        f"projection of {n}": lambda n=n: figures.projection(  # type: ignore[misc]
            np.zeros((n, 2)), LENGTHS[:n], labels_of(["a"] * n), PALETTE, shares=(0.2, 0.05)
        )
        for n in (0, 1)
    },
}


@pytest.mark.parametrize("draw", NOTHING.values(), ids=NOTHING.keys())
def test_little_or_nothing_to_draw_still_makes_a_figure(draw: Callable[[], go.Figure]) -> None:
    figure = draw()
    assert np.isfinite(ranges_of(figure)).all()
    assert "NaN" not in drawn(figure)


FEW = slice(0, 12)
NAN = float("nan")
PROFILE = pd.concat(
    [
        profile(NAN, 0.9, NAN, 0.4, line="whole vector"),
        profile(0.5, 0.4, 0.3, 0.2),
        profile(0.4, line="pooler output").assign(layer=3),
    ]
)
CLOUDS = [
    Points(labels_of([f"Sentence {at}." for at in range(9)]), LENGTHS[at : at + 9], NORMS[at : at + 9]) for at in (0, 9)
]
BAND = pd.DataFrame({"layer": [0, 1, 2], "lower": [6, 7, 8], "median": [6.5, 7.5, 8.5], "upper": [7, 8, 9]})
COSINES = np.linspace(0.1, 0.7, 100).reshape(10, 10)
VALUES = np.array([[NAN, 0.987, -0.041], [0.2, 1, 0.5]])
POOLINGS = ["[CLS]", "mean of tokens"]

DRAWN: dict[str, Callable[[], go.Figure]] = {
    "lines": lambda: figures.layer_lines(PROFILE.sample(frac=1, random_state=1), PALETTE),
    "lines, some of them yet": lambda: figures.layer_lines(PROFILE[PROFILE["layer"] == 1], PALETTE, n_layers=3),
    "errors": lambda: figures.errors_by_layer(
        pd.concat([errors(NAN, 0.5, 4.0), errors(NAN, 5.0, 6.4, line="its norm").assign(lower=NAN)]),
        PALETTE,
        6.5,
        n_layers=2,
        drawn=pd.concat([DRAWS, DRAWS.tail(1).assign(layer=2)]),
        drawn_name="random weights",
    ),
    "errors of one vector": lambda: figures.errors_by_layer(
        pd.concat([errors(1.5, line="vector"), errors(5.0, line="its norm")]), PALETTE, 6.5, unit="words"
    ),
    "lines, just below nothing": lambda: figures.layer_lines(profile(0.5, -0.05), PALETTE),
    "six lines": lambda: figures.layer_lines(pd.concat([profile(0.1, 0.2, line=f"{n}") for n in range(6)]), PALETTE),
    "spread": lambda: figures.norm_spread(spread([7, 8, 10, 16], [0, 0.0004, 0.02, 0.4]), PALETTE),
    "spread everywhere": lambda: figures.norm_spread(spread([7, 8], [0.1, 0.1]), PALETTE),
    "dimensions": lambda: figures.dimension_shares(
        np.array([0.1, 0.5, 0.05, 0.35]), np.array([1, 3, 0, 2]), PALETTE, n=3
    ),
    "growth": lambda: figures.growth(
        pd.concat([grown("The", EVIL, "sat"), grown("a", "a").assign(variant="one word")]), QUARTILES, PALETTE, "Norm"
    ),
    "growth alone": lambda: figures.growth(grown("a"), None, PALETTE, "Norm", unit="words"),
    "paths": lambda: figures.layer_path(pd.concat([path(EVIL, 7, 8, 9), path("two", 6, 6, 6)]), BAND, PALETTE),
    "many paths": lambda: figures.layer_path(pd.concat([path(f"{n}", 7, 8) for n in range(20)]), None, PALETTE),
    "depths": lambda: figures.relative_depth(
        pd.concat([depths("bert", 1, 0.5, 0.25, 0.1), depths("one layer", 1, 0.5)]), PALETTE, y_title="R²"
    ),
    "depths with a guess": lambda: figures.relative_depth(
        depths("bert", 3, 2, 4), PALETTE, y_title="Error", span=(0, 8), guess=6.5
    ),
    "cutoffs": lambda: figures.cutoff_lines(by_cutoff(LENGTHS, LENGTHS, NORMS), 30, PALETTE, unit="word"),
    "a cutoff above all": lambda: figures.cutoff_lines(by_cutoff(LENGTHS, LENGTHS, NORMS), 400, PALETTE),
    "way of [CLS]": lambda: figures.way_of_cls(GROUPS, [("[CLS]", 1.5), ("Embeddings", 7), ("Layer 1", 8)], PALETTE),
    "way of [CLS], shared weights": lambda: figures.way_of_cls(
        GROUPS, [("Embeddings", 7), ("Layer 2", 8), ("Pooler", 1)], PALETTE
    ),
    "weights alone": lambda: figures.way_of_cls(GROUPS, [], PALETTE),
    "heat map": lambda: figures.heat_map(VALUES, POOLINGS, ["0", "1", "2"], PALETTE, marked=(1, 2)),
    "a wide heat map": lambda: figures.heat_map(np.full((1, 25), 0.5), ["a"], [f"{n}" for n in range(25)], PALETTE),
    "map": lambda: figures.length_map(COSINES, SPANS, PALETTE, "words"),
    "map of nearly the same": lambda: figures.length_map(
        0.9 + COSINES / 1e5, [f"{n}–{n + 1}" for n in range(10)], PALETTE
    ),
    "panels": lambda: figures.small_multiples(
        [("one", CLOUDS[0], fit(LENGTHS, NORMS)), ("two", CLOUDS[1], None), ("none", points("", 0), None)],
        PALETTE,
        shared_y=False,
    ),
    "panels of one axis": lambda: figures.small_multiples(
        [(f"{n}", CLOUDS[n % 2], None) for n in range(5)], PALETTE, shared_y=True, is_scaled=True
    ),
    "projection": lambda: figures.projection(
        np.stack([NORMS, NORMS + 1], axis=1)[FEW],
        np.append(LENGTHS[:11], 500).astype(np.int32),
        labels_of(["a"] * 12),
        PALETTE,
        shares=(0.234, 0.05),
    ),
}


def readable(value: Any) -> Any:
    """Arrays as lists, and numbers to the digits that every machine agrees on."""
    if isinstance(value, dict) and "bdata" in value:
        found = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"])
        shape = [int(n) for n in str(value.get("shape", len(found))).split(",")]
        return readable(found.reshape(shape).tolist())
    if isinstance(value, dict):
        return {name: readable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_drawn_as_they_were(name: str) -> None:
    kept = Path(__file__).parent / "drawn" / f"{name}.json"
    found = readable(json.loads(drawn(DRAWN[name]())))
    if os.environ.get("SNAPSHOTS") == "write":
        kept.parent.mkdir(exist_ok=True)
        text = json.dumps(found, ensure_ascii=False, indent=1)
        short = re.sub(r"[\[{]\n[^\[\]{}]*[\]}]", lambda flat: re.sub(r"\n +", " ", flat[0]).replace("\n", " "), text)
        kept.write_text(short + "\n", encoding="utf-8")
    assert json.loads(json.dumps(found)) == json.loads(kept.read_text(encoding="utf-8"))
