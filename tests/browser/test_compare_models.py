"""The page “Compare models” as a visitor has it: a real server, a real browser, the real built-in model."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from playwright.sync_api import Page, expect
from support.browser import answer, complete, moved, settle, unfold

PAGE = "compare_models?sample_size=500"
_ALL_ARE_READ = """() => {
    const curves = [...document.querySelectorAll(".js-plotly-plot")].at(-1)?._fullData ?? [];
    return curves.length == 2 && curves.every(curve => Number.isFinite(curve.y.at(-1)));
}"""
"""Whether the probes have come to the last layer of both models."""


def compared(page: Page) -> Page:
    """Wait until both models are measured and read."""
    complete(page, lambda: page.evaluate(_ALL_ARE_READ))
    expect(answer(page)).to_have_text(re.compile("^In MiniLM-L6, a straight line in length explains"))
    expect(page.get_by_text("untrained MiniLM-L6: measured")).to_be_visible()
    settle(page)
    assert page.evaluate(_ALL_ARE_READ)
    return page


def clouds(page: Page) -> list[int]:
    """How many points every picture of a model draws."""
    return page.locator(".js-plotly-plot").first.evaluate(
        "node => node.data.filter(trace => trace.mode == 'markers').map(trace => (trace.text ?? []).length)"
    )


def test_a_newcomer_compares_models_and_shares_what_is_seen(
    visit: Callable[..., Page], server: str, tmp_path: Path
) -> None:
    page = compared(visit(PAGE))
    assert moved(page) < 0.1  # while row after row came
    check_that_a_newcomer_sees_a_model_beside_its_untrained_self(page, tmp_path)
    check_that_axes_models_and_units_travel_in_the_link(page, visit, server)
    check_that_one_that_is_none_is_refused(page)


def check_that_a_newcomer_sees_a_model_beside_its_untrained_self(page: Page, tmp_path: Path) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Which model encodes the length of a sentence in the norm of its [CLS]?"
    )
    assert "models=minilm%2Cuntrained%3Aminilm" in page.url
    n = int(re.search(r"The comparison uses (\d+) of 500 sentences", page.locator("body").inner_text()).group(1))
    assert clouds(page) == [n, n]
    assert page.locator("[data-testid=stDataFrame]").count() == 1
    tops = page.locator(".st-key-strip [data-testid=stGridCell]").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect().y)"
    )
    assert (len(tops), len({*tops})) == (4, 1)  # in a row

    page.get_by_role("button", name="Download").first.click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Table (CSV)").click()
    download.value.save_as(tmp_path / "table.csv")
    table = pd.read_csv(tmp_path / "table.csv").set_index("model")
    assert f"R² {table.loc['minilm', 'r_squared']:.3f}" in page.locator("body").inner_text().replace("R2", "R²")
    assert table.loc["minilm", "probe_r_squared"] > 0.9
    assert pd.isna(table.loc["untrained:minilm", "r_squared"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Sentences (Parquet)").click()
    download.value.save_as(tmp_path / "sentences.parquet")
    sentences = pq.read_table(io.BytesIO((tmp_path / "sentences.parquet").read_bytes()))
    about = json.loads(sentences.schema.metadata[b"clsviz"])
    assert sentences.num_rows == 2 * n
    assert [model["model"] for model in about["models"]] == ["minilm", "untrained:minilm"]
    page.keyboard.press("Escape")


def check_that_one_that_is_none_is_refused(page: Page) -> None:
    box = page.get_by_role("combobox", name="Models")
    box.fill("owner/[evil](http://127.0.0.1)**<b>x")
    box.press("Enter")
    error = page.locator("[data-testid=stSidebar] [data-testid=stAlert]")
    expect(error).to_contain_text("is not the name of a model")
    assert error.locator("a, b, strong").count() == 0
    settle(page)
    assert len(clouds(page)) == 3
    assert clouds(page)[2] == 0
    expect(answer(page)).to_have_text(re.compile("^In MiniLM-L6, a straight line in length explains"))


def check_that_axes_models_and_units_travel_in_the_link(page: Page, visit: Callable[..., Page], server: str) -> None:
    page.get_by_text("Norms as they are", exact=True).click()
    expect(page).to_have_url(re.compile("axes=free"))
    settle(page)
    unfold(page, "Settings")
    page.get_by_text("Words", exact=True).click()
    expect(page).to_have_url(re.compile("unit=words"))
    expect(page.get_by_text("Lengths are counted in words, which are the same for all models")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Copy link").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{server}compare_models?")

    other = compared(visit(link.removeprefix(server)))
    settle(other)
    assert "axes=free" in other.url
    assert "unit=words" in other.url
    toggle = "Norms as they are"
    assert other.get_by_role("switch", name=toggle).or_(other.get_by_role("checkbox", name=toggle)).is_checked()
    assert other.locator("[data-testid=stAlert]").count() == 0
    assert clouds(other) == clouds(page)
