"""What holds on every page: each state of a job, links, imported vectors, boxes, and what can be downloaded."""

import html
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, chart, charts, finish, go_to, linked, plain, settle, texts, thumbnails, unfold
from support.tiny import random_sentences

from clsviz import jobs, words
from clsviz.encoder import Encoder
from clsviz.errors import StoreError
from clsviz.jobs import Extraction, Import
from clsviz.settings import Pooling, Unit
from clsviz.sources import models
from clsviz.sources.own_vectors import Rows
from clsviz.store import Store
from clsviz.ui.first_steps import Example, markup
from clsviz.ui.parts import share
from clsviz.ui.state import session

PAGES = ("", "where_length_lives", "length_and_search", "compare_models", "try_a_sentence", "inside_the_model")
OF_A_CORPUS, SEARCH = PAGES[:5], PAGES[2]

TEXTS = random_sentences(120, seed=11)
VECTORS = np.random.default_rng(0).normal(1, 1, size=(120, 6)).astype(np.float32)


def query_of(name: str, folder: Path, corpus: str, **more: str) -> dict[str, str]:
    model = {"models": str(folder)} if name == "compare_models" else {"model": str(folder)}
    return {"corpus": corpus, "sample_size": "120", "probe_size": "120"} | model | more


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_answers_and_keeps_its_link(name: str, tiny_folder: Path, corpus: str) -> None:
    page = settle(linked(query_of(name, tiny_folder, corpus, length_cutoff="30"), name).run())
    assert not page.error
    assert not [warning for warning in page.warning if "the rarest bin" not in warning.value.lower()]
    assert len(page.title) == len(page.header) == 1
    assert answer(page)
    assert charts(page)
    assert page.query_params["length_cutoff"] == "30"
    links = page.get("page_link")
    assert len(links) == len(PAGES) + (name != PAGES[-1])  # the last leads nowhere
    assert all("length_cutoff=30" in link.proto.query_string for link in links)
    if name in OF_A_CORPUS:
        of_view = {"layer_2"} if name == SEARCH else {"layer_2", "length_cutoff"}
        assert of_view <= {slider.key for slider in page.main.select_slider}
        assert page.select_slider(key="layer_2").value == session.LAST
        drawn = {getattr(element, "key", None) for element in page}
        assert not {"sample_size", "seed", "unit", "upload"} & drawn  # nobody has opened the boxes
        assert not page.get("download_button")
    if name in OF_A_CORPUS and name != SEARCH:
        unfold(page, "settings").number_input(key="seed").set_value(3).run()
        assert page.query_params["seed"] == "3"
        page.session_state["settings"] = False
        assert page.run().session_state.seed == 3


