"""The page “Where length lives” as a visitor has it."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser import begin, figures, settle

PAGE = "where_length_lives?sample_size=1000&probe_size=600"


def analysed(page: Page) -> Page:
    """Wait until everything is measured and computed."""
    done = page.get_by_text("Gain and bias of the LayerNorm")
    begin(page, done)
    expect(done).to_be_visible()
    expect(page.get_by_text("So far, ")).to_have_count(0)
    expect(page.locator("[data-testid=stMetricValue]")).to_have_count(4)
    settle(page)
    return page


def test_a_visitor_sees_where_length_is_and_opens_a_cell(visit: Callable[..., Page], server: str) -> None:
    page = analysed(visit(PAGE))
    expect(page.get_by_role("heading", level=1)).to_have_text("Where does MiniLM-L6 write the length of a sentence?")
    expect(
        page.get_by_text(re.compile("predicts the length of held-out sentences best after layer 1: off by"))
    ).to_be_visible()
    best, last, norm, n = figures(page)
    assert float(best) > 0.9 > float(last) > float(norm)
    assert 550 < int(n) <= 600
    cells = page.locator(".js-plotly-plot").nth(2)
    cells.scroll_into_view_if_needed()
    drawing = cells.locator(".draglayer .nsewdrag").bounding_box()
    assert drawing is not None
    # Rows are the poolings, columns the layers 0 to 6: the mean, after layer 2.
    page.mouse.click(drawing["x"] + drawing["width"] * 2.5 / 7, drawing["y"] + drawing["height"] * 1.5 / 4)
    expect(page.get_by_role("heading", name="Norm of the mean-pooled vector, layer 2")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2&pooling=mean"))
    settle(page)
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{server}where_length_lives?")
    other = analysed(visit(link.removeprefix(server)))
    expect(other.get_by_role("heading", name="Norm of the mean-pooled vector, layer 2")).to_be_visible()
    assert figures(other) == figures(page)


def test_a_control_is_one_click(visit: Callable[..., Page]) -> None:
    page = analysed(visit(PAGE))
    page.get_by_role("button", name="Shuffle lengths").click()
    expect(page.get_by_text("lengths shuffled across sentences")).to_be_visible()
    best = page.locator("[data-testid=stMetricValue]").first
    expect(best).to_have_text(re.compile(r"^(0\.0|−)"))  # as whatever is read is chance
    expect(page).to_have_url(re.compile("lengths=shuffled"))
    page.get_by_role("button", name="Shuffle lengths").click()
    expect(page.get_by_text("lengths shuffled across sentences")).to_have_count(0)
