"""Vectors of the visitor's own: imported on the page, listed, and shown on every page."""

import base64
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from streamlit.testing.v1 import AppTest
from support.app import answer, chart, finish, go_to, linked, plain, settle, texts, unfold
from support.tiny import random_sentences

from clsviz import measuring, models, words
from clsviz.corpora import Rows
from clsviz.encoder import Encoder
from clsviz.measuring import Import, Store
from clsviz.settings import Pooling, Precision, Unit

TEXTS = random_sentences(300, seed=11)
VECTORS = np.random.default_rng(0).normal(1, 1, size=(300, 6)).astype(np.float32)
NORMS = np.linalg.norm(VECTORS, axis=1)


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Encoder, "__init__", refuse)


@pytest.fixture
def mine(tmp_path: Path) -> Import:
    return measuring.import_rows([Rows(TEXTS, VECTORS, None)], 300, "mine", Store(tmp_path / "store"))


def table(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def norms_drawn(page: AppTest) -> list[float]:
    cloud = chart(page)["data"][0]
    return sorted(np.frombuffer(base64.b64decode(cloud["y"]["bdata"]), cloud["y"]["dtype"]).tolist())


def test_a_file_is_imported_with_the_columns_that_are_chosen(mine: Import) -> None:
    page = unfold(finish(linked(mine.experiment.to_query()).run()), "own_file")
    n_tokens = [len(text.split()) + 2 for text in TEXTS]
    content = table(title=["-"] * 300, body=TEXTS, first=VECTORS.tolist(), second=(2 * VECTORS).tolist(), n=n_tokens)
    page.file_uploader(key="vectors_upload").upload("two of them.parquet", content)
    page.run()
    offered = {box.label: box.options for box in page.selectbox}
    assert offered["Vectors or norms"] == ["first", "second", "n (norms)"]
    assert offered["Their texts"] == ["title", "body"]
    assert offered["Their lengths in tokens"] == ["Not known: count words", "n"]
    assert page.text_input(key="vectors_name").value == "two-of-them"
    page.selectbox(key="vectors_column").select("second")
    page.selectbox(key="vectors_text").select("body")
    page.selectbox(key="vectors_tokens").select("n")
    page.run()
    next(button for button in page.button if button.label == "Import").click().run()
    finish(page)
    assert plain(page.title[0].value) == "Do the vectors two-of-them encode the length of a sentence in their norm?"
    assert "tokens" in answer(page)
    np.testing.assert_allclose(norms_drawn(page), np.sort(2 * NORMS), rtol=1e-4)
    assert page.session_state.unit is Unit.TOKENS
    assert page.query_params["model"].startswith("imported:two-of-them@")
    assert {one.model for one in measuring.list_imports(Store())} == {mine.model, page.query_params["model"]}


def test_texts_of_an_array_are_uploaded_beside_it(mine: Import) -> None:
    page = unfold(finish(linked(mine.experiment.to_query()).run()), "own_file")
    buffer = io.BytesIO()
    np.save(buffer, NORMS)
    page.file_uploader(key="vectors_upload").upload("norms.npy", buffer.getvalue())
    page.run()
    next(button for button in page.button if button.label == "Import").click().run()
    assert "norms.npy holds no texts. Give them in a file of their own" in texts(page)
    page.file_uploader(key="vectors_texts").upload("texts.txt", "\n".join(TEXTS[:-1]).encode())
    page.run()
    next(button for button in page.button if button.label == "Import").click().run()
    assert "texts.txt has 299 texts, and norms.npy has 300 rows" in texts(page)
    page.file_uploader(key="vectors_texts").upload("texts.txt", "\n".join(TEXTS).encode())
    page.run()
    next(button for button in page.button if button.label == "Import").click().run()
    finish(page)
    assert page.query_params["model"].endswith("-norms-words")
    assert page.query_params["unit"] == "words"
    np.testing.assert_allclose(norms_drawn(page), np.sort(NORMS), rtol=1e-4)


def test_a_file_that_is_none_says_so(mine: Import) -> None:
    page = unfold(finish(linked(mine.experiment.to_query()).run()), "own_file")
    page.file_uploader(key="vectors_upload").upload("mine.npy", b"no array")
    page.run()
    assert "mine.npy cannot be read" in texts(page)
    page.file_uploader(key="vectors_upload").upload("mine.csv", b"a,b\n1,2\n")
    page.run()
    assert "mine.csv is in no format of vectors" in texts(page)
    assert not page.exception


def test_what_was_imported_is_in_the_list_and_comes_with_its_texts(mine: Import, corpus: str, tmp_path: Path) -> None:
    page = finish(linked({"model": str(tmp_path), "corpus": corpus, "sample_size": "100", "seed": "3"}).run())
    box = page.selectbox(key="model")
    assert f"mine (imported, {models.Imported.parse(mine.model).digest[:4]})" in box.options
    box.set_value(mine.model).run()
    finish(page)
    assert (page.session_state.corpus, page.session_state.seed) == (mine.corpus, 0)
    np.testing.assert_allclose(norms_drawn(page), np.sort(NORMS), rtol=1e-4)
    assert [box.key for box in page.number_input] == []  # neither another seed
    assert "precision" not in [group.key for group in page.segmented_control]


@pytest.mark.parametrize("name", ["", "where_length_lives", "length_and_search", "try_a_sentence", "inside_the_model"])
def test_every_page_shows_it_or_says_that_there_is_no_model(name: str, mine: Import) -> None:
    page = settle(linked(mine.experiment.to_query(), name).run())
    said = texts(page)
    assert not page.error
    assert not page.warning
    expected = {
        "": words.imported.NO_SENTENCE,
        "try_a_sentence": words.imported.NO_SENTENCE,
        "inside_the_model": words.imported.NO_PAGE,
    }
    assert expected.get(name, words.imported.NO_OTHERS) in said
    if name not in ("try_a_sentence", "inside_the_model"):
        assert "300" in said
    if name in ("", "where_length_lives"):
        assert "[CLS]" not in said
        assert "tokens" not in said


def test_a_view_that_only_models_have_is_put_right(mine: Import) -> None:
    query = mine.experiment.to_query() | {"layer": "3", "pooling": "mean", "unit": "tokens", "text": "A sentence."}
    page = settle(linked(query, "where_length_lives").run())
    assert words.imported.ONE_VECTOR in texts(page)
    state = page.session_state
    assert (state.pooling, state.layer, state.unit) == (Pooling.CLS, "last", Unit.WORDS)
    page = settle(go_to(page, "").run())
    assert not page.exception
    assert not page.error


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"seed": "1"}, "mine was imported in one order. Choose seed 0."),
        ({"precision": Precision.FAST.value}, "Choose the exact precision."),
        ({"corpus": "python-docs"}, "there is no model to run. Choose the texts that it was imported with"),
    ],
)
def test_a_link_that_asks_for_more_ends_in_a_sentence(changes: dict[str, str], problem: str, mine: Import) -> None:
    page = finish(linked(mine.experiment.to_query() | changes).run())
    assert problem in texts(page)
    assert not page.exception


