"""A visitor's sentence, then the model, in a browser."""

import re

import pytest
from browser.conftest import Visit, violations
from playwright.sync_api import expect

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize(("size", "scheme"), [("wide", "light"), ("phone", "dark")])
def test_a_sentence_leads_into_the_model(visit: Visit, size: str, scheme: str) -> None:
    page = visit("sentence?sample_size=500", size=size, scheme=scheme)
    expect(page.get_by_role("heading", level=2)).to_contain_text("Sinan loves a beautiful day")
    page.get_by_label("Your own sentences").fill("A cat sings.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=2)).to_contain_text("A cat sings.")
    figures = page.locator(".js-plotly-plot .annotation-text")
    expect(figures.filter(has_text="sings.")).to_have_count(2)  # the star and the last word
    expect(page.get_by_role("progressbar")).to_have_count(0)
    assert violations(page) == []
    page.get_by_text("How does it do that?").click()
    expect(page).to_have_url(re.compile("/model"))
    expect(page.get_by_text("The way of [CLS] in “A cat sings.”")).to_be_visible()
    expect(page.get_by_text("11.9 M")).to_be_visible()
    for box in page.get_by_test_id("stMain").locator("summary").all():
        box.click()
    expect(page.get_by_text("row 101 of the word embeddings")).to_be_visible()
    assert violations(page) == []
    page.get_by_text("Try another").click()
    expect(page.get_by_label("Your own sentences")).to_have_value("A cat sings.")
    page.get_by_label("Your own sentences").fill("")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=2)).to_contain_text("Sinan loves a beautiful day")
