"""How long a visitor waits after each touch, until the page is still: part of python -m benchmarks.page --browser."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page

_ROUNDS = 5

_WATCH = """() => {
    window.lastChange = performance.now()
    new MutationObserver(() => { window.lastChange = performance.now() })
        .observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true })
}"""

_QUIET_MILLISECONDS = 700

_IS_QUIET = f"() => performance.now() - window.lastChange > {_QUIET_MILLISECONDS}"


@dataclass(frozen=True)
class Touch:
    """Something that a visitor does, and what of the page's text then changes, which is waited for first."""

    name: str
    act: Callable[[Page, int], None]
    changes: str


def _press(slider: str) -> Callable[[Page, int], None]:
    def act(page: Page, _: int) -> None:
        page.get_by_role("slider", name=slider).press("ArrowLeft")

    return act


def _type(page: Page, turn: int) -> None:
    page.get_by_role("textbox", name="Your own sentence").fill(f"This is sentence number {turn}.")


def _draw_a_box(page: Page, turn: int) -> None:
    plot = page.locator(".st-key-scatter .nsewdrag").first.bounding_box()
    assert plot is not None
    left, top = plot["x"] + plot["width"] * (0.1 + 0.05 * turn), plot["y"] + plot["height"] * 0.3
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + plot["width"] * 0.2, top + plot["height"] * 0.4, steps=3)
    page.mouse.up()


def _switch(page: Page, turn: int) -> None:
    page.get_by_role("link", name=("Inside the model", "Norm vs length")[turn % 2]).click()


_NUMBERS, _HEADING = ".st-key-numbers", "h1"

TOUCHES = (
    Touch("the length cutoff", _press("Length cutoff"), _NUMBERS),
    Touch("the layer", _press("Layer"), _HEADING),
    Touch("a sentence, the model loaded", _type, ".stCode"),
    Touch("another page", _switch, _HEADING),
)

BOX = Touch("a box around points", _draw_a_box, ".stMain")


def measure(browser: Browser, address: str, query: str, touches: tuple[Touch, ...]) -> dict[str, list[float]]:
    """Seconds from each touch until nothing on the page changes any more, the debounce of a text box included."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(180_000)
    page.goto(f"{address}{query}")
    page.locator(".st-key-scatter .gl-canvas").first.wait_for(state="attached")
    page.evaluate(_WATCH)
    page.wait_for_function(_IS_QUIET)
    if BOX in touches:
        page.mouse.move(800, 400)
        page.locator(".st-key-scatter [data-title='Box Select']").click()
    seconds: dict[str, list[float]] = {}
    for touch in touches:
        for turn in range(_ROUNDS + 1):
            before = page.locator(touch.changes).first.text_content() if page.locator(touch.changes).count() else ""
            page.wait_for_function(_IS_QUIET)
            began = float(page.evaluate("performance.now()"))
            touch.act(page, turn)
            page.wait_for_function(
                "([place, before]) => (document.querySelector(place)?.textContent ?? '') !== before",
                arg=[touch.changes, before],
            )
            page.wait_for_function(_IS_QUIET)
            if turn:  # the first loads what is needed
                ended = float(page.evaluate("window.lastChange"))
                seconds.setdefault(touch.name, []).append((ended - began) / 1000)
    page.close()
    return seconds


def report(browser: Browser, store: Path, n_sentences: int) -> None:
    """Print a line for each touch, of the default picture and of one of n_sentences that are measured in the store."""
    from tests.support.visit import serve

    with TemporaryDirectory() as folder:
        with serve(Path(folder)) as address:
            _print("5,000 sentences", measure(browser, address, "", TOUCHES))
        with serve(Path(folder), CLSVIZ_STORE=str(store)) as address:
            query = f"?corpus=package-docs&sample_size={n_sentences}"
            _print(f"{n_sentences:,} sentences", measure(browser, address, query, (*TOUCHES[:2], BOX)))


def _print(what: str, seconds: dict[str, list[float]]) -> None:
    for name, found in seconds.items():
        print(f"{what}, {name}: {statistics.median(found):.2f} s ({min(found):.2f} to {max(found):.2f}, {len(found)})")
