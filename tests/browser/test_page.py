"""The page in a browser: what only a browser does."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.conftest import SIZES, Visit, serve, violations
from playwright.sync_api import Locator, Page, expect

from clsviz import web
from clsviz.questions import FIRST_PAGE, PAGES

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

LINK = "?sample_size=500"

VERDICTS = {
    "norm_vs_length": "accounts for|nearly constant",
    "where_length_lives": "misses length by",
    "search": "by dot product|by cosine",
    "chunks": "findable",
    "compare": "more often than",
    "sentence": "tops",
    "model": "6 layers",
}


def ready(page: Page, path: str = "") -> Locator:
    """Wait for the answer of a page and its picture; returns the picture."""
    verdict = re.compile(VERDICTS[path or FIRST_PAGE])
    expect(page.locator("h3", has_text=verdict).first).to_be_visible()
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_count(0)
    return page.get_by_role("figure").first


def place(picture: Locator, name: str = "sentences", n: int = 0) -> tuple[str, float, float]:
    """The label of the first point of a trace from n without neighbours, and where it is."""
    return tuple(
        picture.evaluate(
            """(plot, [trace, n]) => {
              const { x, y, text } = plot.data.find(({ name }) => name === trace)
              const area = plot.querySelector(".nsewdrag").getBoundingClientRect()
              const share = (value, [low, high]) => (value - low) / (high - low)
              const places = Array.from(x, (_, i) => [
                area.left + share(x[i], plot.layout.xaxis.range) * area.width,
                area.bottom - share(y[i], plot.layout.yaxis.range) * area.height,
              ])
              const isAlone = ([a, b], i) =>
                places.every(([c, d], j) => i === j || !(Math.hypot(a - c, b - d) < 15))
              const i = places.findIndex((place, i) => i >= n && isAlone(place, i))
              return [text[i].split("<br>")[0], ...places[i]]
            }""",
            [name, n],
        )
    )


def type_sentence(page: Page, text: str) -> None:
    page.get_by_label("Your own sentences").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text(f"★ “{text[:3]}")).to_be_visible()


def test_hover_shows_the_sentence_and_survives_a_redraw(visit: Visit) -> None:
    page = visit(LINK)
    text, x, y = place(ready(page))
    page.mouse.move(x, y)
    label = page.locator(".hoverlayer .hovertext")
    expect(label).to_contain_text(text)
    type_sentence(page, "The cat sat.")
    expect(page.get_by_role("figure").first.locator(".annotation-text")).to_contain_text(
        ["The cat sat."]
    )
    expect(label).to_contain_text(text)


def test_nothing_in_a_sentence_comes_to_life(visit: Visit) -> None:
    text = "A :material/bug: :streamlit: www.a.org, a@b.org, http://a.b, <b>$x$</b> -> --?"
    page = visit(LINK)
    ready(page)
    type_sentence(page, text)
    line = page.get_by_text("★ “A :")
    assert f"“{text}”" in line.inner_text().replace("\N{WORD JOINER}", "")
    expect(line.locator("a, img, [role=img], b")).to_have_count(0)


def test_a_click_picks_a_sentence_into_a_table(visit: Visit) -> None:
    page = visit(LINK)
    text, x, y = place(ready(page), n=50)
    page.mouse.click(x, y)
    cell = page.get_by_test_id("glide-cell-0-0")
    expect(cell).to_contain_text(text)
    page.mouse.click(x, y)
    expect(cell).to_have_count(0)


def test_a_click_on_a_bar_or_a_point_takes_its_layer(visit: Visit) -> None:
    page = visit(LINK)
    ready(page)
    strip = page.get_by_role("figure").nth(1)
    strip.scroll_into_view_if_needed()
    bar = strip.locator(".point path").nth(1).bounding_box()
    assert bar
    page.mouse.click(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    expect(page.locator("h2", has_text="after layer 1").first).to_be_visible()
    expect(page).to_have_url(re.compile("layer=1"))
    page.get_by_role("link", name="Where length lives").click()
    _, x, y = place(ready(page, "where_length_lives"), "[CLS] vector", n=2)
    page.mouse.click(x, y)
    expect(page.get_by_text("[CLS] after layer 2: R²")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2"))


def test_settings_survive_changes_of_page(visit: Visit) -> None:
    page = visit("search?similarity=dot&layer=3&others=untrained:minilm")
    ready(page, "search")
    expect(page.get_by_text("Sample size")).to_be_hidden()
    for name, question in {
        "Where length lives": "Where can length be read",
        "Norm vs length": "after layer 3",
        "Then where is it?": "Where can length be read",
        "Does it matter?": "found more often",
    }.items():
        page.get_by_role("link", name=name).click()
        expect(page.locator("h2", has_text=question).first).to_be_visible()
        for setting in ("similarity=dot", "layer=3", "others=untrained"):
            expect(page).to_have_url(re.compile(setting))
    ready(page, "search")


def test_a_sentence_goes_along_into_the_model_and_back(visit: Visit) -> None:
    page = visit(f"sentence{LINK}")
    expect(page.locator("h2", has_text="Sinan loves a beautiful day").first).to_be_visible()
    box = page.get_by_label("Your own sentences")
    box.fill("A cat sings.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("h2", has_text="A cat sings.").first).to_be_visible()
    labels = page.locator(".js-plotly-plot .annotation-text")
    expect(labels.filter(has_text="sings.")).to_have_count(2)  # the star and the last word
    page.get_by_text("How does it do that?").click()
    expect(page).to_have_url(re.compile("/model"))
    expect(page.get_by_text("The way of [CLS] in “A cat sings.”")).to_be_visible()
    expect(page.get_by_text("11.9 M")).to_be_visible()
    page.get_by_text("Try another").click()
    expect(box).to_have_value("A cat sings.")
    box.fill("")
    page.keyboard.press("Control+Enter")
    expect(page.locator("h2", has_text="Sinan loves a beautiful day").first).to_be_visible()


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
    numbers = page.get_by_test_id("stMetric").all_inner_texts()
    assert other.get_by_test_id("stMetric").all_inner_texts() == numbers != []


def test_a_finger_scrolls_the_page_and_a_tap_shows_a_sentence(visit: Visit) -> None:
    page = visit(LINK, size="phone")
    picture = ready(page)
    text, x, y = place(picture)
    page.touchscreen.tap(x, y)
    expect(page.locator(".hoverlayer .hovertext")).to_contain_text(text[:10])
    session = page.context.new_cdp_session(page)
    for n in range(11):
        kind = "touchMove" if n else "touchStart"
        finger = {"x": 200, "y": 600 - 30 * n}
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [finger]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert page.get_by_test_id("stMain").evaluate("main => main.scrollTop") > 200


def test_the_menu_of_a_phone_closes_when_a_page_was_chosen(visit: Visit) -> None:
    page = visit(LINK, size="phone")
    ready(page)
    page.get_by_role("button", name="Expand sidebar").click()
    page.get_by_role("link", name="Where length lives").click()
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    ready(page, "where_length_lives")


@pytest.mark.parametrize(
    ("path", "size", "scheme"),
    [
        ("", "wide", "dark"),
        ("", "phone", "light"),
        *zip([*PAGES][1:], itertools.cycle(SIZES), itertools.cycle(("light", "light", "dark"))),
    ],
)
def test_everybody_can_use_the_page(visit: Visit, path: str, size: str, scheme: str) -> None:
    page = visit(f"{path}?similarity=dot&colour=red&text=A+cat+sings.", size, scheme)
    ready(page, path)
    for box in page.get_by_test_id("stMain").locator("summary").all():
        box.click()
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    assert violations(page) == []


def test_an_unknown_path_opens_a_page_with_its_picture(visit: Visit) -> None:
    page = visit(f"norm-vs-length/{LINK}&layer=3")
    ready(page)
    expect(page.locator("h2", has_text="after layer 3").first).to_be_visible()


def test_a_file_says_how_it_was_read(visit: Visit, tmp_path: Path) -> None:
    rows = [f"{n};Title {n};The body of text {n} has <b>{n % 7}</b> words." for n in range(30)]
    path = tmp_path / "own (1).csv"
    path.write_text("\n".join(["id;title;body", *rows]), "utf-8")
    page = visit(LINK)
    page.get_by_role("button", name="Use your own file").first.click()
    page.locator("input[type=file]").set_input_files(path)
    expect(page.get_by_text("How own (1).csv was read")).to_be_visible()
    expect(page.get_by_text("column body · encoding utf-8 · 30 texts")).to_be_visible()
    page.get_by_role("button", name="Take column title").click()
    expect(page.get_by_text("column title · ")).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.get_by_text("How own (1).csv was read")).to_have_count(0)
    page.get_by_role("button", name="Download", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").click()
    report = download.value.path().read_text("utf-8")
    assert path.name in report
    assert "upload-" not in report


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serve(tmp_path_factory.mktemp("public"), CLSVIZ_PUBLIC="1")


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_of_a_public_server_allows_what_a_page_does(visit, public, name) -> None:
    page = visit(name * (name != FIRST_PAGE), server=public)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.route("**/*.js", lambda route: route.abort())  # nothing replaces the first words
    page.reload()
    place = "heading => heading.getBoundingClientRect().y"
    first = page.locator("#first-words h2").evaluate(place)
    page.unroute_all()
    page.reload()
    expect(page.get_by_role("figure").first.locator("svg").first).to_be_visible()
    assert [text for text in messages if "Content Security Policy" in text] == []
    expect(page.get_by_text("WebGL is not supported")).to_have_count(0)
    expect(page.locator("#first-words")).to_have_count(0)
    question = page.get_by_role("heading", level=2).first
    expect(question).to_have_text(web.cards()[name]["question"])
    is_in_place = first == question.evaluate(place)
    assert is_in_place == (name != "sentence")  # its input is above
