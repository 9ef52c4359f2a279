"""The picture of the main page, which is drawn anew in its place."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser import choose, measured, settle

PLOT = "document.querySelector('.st-key-scatter .js-plotly-plot')"

QUERY = "?sample_size=500"


def colours(page: Page) -> list[str]:
    """Of the points, of the line, and of the paper."""
    of_trace, of_layout = f"{PLOT}._fullData[0].marker.color", f"{PLOT}._fullLayout"
    return list(page.evaluate(f"[{of_trace}, {of_layout}.shapes[1].line.color, {of_layout}.paper_bgcolor]"))


def test_the_picture_is_drawn_anew_in_its_place(visit: Callable[..., Page]) -> None:
    page = measured(visit(QUERY))
    check_that_points_lie_where_they_say_and_another_theme_has_its_own_colours(page)
    check_that_a_change_of_the_view_is_drawn_into_the_same_chart_and_the_tool_stays(page)
    check_that_many_marked_points_go_to_the_server_once_and_not_with_every_touch_of_later_views(page)
    check_that_an_image_of_coloured_points_says_what_the_colours_stand_for(page)


def check_that_a_change_of_the_view_is_drawn_into_the_same_chart_and_the_tool_stays(page: Page) -> None:
    page.evaluate(f"() => {{ {PLOT}.dataset.mine = 'yes' }}")
    page.locator(".st-key-scatter").hover()
    page.locator(".st-key-scatter [data-title='Lasso Select']").click()
    before = page.evaluate(f"[...{PLOT}._fullData[0].y].sort()")
    page.get_by_role("slider", name="Layer").press("ArrowLeft")
    page.wait_for_function(
        f"before => {PLOT}._fullData[0].y[0] !== before", arg=page.evaluate(f"{PLOT}._fullData[0].y[0]")
    )
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


def check_that_many_marked_points_go_to_the_server_once_and_not_with_every_touch_of_later_views(page: Page) -> None:
    page.evaluate("""() => {
        const send = WebSocket.prototype.send
        window.sent = []
        WebSocket.prototype.send = function (data) {
            window.sent.push(data.byteLength ?? data.length)
            send.call(this, data)
        }
    }""")
    page.locator(".st-key-scatter").hover()
    page.locator(".st-key-scatter [data-title='Box Select']").click()
    box = page.locator(".st-key-scatter .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] - 2, steps=3)
    page.mouse.up()
    expect(page.get_by_text(" selected · ")).to_be_visible()
    settle(page)
    for layer in (4, 3):
        page.get_by_role("slider", name="Layer").press("ArrowLeft")
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"after layer {layer}?")
        settle(page)
    *_, last = page.evaluate("window.sent")
    assert max(page.evaluate("window.sent")) > 20 * last
    expect(page.get_by_text(" selected · ")).to_be_visible()