def test_models_are_compared_with_it(mine: Import) -> None:
    page = settle(linked(mine.experiment.to_query() | {"models": mine.model}, "compare_models").run())
    assert "Which vectors encode the length of a sentence in their norm?" in texts(page)
    assert "under 80 words for every model" in texts(page)


def test_a_public_server_has_none_of_it(mine: Import, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_PUBLIC", "1")
    page = finish(linked(mine.experiment.to_query()).run())
    assert "which this public demo does not offer" in texts(page)
    assert page.session_state.model == "minilm"
    assert "vectors_upload" not in [uploader.key for uploader in page.file_uploader]
    assert not any("imported" in option for option in page.selectbox(key="model").options)


def test_another_file_asks_for_its_own_columns(mine: Import) -> None:
    page = unfold(finish(linked(mine.experiment.to_query()).run()), "own_file")
    for names in (("a", "b"), ("c", "d")):
        content = table(text=TEXTS, **{name: VECTORS.tolist() for name in names})
        page.file_uploader(key="vectors_upload").upload(f"{names[0]}.parquet", content)
        page.run()
        page.selectbox(key="vectors_column").select(names[1])
        page.run()
        assert page.text_input(key="vectors_name").value == names[0]
        assert not page.exception
        assert not page.error
    next(button for button in page.button if button.label == "Import").click().run()
    finish(page)
    assert page.query_params["model"].startswith("imported:c@")
