"""The app as a visitor has it: a real server, a real browser, the real built-in model."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from playwright.sync_api import Page, expect
from support.browser import SMALL, answer, begin, figures, measured, numbers, settle, sidebar, unfold
from support.hub import Hub

from clsviz.words.numbers import share

URL_SETTLES_MILLISECONDS = 2500
"""The app takes a URL for the visitor's doing only when it comes more than two seconds after its own last change."""


PLOT = "document.querySelector('.st-key-scatter .js-plotly-plot')"


def test_a_newcomer_sees_the_answer_on_real_data_and_nothing_is_asked_of_the_hub(
    visit: Callable[..., Page], hub_server: Hub
) -> None:
    hub_server.requests.clear()
    page = visit("")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Does MiniLM-L6 encode the length of a sentence in the norm of its [CLS]?"
    )
    said = answer(page).filter(has_text="of the differences between norms")
    begin(page, said)
    expect(said).to_be_visible()  # with the first points
    measured(page)
    r_squared, n_used = figures(page)
    assert len(answer(page).inner_text().split()) <= 20
    assert answer(page).inner_text().startswith("Hardly: ")
    assert "Straight line, falling: 1.8% (95% interval " in numbers(page)
    assert r_squared == "1.8%"
    assert 4900 < int(n_used.replace(",", "")) <= 5000

    unfold(page, "Settings")
    expect(
        page.get_by_text(re.compile(r"The original downloads 4\d\d MB and takes about [\d.]+ (s|min|h)"))
    ).to_be_visible()
    page.get_by_role("button", name="The original").click()
    expect(page.get_by_role("button", name=re.compile("^Measure · about"))).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Does BERT base, uncased encode")
    assert not hub_server.requests


def test_the_cutoff_and_the_layer_change_the_numbers_and_the_link_and_pages_keep_them(
    visit: Callable[..., Page],
) -> None:
    page = measured(visit(f"{SMALL}&length_cutoff=40"))
    check_that_the_cutoff_and_the_layer_change_the_numbers_and_the_link(page)
    settle(page)
    check_that_pages_keep_the_settings_and_back_goes_back(page)


