"""The choice of a corpus, and of what is read of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support.app import answer, figures, finish, job_of, plain, unfold
from support.hub import Hub
from support.tiny import random_sentences, write_dataset

from clsviz import corpora
from clsviz.measuring import State
from clsviz.settings import Segmentation
from clsviz.ui.controls import presets


def test_an_uploaded_text_becomes_the_corpus(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page()), "own_file")
    content = "\n".join(["", "the cat", *random_sentences(50, seed=4), "  "]).encode()
    page.file_uploader(key="upload").upload("mine.txt", content)
    page.run()
    assert corpora.is_upload(page.session_state.corpus)
    finish(page)
    assert job_of(page).state is State.WAITING  # until the visitor has seen how it is read
    assert plain(page.main.expander[0].label) == "How **mine.txt** is read: 51 sentences"
    assert plain(page.main.expander[0].markdown[0].value) == "Each line is taken as one sentence."
    assert answer(page).startswith("See above how your file is read.")
    elements = list(page.main)
    assert elements.index(page.main.expander[0].markdown[0]) < elements.index(page.title[0])
    page.button(key="measure").click().run()
    finish(page)
    assert figures(page)["Sentences"] == "51"
    assert page.query_params["corpus"] == page.session_state.corpus


def test_an_upload_without_sentences_says_so(open_page: Callable[..., AppTest], corpus: str) -> None:
    page = unfold(finish(open_page()), "own_file")
    page.file_uploader(key="upload").upload("empty.txt", b"\n\n")
    page.run()
    said = page.sidebar.error[0]
    assert "empty.txt holds no text" in said.value
    elements = list(page.sidebar)
    below = elements.index(said) - elements.index(page.file_uploader(key="upload"))
    assert below == 1  # where it is seen on a phone, and nothing says that the file is kept
    assert page.session_state.corpus == corpus
    page.file_uploader(key="upload").upload("mine.txt", b"A cat sat.\n")
    page.run()
    assert not page.sidebar.error
    assert "is kept" in page.sidebar.expander[0].caption[0].value


def test_a_dataset_offers_what_it_declares(hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    texts_of = {
        "one": {"train": random_sentences(50, seed=1), "test": random_sentences(50, seed=2)},
        "two": {"dev": random_sentences(50, seed=3)},
    }
    hub.add("owner/corpus", write_dataset(tmp_path / "data", texts_of), kind="dataset")
    page = finish(open_page(corpus="owner/corpus", sample_size="50"))
    assert job_of(page).state is State.WAITING  # to be downloaded
    offered = {box.label: box.options for box in page.selectbox}
    assert offered["Configuration"] == ["one", "two"]
    assert sorted(offered["Split"]) == ["test", "train"]
    assert "Column" not in offered  # as there is only one
    page.selectbox(key="chosen_split_owner/corpus").select("test").run()
    finish(page)
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["one"]["test"])
    assert page.query_params["split"] == "test"
    page.selectbox(key="chosen_configuration_owner/corpus").select("two").run()
    finish(page)
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(texts_of["two"]["dev"])
    page.selectbox(key="corpus").select("python-docs").run()
    assert not finish(page).exception
    assert not page.run().exception  # also the second time, without the controls of a dataset
    assert page.session_state.configuration == page.session_state.split == ""


def test_a_setting_that_a_built_in_corpus_lacks_can_be_forgotten(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(corpus="python-docs", column="x", sample_size="50"))
    assert "no column “x”" in plain(page.sidebar.error[0].value)
    next(button for button in page.button if "defaults" in button.label).click().run()
    assert not finish(page).error


def test_settings_that_a_dataset_lacks_can_be_forgotten(
    hub: Hub, open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    sentences = random_sentences(50, seed=1)
    hub.add("owner/corpus", write_dataset(tmp_path / "data", {"one": {"train": sentences}}), kind="dataset")
    page = finish(open_page(corpus="owner/corpus", configuration="three", sample_size="50"))
    assert "no configuration “three”. Choose one" in plain(page.sidebar.error[0].value)
    next(button for button in page.button if "defaults" in button.label).click().run()
    finish(page)
    assert not page.error
    page.button(key="run").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == set(sentences)


def test_an_uploaded_table_has_its_columns_offered(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presets, "INSTANT", replace(presets.INSTANT, sample_size=300))
    page = unfold(finish(open_page()), "own_file", "settings")
    sentences = random_sentences(60, seed=4)
    rows = ["title;remark", *(f"the cat;{sentence}" for sentence in sentences)]
    page.file_uploader(key="upload").upload("mine.csv", "\n".join(rows).encode())
    page.run()
    finish(page)
    name = page.session_state.corpus
    column = page.selectbox(key=f"chosen_column_{name}")
    assert (column.value, column.options) == ("title", ["title", "remark"])
    column.select("remark").run()
    assert set(job_of(finish(page)).work.found.sentences) == set(sentences)
    assert page.query_params["column"] == "remark"
    session_back = {name: value for name, value in page.query_params.items() if name != "column"}
    page.session_state.column = ""  # as after the browser's Back
    page.run()
    finish(page)
    assert page.selectbox(key=f"chosen_column_{name}").value == "title"
    assert dict(page.query_params) == session_back
    next(button for button in page.button if button.label == "Instant").click().run()
    assert not finish(page).run().exception


def test_texts_are_cut_into_sentences_if_so_asked(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page()), "own_file")
    page.file_uploader(key="upload").upload(
        "mine.txt", b"The cat sat. The dog ran home.\nThe tree is big. A cat saw it.\n"
    )
    page.run()
    finish(page).button(key="run").click().run()  # the button in the sidebar does as well
    assert len(job_of(finish(page)).work.found.sentences) == 2
    page.segmented_control(key="segmentation").set_value(Segmentation.SENTENCES).run()
    finish(page).button(key="measure").click().run()
    assert set(job_of(finish(page)).work.found.sentences) == {
        *("The cat sat.", "The dog ran home.", "The tree is big.", "A cat saw it.")
    }
