"""Charts under a finger: it scrolls the page, a tap reads a sentence, and a tool is there when it is asked for."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from support.browser import SMALL, measured, settle

PLOT = "document.querySelector('.st-key-scatter .js-plotly-plot')"


@pytest.fixture
def phone(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    context.set_default_timeout(180_000)
    yield context
    context.close()


def drag(page: Page, x: float, y: float, right: float, down: float) -> None:
    """A finger that rests before it leaves: a page that went on scrolling would swallow the next tap."""
    finger = page.context.new_cdp_session(page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 11):
        at = {"x": x + right * step / 10, "y": y + down * step / 10}
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    page.wait_for_timeout(200)
    finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def ends_of_axes(page: Page, plot: str = PLOT) -> object:
    return page.evaluate(f"[{plot}._fullLayout.xaxis.range, {plot}._fullLayout.yaxis.range]")


def test_a_finger_scrolls_the_page_a_tap_reads_a_sentence_and_a_lasso_is_there_when_asked_for(
    phone: BrowserContext, server: str
) -> None:
    page = phone.new_page()
    page.goto(server + SMALL)
    measured(page)
    before = ends_of_axes(page)
    picture = page.locator(".st-key-scatter .nsewdrag").first
    box = picture.bounding_box()
    assert box is not None
    drag(page, box["x"] + 100, box["y"] + 200, 0, -200)
    settle(page)
    after = picture.bounding_box()
    assert after is not None
    assert after["y"] < box["y"] - 100
    assert ends_of_axes(page) == before
    x, y = page.evaluate(
        f"(({{_fullLayout: of, _fullData: [cloud]}}) => [of.xaxis.d2p(cloud.x[0]), of.yaxis.d2p(cloud.y[0])])({PLOT})"
    )
    page.touchscreen.tap(after["x"] + x, after["y"] + y)
    expect(page.get_by_text(re.compile(r"^\d+ tokens · norm"))).to_be_visible()
    settle(page)
    page.locator(".st-key-scatter [data-title='Box Select']").tap()
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    drag(page, box["x"] + 20, box["y"] + 60, 120, 120)
    expect(page.get_by_text(re.compile(r"^[\d,]+ selected · "))).to_be_visible()
    assert ends_of_axes(page) == before


def test_the_menu_of_a_phone_goes_once_a_page_is_chosen(phone: BrowserContext, server: str) -> None:
    page = phone.new_page()
    page.goto(f"{server}try_a_sentence")
    settle(page)
    page.get_by_test_id("stExpandSidebarButton").tap()
    menu = page.get_by_test_id("stSidebar")
    expect(menu).to_be_in_viewport()
    menu.get_by_role("link", name="Inside the model").tap()
    expect(page).to_have_url(re.compile("inside_the_model"))
    expect(menu).not_to_be_in_viewport()


def test_a_finger_on_other_charts_scrolls_the_page(phone: BrowserContext, server: str) -> None:
    page = phone.new_page()
    page.goto(f"{server}where_length_lives")
    for key in ("lines", "cells"):
        if key == "cells":
            page.locator(".st-key-vectors_box summary").tap()
        picture = page.locator(f".st-key-{key} .nsewdrag").first
        expect(picture).to_be_visible()
        settle(page)
        picture.evaluate("node => node.scrollIntoView({block: 'center'})")
        settle(page)
        plot = f"document.querySelector('.st-key-{key} .js-plotly-plot')"
        box, before = picture.bounding_box(), ends_of_axes(page, plot)
        assert box is not None
        drag(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 0, 150)
        settle(page)
        after = picture.bounding_box()
        assert after is not None
        assert after["y"] > box["y"] + 80, key
        assert ends_of_axes(page, plot) == before