@pytest.mark.parametrize("name", OF_A_CORPUS)
def test_what_is_not_free_waits_for_run(
    name: str, tiny_folder: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("clsviz.jobs.queue", "clsviz.ui.search_jobs"):
        monkeypatch.setattr(f"{module}.FREE_SECONDS", -1.0)
    page = settle(linked(query_of(name, tiny_folder, corpus), name).run())
    assert page.button(key="run").label.startswith("Measure")
    assert page.button(key="run-phone")
    page.button(key="run").click().run()
    page = settle(page)
    assert "run" not in {button.key for button in page.button}
    assert not page.error


@pytest.mark.parametrize("name", [name for name in OF_A_CORPUS if name != SEARCH])
def test_a_run_that_fails_says_why_and_can_be_tried_again(
    name: str, tiny_folder: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(extraction: Extraction, progress: object) -> None:
        raise StoreError("It is full of **bees**.")

    with monkeypatch.context() as patch:
        patch.setattr(Extraction, "look_up", fail)
        page = settle(linked(query_of(name, tiny_folder, corpus), name).run())
    for place in (page.sidebar, page.main):  # the main column says it to phones
        (error,) = place.error
        assert plain(error.value).endswith("It is full of **bees**.")
        assert "**" not in error.value
    assert page.button(key="run").label == "Measure"
    page.button(key="run").click().run()
    assert not settle(page).error


def test_the_links_come_first_and_stand_whatever_the_page_does(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("clsviz.ui.state.watching.begin", fail)
        page = open_page(length_cutoff="30")
    links = page.sidebar.get("page_link")
    assert [link.proto.label for link in links][:2] == ["Norm vs length", "Where length lives"]
    assert len(page.sidebar.children[0].get("page_link")) == len(links)
    page = finish(open_page(length_cutoff="30", no_such_setting="1"))
    page.select_slider(key="length_cutoff").set_value(20).run()
    links = page.sidebar.get("page_link")
    assert all("length_cutoff=20" in link.proto.query_string for link in links)
    assert not any("no_such_setting" in link.proto.query_string for link in links)


@pytest.mark.parametrize("name", OF_A_CORPUS)
def test_neither_names_nor_contents_of_downloads_have_a_path(
    name: str, tiny_folder: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, str] = {}

    def take(label: str, name: str, table: Callable[[], object], about: Callable[[], Mapping[str, object]]) -> None:
        columns = getattr(table(), "columns", ())
        names = list(table()["model"]) if "model" in columns else []  # type: ignore[index]
        taken[label] = json.dumps([name, names, about()], default=str)

    monkeypatch.setattr(share, "table_downloads", take)
    opened = linked(query_of(name, tiny_folder, str(text_file)), name, BOXES)
    opened.session_state["export"] = True  # which the main page has closed at first
    settle(opened.run())
    assert taken
    for label, text in taken.items():
        assert "tiny-bert" in text, label
        for folder in (tiny_folder.parent, text_file.parent):
            assert str(folder) not in text, label
            assert folder.name not in text, label


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Import:
    """Vectors that were imported; no model is loaded for them."""
    monkeypatch.setattr(Encoder, "__init__", None)
    return jobs.import_rows([Rows(TEXTS, VECTORS, None)], 120, "mine", Store(tmp_path / "store"))


@pytest.mark.parametrize("name", PAGES)
def test_every_page_shows_imported_vectors_or_says_that_there_is_no_model(name: str, mine: Import) -> None:
    query = mine.experiment.to_query() | ({"models": mine.model} if name == "compare_models" else {})
    page = settle(linked(query, name).run())
    said = texts(page)
    assert not page.error
    assert not page.warning
    expected = {
        "": words.waiting.NO_SENTENCE,
        "try_a_sentence": words.waiting.NO_SENTENCE,
        "inside_the_model": words.waiting.NO_PAGE,
        SEARCH: "imported vectors have no queries",
        "compare_models": "under 80 words in every model",
    }
    assert expected.get(name, words.waiting.NO_OTHERS) in said
    if name in ("", "where_length_lives"):
        assert "[CLS]" not in said
        assert "tokens" not in said


def test_imported_vectors_are_chosen_from_the_list_and_come_with_their_texts(
    mine: Import, corpus: str, tmp_path: Path
) -> None:
    page = finish(linked({"model": str(tmp_path), "corpus": corpus, "sample_size": "100", "seed": "3"}).run())
    box = page.selectbox(key="model")
    assert f"mine (imported, {models.Imported.parse(mine.model).digest[:4]})" in box.options
    box.set_value(mine.model).run()
    unfold(finish(page), "settings")
    assert (page.session_state.corpus, page.session_state.seed) == (mine.corpus, 0)
    assert len(chart(page)["data"][0]["text"]) == 120
    assert [box.key for box in page.number_input] == []  # neither another seed
    assert "precision" not in [group.key for group in page.segmented_control]


def test_a_view_of_imported_vectors_that_only_models_have_is_put_right(mine: Import) -> None:
    query = mine.experiment.to_query() | {"layer": "3", "pooling": "mean", "unit": "tokens", "text": "A sentence."}
    page = settle(linked(query, "where_length_lives").run())
    assert words.waiting.ONE_VECTOR in texts(page)
    state = page.session_state
    assert (state.pooling, state.layer, state.unit) == (Pooling.CLS, session.LAST, Unit.WORDS)
    page = settle(go_to(page, "").run())
    assert not page.error
    page = finish(linked(mine.experiment.to_query() | {"seed": "1"}).run())
    assert "mine was imported in one order. Choose seed 0." in texts(page)


def test_a_public_server_offers_no_imported_vectors(mine: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "__init__", lambda *_, **__: None)
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    page = finish(linked(mine.experiment.to_query()).run())
    assert "which this public demo does not offer" in texts(page)
    assert page.session_state.model == "minilm"
    assert not any("imported" in option for option in page.selectbox(key="model").options)


def test_a_selection_stands_out_on_every_page(open_page: Callable[..., AppTest]) -> None:
    def selected(trace: dict) -> list[str]:
        return sorted(trace["text"][at] for at in trace["selectedpoints"])

    page = settle(finish(open_page(selected="box:2,9,-1000,1000")))
    expected = selected(chart(page)["data"][0])
    assert 20 < len(expected) < 280
    assert all(small["paths"]["marked"].count("M") == len(expected) for small in thumbnails(page))
    page.session_state["scatter_box_seen"] = True  # a card that was open
    for name in ("try_a_sentence", "where_length_lives"):
        page = settle(go_to(page, name).run())
        assert selected(chart(page)["data"][0]) == expected
    page.session_state.pooling = Pooling.MEAN  # where the box means nothing
    page = settle(page.run())
    assert page.session_state.selected.startswith("points:")
    assert selected(chart(page)["data"][0]) == expected
    page.session_state.pooling = Pooling.CLS
    page = settle(go_to(page, "compare_models").run())
    clouds = [trace for figure in charts(page) for trace in figure["data"] if trace.get("selectedpoints")]
    assert clouds
    assert all(selected(cloud) == expected for cloud in clouds)


def test_whatever_a_name_of_an_example_holds_is_text() -> None:
    mark = '"><script>alert(1)</script>'
    drawn = markup([Example(f"./?model={mark}", f"./preview.png?model={mark}", mark, mark, mark)])
    assert drawn.count(html.escape(mark)) == 5
    assert set(re.findall("<([a-z]+)", drawn)) == {"ul", "li", "a", "img", "span"}
    assert drawn.count("<") == 11  # of these, and of their ends
