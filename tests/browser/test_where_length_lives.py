"""The page “Where length lives” as a visitor has it."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser import answer, begin, numbers, settle

PAGE = "where_length_lives?sample_size=1000&probe_size=600"


def analysed(page: Page) -> Page:
    """Wait until everything is measured and computed."""
    done = page.get_by_text("Gain and bias of the LayerNorm")
    begin(page, done)
    expect(done).to_be_visible()
    expect(page.get_by_text("So far, ")).to_have_count(0)
    expect(answer(page)).not_to_contain_text("so far")
    settle(page)
    return page


def test_a_visitor_sees_where_length_is_takes_the_control_and_opens_a_cell(
    visit: Callable[..., Page], server: str
) -> None:
    page = analysed(visit(PAGE))
    expect(page.get_by_role("heading", level=1)).to_have_text("Where does MiniLM-L6 write the length of a sentence?")
    expect(answer(page)).to_have_text(
        re.compile(
            r"^A linear probe misses length by \d\.\d tokens after layer 1, a line on \[CLS\]’s last norm by \d+\.\d, "
            r"guessing \d+\.\d\.$"
        )
    )
    page.get_by_text("In full: the best and the last layer").click()
    expect(
        page.get_by_text(re.compile("predicts the length of held-out sentences best after layer 1: off by"))
    ).to_be_visible()
    found = re.match(
        r"Held-out R² (\S+) after layer 1 · R² (\S+) after the last · "
        r"a line on the last norm R² (\S+), not held out · (\d+) sentences",
        numbers(page),
    )
    assert found
    best, last, norm, n = found.groups()
    assert float(best) > 0.9 > float(last) > float(norm)
    assert 550 < int(n) <= 600

    page.get_by_role("button", name="Shuffle lengths").click()
    expect(answer(page)).to_contain_text("Lengths shuffled: a linear probe")
    expect(page.locator(".st-key-numbers")).to_have_text(re.compile(r"^Held-out R² (0\.0|below 0)"))  # chance
    expect(page).to_have_url(re.compile("lengths=shuffled"))
    page.get_by_role("button", name="Shuffle lengths").click()
    expect(answer(page)).to_contain_text(re.compile("^A linear probe misses length by"))
    settle(page)

    cells = page.locator(".js-plotly-plot").nth(1)
    cells.scroll_into_view_if_needed()
    drawing = cells.locator(".draglayer .nsewdrag").bounding_box()
    assert drawing is not None
    # Rows are the poolings, columns the layers 0 to 6: the mean, after layer 2.
    page.mouse.click(drawing["x"] + drawing["width"] * 2.5 / 7, drawing["y"] + drawing["height"] * 1.5 / 4)
    expect(page.get_by_role("heading", name="Norm of the mean-pooled vector, layer 2")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2&pooling=mean"))
    settle(page)
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{server}where_length_lives?")
    other = analysed(visit(link.removeprefix(server)))
    expect(other.get_by_role("heading", name="Norm of the mean-pooled vector, layer 2")).to_be_visible()
    assert numbers(other) == numbers(page)
