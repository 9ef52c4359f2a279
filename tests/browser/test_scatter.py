"""The scatter in a browser: hovered over, selected, zoomed, touched, and drawn anew in its place."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import SMALL, choose, figures, hover, measured, numbers, plot, settle
from support.visit import serve

PLOT = "document.querySelector('.st-key-scatter .js-plotly-plot')"


def drag(page: Page, tool: str, *way: int) -> None:
    """Drag with a tool of the picture, from one place in it to another."""
    plot(page).hover()
    page.locator(f"[data-title='{tool}']").click()
    box = plot(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + way[0], box["y"] + way[1])
    page.mouse.down()
    page.mouse.move(box["x"] + way[2], box["y"] + way[3], steps=5)
    page.mouse.up()


def select_box(page: Page) -> None:
    drag(page, "Box Select", 120, 150, 300, 300)
    expect(page.get_by_text(re.compile(r"^[\d,]+ selected · "))).to_be_visible()
    settle(page)


def zoom_in(page: Page) -> None:
    before = ends_of_axes(page)
    drag(page, "Zoom", 100, 100, 600, 400)
    page.wait_for_function(f"{PLOT}._fullLayout.xaxis.range[1] < {before[1]}")
    settle(page)


def ends_of_axes(page: Page) -> list[float]:
    page.wait_for_function(f"{PLOT}?._fullLayout?.xaxis?.range && {PLOT}._fullLayout.yaxis?.range")
    return list(page.evaluate(f"[...{PLOT}._fullLayout.xaxis.range, ...{PLOT}._fullLayout.yaxis.range]"))


def n_selected(page: Page) -> int:
    """How many points are marked, as soon as there are any."""
    return int(page.wait_for_function(f"{PLOT}?._fullData?.[0]?.selectedpoints?.length").json_value())


def test_hovering_shows_the_sentence_a_click_all_of_it_a_box_many_and_the_copied_link_opens_the_same_picture(
    visit: Callable[..., Page], server: str
) -> None:
    page = measured(visit(f"{SMALL}&length_cutoff=25"))
    check_that_hovering_shows_the_sentence_a_click_all_of_it_and_a_box_many(page)
    check_that_the_copied_link_opens_the_same_picture(page, visit, server)


def check_that_hovering_shows_the_sentence_a_click_all_of_it_and_a_box_many(page: Page) -> None:
    sentence, tokens, norm, distance = hover(page).rsplit("<br>", 3)
    assert re.match(r"""["'(]?[A-Z]""", sentence)
    assert re.fullmatch(r"\d+ tokens", tokens)
    assert re.fullmatch(r"norm \d\.\d{4}", norm)
    assert re.fullmatch(r"[+−-]\d\.\d{2,} off the line", distance)

    beginning = sentence.split("<br>")[0]
    page.mouse.down()
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"^\d+ tokens · norm"))).to_be_visible()
    expect(page.locator("[data-testid=stText]").first).to_contain_text(beginning[:30].split("&")[0])

    select_box(page)
    expect(page.locator("[data-testid=stDataFrame]")).to_be_visible()
    marked = page.get_by_text(re.compile(r"^[\d,]+ selected · ")).inner_text().split(" ")[0]
    page.get_by_role("slider", name="Layer").press("ArrowLeft")
    expect(page.get_by_role("heading", level=1)).to_contain_text("after layer 5?")
    assert page.get_by_text(re.compile(r"^[\d,]+ selected · ")).inner_text().startswith(f"{marked} selected")


