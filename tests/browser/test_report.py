"""A report in a browser that has no network."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

import clsviz
from clsviz import cli

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

EVIL = "</script><script>document.title = 'evil'</script><b>bold</b>"


def test_a_report_opens_without_a_network(browser, tiny_model, sentences, tmp_path) -> None:
    corpus, path = tmp_path / "evil.txt", tmp_path / "report.html"
    corpus.write_text(
        "\n".join([*(f"{text} {EVIL}" for text in sentences[:9]), *sentences]), "utf-8"
    )
    words = ["report", "--model", str(tiny_model), "--corpus", str(corpus)]
    words += ["--search-corpus", str(corpus), "--others", f"untrained:{tiny_model}"]
    words += ["--segmentation", "lines", "--similarity", "dot", "--store", str(tmp_path / "store")]
    assert cli.main([*words, "--output", str(path)]) == 0
    page = browser.new_page()
    errors: list[str] = []
    addresses: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(path.as_uri())
    expect(page.locator(".figure .main-svg").first).to_be_visible()
    assert page.locator(".figure:has(.main-svg)").count() == page.locator(".verdict").count() == 6
    assert page.title() == "tiny on evil.txt"
    table = page.locator("details").first
    table.locator("summary").click()
    expect(table.get_by_text("</script>").first).to_be_visible()
    expect(page.get_by_text(f"clsviz probe --model {tiny_model}").first).to_be_visible()
    expect(page.get_by_text("clsviz search-test")).to_contain_text("--similarity dot")
    assert (errors, addresses) == ([], [path.as_uri()])


def test_a_report_has_at_most_4_mb(tiny_model: Path, tmp_path: Path) -> None:
    many = [f"the {n} {'漢字 ' * (n % 50)}" for n in range(4000)]
    report = clsviz.report(str(tiny_model), many, search_corpus="", store=tmp_path)
    assert 1e6 < len(report.encode()) < 4e6
    assert "draws the first 3,000 of 4,000 rows" in report


def test_an_answer_that_fails_says_so_in_its_place(tiny_model: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "few.txt"
    corpus.write_text("the cat\na dog sees\n", "utf-8")
    report = clsviz.report(
        str(tiny_model), str(corpus), search_corpus=str(corpus), store=tmp_path / "store"
    )
    assert "different searches can be made of" in report
