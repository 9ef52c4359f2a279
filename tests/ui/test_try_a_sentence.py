"""The page “Try a sentence”."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, chart, charts_by_key, jobs_of, linked, settle, texts
from support.processor import needs_bfloat16
from support.tiny import write_bert

from clsviz.analysis.typed import EXAMPLE
from clsviz.encoder import Encoder
from clsviz.settings import Pooling
from clsviz.statistics.line import Audit

pytestmark = pytest.mark.usefixtures("measured_before")

PAGE = "try_a_sentence"
TYPED = "the cat sat on the mat .\na big dog ran under the old tree\nthe cat sat"


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    """Open a link to the page, by default with 300 sentences by the tiny model."""

    def open_page(**query: str) -> AppTest:
        query = {"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query
        page = linked(query, PAGE, BOXES)
        for box in ("tokens_box", "layers_box", "pooler_box"):
            page.session_state[box] = True
        return settle(page.run())

    return open_page


def lines(page: AppTest, key: str) -> dict[str, np.ndarray]:
    """The heights of a chart's lines, by their names."""

    def decoded(values: Any) -> np.ndarray:
        if isinstance(values, dict):
            return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
        return np.array(values)

    return {trace["name"]: decoded(trace["y"]) for trace in charts_by_key(page)[key]["data"] if trace.get("name")}


def test_an_example_is_shown_to_who_typed_nothing_and_is_not_in_the_link(open_page: Callable[..., AppTest]) -> None:
    page = open_page()
    assert f"An example; type your own · “{EXAMPLE}” · " in texts(page)
    assert "text" not in page.query_params
    assert "<b>example</b>" in [note["text"] for note in chart(page)["layout"]["annotations"]]


