"""The page “Try a sentence” as a visitor has it: a real server, a real browser, the real built-in model."""

import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
from playwright.sync_api import Page, expect
from support.browser import fits, settle

TYPED = [
    "Return the value of the key.",
    "A dog sleeps under the tree.",
    "The value that belongs to the key is returned.",
]


def test_a_visitor_tries_sentences(visit: Callable[..., Page]) -> None:
    page = visit("try_a_sentence?" + urlencode({"sample_size": 500}))
    expect(page.get_by_role("heading", level=1)).to_have_text("What does MiniLM-L6 make of a sentence?")
    expect(page.get_by_text("This is an example; type your own below.")).to_be_visible()
    expect(page.get_by_text("corpus sentences of about this length").first).to_be_visible()  # it is also said aloud
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    for token_id in ("101", "4248", "102"):  # [CLS], “quick” in BERT's vocabulary, [SEP]
        expect(page.get_by_text(token_id, exact=True)).to_be_visible()
    line = page.get_by_role("textbox", name="Your own sentence", exact=True)
    line.press_sequentially("A short one.")  # and nothing else: it is measured as it is typed
    expect(page.get_by_text("“A short one.” has 4 tokens").first).to_be_visible()
    expect(page.locator(".st-key-scatter .annotation-text").filter(has_text="yours")).to_have_count(1)
    page.get_by_text("Several sentences", exact=True).click()
    page.get_by_role("textbox", name="Your own sentences, one per line").fill("\n".join(TYPED))
    page.get_by_role("button", name="Measure").click()
    expect(page.get_by_text("“Return the value of the key.” has 7 tokens").first).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    assert "text=" not in page.url
    page.get_by_text("Find the nearest corpus sentences", exact=True).click()
    expect(page.get_by_text("Nearest to “Return the value of the key.” by [CLS], among 500 sentences.")).to_be_visible()
    expect(page.get_by_text("Similarity of “Return the value of the key.” to the others you typed")).to_be_visible()
    settle(page)
    assert "nearest=yes" in page.url
    page.locator("[data-testid=stPopoverButton]").filter(has_text="Download").click()
    with page.expect_download() as started:
        page.get_by_role("button", name="Nearest (CSV)").click()
    table = pd.read_csv(io.BytesIO(Path(started.value.path()).read_bytes()))
    assert started.value.suggested_filename == "clsviz-minilm-python-docs-nearest.csv"
    assert len(table) == 10
    assert table["similarity"].is_monotonic_decreasing


def test_a_phone_shows_it_all_without_scrolling_sideways(visit: Callable[..., Page]) -> None:
    query = {"sample_size": 500, "text": "\n".join(TYPED), "pooling": "mean", "nearest": "yes"}
    page = visit("try_a_sentence?" + urlencode(query), viewport={"width": 390, "height": 844})
    expect(page.get_by_text("This is the vector the model was trained to compare by cosine")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    settle(page)
    assert fits(page)
