"""The small pictures of every layer, on a phone."""

from collections.abc import Callable

from playwright.sync_api import Page, ViewportSize, expect
from support.browser import SMALL, fits, measured, settle

_PHONE = ViewportSize(width=390, height=844)


def test_the_small_pictures_fit_a_phone_and_open_their_views(visit: Callable[..., Page]) -> None:
    page = measured(visit(SMALL, viewport=_PHONE))
    assert page.locator(".st-key-tour_box").count() == 0  # never by itself
    small = page.locator(".st-key-thumbnails_place").get_by_role("button")
    last = small.filter(has_text="Layer 6")
    expect(last).to_have_attribute("aria-pressed", "true")
    assert fits(page)
    small.first.focus()
    page.keyboard.press("Enter")
    expect(small.first).to_have_attribute("aria-pressed", "true")
    settle(page)
    assert "layer=1" in page.url
    expect(small.first).to_be_focused()
    last.click()
    expect(last).to_have_attribute("aria-pressed", "true")
