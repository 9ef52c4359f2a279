"""What browser tests do on every page."""

from playwright.sync_api import Locator, Page, expect

SMALL = "?sample_size=1000"
"""What most tests open: it takes a few seconds, once."""


def measured(page: Page) -> Page:
    """Wait until the job has ended and its picture is drawn."""
    expect(page.get_by_text("sentences measured")).to_be_visible()
    expect(page.locator(".js-plotly-plot .gl-canvas").first).to_be_visible()
    settle(page)
    return page


def settle(page: Page) -> None:
    """Wait until the page no longer changes."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(500)


def choose(page: Page, label: str, option: str) -> None:
    """Open a list and choose of it."""
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()
    settle(page)


def figures(page: Page) -> list[str]:
    return page.locator("[data-testid=stMetricValue]").all_inner_texts()


def plot(page: Page) -> Locator:
    return page.locator(".js-plotly-plot").first


def hover(page: Page) -> str:
    """Move over the cloud until a sentence's label shows; returns the label, and leaves the pointer there."""
    box = plot(page).bounding_box()
    assert box is not None
    for step in range(200):
        page.mouse.move(box["x"] + 120 + step * 3, box["y"] + box["height"] * 0.6 + step % 7)
        page.wait_for_timeout(50)
        label = page.locator(".hoverlayer .hovertext text")
        if label.count() and "off the line" in (text := label.first.evaluate("node => node.dataset.unformatted")):
            return str(text)
    raise AssertionError("no sentence under the pointer")
