"""The page in a browser: what only a browser does."""

import re
from pathlib import Path

import pytest
from browser.conftest import Visit, violations
from playwright.sync_api import Locator, Page, expect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

LINK = "?sample_size=500"


def ready(page: Page) -> Locator:
    """Wait for the answer and its picture; returns the picture."""
    expect(numbers(page)).to_be_visible()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    return page.get_by_role("figure").first


def numbers(page: Page) -> Locator:
    return page.get_by_text(re.compile("^R² .* sentences$"))


def place(picture: Locator, n: int) -> tuple[str, float, float]:
    """The sentence of the first point after n without neighbours, and where it is in the window."""
    return tuple(
        picture.evaluate(
            """(plot, n) => {
              const { x, y, text } = plot.data.find(({ name }) => name === "sentences")
              const area = plot.querySelector(".nsewdrag").getBoundingClientRect()
              const share = (value, [low, high]) => (value - low) / (high - low)
              const places = Array.from(x, (_, i) => [
                area.left + share(x[i], plot.layout.xaxis.range) * area.width,
                area.bottom - share(y[i], plot.layout.yaxis.range) * area.height,
              ])
              const isAlone = ([a, b], i) =>
                places.every(([c, d], j) => i === j || Math.hypot(a - c, b - d) > 15)
              const i = places.findIndex((place, i) => i >= n && isAlone(place, i))
              return [text[i].split("<br>")[0], ...places[i]]
            }""",
            n,
        )
    )


def type_sentence(page: Page, text: str) -> None:
    page.get_by_label("Your own sentences").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(f"★ “{text[:3]}")).to_be_visible()


def test_hover_shows_the_sentence_and_survives_a_redraw(visit: Visit) -> None:
    page = visit(LINK)
    text, x, y = place(ready(page), 0)
    page.mouse.move(x, y)
    label = page.locator(".hoverlayer .hovertext")
    expect(label).to_contain_text(text)
    type_sentence(page, "The cat sat.")
    expect(page.get_by_role("figure").first.locator(".annotation-text")).to_contain_text(
        ["The cat sat."]
    )
    expect(label).to_contain_text(text)


def test_nothing_in_a_sentence_comes_to_life(visit: Visit) -> None:
    text = "Is a :material/bug: :streamlit: at www.a.org, a@b.org, http://a.b, <b>$x$</b> -> --?"
    page = visit(LINK)
    ready(page)
    type_sentence(page, text)
    line = page.get_by_text("★ “Is a")
    assert f"“{text}”" in line.inner_text().replace("\N{WORD JOINER}", "")
    expect(line.locator("a, img, [role=img], b")).to_have_count(0)


def test_a_click_picks_a_sentence_into_a_table(visit: Visit) -> None:
    page = visit(LINK)
    text, x, y = place(ready(page), 50)
    page.mouse.click(x, y)
    cell = page.get_by_test_id("glide-cell-0-0")
    expect(cell).to_contain_text(text)
    page.mouse.click(x, y)
    expect(cell).to_have_count(0)


def test_a_click_on_a_bar_takes_its_layer(visit: Visit) -> None:
    page = visit(LINK)
    ready(page)
    strip = page.get_by_role("figure").nth(1)
    strip.scroll_into_view_if_needed()
    bar = strip.locator(".point path").nth(1).bounding_box()
    assert bar
    page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    expect(page.get_by_role("heading", level=2)).to_contain_text("after layer 1")
    expect(page).to_have_url(re.compile("layer=1"))


def test_a_link_shows_the_same_to_another(visit: Visit) -> None:
    page = visit(f"{LINK}&layer=3&unit=words&length_cutoff=40")
    ready(page)
    type_sentence(page, "A bird sings & sings.")
    page.get_by_role("button", name="Link").click()
    page.get_by_text("Include my sentences").click()
    address = page.get_by_test_id("stCode").first
    expect(address).to_contain_text("text=A+bird")
    other = visit(f"?{(address.text_content() or '').partition('?')[2]}")
    ready(other)
    expect(other.get_by_text("★ “A bird sings & sings.”")).to_be_visible()
    assert numbers(other).text_content() == numbers(page).text_content()


def test_a_finger_scrolls_the_page_and_a_tap_shows_a_sentence(visit: Visit) -> None:
    page = visit(LINK, size="phone")
    picture = ready(page)
    text, x, y = place(picture, 0)
    page.touchscreen.tap(x, y)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text(text[:10])
    session = page.context.new_cdp_session(page)
    for n in range(11):
        kind = "touchMove" if n else "touchStart"
        finger = {"x": 200, "y": 600 - 30 * n}
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") > 200


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page(visit: Visit, scheme: str, size: str) -> None:
    page = visit(f"{LINK}&colour=red", size=size, scheme=scheme)
    ready(page)
    page.get_by_text("The original experiment").click()
    expect(page.get_by_text("A blog post of 2021")).to_be_visible()
    assert violations(page) == []


def test_a_file_says_how_it_was_read(visit: Visit, tmp_path: Path) -> None:
    rows = [f"{n};Title {n};The body of text {n} has <b>{n % 7}</b> words." for n in range(30)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["id;title;body", *rows]), "utf-8")
    page = visit(LINK)
    page.get_by_role("button", name="Use your own file").first.click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("How own.csv was read")).to_be_visible()
    expect(page.get_by_text("column body · encoding utf-8 · 30 texts")).to_be_visible()
    page.get_by_role("button", name="Take column title").click()
    expect(page.get_by_text("column title · ")).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("How own.csv was read")).to_have_count(0)
