"""The main page for those who use a keyboard or hear it, and that nothing on it moves by itself."""

from collections.abc import Callable

from playwright.sync_api import FloatRect, Page, ViewportSize, expect
from support.browser import answer, measured, moved, settle

WIDE, NARROW = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)

UPRIGHT, SMALL = ViewportSize(width=768, height=1024), ViewportSize(width=1024, height=768)
"""A tablet, whose sidebar is closed, and the same on its side, where it is open."""

MOST_STOPS = 32

MOST_MOVED = 0.1
"""What is good, says the definition of the measure: https://web.dev/articles/cls."""

FOCUSED = """() => {
    let node = document.activeElement;
    while (node.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
    if (node === document.body) return null;
    window.focused = node;
    const {x, y, width, height} = node.getBoundingClientRect();
    return [node.getAttribute("aria-label") ?? node.innerText.split("\\n").at(-1), {x, y, width, height}];
}"""

PARTS = ("model", "corpus", "answer", "scatter", "strip", "overlays", "colour")
"""The keys of what has its place on the page, whatever the view."""


def go_through(page: Page) -> list[str]:
    """What the Tab key leads to, after checking that each looks different while it has the focus."""
    names: list[str] = []
    for _ in range(2 * MOST_STOPS):
        page.keyboard.press("Tab")
        if (focused := page.evaluate(FOCUSED)) is None:  # the page itself
            continue
        name, box = focused
        if names[:1] == [name]:
            return names
        with_focus = picture(page, box)
        page.evaluate("focused.blur()")
        assert picture(page, box) != with_focus, name
        page.evaluate("focused.focus()")
        names.append(name)
    raise AssertionError("; ".join(names))


def picture(page: Page, box: FloatRect, around: int = 6) -> bytes:
    x, y = max(box["x"] - around, 0), max(box["y"] - around, 0)
    clip = FloatRect(x=x, y=y, width=box["width"] + 2 * around, height=box["height"] + 2 * around)
    return page.screenshot(clip=clip, animations="disabled")


def test_the_keyboard_reaches_everything_in_few_stops(visit: Callable[..., Page]) -> None:
    page = measured(visit("", viewport=WIDE))
    assert moved(page) < MOST_MOVED
    names = go_through(page)
    assert len(names) <= MOST_STOPS
    for name in ("Model", "Corpus", "Layer", "Length cutoff", "[CLS]", "Your own sentence", "Curves", "Copy link"):
        assert name in names

    page.get_by_role("button", name="Download plot as a PNG").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name="Zoom", exact=True)).to_be_focused()
    page.get_by_role("slider", name="Length cutoff").focus()
    help_of_it = page.get_by_role("button", name="Help for Length cutoff")
    expect(help_of_it).to_have_js_property("tabIndex", 0)
    page.keyboard.press("Shift+Tab")
    expect(help_of_it).to_be_focused()
    page.get_by_role("slider", name="Layer").focus()
    expect(help_of_it).to_have_js_property("tabIndex", -1)


def test_nothing_moves_while_a_page_loads(visit: Callable[..., Page], server: str) -> None:
    page = visit("_stcore/health", viewport=UPRIGHT)
    for path, size in (("", NARROW), ("", UPRIGHT), ("try_a_sentence", UPRIGHT), ("length_and_search", SMALL)):
        page.set_viewport_size(size)
        page.goto(server + path)
        expect(page.locator(".st-key-strip").get_by_text("Pooler output")).to_be_visible()
        settle(page)
        assert moved(page) < MOST_MOVED, path
    for width in (1280, 1200, 1101, 769, 390):  # the vectors that can be chosen are there in full
        page.set_viewport_size(ViewportSize(width=width, height=900))
        cut = page.locator(".st-key-pooling *").evaluate_all(
            "nodes => nodes.filter(node => node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 50).length"
        )
        assert (cut, width) == (0, width)


def places(page: Page) -> dict[str, float]:
    """How far down each part of the page begins."""
    return {
        key: page.locator(f".st-key-{key}").first.evaluate(
            "node => node.getBoundingClientRect().y + (node.closest('[data-testid=stMain]')?.scrollTop ?? 0)"
        )
        for key in PARTS
    }


def press(page: Page, slider: str, *keys: str) -> None:
    page.get_by_role("slider", name=slider).focus()
    for key in keys:
        page.keyboard.press(key)


def test_nothing_moves_and_a_new_answer_is_said(visit: Callable[..., Page]) -> None:
    page = measured(visit("?sample_size=500", viewport=WIDE))
    region = page.locator("p[role=status][aria-live=polite]")
    before, since = places(page), page.evaluate("performance.now()")
    for change in (
        lambda: press(page, "Layer", "Home", "ArrowRight"),
        lambda: press(page, "Layer", "End"),
        lambda: press(page, "Length cutoff", *["ArrowLeft"] * 8),
        lambda: page.get_by_text("Pooler output", exact=True).click(),
        lambda: page.get_by_text("[CLS]", exact=True).click(),
        lambda: page.get_by_role("button", name="Medians").click(),
        lambda: page.get_by_role("button", name="Shuffle lengths").click(),
        lambda: page.get_by_role("textbox", name="Your own sentence").press_sequentially("Sinan loves a day"),
    ):
        said = answer(page).inner_text()
        expect(region).to_have_text(said)
        change()
        page.wait_for_timeout(600)
        settle(page)
        assert places(page) == before
    assert moved(page, since) < MOST_MOVED / 20
