"""The page “Does length bend my search?”."""

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, charts_by_key, linked, plain, settle, texts
from support.tiny import random_sentences

import clsviz
from clsviz import words
from clsviz.settings import SimilarityFunction
from clsviz.sources import uploads

PAGE, CARDS = "length_and_search", ("correction", "example_0", "rankings", "fixes", "threshold", "neighbours")

COSINE, DOT = SimilarityFunction


def table(**columns: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([[*columns], *zip(*columns.values(), strict=True)])
    return text.getvalue().encode()


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[bytes], str]:
    """Upload a table."""
    folder = tmp_path / "store" / "corpora"
    return lambda content: uploads.keep_upload(io.BytesIO(content), "texts.csv", folder)


@pytest.fixture(scope="module")
def texts_with_titles() -> bytes:
    """240 texts of many lengths, each with a title of words that are in it, and markup in one of them."""
    sentences, rng = random_sentences(1200, seed=5), random.Random(5)
    texts = [" ".join(rng.sample(sentences, rng.choice([1, 2, 3, 5]))) for _ in range(240)]
    titles = [" ".join(text.split()[:4]) + f" {number} :red[*loud*]" for number, text in enumerate(texts)]
    return table(id=[f"t{n}" for n in range(240)], title=titles, text=texts)


@pytest.fixture
def open_page(tiny_folder: Path) -> Callable[..., AppTest]:
    def open_page(**query: str) -> AppTest:
        return settle(linked({"model": str(tiny_folder)} | query, PAGE, (*BOXES, *CARDS)).run())

    return open_page


def test_a_table_with_titles_is_searched_and_its_settings_are_in_the_link(
    open_page: Callable[..., AppTest],
    keep: Callable[[bytes], str],
    texts_with_titles: bytes,
    tiny_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr("streamlit.download_button", lambda label, data, *_, **__: offered.update({label: data}))
    (tmp_path / "texts.csv").write_bytes(texts_with_titles)
    expected = clsviz.search_test(str(tiny_folder), tmp_path / "texts.csv", similarity="dot", progress=False)
    page = open_page(corpus=keep(texts_with_titles))
    assert answer(page) == words.search.verdict(expected.test, COSINE)
    assert "240 searches of titles for their texts" in texts(page)
    page.button_group(key="similarity").set_value(DOT).run()
    assert answer(settle(page)) == expected.answer
    assert page.query_params["similarity"] == "dot"
    assert "pooling" not in page.query_params  # mean is what this page opens with
    assert words.search.what_to_do(expected.test, DOT) in texts(page)
    lines = {line["name"]: line for line in charts_by_key(page)["exposure"]["data"] if line.get("yaxis") == "y"}
    drawn = [cell[0] for cell in lines["Mean, dot product"]["customdata"]]
    np.testing.assert_allclose(drawn, expected.test.ranking(DOT).exposure)
    assert set(lines) >= {"Mean, cosine", "Mean, dot product", "BM25"}
    pd.testing.assert_frame_equal(
        pd.read_csv(io.BytesIO(offered["Table (CSV)"]()), keep_default_na=False), rows(expected)
    )
    assert offered["Picture (PNG)"]().startswith(b"\x89PNG")
    assert offered["Picture (PDF)"]().startswith(b"%PDF")
    command = next(code.value for code in page.code if code.value.startswith("python -m clsviz search-test"))
    assert command.endswith("--similarity dot")
    assert any(code.value.startswith("@software") and "--similarity dot" in code.value for code in page.code)
    page.button_group(key="pooling").set_value("cls").run()
    page = settle(page)
    assert page.query_params["pooling"] == "cls"
    assert answer(page) == words.search.verdict(
        clsviz.search_test(str(tiny_folder), tmp_path / "texts.csv", pooling="cls", progress=False).test, DOT
    )


def rows(result: "clsviz.SearchTestResult") -> pd.DataFrame:
    return pd.read_csv(io.StringIO(result.table().to_csv(index=False)), keep_default_na=False)


def test_searches_of_a_file_have_their_right_texts_and_its_text_is_no_markup(
    open_page: Callable[..., AppTest], keep: Callable[[bytes], str], texts_with_titles: bytes
) -> None:
    given = pd.read_csv(io.BytesIO(texts_with_titles))
    searches = keep(table(query=given["title"][:150].tolist(), ids=given["id"][:150].tolist()))
    page = open_page(corpus=keep(texts_with_titles), searches=searches, pooling="cls")
    assert "150 searches with right texts given, among 240 texts" in texts(page)
    example = next(box for box in page.expander if "found texts of" in box.label)
    assert ":red" not in example.label
    assert ":red[*loud*]" in plain(example.label)
    assert open_page(corpus=keep(texts_with_titles), titles="none").error[0].value.startswith("texts.csv has no column")


def test_a_corpus_without_searches_says_so_and_offers_one_that_has_them() -> None:
    page = settle(linked({"corpus": "python-docs", "joined": "yes"}, PAGE).run())
    assert answer(page).startswith("Can’t tell: only ")
    assert [warning.value for warning in page.warning if "joined" in warning.value]
    assert words.search.EXAMPLE in texts(page)
    next(button for button in page.button if button.label == words.search.OFFER).click().run()
    assert answer(settle(page)) == "At most a little: by cosine, the shortest fifth takes 1.3 times its share."
    assert "corpus" not in page.query_params


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_the_page_opens_with_results_of_each_vector_by_both_similarities(
    pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.sources.models.fetch", None)  # whoever tests anything fails
    page = linked({"pooling": pooling, "similarity": "dot"}, PAGE, CARDS).run()
    assert answer(page).startswith("Yes: by dot product, the shortest fifth takes ")
    assert "MiniLM-L6’s own pipeline normalises vectors" in texts(page)
    assert {"exposure", "map"} <= set(charts_by_key(page))
    page.button_group(key="similarity").set_value(COSINE).run()
    assert "by cosine" in answer(page)


def test_what_takes_long_waits_for_measure_and_says_nothing_before_all_of_it_is_computed(
    open_page: Callable[..., AppTest],
    keep: Callable[[bytes], str],
    texts_with_titles: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clsviz.ui.search_jobs.FREE_SECONDS", 0.0)
    page = open_page(corpus=keep(texts_with_titles))
    assert answer(page).startswith("Ready: 240 searches of titles for their texts, among 240 texts. This takes about ")
    assert words.search.EXAMPLE in texts(page)
    page.button(key="measure").click().run()
    assert not answer(settle(page)).startswith("Ready")
    assert words.search.EXAMPLE not in texts(page)
