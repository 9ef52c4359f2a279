"""Make the pictures that pages show until they are drawn, clsviz/web/stills: `make showcase`.

Where Plotly draws each is measured in a browser, and kept in stills.json; what it draws is what the page sends there.
"""

import html
import json
import os
import re
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from streamlit.elements.lib import streamlit_plotly_theme as theme
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from clsviz.figures.still import still
from clsviz.ui.state import serving
from clsviz.web.still import STILLS
from tests.support.visit import launch, serve

FRAMES = Path(__file__).with_suffix(".json")

WIDE, NARROW = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)

COLOURS = {
    theme.CATEGORY_0: "var(--points)",
    theme.CATEGORY_1: "var(--line)",
    theme.CATEGORY_2: "var(--summary)",
    theme.CATEGORY_3: "var(--own)",
    theme.BG_COLOR: "var(--background)",
}
"""Those that figures have for Streamlit to replace, and what still.css calls them."""

_ROLES = {
    "rgb(76, 125, 168)": "points",
    "rgb(214, 39, 40)": "line",
    "rgb(39, 49, 63)": "summary",
    "rgb(201, 138, 0)": "own",
    "rgb(128, 132, 149)": "axis",
    "rgb(38, 39, 48)": "legend",
    "rgb(154, 111, 196)": "fifth",
}
"""What the colours of the light theme stand for, by what a browser says of them."""

DRAWN = ".js-plotly-plot :is(.gl-canvas, .trace, .heatmaplayer image)"
"""There once the first picture of a page is drawn."""

MEASURE = r"""() => {
  const round = (value) => Math.round(10 * value) / 10
  const plot = document.querySelector(".js-plotly-plot")
  const box = plot.getBoundingClientRect()
  const layout = plot._fullLayout
  const axes = {}
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^[xy]axis\d*$/.test(name)) continue
    const grid = axis.showgrid ? axis._vals.map(({ x }) => x) : []
    axes[name.replace("axis", "")] = { range: [...axis.range], domain: [...axis.domain], grid }
  }
  const texts = []
  for (const node of plot.querySelectorAll(".main-svg text")) {
    if (node.closest(".hoverlayer, .modebar")) continue
    const style = getComputedStyle(node)
    const { a, b } = node.getScreenCTM()
    const background = node.closest(".annotation")?.querySelector("rect.bg")
    for (const line of node.querySelector("tspan.line") ? node.querySelectorAll("tspan.line") : [node]) {
      const { x, y, width, height } = line.getBoundingClientRect()
      if (!line.textContent.trim()) continue
      texts.push({
        text: line.textContent.trim(),
        x: round(x + width / 2 - box.x),
        y: round(y + height / 2 - box.y),
        size: parseFloat(style.fontSize),
        angle: Math.round(Math.atan2(b, a) * 180 / Math.PI),
        colour: style.fill,
        weight: line.querySelector("[style*=bold]") ? "600" : style.fontWeight,
        on: !!background && Number(getComputedStyle(background).fillOpacity) > 0,
      })
    }
  }
  const legend = [...plot.querySelectorAll(".legend .traces path[d]")].map((node) => {
    const style = getComputedStyle(node)
    const { e, f } = node.getScreenCTM()
    const width = style.stroke === "none" ? 0 : parseFloat(style.strokeWidth)
    return {
      d: node.getAttribute("d"), x: round(e - box.x), y: round(f - box.y), stroke: style.stroke, width,
      dash: style.strokeDasharray === "none" ? "" : style.strokeDasharray.replaceAll(/px|,/g, ""),
      fill: style.fill, opacity: Number(style.fillOpacity),
    }
  }).filter(({ fill, opacity, width }) => width || (fill !== "none" && opacity))
  const { l, r, t, b } = layout._size
  const headings = [...document.querySelectorAll("[data-testid=stMain] h3")]
  const said = (selector) => [...document.querySelectorAll(selector)].map((node) => node.innerText.trim())
  return {
    height: box.height,
    axes,
    arrangement: { width: box.width, margins: [l, r, t, b], texts, legend },
    words: {
      question: said("h1")[0],
      answer: said(".st-key-answer h2")[0],
      numbers: document.querySelector(".st-key-numbers") && said(".st-key-numbers p"),
      heading: headings.filter((node) => node.compareDocumentPosition(plot) & 4).map((node) => node.innerText.trim()),
    },
    beside: [...document.querySelectorAll(".st-key-question > *")].slice(1).map((node) => node.offsetWidth),
  }
}"""
"""What is known of the first picture of a page, and of what stands above it."""


