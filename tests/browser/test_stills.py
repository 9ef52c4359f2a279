"""What a page shows until it is drawn is where the page draws it."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, ViewportSize, expect
from support.browser import settle

from clsviz.ui.state import serving
from docs import stills

FRAMES = json.loads(stills.FRAMES.read_text("utf-8"))

NEAR = 2
"""Pixels."""

PLACES = """selector => [...document.querySelectorAll(selector)].map((node) => {
    const { x, y, width, height } = node.getBoundingClientRect()
    return [x, y, width, height]
})"""


ARE_NEAR = f"""([selector, expected, near]) => {{
    const found = ({PLACES})(selector)
    return expected.length && expected.every(
        (place, at) => place.every((value, side) => Math.abs(value - found[at][side]) < near))
}}"""


def places(page: Page, selector: str) -> list[list[float]]:
    found: list[list[float]] = page.evaluate(PLACES, selector)
    return found


@pytest.mark.parametrize("path", serving.PATHS)
def test_a_page_stands_still_where_it_is_then_drawn(visit: Callable[..., Page], path: str) -> None:
    page = visit("_stcore/health", viewport=stills.WIDE)
    held: list[Route] = []
    page.route("**/static/js/index.*.js", lambda route: held.append(route))  # what draws the page has to wait
    page.goto(page.url.replace("_stcore/health", path), wait_until="commit")
    expect(page.locator("#still .part").first).to_be_visible()
    stands: dict[str, tuple[list[list[float]], list[list[float]]]] = {}
    sizes: dict[str, ViewportSize] = {"narrow": stills.NARROW, "wide": stills.WIDE}
    for name, size in sizes.items():
        page.set_viewport_size(size)
        page.evaluate("document.fonts.ready")
        stands[name] = places(page, "#still .part"), places(page, "#still .chart")
    for route in held:
        route.continue_()
    expect(page.locator("#still")).to_have_count(0)
    settle(page)
    drawn = stills.measured(page)
    kept = FRAMES[path]
    assert drawn["words"] == kept["words"]
    for name, size in sizes.items():
        assert drawn[name]["margins"] == pytest.approx(kept[name]["margins"], abs=NEAR)
        assert [text["text"] for text in drawn[name]["texts"]] == [text["text"] for text in kept[name]["texts"]]
        page.set_viewport_size(size)
        parts, charts = stands[name]
        page.wait_for_function(ARE_NEAR, arg=[".js-plotly-plot", charts, NEAR])
        page.wait_for_function(ARE_NEAR, arg=[".nsewdrag", parts, NEAR])


def test_a_page_that_becomes_another_leaves_nothing_standing(visit: Callable[..., Page]) -> None:
    page = visit("", viewport=stills.WIDE)
    page.locator("[data-testid=stSidebar] a").nth(4).click()
    expect(page.locator("#still")).to_have_count(0)
    expect(page.locator("h1")).to_contain_text("Which model")
