"""The pages on where length lives and on searches in a browser."""

import re

import pytest
from browser.conftest import Visit, violations
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PAGES = {"where_length_lives": "Yes, but it fades", "search": "by dot product"}


def ready(page: Page, verdict: str) -> None:
    """Wait for the answer and its picture."""
    expect(page.get_by_role("heading", level=3)).to_contain_text(re.compile(verdict))
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()


def test_settings_survive_changes_of_page(visit: Visit) -> None:
    page = visit("search?similarity=dot&layer=3&others=untrained:minilm")
    ready(page, PAGES["search"])
    expect(page.get_by_text("Sample size")).to_be_hidden()
    for name, question in {
        "Where length lives": "Where can length be read",
        "Norm vs length": "after layer 3",
        "Does length bend my search?": "found more often",
    }.items():
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=2)).to_contain_text(question)
        for setting in ("similarity=dot", "layer=3", "others=untrained"):
            expect(page).to_have_url(re.compile(setting))
    ready(page, PAGES["search"])
    page.get_by_role("link", name="Where length lives").click()
    page.get_by_role("link", name="Does it matter?").click()
    expect(page).to_have_url(re.compile(r"/search\?.*layer=3"))
    ready(page, PAGES["search"])


def test_a_click_on_a_point_takes_its_layer(visit: Visit) -> None:
    page = visit("where_length_lives")
    ready(page, PAGES["where_length_lives"])
    picture = page.get_by_role("figure").first
    x, y = picture.evaluate(
        """(plot) => {
          const { x, y } = plot.data.find(({ name }) => name === "[CLS] vector")
          const area = plot.querySelector(".nsewdrag").getBoundingClientRect()
          const share = (value, [low, high]) => (value - low) / (high - low)
          return [
            area.left + share(x[2], plot.layout.xaxis.range) * area.width,
            area.bottom - share(y[2], plot.layout.yaxis.range) * area.height,
          ]
        }"""
    )
    page.mouse.click(x, y)
    expect(page.get_by_text("[CLS] after layer 2: R²")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2"))


@pytest.mark.parametrize(("path", "scheme"), [("where_length_lives", "light"), ("search", "dark")])
def test_everybody_can_use_these_pages(visit: Visit, path: str, scheme: str) -> None:
    page = visit(f"{path}?similarity=dot", scheme=scheme)
    ready(page, PAGES[path])
    for card in page.locator("summary").all():
        card.click()
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    assert violations(page) == []