def check_that_the_cutoff_and_the_layer_change_the_numbers_and_the_link(page: Page) -> None:
    before = figures(page)
    cutoff = page.get_by_role("slider", name="Length cutoff")
    cutoff.focus()
    for value in range(35, 15, -5):  # while the page draws itself anew
        page.keyboard.press("ArrowLeft")
        expect(cutoff).to_have_attribute("aria-valuetext", f"under {value}")
    expect(page.get_by_text("3–19 tokens")).to_be_visible()
    settle(page)
    assert cutoff.get_attribute("aria-valuetext") == "under 20"
    assert figures(page)[1] != before[1]
    expect(page).to_have_url(re.compile("length_cutoff=20"))
    links = sidebar(page).locator("[data-testid=stPageLink] a")
    for link in links.all():
        expect(link).to_have_attribute("href", re.compile("length_cutoff=20"))
    assert links.count() == 6

    page.get_by_role("slider", name="Layer").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("heading", level=1)).to_contain_text("after layer 5?")
    page.get_by_text("Pooler output", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("its pooler output?")
    assert "1,000 sentences measured" in page.get_by_text("sentences measured").inner_text()

    page.wait_for_timeout(URL_SETTLES_MILLISECONDS)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("after layer 5?")


def check_that_pages_keep_the_settings_and_back_goes_back(page: Page) -> None:
    page.get_by_role("link", name="Inside the model").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What is inside MiniLM-L6?")
    settle(page)
    assert "length_cutoff=20" in page.url
    page.get_by_role("link", name="Norm vs length").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("after layer 5?")
    settle(page)
    assert page.url.endswith(f"/{SMALL}&length_cutoff=20&layer=5")
    assert page.get_by_role("slider", name="Length cutoff").get_attribute("aria-valuetext") == "under 20"
    page.wait_for_timeout(URL_SETTLES_MILLISECONDS)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("What is inside MiniLM-L6?")


def test_a_typed_sentence_gets_its_star_and_goes_along(visit: Callable[..., Page]) -> None:
    page = measured(visit())
    check_that_a_typed_sentence_gets_its_star_and_its_numbers(page)
    check_that_what_is_typed_goes_along_to_the_page_whose_link_is_clicked_at_once(page)


def check_that_a_typed_sentence_gets_its_star_and_its_numbers(page: Page) -> None:
    box = page.get_by_role("textbox", name="Your own sentence")
    box.press_sequentially("Sinan loves a beautiful day")  # and nothing else: it is measured as it is typed
    expect(page.get_by_text("6 tokens")).to_be_visible()
    expect(page.get_by_text("the line predicts").first).to_be_visible()
    expect(page.get_by_text("sin  ##an  loves  a  beautiful  day")).to_be_visible()
    expect(page.locator(".annotation-text", has_text="yours")).to_be_visible()
    expect(box).to_be_focused()
    box.fill("<img src=x onerror=alert(1)> **bold**")
    box.press("Enter")
    expect(page.locator("[data-testid=stText]", has_text="<img src=x onerror=alert(1)> **bold**")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert "text=" not in page.url


def check_that_what_is_typed_goes_along_to_the_page_whose_link_is_clicked_at_once(page: Page) -> None:
    for name, question in (("Try a sentence", "make of a sentence?"), ("Norm vs length", "in the norm of")):
        page.get_by_role("textbox", name=re.compile("^Your (own )?sentence$")).fill(f"On the way to {name}")
        page.get_by_role("link", name=name).click(delay=100)  # as long as a finger needs
        expect(page.get_by_role("heading", level=1)).to_contain_text(question)
        box = page.get_by_role("textbox", name=re.compile("^Your (own )?sentence$"))
        expect(box).to_have_value(f"On the way to {name}")
        settle(page)


def test_a_links_sentences_get_their_stars_its_text_is_no_markup_and_nothing_comes_from_elsewhere(
    visit: Callable[..., Page], server: str
) -> None:
    page = visit("_stcore/health")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    setting = ":material/check: https://example.org www.example.org a@example.org :streamlit:"
    text = "Sinan loves a beautiful day\n<img src=x onerror=alert(1)> **bold**"
    page.goto(f"{server}{SMALL}&{urlencode({setting: 1, 'text': text})}")
    warning = page.get_by_test_id("stAlert")
    expect(warning).to_contain_text("There is no setting")
    measured(page)
    shown = warning.inner_text().replace("\u2060", "")
    assert setting[:40] in shown
    assert warning.locator("a, img, [data-testid=stIconMaterial]").count() == 0
    expect(page.get_by_role("textbox", name="Your own sentences")).to_have_value(text)
    expect(page.locator(".annotation-text", has_text="yours, 1")).to_be_visible()
    expect(page.get_by_text("2. <img src=x onerror=alert(1)> **bold**")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert requests
    assert all(url.startswith((server, "data:", "blob:")) for url in requests), requests


def test_downloads_hold_what_is_shown(visit: Callable[..., Page], tmp_path: Path) -> None:
    page = measured(visit())
    exports = page.get_by_test_id("stPopoverButton").filter(has_text="Cite and export")
    exports.click()
    paths = {}
    for name, ending in (("Table (CSV)", "csv"), ("Table (Parquet)", "parquet"), ("Picture (HTML)", "html")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"clsviz-minilm-python-docs.{ending}"
        paths[ending] = tmp_path / f"download.{ending}"
        download.value.save_as(paths[ending])
    expect(page.get_by_text("@software{clsviz-minilm-python-docs")).to_be_visible()
    for name, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg"), ("PDF", b"%PDF")):
        with page.expect_download() as download:  # a click closes the popover
            page.get_by_role("button", name=f"Picture ({name})").click()
        assert download.value.suggested_filename == f"clsviz-minilm-python-docs.{name.lower()}"
        download.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
        exports.click()
    table = pd.read_csv(paths["csv"])
    assert len(table) == len(pd.read_parquet(paths["parquet"])) == 1000
    used = table[table["n_tokens"] < 80]
    assert share(used["n_tokens"].corr(used["cls_6"]) ** 2) == figures(page)[0]