def test_the_sentences_are_set_beside_the_corpus(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.statistics.lengths.LEAST_SIMILAR", 20)
    page = open_page(text=TYPED, layer="1", lengths="shuffled")
    measured, corpus = tiny_encoder.measure(TYPED.splitlines()), jobs_of(page)[0].work.found.measurements
    similar = corpus.cls_norms[np.abs(corpus.n_tokens - 7) <= 1, 1]  # their own lengths, and not the shuffled ones
    percent = f"{100 * (similar < measured.cls_norms[0, 1]).mean():.0f}%"
    assert f"its norm tops {percent} of corpus sentences about as long" in answer(page)
    assert f"tops {percent} of {len(similar)} corpus sentences about as long" in texts(page)
    names = [note["text"] for note in chart(page)["layout"]["annotations"] if note["text"].startswith("<b>")]
    assert names == ["<b>yours, 1</b>", "<b>yours, 2</b>", "<b>yours, 3</b>"]
    assert page.query_params["lengths"] == "shuffled"  # for the other pages
    np.testing.assert_allclose(lines(page, "path")["3. the cat sat"], measured.cls_norms[2], rtol=1e-5)
    words = TYPED.splitlines()[0].split()
    norms = [tiny_encoder.measure([" ".join(words[:n])]).cls_norms[0, 1] for n in range(1, 8)]
    np.testing.assert_allclose(lines(page, "growth")["as typed"], norms, rtol=1e-5)
    page = settle(page.selectbox(key="word").set_value(2).run())
    assert page.query_params["word"] == "2"
    norms = [tiny_encoder.measure([" ".join(["cat"] * n)]).cls_norms[0, 1] for n in range(1, 8)]
    np.testing.assert_allclose(lines(page, "growth")["one word repeated"], norms, rtol=1e-5)


def test_another_sentence_can_be_looked_at_and_new_text_begins_with_the_first(
    open_page: Callable[..., AppTest],
) -> None:
    page = open_page(text=TYPED)
    page = settle(page.selectbox(key="sentence").set_value(2).run())
    assert "“a big dog ran under the old tree” · 8 tokens · norm of its [CLS] " in texts(page)
    assert page.query_params["sentence"] == "2"
    page.session_state["word"] = "dog"  # as a list of the sentence before gives what it does not have
    page = settle(page.text_area(key="text_area").set_value("a cat\na dog\na tree").run())
    assert "“a cat” · 2 tokens" in texts(page)
    assert not {"sentence", "word"} & page.query_params.keys()


def test_the_view_needs_no_model(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    page = open_page(text=TYPED)
    for name in ("measure", "vectors", "cls_and_pooler", "pooler_steps", "tokenize"):
        monkeypatch.setattr(Encoder, name, None)
    page.select_slider(key="layer_2").set_value(1).run()
    assert "norm of its [CLS] after layer 1 " in texts(page)
    page.get_by_key("pooling").set_value("pooler").run()
    assert "norm of its pooler output " in texts(page)
    page.get_by_key("unit").set_value("words").run()
    assert "7 words · norm" in texts(page)


def test_of_averaged_vectors_the_corpus_is_measured_too(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.statistics.lengths.LEAST_SIMILAR", 20)
    page = open_page(text="the cat sat on the old mat")
    page.get_by_key("pooling").set_value("mean").run()
    page = settle(page)
    (typed,) = tiny_encoder.vectors(["the cat sat on the old mat"]).norms(Pooling.MEAN, None)
    corpus = jobs_of(page)[0].work.found.measurements
    similar = corpus.mean_norms[np.abs(corpus.n_tokens - 7) <= 1, -1]
    assert f"its norm tops {100 * (similar < typed).mean():.0f}% of corpus sentences about as long" in answer(page)
    assert "norm of its mean-pooled vector" in texts(page)


def test_two_sentences_are_compared_as_they_are_typed(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = open_page(text="the cat sat")
    assert "Similarity of the two" not in texts(page)
    page = settle(page.text_input(key="text_second").set_value("a big dog ran").run())
    one, other = tiny_encoder.vectors(["the cat sat", "a big dog ran"]).of(Pooling.CLS, None).astype(float)
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert f"Similarity of the two (cosine of [CLS]): **{cosine:.3f}**" in texts(page)
    assert page.session_state.text == "the cat sat\na big dog ran"
    page = settle(page.text_input(key="text_second").set_value("").run())
    assert page.session_state.text == "the cat sat"


def test_raw_cls_stands_beside_what_the_pooler_makes_of_it(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder, tmp_path: Path
) -> None:
    page = open_page(text="the cat sat")
    measured = tiny_encoder.measure(["the cat sat"])
    shown = {metric.label: metric.value for metric in page.metric}
    assert list(shown) == ["Raw [CLS]", "After dense", "After tanh"]
    assert shown["Raw [CLS]"] == f"{measured.cls_norms[0, -1]:.4f}"
    assert shown["After tanh"] == f"{measured.pooler_norms[0, 0]:.4f}"
    assert page.metric[2].delta.startswith("corpus ")
    page = open_page(model=str(write_bert(tmp_path / "bare", pooler=False)), text=TYPED)
    assert "bare has no pooler" in texts(page)
    assert not page.metric


def test_nearest_sentences_are_measured_when_asked_for(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = open_page(text=TYPED, sample_size="5000")
    assert len(jobs_of(page)) == 1
    assert "the first 400 sentences" in texts(page)  # there are no more
    page = settle(page.toggle(key="nearest").set_value(True).run())
    assert page.query_params["nearest"] == "yes"
    sentences = jobs_of(page)[1].work.found.sentences
    vectors = tiny_encoder.vectors([*sentences, TYPED.splitlines()[0]]).of(Pooling.CLS, None).astype(float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    nearest, others = (table.value for table in page.dataframe if "Similarity" in table.value)
    assert nearest["Sentence"].iloc[0] == sentences[int(np.argmax(vectors[:-1] @ vectors[-1]))]
    assert len(nearest) == 10
    assert others["Sentence"].tolist() == TYPED.splitlines()[1:]
    buttons = [button.proto.label for button in page.get("download_button")]
    tables = ["Tokens", "Norms by layer", "Norms by word", "Corpus by length", "Pooler", "Nearest", "Similarity"]
    assert buttons == [f"{table} ({kind})" for table in tables for kind in ("CSV", "Parquet")]
    page.toggle(key="nearest").set_value(False).run()
    assert len(jobs_of(page)) == 1
    assert "nearest" not in page.query_params


def test_odd_text_is_shown_as_it_is(open_page: Callable[..., AppTest]) -> None:
    page = open_page(text="**bold** :material/check: [a](http://b)\n$x$ <i> ``` # c\n" + "a " * 700)
    assert "“**bold** :material/check: [a](http://b)” · " in texts(page)
    page = settle(page.selectbox(key="sentence").set_value(2).run())
    chips = "".join(element.proto.body for element in page.get("html"))
    assert "<i>" not in chips
    assert ">[CLS]</span>" in chips
    page = settle(page.selectbox(key="sentence").set_value(3).run())
    assert answer(page).startswith("Cut short: the model reads only the first ")


def test_a_link_restores_all_that_the_page_has(open_page: Callable[..., AppTest]) -> None:
    page = open_page(text=TYPED, sentence="2", word="3", nearest="yes")
    assert "In the link" not in texts(page)
    assert "“a big dog ran under the old tree” · " in texts(page)
    assert page.selectbox(key="word").value == 3
    assert len(jobs_of(page)) == 2
    bad = open_page(text=TYPED, sentence="99", word="-1", nearest="maybe")
    assert "“the cat sat on the mat .” · " in texts(bad)
    assert texts(bad).count("In the link") == 2


@needs_bfloat16
def test_every_table_says_in_which_numbers_it_was_measured(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Mapping[str, object]] = {}
    monkeypatch.setattr(
        "clsviz.ui.parts.share.table_downloads", lambda label, name, table, about: known.update({label: about()})
    )
    page = settle(open_page(precision="fast", text=TYPED, nearest="yes", probe_size="200"))
    of_corpus = {label: (about.get("corpus_numbers"), about.get("n_measured")) for label, about in known.items()}
    fast, exact = ("bfloat16", 300), ("float32", 200)
    assert of_corpus == dict.fromkeys(["Tokens", "Norms by word", "Pooler"], (None, None)) | {
        "Norms by layer": fast,
        "Corpus by length": fast,
        "Nearest": exact,
        "Similarity": exact,
    }
    monkeypatch.setattr(Audit, "is_measurable", property(lambda audit: audit.largest_error == 0))
    page.select_slider(key="length_cutoff").set_value(75).run()
    assert answer(page).endswith("in fast precision the error exceeds the variation of the norms.")
