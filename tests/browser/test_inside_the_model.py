"""The page “Inside the model” as a visitor has it."""

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from playwright.sync_api import Page, expect
from support.browser import fits, settle

from clsviz.sources import models

LINK = "inside_the_model?text=Sinan+loves+a+beautiful+day"


def opened(page: Page) -> Page:
    expect(page.get_by_role("heading", level=1)).to_have_text("What is inside MiniLM-L6?")
    expect(page.get_by_text("none of its 384 numbers is off by more than")).to_be_visible()
    settle(page)
    return page


def check_that_nothing_is_scrolled_sideways(page: Page) -> None:
    assert fits(page)
    chart = page.locator(".js-plotly-plot").first.bounding_box()
    assert chart is not None
    assert chart["x"] >= 0
    assert chart["x"] + chart["width"] <= 390


def test_a_visitor_looks_inside_on_a_phone_and_takes_the_tables_along(
    visit: Callable[..., Page],
    tmp_path: Path,
) -> None:
    page = opened(visit(LINK, viewport={"width": 390, "height": 844}))
    check_that_nothing_is_scrolled_sideways(page)
    page.set_viewport_size({"width": 1400, "height": 1000})
    settle(page)
    expect(page.get_by_role("heading", name="22,713,216 weights in 103 named parameters")).to_be_visible()
    expect(page.get_by_text("Your sentence: “Sinan loves a beautiful day”")).to_be_visible()
    expect(page.locator(".js-plotly-plot .barlayer .point path").nth(13)).to_be_visible()  # two a layer, and two more
    fingerprint = models.find("minilm").fingerprint
    page.get_by_test_id("stPopoverButton").filter(has_text="Download").click()
    for kind in ("CSV", "Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Parameters ({kind})").click()
        assert fingerprint[:12] in download.value.suggested_filename
        download.value.save_as(tmp_path / kind)
    table = pd.read_csv(tmp_path / "CSV")
    assert (len(table), table["weights"].sum()) == (103, 22_713_216)
    parquet = pq.read_table(tmp_path / "Parquet")
    assert parquet["name"].to_pylist() == table["name"].tolist()
    assert json.loads(parquet.schema.metadata[b"clsviz"])["model_fingerprint"] == fingerprint
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Your own sentences, one per line").fill("A quick brown fox")
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_text("Your sentence: “A quick brown fox”")).to_be_visible()
    expect(page.get_by_text("As the model reads it: 6 tokens")).to_be_visible()
