"""The pictures of every layer on a phone, and the one that plays through them."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page, ViewportSize, expect
from support.browser import SMALL, fits, measured, settle

_PHONE = ViewportSize(width=390, height=844)


_FIRST_NORM = "node => node._fullData[0].y[0]"


def _played(page: Page) -> Locator:
    return page.locator(".st-key-played_layers .js-plotly-plot")


def test_the_panels_fit_a_phone_and_play_when_asked_and_never_by_themselves(visit: Callable[..., Page]) -> None:
    page = measured(visit(SMALL, viewport=_PHONE))
    page.get_by_text("Every layer, every cutoff", exact=True).click()
    panel = page.locator(".st-key-layer_panel_0 .js-plotly-plot")
    expect(panel).to_be_visible()
    settle(page)
    box = panel.bounding_box()
    assert box is not None
    assert 140 < box["width"] < 200  # two side by side
    assert fits(page)

    page.set_viewport_size({"width": 1400, "height": 1000})
    title = _played(page).locator(".annotation-text")
    expect(title).to_contain_text("Layer 1")
    settle(page)
    page.wait_for_timeout(1500)
    expect(title).to_contain_text("Layer 1")  # still
    before = _played(page).evaluate(_FIRST_NORM)
    slider = _played(page).get_by_role("slider", name="Layer")
    slider.press("End")
    expect(title).to_contain_text("Layer 6")
    slider.press("ArrowLeft")
    expect(title).to_contain_text("Layer 5")
    expect(slider).to_have_attribute("aria-valuetext", "5")
    slider.press("Home")
    expect(title).to_contain_text("Embeddings")
    _played(page).get_by_role("button", name="Play", exact=True).press("Enter")
    expect(title).to_contain_text("Layer 2")
    _played(page).get_by_role("button", name="Pause").press(" ")
    page.wait_for_timeout(500)
    stopped = title.text_content()
    page.wait_for_timeout(1500)
    assert title.text_content() == stopped
    assert _played(page).evaluate(_FIRST_NORM) != before
