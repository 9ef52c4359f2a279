"""What browser tests do on every page."""

import re
import time
from collections.abc import Callable

from playwright.sync_api import ConsoleMessage, Locator, Page, expect

SMALL = "?sample_size=1000"
"""What most tests open: it takes a few seconds, once."""

_RUN = re.compile(r"^Measure( ·|$)")
"""The button that starts what waits, and not “Measure here”, which measures what is there once more."""


def note_refused(page: Page, refused: list[str]) -> None:
    """Add to the list what the browser does not load or run from now on, as the server's headers tell it."""

    def note(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            refused.append(message.text)

    page.on("console", note)


def begin(page: Page, done: Locator) -> None:
    """Press Measure if the page asks first, as it does where this would take a slow or busy machine long."""
    run = page.get_by_role("button", name=_RUN)
    expect(run.or_(done).first).to_be_visible()
    if run.count() and not done.count():
        run.click()


def measured(page: Page) -> Page:
    """Wait until the job has ended and its picture is drawn."""
    done = page.get_by_text("sentences measured")
    begin(page, done)
    expect(done).to_be_visible()
    expect(page.locator(".js-plotly-plot .gl-canvas").first).to_be_visible()
    settle(page)
    return page


_SETTLED = """([quiet, patience]) => new Promise((resolve, reject) => {
    const app = document.querySelector("[data-testid=stApp]");
    const state = () => app.getAttribute("data-test-script-state");
    const changes = [];
    let ready;
    const wait = () => {
        clearTimeout(ready);
        if (state() == "notRunning") ready = setTimeout(end, quiet, resolve);
    };
    const tell = ({type, target}) =>
        `${type} of ${(target.closest ? target : target.parentElement)?.outerHTML.slice(0, 200)}`;
    const watching = new MutationObserver(found => {
        changes.push(...found.slice(-5).map(one => [Math.round(performance.now()), one]));
        changes.splice(0, changes.length - 20);
        wait();
    });
    const tooLate = setTimeout(end, patience, () => reject(new Error(
        `The page goes on changing; at ${Math.round(performance.now())} ms its script is ${state()}. Last of all:\\n` +
        changes.map(([when, one]) => `${when} ms: ${tell(one)}`).join("\\n")
    )));
    function end(how) {
        clearTimeout(tooLate);
        watching.disconnect();
        how();
    }
    watching.observe(document, {attributes: true, childList: true, characterData: true, subtree: true});
    wait();
})"""


def settle(page: Page) -> None:
    """Wait until no script runs and the page has stopped changing."""
    expect(page.locator("[data-testid=stApp]")).to_have_attribute("data-test-script-state", "notRunning")
    page.evaluate(_SETTLED, [700, 120_000])


def complete(page: Page, is_complete: Callable[[], bool]) -> None:
    """Wait until a page that has several jobs has done them all; press Measure as often as it asks."""
    run = page.get_by_role("button", name=_RUN)
    deadline = time.monotonic() + 240
    while not is_complete():
        assert time.monotonic() < deadline, "the page did not become complete"
        if run.count() and run.first.is_visible():
            run.first.click()
        page.wait_for_timeout(200)


_MOVED = """since => new Promise(resolve => {
    const found = [];
    const place = box => `${box.x},${box.y} ${box.width}x${box.height}`;
    const tell = ({node, previousRect, currentRect}) =>
        `${node?.outerHTML?.slice(0, 120) ?? node?.textContent}: ${place(previousRect)} to ${place(currentRect)}`;
    const add = entries => entries
        .filter(entry => entry.startTime >= since && !entry.hadRecentInput)
        .filter(entry => !entry.sources.every(source => source.node?.closest?.(".modebar")))
        .forEach(entry => found.push([entry.value, entry.startTime, ...entry.sources.map(tell)]));
    const observer = new PerformanceObserver(list => add(list.getEntries()));
    observer.observe({type: "layout-shift", buffered: true});
    setTimeout(() => { add(observer.takeRecords()); observer.disconnect(); resolve(found); }, 200);
})"""


def moved(page: Page, since: float = 0) -> float:
    """How much moved by itself since then (performance.now), as the browser's sum of layout shifts.

    Without the tools of a picture, which are invisible until somebody points at it. What moved is printed, for a test
    that fails.
    """
    found: list[list[float]] = page.evaluate(_MOVED, since)
    print(*found, sep="\n")
    return sum(value for value, *_ in found)


def fits(page: Page) -> bool:
    """Whether nothing has to be scrolled sideways."""
    return bool(page.locator("[data-testid=stMain]").evaluate("node => node.scrollWidth <= node.clientWidth"))


def unfold(page: Page, name: str) -> None:
    """Open the box of that name, and wait until it is open: a click on what is in it before then can be lost."""
    box = page.locator("details").filter(has=page.locator("summary").get_by_text(name, exact=True))
    box.locator("summary").click()
    expect(box).to_have_attribute("open", "")
    expect(box.get_by_test_id("stSkeleton")).to_have_count(0)  # what is in it has come
    box.evaluate("node => Promise.allSettled(node.getAnimations({subtree: true}).map(one => one.finished))")


def choose(page: Page, label: str, option: str) -> None:
    """Open a list and choose an option."""
    box = page.get_by_role("combobox", name=label)
    box.scroll_into_view_if_needed()  # a list closes when the page is scrolled
    settle(page)
    box.click()
    page.get_by_role("option", name=option, exact=True).click()
    settle(page)


def answer(page: Page) -> Locator:
    """The large sentence under the title."""
    return page.locator(".st-key-answer h2")


def numbers(page: Page) -> str:
    """The quiet line under the answer."""
    return page.locator(".st-key-numbers").inner_text()


def figures(page: Page) -> list[str]:
    """What that line has on the main page: R² of the straight line in percent, and how many sentences are shown."""
    found = re.match(r"Straight line.*?: (\S+%).* · ([\d,]+) of [\d,]+ sentences", numbers(page))
    assert found, numbers(page)
    return list(found.groups())


def sidebar(page: Page) -> Locator:
    """What the main column repeats for phones is hidden on wide screens, but there."""
    return page.locator("[data-testid=stSidebar]")


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
