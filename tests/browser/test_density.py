"""The picture of very many sentences, in a browser: as if the 5,000 that come with clsviz were very many."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import numbers, settle
from support.visit import serve

PLOT = "document.querySelector('.st-key-scatter .js-plotly-plot')"

SAMPLED = 500

_FEW_ARE_MANY = f"""\
from clsviz.figures import density
density.FEWEST_MEASURED, density.FEWEST_SHOWN, density.MOST_ABOVE = 5000, 1000, {SAMPLED}
"""


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The main page of a server that was told so when it started."""
    (tmp_path / "sitecustomize.py").write_text(_FEW_ARE_MANY)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    with serve(tmp_path, PYTHONPATH=path) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
        page.set_default_timeout(180_000)
        page.goto(address)
        page.wait_for_function(f"{PLOT}?._fullData?.[0]?.type === 'heatmap'")
        settle(page)
        yield page
        page.close()


def said(page: Page) -> list[str]:
    """What the cells say that have sentences."""
    return [text for row in page.evaluate(f"{PLOT}._fullData[0].text") for text in row if text]


def seen(page: Page) -> list[float]:
    """The ends of both axes."""
    return list(page.evaluate(f"[...{PLOT}._fullLayout.xaxis.range, ...{PLOT}._fullLayout.yaxis.range]"))


def rows_seen(page: Page) -> int:
    low, high = seen(page)[2:]
    return int(page.evaluate(f"[...{PLOT}._fullData[0].y].filter(edge => edge > {low} && edge < {high}).length"))


def drag(page: Page, tool: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Drag between two places, in shares of the picture, and wait until it is made for what is seen then; its caption.

    It must stay where the visitor has put it, also one who takes long over it.
    """
    before = page.evaluate(f"{PLOT}.layout.meta")
    box = page.locator(".st-key-scatter .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.locator(f".st-key-scatter [data-title='{tool}']").click()
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*[(one + other) / 2 for one, other in zip(*places, strict=True)])
    page.wait_for_timeout(800)
    page.mouse.move(*places[1])
    page.mouse.up()
    page.wait_for_function(f"before => {PLOT}.layout.meta !== before", arg=before)
    settle(page)
    x, y = page.evaluate(f"['x', 'y'].map(name => [...{PLOT}._fullData[1][name]])")
    left, right, low, high = seen(page)
    assert 0 < len(x) <= SAMPLED
    assert all(left <= length <= right and low <= norm <= high for length, norm in zip(x, y, strict=True))
    return page.get_by_text("A cell’s colour is").inner_text()


def test_zooming_in_brings_finer_cells_and_other_points_and_the_picture_stays_in_its_place(page: Page) -> None:
    assert f"the points are {SAMPLED} of the " in page.get_by_text("A cell’s colour is").inner_text()
    found = re.search(r"([\d,]+) of [\d,]+ sentences", numbers(page))
    assert found is not None
    counted = [re.fullmatch(r"\d+ tokens, norm [\d.]+–[\d.]+: ([\d,]+) sentences?", text) for text in said(page)]
    assert sum(int(match[1].replace(",", "")) for match in counted if match) == int(found[1].replace(",", ""))
    assert page.evaluate(f"{PLOT}._fullData[1].text.length") == SAMPLED
    whole, rows = seen(page), rows_seen(page)

    caption = drag(page, "Zoom", (0.1, 0.4), (0.4, 0.6))
    zoomed = seen(page)
    assert "in this part" in caption
    left, right, low, high = whole
    expected = [
        left + 0.1 * (right - left),
        left + 0.4 * (right - left),
        low + 0.4 * (high - low),
        low + 0.6 * (high - low),
    ]
    assert zoomed == pytest.approx(expected, rel=0.02)
    width = page.evaluate(f"[...{PLOT}._fullData[0].y].filter(edge => edge > {zoomed[2]}).slice(0, 2)")
    assert 2 * rows * (width[1] - width[0]) < high - low
    assert drag(page, "Pan", (0.5, 0.5), (0.6, 0.4)) != caption
    moved = seen(page)
    assert [end - start for start, end in zip(zoomed, moved, strict=True)] == pytest.approx(
        [-0.1 * (zoomed[1] - zoomed[0])] * 2 + [-0.1 * (zoomed[3] - zoomed[2])] * 2, rel=0.1
    )
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{PLOT}._fullLayout.coloraxis.colorscale[0][1] === '#203149'")
    settle(page)
    assert seen(page) == pytest.approx(moved)

    page.locator(".st-key-scatter [data-title='Reset axes']").click()
    expect(page.get_by_text("in this part")).to_have_count(0)
    settle(page)
    assert seen(page) == pytest.approx(whole)
    assert rows_seen(page) == rows
    assert page.evaluate(f"{PLOT}._fullData[1].text.length") == SAMPLED
