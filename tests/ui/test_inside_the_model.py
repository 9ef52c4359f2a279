"""The page “Inside the model”, without a browser."""

import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import transformers
from safetensors.numpy import load_file
from streamlit.testing.v1 import AppTest
from support.app import answer, browse_from, charts, finish, go_to, job_of, linked, plain, settle, texts
from support.hub import Hub
from support.tiny import SPECIAL, WORDS, write_bert, write_model, write_tokenizer

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.measurements import Kind
from clsviz.measuring import Extraction, Found, State, measurement_key
from clsviz.measuring.lane import Lane
from clsviz.progress import Progress
from clsviz.ui.state import server

PAGE = "inside_the_model"
SINAN = "Sinan loves a beautiful day"


@pytest.fixture
def open_page(tiny_folder: Path) -> Callable[..., AppTest]:
    """Open a link to the page, by default of the tiny model."""

    def open_page(**query: str) -> AppTest:
        return settle(linked({"model": str(tiny_folder)} | query, PAGE).run())

    return open_page


def tables(page: AppTest) -> dict[str, pd.DataFrame]:
    """The tables of the page, by their first column."""
    return {str(element.value.columns[-1]): element.value for element in page.dataframe}


def test_the_page_says_what_the_model_is_made_of(open_page: Callable[..., AppTest], tiny_folder: Path) -> None:
    page = open_page()
    tensors = load_file(tiny_folder / "model.safetensors")
    n_weights = sum(tensor.size for tensor in tensors.values())
    n_tokens = len(tensors["embeddings.word_embeddings.weight"])
    assert plain(page.title[0].value) == "What is inside tiny-bert?"
    assert answer(page) == (
        f"{n_weights:,} weights in {len(tensors)} named parameters: a BertModel of 2 layers with 2 attention heads "
        f"each, 16-dimensional vectors and a vocabulary of {n_tokens} tokens."
    )
    assert len(page.header) == 1
    parameters = tables(page)["part"]
    assert dict(zip(parameters["name"], parameters["weights"], strict=True)) == {
        name: tensor.size for name, tensor in tensors.items()
    }
    special = tables(page)["Role"]
    assert dict(zip(special["Token"], special["Id"], strict=True))["[CLS]"] == 2
    chart = charts(page)[0]
    assert chart["data"][2]["y"] == ["Embeddings", "Layer 1", "Layer 2", "Pooler"]
    norm = np.linalg.norm(tensors["embeddings.word_embeddings.weight"][2])
    assert f"16 numbers, learned in training, with norm {norm:.4f}" in texts(page)
    assert not page.session_state.watched  # nothing of a corpus is needed


def test_the_pooler_is_put_to_the_test(open_page: Callable[..., AppTest], tiny_folder: Path) -> None:
    page = open_page(text="the big cat sat\nanother line")
    assert "none of its 16 numbers is off by more than" in page.success[0].value
    assert not page.warning
    assert "The first of your 2: “the big cat sat”" in texts(page)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_folder)
    assert tables(page)["Id"]["Id"].tolist() == tokenizer("the big cat sat")["input_ids"]
    numbers, tensors = tables(page)["Pooler output"], load_file(tiny_folder / "model.safetensors")
    pooled = np.tanh(
        tensors["pooler.dense.weight"] @ numbers["[CLS]"].to_numpy(np.float32) + tensors["pooler.dense.bias"]
    )
    np.testing.assert_allclose(numbers["Pooler output"], pooled, atol=1e-5)
    norms = tables(page)["Difference"]
    assert norms["Norm"].iloc[-1] == pytest.approx(np.linalg.norm(numbers["[CLS]"]), rel=1e-6)
    np.testing.assert_allclose(norms["From the direction"], norms["Norm"], rtol=1e-5)
    assert "recomputed from the direction alone" in page.success[1].value
    settle(page.text_area(key="text_area").set_value("a dog").run())
    assert "Your sentence: “a dog”" in texts(page)
    assert len(tables(page)["Id"]) == 4


