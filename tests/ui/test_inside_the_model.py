"""The page “Inside the model”."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file
from streamlit.testing.v1 import AppTest
from support.app import answer, charts, dimmed, finish, linked, plain, settle, texts
from support.hub import Hub
from support.tiny import write_bert

from clsviz.encoder import Encoder
from clsviz.ui.state import server

PAGE = "inside_the_model"


@pytest.fixture
def open_page(tiny_folder: Path) -> Callable[..., AppTest]:
    """Open a link to the page, by default of the tiny model."""

    def open_page(**query: str) -> AppTest:
        boxes = "beginning", "pooler_check", "direction", "parameters", "facts"
        return settle(linked({"model": str(tiny_folder)} | query, PAGE, boxes).run())

    return open_page


def tables(page: AppTest) -> dict[str, pd.DataFrame]:
    """The tables of the page, by their last column."""
    return {str(element.value.columns[-1]): element.value for element in page.dataframe}


def test_the_page_says_what_the_model_is_made_of(open_page: Callable[..., AppTest], tiny_folder: Path) -> None:
    page = open_page()
    tensors = load_file(tiny_folder / "model.safetensors")
    assert plain(page.title[0].value) == "What is inside tiny-bert?"
    n_weights = sum(tensor.size for tensor in tensors.values())
    assert answer(page).startswith(f"2 layers, {n_weights:,} weights, ")
    assert f"{n_weights:,} weights in {len(tensors)} named parameters" in texts(page)
    assert set(tables(page)["part"]["name"]) == set(tensors)
    assert "[CLS]" in set(tables(page)["Role"]["Token"])
    assert charts(page)[0]["data"][0]["y"] == ["[CLS]", "Embeddings", "Layer 1", "Layer 2", "Pooler"]
    assert not page.session_state.watched  # nothing of a corpus is needed
    page = open_page(model=f"untrained:{tiny_folder}")
    assert "16 numbers, drawn at random" in texts(page)


def test_a_model_that_is_not_here_leaves_the_picture_before_dimmed(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    before = charts(page)[0]["data"]
    page.selectbox(key="model").set_value("bert-base-uncased").run()
    page = settle(page)
    assert "not on this machine yet" in answer(page)
    assert (dimmed(page), charts(page)[0]["data"]) == ({"way"}, before)


def test_the_pooler_is_put_to_the_test(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(text="the big cat sat\nanother line")
    assert {"Id", "Pooler output"} <= tables(page).keys()
    assert "none of its 16 numbers differs by more than" in page.success[0].value
    assert "recomputed from the direction alone" in page.success[1].value
    assert "The first of your 2: “the big cat sat”" in texts(page)
    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "cls_and_pooler", None)
        server.jobs().encoders._loaded.clear()
        assert page.run().success  # it is not measured again
    page = settle(page.text_area(key="text_area").set_value("a dog").run())
    assert "Your sentence: “a dog”" in texts(page)


def test_a_pooler_that_disagrees_is_reported_and_one_that_is_missing_too(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measured = Encoder.cls_and_pooler

    def disturbed(encoder: Encoder, sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
        cls, pooler = measured(encoder, sentences)
        pooler[0, 3] += 0.25
        return cls, pooler

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "cls_and_pooler", disturbed)
        assert "differs by up to 0.2500" in open_page().warning[0].value
    page = open_page(model=str(write_bert(tmp_path / "bare", pooler=False)))
    assert "has no pooler" in page.info[0].value


def test_a_model_of_the_hub_is_fetched_when_asked(open_page: Callable[..., AppTest], hub: Hub, tmp_path: Path) -> None:
    hub.add("google-bert/bert-base-uncased", write_bert(tmp_path / "model", num_hidden_layers=4))
    page = open_page(model="bert-base-uncased")
    finish(page)
    assert "not on this machine yet. Press the button to download them (about 441 MB)." in texts(page)
    assert not hub.requests
    page.button(key="run").click().run()
    page = settle(finish(page))
    assert answer(page).startswith("4 layers, ")


def test_a_model_that_cannot_be_opened_is_reported_in_the_sidebar(
    open_page: Callable[..., AppTest], tiny_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "damaged")
    settings = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(settings | {"num_hidden_layers": 3}))
    for name, said in ((str(tmp_path / "no-such-folder"), "no-such-folder"), (str(folder), "")):
        page = open_page(model=name)
        (error,) = page.sidebar.error
        assert said in plain(error.value)
        assert [repeated.value for repeated in page.main.error] == [error.value]  # for phones
        assert "error" in answer(page)