def check_that_the_copied_link_opens_the_same_picture(page: Page, visit: Callable[..., Page], server: str) -> None:
    page.get_by_role("textbox", name="Your own sentence").fill("A sentence & a half: 100% mine?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("yours")).to_be_visible()
    page.get_by_text("Include it in the link").click()
    expect(page).to_have_url(re.compile("text="))
    page.get_by_role("button", name="Lengths at a norm").click()
    settle(page)
    select_box(page)
    zoom_in(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(server)

    other = measured(visit(link.removeprefix(server)))
    assert figures(other) == figures(page)
    assert other.get_by_role("slider", name="Length cutoff").get_attribute("aria-valuetext") == "under 25"
    expect(other.get_by_role("textbox", name="Your own sentence")).to_have_value("A sentence & a half: 100% mine?")
    expect(other.locator(".annotation-text", has_text="yours")).to_be_visible()
    assert ends_of_axes(other) == pytest.approx(ends_of_axes(page), rel=1e-5)
    selected = page.get_by_text(re.compile(r"^[\d,]+ selected · ")).inner_text()
    expect(other.get_by_text(selected)).to_be_visible()
    in_cloud, *in_others = other.evaluate(f"{PLOT}._fullData.map(trace => (trace.selectedpoints || []).length)")
    assert in_cloud == int(re.findall(r"\d+", selected)[0])
    assert in_others
    assert not any(in_others)


def colours(page: Page) -> list[str]:
    """Of the points, of the line, and of the paper."""
    of_trace, of_layout = f"{PLOT}._fullData[0].marker.color", f"{PLOT}._fullLayout"
    return list(page.evaluate(f"[{of_trace}, {of_layout}.shapes[1].line.color, {of_layout}.paper_bgcolor]"))


def test_the_picture_is_drawn_anew_in_its_place(visit: Callable[..., Page]) -> None:
    page = measured(visit("?sample_size=500"))
    check_that_points_lie_where_they_say_and_another_theme_has_its_own_colours(page)
    check_that_a_change_of_the_view_is_drawn_into_the_same_chart_and_the_tool_stays(page)
    check_that_an_image_of_coloured_points_says_what_the_colours_stand_for(page)


def check_that_a_change_of_the_view_is_drawn_into_the_same_chart_and_the_tool_stays(page: Page) -> None:
    page.evaluate(f"() => {{ {PLOT}.dataset.mine = 'yes' }}")
    page.locator(".st-key-scatter").hover()
    page.locator(".st-key-scatter [data-title='Lasso Select']").click()
    before = page.evaluate(f"[...{PLOT}._fullData[0].y].sort()")
    first = page.evaluate(f"{PLOT}._fullData[0].y[0]")
    page.get_by_role("slider", name="Layer").press("ArrowLeft")
    page.wait_for_function(f"before => {PLOT}._fullData[0].y[0] !== before", arg=first)
    settle(page)
    assert page.evaluate(f"{PLOT}.dataset.mine") == "yes"
    assert page.evaluate(f"{PLOT}._fullLayout.dragmode") == "lasso"
    found = page.evaluate(
        f"[{PLOT}._fullData[0].y, {PLOT}._fullData[0].x, {PLOT}._fullData[0].text].map(a => a.length)"
    )
    assert found == [len(before)] * 3
    expect(page.get_by_role("figure", name="layer 5 against sentence length")).to_be_visible()


def check_that_points_lie_as_far_off_the_line_as_they_say(page: Page) -> None:
    line = page.evaluate(f"{PLOT}._fullLayout.shapes.find(shape => shape.type === 'line')")
    x, y, off = page.evaluate(f"['x', 'y', 'customdata'].map(name => [...{PLOT}._fullData[0][name]])")
    slope = (line["y1"] - line["y0"]) / (line["x1"] - line["x0"])
    for length, norm, distance in zip(x, y, off, strict=True):
        assert abs(norm - (line["y0"] + slope * (length - line["x0"])) - distance) < 1e-4


def check_that_points_lie_where_they_say_and_another_theme_has_its_own_colours(page: Page) -> None:
    check_that_points_lie_as_far_off_the_line_as_they_say(page)
    assert [colour.lower() for colour in colours(page)] == ["#4c7da8", "#d62728", "#ffffff"]
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{PLOT}._fullData[0].marker.color === '#7fb2dd'")
    points, line, paper = colours(page)
    assert (points, line) == ("#7fb2dd", "#ff6b5e")
    assert paper.lower() != "#ffffff"
    assert page.evaluate(f"{PLOT}._fullData[0].x.length") > 400
    check_that_points_lie_as_far_off_the_line_as_they_say(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"{PLOT}._fullData[0].marker.color.toLowerCase() === '#4c7da8'")
    settle(page)


def check_that_an_image_of_coloured_points_says_what_the_colours_stand_for(page: Page) -> None:
    choose(page, "Colour by", "Has a digit")
    expect(page.get_by_text("mean norm").first).to_be_visible()  # of those that have one, and of the others
    expect(page).to_have_url(re.compile("colour=digit"))
    settle(page)
    before = page.evaluate(f"[{PLOT}.data.length, {PLOT}.layout.showlegend, {PLOT}._fullLayout.height]")
    page.get_by_text("Cite and export").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Picture (SVG)").click()
    image = saved.value.path().read_text()
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", image)
    assert "Has a digit" in texts
    counts = [int(text.split("(")[1].rstrip(")")) for text in texts if re.fullmatch(r"(yes|no) \(\d+\)", text)]
    assert len(counts) == 2
    assert sum(counts) == page.evaluate(f"{PLOT}._fullData[0].x.length")
    assert int(re.findall(r'<svg[^>]* height="(\d+)"', image)[0]) > before[2]
    after = page.evaluate(f"[{PLOT}.data.length, {PLOT}.layout.showlegend, {PLOT}._fullLayout.height]")
    assert after == before  # the page itself is as it was


def test_what_a_visitor_did_stays_through_redraws_and_pages_and_a_click_opens_a_cell(
    visit: Callable[..., Page],
) -> None:
    page = measured(visit("?sample_size=500"))
    zoom_in(page)
    select_box(page)
    ends, n = ends_of_axes(page), n_selected(page)
    page.get_by_role("button", name="Medians").click()
    settle(page)
    assert ends_of_axes(page) == ends
    assert page.evaluate(f"{PLOT}._fullLayout.dragmode") == "select"
    assert page.locator(".selectionlayer path").count() > 0
    expect(page).to_have_url(re.compile("zoom=.*selected=box"))
    page.get_by_role("link", name="Where length lives").click()
    cells = page.locator(".st-key-cells .nsewdrag").first
    expect(page.get_by_role("heading", name="misses length by")).to_be_visible()
    settle(page)
    page.locator(".st-key-vectors_box summary").click()
    expect(cells).to_be_visible()
    settle(page)
    cells.scroll_into_view_if_needed()
    settle(page)
    box = cells.bounding_box()
    assert box is not None
    # Rows are the poolings, columns the layers 0 to 6: the mean, after layer 2.
    cell = box["x"] + box["width"] * 2.5 / 7, box["y"] + box["height"] * 1.5 / 4
    page.mouse.move(*cell)
    expect(page.locator(".st-key-cells .hovertext")).to_be_visible()  # a click before it has nothing to be of
    page.mouse.click(*cell)
    expect(page.get_by_role("heading", name="into its mean-pooled vector")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2&pooling=mean"))
    page.go_back()
    settle(page)  # the page's own link has no selection, and none was changed while it was open
    page.get_by_role("link", name="Norm vs length").click()
    expect(plot(page).locator(".gl-canvas").first).to_be_visible()
    settle(page)
    assert n_selected(page) == n  # though of another vector


@pytest.mark.parametrize("width", [1400, 390])
def test_the_first_picture_is_where_the_chart_is_drawn(browser: Browser, server: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 1000}, reduced_motion="reduce")
    page.set_default_timeout(180_000)
    page.route("**/static/js/index.*.js", lambda route: route.abort())
    page.goto(server)
    before = page.locator("#first img:visible").bounding_box()
    answered = page.locator("#first b:visible").last.inner_text()
    page.unroute_all()
    page.goto(server)
    expect(page.locator(".st-key-scatter .gl-canvas").first).to_be_visible()
    expect(page.locator("#first")).to_have_count(0)
    settle(page)
    after = page.locator(".st-key-scatter .nsewdrag").first.bounding_box()
    assert before is not None
    assert after is not None
    assert [before[side] for side in ("x", "y", "width", "height")] == pytest.approx(
        [after[side] for side in ("x", "y", "width", "height")], abs=3
    )
    assert page.locator(".st-key-answer h2").inner_text() == answered
    page.close()


SAMPLED = 500

_FEW_ARE_MANY = f"""\
from clsviz.figures import density
density.FEWEST_MEASURED, density.FEWEST_SHOWN, density.MOST_ABOVE = 5000, 1000, {SAMPLED}
"""


@pytest.fixture
def dense_page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The main page of a server that was told so when it started."""
    (tmp_path / "sitecustomize.py").write_text(_FEW_ARE_MANY)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    with serve(tmp_path, PYTHONPATH=path) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 1000}, reduced_motion="reduce")
        page.set_default_timeout(180_000)
        page.goto(address)
        page.wait_for_function(f"{PLOT}?._fullData?.[0]?.type === 'heatmap'")
        settle(page)
        yield page
        page.close()


def said(page: Page) -> list[str]:
    """What the cells say that have sentences."""
    return [text for row in page.evaluate(f"{PLOT}._fullData[0].text") for text in row if text]


def rows_seen(page: Page) -> int:
    low, high = ends_of_axes(page)[2:]
    return int(page.evaluate(f"[...{PLOT}._fullData[0].y].filter(edge => edge > {low} && edge < {high}).length"))


def drag_in_density(page: Page, tool: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Drag between two places, in shares of the picture, and wait until it is made for what is seen then; its caption.

    It must stay where the visitor has put it, also one who takes long over it.
    """
    before = page.evaluate(f"[...{PLOT}._fullData[1].y].join()")
    box = page.locator(".st-key-scatter .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.locator(f".st-key-scatter [data-title='{tool}']").click()
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in (start, end)]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*[(one + other) / 2 for one, other in zip(*places, strict=True)])
    page.wait_for_timeout(800)
    page.mouse.move(*places[1])
    page.mouse.up()
    page.wait_for_function(f"before => [...{PLOT}._fullData[1].y].join() !== before", arg=before)
    settle(page)
    x, y = page.evaluate(f"['x', 'y'].map(name => [...{PLOT}._fullData[1][name]])")
    left, right, low, high = ends_of_axes(page)
    assert 0 < len(x) <= SAMPLED
    assert all(left <= length <= right and low <= norm <= high for length, norm in zip(x, y, strict=True))
    return page.get_by_text("A cell’s colour is").inner_text()


def test_zooming_in_brings_finer_cells_and_other_points_and_the_picture_stays_in_its_place(dense_page: Page) -> None:
    page = dense_page
    assert f"the points are {SAMPLED} of the " in page.get_by_text("A cell’s colour is").inner_text()
    found = re.search(r"([\d,]+) of [\d,]+ sentences", numbers(page))
    assert found is not None
    counted = [re.fullmatch(r"\d+ tokens, norm [\d.]+–[\d.]+: ([\d,]+) sentences?", text) for text in said(page)]
    assert sum(int(match[1].replace(",", "")) for match in counted if match) == int(found[1].replace(",", ""))
    assert page.evaluate(f"{PLOT}._fullData[1].text.length") == SAMPLED
    whole, rows = ends_of_axes(page), rows_seen(page)

    caption = drag_in_density(page, "Zoom", (0.1, 0.4), (0.4, 0.6))
    zoomed = ends_of_axes(page)
    assert "in this part" in caption
    left, right, low, high = whole
    expected = [
        left + 0.1 * (right - left),
        left + 0.4 * (right - left),
        low + 0.4 * (high - low),
        low + 0.6 * (high - low),
    ]
    assert zoomed == pytest.approx(expected, rel=0.02)
    width = page.evaluate(f"[...{PLOT}._fullData[0].y].filter(edge => edge > {zoomed[2]}).slice(0, 2)")
    assert 2 * rows * (width[1] - width[0]) < high - low
    assert drag_in_density(page, "Pan", (0.5, 0.5), (0.6, 0.4)) != caption
    moved = ends_of_axes(page)
    assert [end - start for start, end in zip(zoomed, moved, strict=True)] == pytest.approx(
        [-0.1 * (zoomed[1] - zoomed[0])] * 2 + [-0.1 * (zoomed[3] - zoomed[2])] * 2, rel=0.1
    )
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{PLOT}._fullLayout.coloraxis.colorscale[0][1] === '#203149'")
    settle(page)
    assert ends_of_axes(page) == pytest.approx(moved)

    page.locator(".st-key-scatter [data-title='Reset axes']").click()
    expect(page.get_by_text("in this part")).to_have_count(0)
    settle(page)
    assert ends_of_axes(page) == pytest.approx(whole)
    assert rows_seen(page) == rows
    assert page.evaluate(f"{PLOT}._fullData[1].text.length") == SAMPLED


def test_sentences_are_stepped_through_and_selected_by_keyboard(visit: Callable[..., Page]) -> None:
    page = measured(visit(SMALL))
    plot, said = page.locator(".st-key-scatter .clsviz-plot"), page.locator(".st-key-scatter .clsviz-said")
    plot.focus()
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text(re.compile(r"· length \d+, norm [\d.]+ · 1 of "))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"selected=points%3A\d+"))
    expect(plot).to_be_focused()