def measured(page: Page) -> dict[str, Any]:
    """All of it, on a wide page and on a narrow one, of a page that is drawn."""
    of = {}
    for name, size in (("wide", WIDE), ("narrow", NARROW)):
        page.set_viewport_size(size)
        page.wait_for_function(FITS)
        before = None
        while (found := page.evaluate(MEASURE)) != before:  # Plotly draws in several steps
            before = found
            page.wait_for_timeout(_PAUSE)
        of[name] = found
    wide, narrow = of["wide"], of["narrow"]
    for one in (wide, narrow):
        for text in one["arrangement"]["texts"]:
            text["colour"] = _ROLES[text["colour"]]
        for stroke in one["arrangement"]["legend"]:
            stroke |= {kind: _variable(stroke[kind]) for kind in ("stroke", "fill")}
    about = {name: wide[name] for name in ("height", "axes", "words", "beside")}
    return about | {name: of[name]["arrangement"] for name in of}


_PAUSE = 250
"""Milliseconds in which a chart that is still being drawn changes."""

FITS = """() => {
  const plot = document.querySelector(".js-plotly-plot")
  const chart = plot.closest("[data-testid=stPlotlyChart]")
  return Math.abs(plot._fullLayout.width - chart.clientWidth) < 1
}"""


def _variable(colour: str) -> str:
    return "none" if colour == "none" else f"var(--{_ROLES[colour]})"


def measure(browser: Browser) -> dict[str, Any]:
    """How a browser arranges the first picture of every page, of a server with an empty store."""
    frames = {}
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as address:
        for path in serving.PATHS:
            page = browser.new_page(viewport=WIDE, color_scheme="light")
            page.goto(address + path)
            page.locator(DRAWN).first.wait_for(state="attached")
            page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
            page.wait_for_timeout(3000)  # fonts, and what is drawn once more
            frames[path] = measured(page)
            page.close()
    return frames


def figure_of(path: str) -> Mapping[str, Any]:
    """The first picture of a page, as it goes to the browser."""
    page = AppTest.from_file(str(Path(__file__).parents[1] / "app.py"), default_timeout=60)
    if path:
        page._page_hash = calc_hash(path)
    page.run()
    figure: dict[str, Any] = json.loads(page.get("plotly_chart")[0].proto.spec)
    return figure if figure["data"] else _drawn_into(page)


def _drawn_into(page: AppTest) -> dict[str, Any]:
    """What the browser draws into an empty chart."""
    for element in page.get("bidi_component"):
        if element.proto.component_name == "clsviz.drawing":
            sent = json.loads(zlib.decompress(element.proto.bytes.partition(b"\n")[2]))
            if "figure" in sent:
                return dict(sent["figure"])
    raise LookupError("The page draws nothing.")


def made(frame: Mapping[str, Any], figure: Mapping[str, Any]) -> str:
    """The page as it stands still."""
    words = frame["words"]
    beside = "".join(f'<u style="width:{width}px"></u>' for width in frame["beside"])
    lines = [
        f'<div class="question"><b>{html.escape(words["question"])}</b>{beside}</div>',
        f'<div class="answer"><b>{html.escape(words["answer"])}</b></div>',
    ]
    if words["numbers"] is not None:
        lines.append(
            f'<div class="numbers">{"".join(f"<div>{html.escape(line)}</div>" for line in words["numbers"])}</div>'
        )
    head = f'<div class="head">{"".join(lines)}</div>'
    headings = [f'<div class="heading">{html.escape(line)}</div>' for line in words["heading"]]
    return "\n".join([head, *headings, still(figure, frame, COLOURS), ""])  # type: ignore[arg-type]


def name_of(path: str) -> str:
    """The file of a page."""
    return f"{path or 'norm_vs_length'}.html"


def main() -> None:
    """Measure and make all of them."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        frames = measure(browser)
        browser.close()
    STILLS.mkdir(exist_ok=True)
    text = json.dumps(frames, ensure_ascii=False, separators=(",", ":"))
    FRAMES.write_text(re.sub(r'(?=[{]"(?:text|d)":|"(?:wide|narrow|axes|words)":)', "\n", text) + "\n", "utf-8")
    draw(frames)


def draw(frames: Mapping[str, Any]) -> None:
    """Make all of them, as they were measured."""
    with tempfile.TemporaryDirectory() as store:
        os.environ["CLSVIZ_STORE"] = store
        for path, frame in frames.items():
            (STILLS / name_of(path)).write_text(made(frame, figure_of(path)), "utf-8")


if __name__ == "__main__":
    main()
