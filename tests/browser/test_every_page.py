"""Every page in light and dark, wide and narrow; and the pictures of them."""

import re
import tomllib
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect
from support.browser import complete, fits, settle

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")

OF_STREAMLIT = [
    ("presentation-role-conflict", "stFileUploaderDropzone"),  # it has a role of its own, and is named by the label
]
"""Violations that no setting of the app reaches: the rule, and the part of Streamlit that breaks it."""

WIDE, NARROW = ViewportSize(width=1400, height=1000), ViewportSize(width=390, height=844)

LAST = {
    "": "of 5,000 sentences, 3–79 tokens",
    "where_length_lives": "Six length bins: too few sentences in the rarest to say",
    "length_and_search": "None of 5 fixes clearly raises recall",
    "compare_models": "how many tokens a linear probe misses length, on the first",
    "try_a_sentence": "The pooler takes the norm from",
    "inside_the_model": "The norm follows from the direction",
}
"""What every page shows only when everything else is there, by its path."""

OTHER = {"light": "dark", "dark": "light"}

DOCS, OTHERS = Path(__file__).parents[2] / "docs", Path(__file__).parents[2] / "build" / "screenshots"
SHOWN = {
    "norm-vs-length-light-wide",
    "where-length-lives-light-wide",
    "length-and-search-light-wide",
    "try-a-sentence-light-wide",
    "compare-models-dark-wide",
    "inside-the-model-light-wide",
}
"""The pictures that the README and the documentation show."""

QUERIES = {"compare_models": "?sample_size=2000&probe_size=1000", "length_and_search": "?similarity=dot"}
"""What the pictures of some pages show; the others have a sentence."""

LAST_BY_QUERY = LAST | {"length_and_search": "“Normalised” raises recall most"}

TEXT = "text=The+quick+brown+fox+jumps+over+the+lazy+dog."


def wait_for(page: Page, last: str) -> None:
    """Wait until this text is there and no job runs."""
    done, cancel = page.get_by_text(last).first, page.get_by_role("button", name="Cancel")
    complete(page, lambda: bool(done.count() and not cancel.count()))
    settle(page)


COLOUR_RULES = ["cat.color"]
"""Of axe-core's rules, those that a change of the colours alone can break."""


def check(page: Page, width: int, tags: Sequence[str] = ()) -> None:
    """Nothing is cut off, and axe-core finds no violation of its rules: of those with one of these tags, or of any."""
    check_that_nothing_is_cut_off(page, width)
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"(() => {{{AXE}}})()")
    found = page.evaluate("tags => axe.run({resultTypes: ['violations'], ...(tags[0] && {runOnly: tags})})", [*tags])
    assert len(found["passes"]) >= (1 if tags else 20)
    violations = [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
        if not any(rule["id"] == name and part in node["html"] for name, part in OF_STREAMLIT)
    ]
    assert not violations, page.url


def check_that_nothing_is_cut_off(page: Page, width: int) -> None:
    assert page.locator("[data-testid=stException]").count() == 0
    assert fits(page)
    for figure in page.locator("[data-testid=stMetric]").all():
        box = figure.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def background(page: Page) -> str:
    return str(page.locator("[data-testid=stApp]").evaluate("node => getComputedStyle(node).backgroundColor"))


COLOURS = """() => [...document.querySelectorAll(".js-plotly-plot")].flatMap(
    node => [node.data, {...node.layout, template: null}].map(
        part => JSON.stringify(part).match(/#[0-9a-f]{6}/gi) ?? [])
).flat().map(colour => colour.toLowerCase())"""


def check_colours(page: Page, scheme: str) -> None:
    """Charts have the colours of the theme, and none of the other."""
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    own, others = ({*config[name]["chartCategoricalColors"]} for name in (scheme, OTHER[scheme]))
    page.wait_for_function(f"colours => !({COLOURS})().some(colour => colours.includes(colour))", arg=[*others])
    drawn = {*page.evaluate(COLOURS)}
    assert not drawn or drawn & own


def test_every_page_fits_and_is_accessible_in_light_and_dark_wide_and_narrow(visit: Callable[..., Page]) -> None:
    page = visit(f"?{TEXT}", viewport=WIDE, scheme="light")
    links = page.locator("[data-testid=stSidebar] [data-testid=stPageLink] a")
    expect(links).to_have_count(len(LAST))
    for number, last in enumerate(LAST.values()):  # each begins in the scheme in which the one before it ended
        links.nth(number).click()
        wait_for(page, last)
        check_that_nothing_is_cut_off(page, WIDE["width"])
        page.set_viewport_size(NARROW)
        settle(page)
        check(page, NARROW["width"])
        before, scheme = background(page), "light" if number % 2 else "dark"
        page.emulate_media(color_scheme=scheme)
        expect(page.locator("[data-testid=stApp]")).not_to_have_css("background-color", before)
        check_colours(page, scheme)
        settle(page)
        check(page, NARROW["width"], COLOUR_RULES)
        page.set_viewport_size(WIDE)
        for summary in page.locator("summary").all():
            summary.click()
        settle(page)
        check(page, WIDE["width"])
        if number == 0:  # the examples of the main page are open now
            fourth = page.locator(".st-key-examples img").nth(3)
            # A click while another box makes the page be drawn anew is lost now and then: of what is requested and not
            # yet run Streamlit keeps the last request's state of widgets, which is that of before the click.
            for _ in range(4):
                if not fourth.is_visible():
                    page.locator(".st-key-examples summary").click()
                    settle(page)
            expect(fourth).to_be_visible()
            expect(page.locator(".st-key-examples img").last).to_have_js_property("naturalWidth", 1200)


@pytest.mark.screenshots
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("path", LAST)
def test_screenshots(visit: Callable[..., Page], path: str, scheme: str, size: ViewportSize) -> None:
    """Pictures that are shown go to docs/, the others to build/screenshots/."""
    query = QUERIES.get(path, f"?{TEXT}")
    page = visit(f"{path}{query}", viewport=size, scheme=scheme)
    wait_for(page, LAST_BY_QUERY[path])
    page.wait_for_timeout(1500)  # what is drawn after the last change, as fonts are
    check_that_nothing_is_cut_off(page, size["width"])
    title = path.replace("_", "-") or "norm-vs-length"
    name = f"{title}-{scheme}-{'wide' if size == WIDE else 'narrow'}"
    folder = DOCS if name in SHOWN else OTHERS
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"{name}.png"
    page.screenshot(path=picture)
    Image.open(picture).convert("RGB").save(picture, optimize=True)


def test_the_pictures_that_the_documents_show_are_there() -> None:
    written = "\n".join(path.read_text(encoding="utf-8") for path in [DOCS.parent / "README.md", *DOCS.glob("*.md")])
    assert set(re.findall(r"([\w-]+-(?:light|dark)-(?:wide|narrow))\.png", written)) == SHOWN
    assert {path.stem for path in DOCS.glob("*-wide.png")} | {path.stem for path in DOCS.glob("*-narrow.png")} == SHOWN