def test_a_pooler_that_disagrees_is_reported(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Encoder.cls_and_pooler

    def disturbed(encoder: Encoder, sentences: list[str]) -> tuple[np.ndarray, np.ndarray]:
        cls, pooler = measured(encoder, sentences)
        pooler[0, 3] += 0.25
        return cls, pooler

    monkeypatch.setattr(Encoder, "cls_and_pooler", disturbed)
    page = open_page()
    assert not any("numbers is off" in element.value for element in page.success)
    assert "off by up to 0.2500" in page.warning[0].value


def test_a_model_without_pooler_has_nothing_to_test(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    page = open_page(model=str(write_bert(tmp_path / "bare", pooler=False)))
    assert "has no pooler" in page.info[0].value
    assert not any("numbers is off" in element.value for element in page.success)
    assert "Pooler: none" in texts(page).replace("*", "")


@pytest.mark.parametrize("model_type", ["electra", "albert", "modernbert"])
def test_models_that_are_built_otherwise_are_shown(
    open_page: Callable[..., AppTest], tmp_path: Path, model_type: str
) -> None:
    page = open_page(model=str(write_model(tmp_path / model_type, model_type)))
    assert "of 3 layers" in texts(page)
    assert not page.error


def test_random_weights_are_not_called_learned(open_page: Callable[..., AppTest], tiny_folder: Path) -> None:
    page = open_page(model=f"untrained:{tiny_folder}")
    assert "What is inside untrained tiny-bert?" in texts(page)
    assert "16 numbers, drawn at random" in texts(page)
    assert page.success


def test_what_was_measured_is_not_measured_again(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    monkeypatch.setattr(Encoder, "__init__", None)
    monkeypatch.setattr(Encoder, "cls_and_pooler", None)
    server.jobs().encoders._loaded.clear()
    page.run()
    assert not page.exception
    assert page.success


def test_what_another_page_measures_goes_on_while_the_visitor_looks_inside(
    tiny_folder: Path,
    corpus: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    went_on = threading.Event()
    run = Extraction.run

    def held(extraction: Extraction, progress: Progress) -> Found:
        assert went_on.wait(60)
        return run(extraction, progress)

    monkeypatch.setattr(Extraction, "run", held)
    page = linked({"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"})
    job = job_of(page.run())
    while job.state is not State.RUNNING:
        time.sleep(0.01)
    go_to(page, PAGE).run()
    assert plain(page.title[0].value) == "What is inside tiny-bert?"
    assert job.state is State.RUNNING
    assert job.is_watched
    went_on.set()
    while job.state.is_active:
        time.sleep(0.01)
    page.run()
    assert not page.exception
    assert job.state is State.DONE
    assert len(job.work.found.measurements) == 300


def test_what_other_settings_asked_for_does_not_go_on(
    open_page: Callable[..., AppTest],
    corpus: str,
    monkeypatch: pytest.MonkeyPatch,
    tiny_folder: Path,
) -> None:
    page = open_page(corpus=corpus, sample_size="200")
    monkeypatch.setattr(Lane, "put", lambda self, job, *_: setattr(job, "state", State.QUEUED))
    job = server.jobs().open(Experiment(model=str(tiny_folder), corpus=corpus, sample_size=300))
    page.session_state.watched = {measurement_key(job.work.experiment, Kind.NORMS): job}
    page.run()
    assert not page.exception
    assert job.state is State.CANCELLED


def test_a_model_whose_layers_are_of_several_shapes_is_shown(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    shape = {"block_sizes": [1, 1], "d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 32}
    config = transformers.FunnelConfig(vocab_size=len(SPECIAL) + len(WORDS), max_position_embeddings=64, **shape)
    transformers.FunnelModel(config).save_pretrained(tmp_path / "funnel")
    write_tokenizer(tmp_path / "funnel")
    page = open_page(model=str(tmp_path / "funnel"))
    assert "What is inside funnel?" in texts(page)
    assert not page.error


def test_a_model_of_the_hub_is_fetched_when_asked(open_page: Callable[..., AppTest], hub: Hub, tmp_path: Path) -> None:
    hub.add("google-bert/bert-base-uncased", write_bert(tmp_path / "model", num_hidden_layers=4))
    page = open_page(model="bert-base-uncased")
    finish(page)
    assert "not on this machine yet. Press the button to download them (about 441 MB)." in texts(page)
    assert not hub.requests
    page.button(key="run").click().run()
    finish(page)
    assert "of 4 layers" in texts(page)
    assert page.query_params["model"] == "bert-base-uncased"
    assert not page.session_state.watched


def test_a_model_that_is_nowhere_is_reported_in_the_sidebar(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    page = open_page(model=str(tmp_path / "no-such-folder"))
    assert "no-such-folder" in plain(page.sidebar.error[0].value)
    assert [plain(error.value) for error in page.main.error] == [plain(page.sidebar.error[0].value)]  # for phones
    assert "the error says why." in answer(page)


def test_a_model_that_cannot_be_loaded_is_reported_in_the_sidebar(
    open_page: Callable[..., AppTest], tiny_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "damaged")
    settings = json.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_text(json.dumps(settings | {"num_hidden_layers": 3}))
    page = open_page(model=str(folder))
    assert "lacks" in plain(page.sidebar.error[0].value)
    assert [plain(error.value) for error in page.main.error] == [plain(page.sidebar.error[0].value)]  # for phones
    assert answer(page) == "This model is not loaded yet: progress, or the error, is shown beside it."


def test_a_link_may_not_open_a_folder_from_afar(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    browse_from(monkeypatch, "example.org")
    page = open_page()
    assert any("Folders can be opened only" in plain(warning.value) for warning in page.warning)
    assert page.session_state.model == "minilm"


def test_a_folder_is_not_opened_for_a_browser_from_afar(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    browse_from(monkeypatch, "example.org")  # as with a forged message, which no link goes before
    page.run()
    assert "Folders can be opened only" in plain(page.sidebar.error[0].value)
    assert page.main.error
    assert not page.dataframe
    assert not charts(page)


def test_the_built_in_model_reads_the_known_sentence(
    open_page: Callable[..., AppTest], minilm_encoder: Encoder
) -> None:
    server.jobs().encoders._loaded[(minilm_encoder.weights.fingerprint, minilm_encoder.precision)] = minilm_encoder
    page = open_page(model="minilm", text=SINAN)
    assert tables(page)["Id"]["Id"].tolist() == [101, 8254, 2319, 7459, 1037, 3376, 2154, 102]
    shown = tables(page)["Pooler output"]
    measured = minilm_encoder.measure([SINAN])
    assert np.linalg.norm(shown["[CLS]"]) == pytest.approx(float(measured.cls_norms[0, -1]), rel=1e-5)
    assert np.linalg.norm(shown["Pooler output"]) == pytest.approx(float(measured.pooler_norms[0, 0]), rel=1e-5)
    assert f"After layer 0, the embedding output, its norm is {measured.cls_norms[0, 0]:.4f}, the same" in texts(page)
    facts = texts(page).replace("*", "")
    assert "Feed-forward: 1,536 wide, gelu" in facts
    assert "Case and accents: lower-cased, accents stripped" in facts
    assert "Around a sentence: [CLS] … [SEP]" in facts
