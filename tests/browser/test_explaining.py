"""What explains the main page in a browser: the small pictures of the layers, and the tour."""

from collections.abc import Callable

from playwright.sync_api import Page, ViewportSize, expect
from support.browser import SMALL, fits, measured, settle

_PHONE = ViewportSize(width=390, height=844)

_FRAMED = """() => {
    const box = document.querySelector(".st-key-tour_box").getBoundingClientRect();
    const header = document.querySelector("[data-testid=stHeader]").getBoundingClientRect();
    const framed = [...document.querySelectorAll("[class*=st-key-]")]
        .filter(part => getComputedStyle(part).outlineStyle === "solid")
        .map(part => part.getBoundingClientRect());
    const isSeen = part => header.bottom <= part.top && part.bottom <= box.top;
    return [framed.map(isSeen), box.top > 0 && box.bottom <= innerHeight && box.right <= innerWidth];
}"""
"""Whether each thing that the tour frames lies between the page's header and the tour's box, and the box on the screen.
"""


def test_the_small_pictures_open_their_views_and_the_tour_can_be_taken(visit: Callable[..., Page]) -> None:
    page = measured(visit(SMALL, viewport=_PHONE))
    assert page.locator(".st-key-tour_box").count() == 0  # never by itself
    check_that_the_small_pictures_fit_a_phone_and_open_their_views(page)
    page.set_viewport_size({"width": 1400, "height": 1000})
    check_that_the_tour_can_be_taken_by_keyboard_and_the_focus_stays_on_its_button(page)
    page.set_viewport_size(_PHONE)
    check_that_what_the_tour_is_about_is_seen_on_a_phone_beside_its_box(page)


def check_that_the_small_pictures_fit_a_phone_and_open_their_views(page: Page) -> None:
    small = page.locator(".st-key-thumbnails_place").get_by_role("button")
    expect(small.last).to_have_attribute("aria-pressed", "true")
    assert fits(page)
    small.first.focus()
    page.keyboard.press("Enter")
    expect(small.first).to_have_attribute("aria-pressed", "true")
    settle(page)
    assert "layer=1" in page.url
    expect(small.first).to_be_focused()
    small.last.click()
    expect(small.last).to_have_attribute("aria-pressed", "true")


def check_that_the_tour_can_be_taken_by_keyboard_and_the_focus_stays_on_its_button(page: Page) -> None:
    assert page.locator(".st-key-tour_box").count() == 0  # never by itself
    page.get_by_role("button", name="Tour").focus()
    page.keyboard.press("Enter")
    box = page.locator(".st-key-tour_box")
    for number in range(1, 6):
        expect(box).to_contain_text(f"{number} of 5")
        settle(page)
        if number == 1:
            page.get_by_role("button", name="Next").focus()
        page.keyboard.press("Enter")
    expect(box).to_have_count(0)
    expect(page.locator(".st-key-scatter .js-plotly-plot")).to_be_visible()


def check_that_what_the_tour_is_about_is_seen_on_a_phone_beside_its_box(page: Page) -> None:
    settle(page)
    page.get_by_role("button", name="Tour").click()
    seen = []
    for number in range(1, 6):
        expect(page.locator(".st-key-tour_box")).to_contain_text(f"{number} of 5")
        settle(page)
        is_seen, is_box_seen = page.evaluate(_FRAMED)
        assert is_box_seen
        seen.append(is_seen)
        page.locator(".st-key-tour_next").get_by_role("button").click()
    assert seen == [[True], [True], [True, False], [True], [True, True]]  # of the third, all does not fit
