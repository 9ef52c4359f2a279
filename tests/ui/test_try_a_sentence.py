"""The page “Try a sentence”, without a browser."""

import base64
import io
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, answer, chart, charts, linked, settle, texts
from support.processor import needs_bfloat16
from support.tiny import random_sentences, write_bert

from clsviz import corpora, statistics
from clsviz.analysis.typed import EXAMPLE
from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.measuring import Job
from clsviz.settings import Pooling
from clsviz.vectors import Vectors

pytestmark = pytest.mark.usefixtures("measured_before")

PAGE = "try_a_sentence"
TYPED = "the cat sat on the mat .\na big dog ran under the old tree\nthe cat sat"


@pytest.fixture
def open_page(tiny_folder: Path, corpus: str) -> Callable[..., AppTest]:
    """Open a link to the page, by default with 300 sentences by the tiny model."""

    def open_page(**query: str) -> AppTest:
        return linked({"model": str(tiny_folder), "corpus": corpus, "sample_size": "300"} | query, PAGE, BOXES).run()

    return open_page


def jobs_of(page: AppTest) -> list[Job]:
    return list(page.session_state.watched.values())


def finish(page: AppTest) -> AppTest:
    """Wait until all jobs of the page have ended, and show what they found."""
    return settle(page)


def scatter(page: AppTest) -> Any:
    """The picture of the corpus with the sentences in it, which stands above all others."""
    return chart(page)


def below(page: AppTest) -> list[Any]:
    """The pictures below it."""
    return charts(page)[1:]


def lines_of(chart: Any) -> dict[str, Any]:
    return {trace["name"]: trace for trace in chart["data"] if trace.get("name")}


def decoded(values: Any) -> Any:
    """An array as Plotly sends it."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return np.array(values)


def headers(page: AppTest) -> list[str]:
    return [header.value for header in page.subheader if header.value not in ("Sample", "View")]


def test_an_example_is_shown_to_who_typed_nothing_and_is_not_in_the_link(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page())
    norm = tiny_encoder.measure([EXAMPLE]).cls_norms[0, -1]
    assert answer(page).startswith(f"“{EXAMPLE}” has ")
    assert len(answer(page).replace(EXAMPLE, "").split()) <= 25
    assert "This is an example; type your own below." in texts(page)
    assert f"the norm of its [CLS] is {norm:.4f}" in answer(page)
    assert "text" not in page.query_params
    assert headers(page) == [
        "What the model reads",
        "Norm of [CLS] after every layer",
        "Grow it, word by word",
        "Raw [CLS] and the pooler output",
        "Which corpus sentences are nearest?",
    ]


def test_the_answer_sets_the_sentence_beside_those_of_its_length(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(text="the cat sat on the mat ."))
    found = jobs_of(page)[0].work.found
    measured = found.measurements
    norm = tiny_encoder.measure(["the cat sat on the mat ."]).cls_norms[0, -1]
    similar = measured.cls_norms[np.abs(measured.n_tokens - 7) <= 1, -1]
    assert answer(page) == (
        f"“the cat sat on the mat .” has 7 tokens, and the norm of its [CLS] is {norm:.4f}: higher than "
        f"{100 * (similar < norm).mean():.0f}% of the {len(similar)} corpus sentences of about this length."
    )


def test_the_sentences_are_stars_among_those_of_the_corpus(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(text=TYPED, layer="1", lengths="shuffled"))
    measured = tiny_encoder.measure(TYPED.splitlines())
    cloud, *_, stars = [trace for trace in scatter(page)["data"] if trace.get("text")]
    np.testing.assert_allclose(decoded(stars["y"]), measured.cls_norms[:, 1], rtol=1e-5)
    np.testing.assert_array_equal(decoded(stars["x"]), measured.n_tokens)
    corpus = jobs_of(page)[0].work.found.measurements
    np.testing.assert_array_equal(decoded(cloud["x"]), corpus.n_tokens)  # not shuffled
    np.testing.assert_allclose(decoded(cloud["y"]), corpus.cls_norms[:, 1], rtol=1e-6)
    names = [note["text"] for note in scatter(page)["layout"]["annotations"] if note["text"].startswith("<b>")]
    assert names == ["<b>yours, 1</b>", "<b>yours, 2</b>", "<b>yours, 3</b>"]
    example = finish(open_page())
    assert "<b>example</b>" in [note["text"] for note in scatter(example)["layout"]["annotations"]]


def test_a_word_of_the_sentence_before_is_not_looked_for_in_the_next(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text="the cat sat on the mat", word="3"))
    page.session_state["word"] = "mat"  # as a list gives what it does not have
    page.text_input(key="text_line").set_value("a big dog").run()
    page = finish(page)
    assert page.selectbox(key="word").value == 1
    assert "word" not in page.query_params


def test_a_vector_whose_norms_the_corpus_does_not_have_yet_says_so(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(pooling="mean"))
    assert not any(len(trace.get("text", [])) for trace in scatter(page)["data"])
    assert "norms of this vector are not measured" in texts(page)
    page = finish(open_page(pooling="mean", nearest="yes"))
    if "Press Run" in texts(page):
        page = finish(page.button(key="run_vectors").click().run())
    assert "norms of this vector are not measured" not in texts(page)


def test_all_tokens_are_shown_with_their_ids(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text="the cat <b>"))
    html = page.get("html")[0].proto.body
    for token, token_id in (("[CLS]", 2), ("the", 5), ("cat", 7), ("[UNK]", 1), ("[SEP]", 3)):
        assert f">{token}</span>" in html
        assert f">{token_id}</span>" in html
    assert "<b>" not in html


def test_the_norm_after_every_layer_lies_over_the_band_of_the_corpus(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(text=TYPED))
    lines = lines_of(below(page)[0])
    measured = jobs_of(page)[0].work.found.measurements
    norms = tiny_encoder.measure(TYPED.splitlines()).cls_norms
    assert list(lines) == [
        "corpus, median and middle half",
        "1. the cat sat on…",
        "2. a big dog ran…",
        "3. the cat sat",
    ]
    medians = np.median(measured.cls_norms, axis=0)
    np.testing.assert_allclose(decoded(lines["corpus, median and middle half"]["y"]), medians, rtol=1e-6)
    np.testing.assert_allclose(decoded(lines["3. the cat sat"]["y"]), norms[2], rtol=1e-5)


def test_growth_is_measured_word_by_word(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = finish(open_page(text=TYPED))
    lines = lines_of(below(page)[1])
    assert list(lines) == ["corpus, median and middle half", "as typed", "words shuffled", "one word repeated"]
    words = TYPED.splitlines()[0].split()
    typed = [" ".join(words[:n]) for n in range(1, 8)]
    repeated = [" ".join(["the"] * n) for n in range(1, 8)]
    for name, prefixes in (("as typed", typed), ("one word repeated", repeated)):
        norms = [tiny_encoder.measure([prefix]).cls_norms[0, -1] for prefix in prefixes]
        np.testing.assert_allclose(decoded(lines[name]["y"]), norms, rtol=1e-5)
        np.testing.assert_array_equal(decoded(lines[name]["x"]), range(1, 8))
    finish(page.selectbox(key="word").set_value(2).run())
    assert page.query_params["word"] == "2"
    norms = [tiny_encoder.measure([" ".join(["cat"] * n)]).cls_norms[0, -1] for n in range(1, 8)]
    np.testing.assert_allclose(decoded(lines_of(below(page)[1])["one word repeated"]["y"]), norms, rtol=1e-5)


def test_shuffled_lengths_are_no_matter_of_a_band(open_page: Callable[..., AppTest]) -> None:
    own, shuffled = (finish(open_page(text=TYPED, lengths=lengths)) for lengths in ("true", "shuffled"))
    assert shuffled.query_params["lengths"] == "shuffled"  # for the other pages
    assert answer(shuffled) == answer(own)
    bands = [lines_of(below(page)[1])["corpus, median and middle half"]["y"] for page in (own, shuffled)]
    np.testing.assert_array_equal(*map(decoded, bands))


def test_the_view_needs_no_model(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    page = finish(open_page(text=TYPED))
    for name in ("measure", "vectors", "cls_and_pooler", "pooler_steps", "tokenize"):
        monkeypatch.setattr(Encoder, name, None)
    page.select_slider(key="layer_2").set_value(1).run()
    assert "the norm of its [CLS] after layer 1 is" in answer(page)
    page.get_by_key("pooling").set_value("mean").run()
    assert "the norm of its mean-pooled vector after layer 1 is" in answer(page)
    assert "measure the corpus’s vectors below" in answer(page)
    assert list(lines_of(below(page)[1])) == ["as typed", "words shuffled", "one word repeated"]
    page.get_by_key("unit").set_value("words").run()
    assert "has 7 words" in answer(page)
    growth = below(page)[1]
    assert growth["layout"]["xaxis"]["title"]["text"] == "Length (in words)"
    assert "words<br>" in lines_of(growth)["as typed"]["hovertemplate"]
    page.get_by_key("pooling").set_value("pooler").run()
    assert "the norm of its pooler output is" in answer(page)
    assert not page.exception


def test_another_sentence_can_be_looked_at(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text=TYPED))
    finish(page.selectbox(key="sentence").set_value(2).run())
    assert answer(page).startswith("“a big dog ran under the old tree” has 8 tokens")
    assert page.query_params["sentence"] == "2"
    finish(page.text_area(key="text_area").set_value("a cat\na dog\na tree").run())
    assert answer(page).startswith("“a cat”")
    assert "sentence" not in page.query_params


def test_raw_cls_stands_beside_what_the_pooler_makes_of_it(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(text="the cat sat"))
    measured = tiny_encoder.measure(["the cat sat"])
    figures = {metric.label: metric.value for metric in page.metric}
    assert list(figures) == ["Raw [CLS]", "After dense", "After tanh"]
    assert figures["Raw [CLS]"] == f"{measured.cls_norms[0, -1]:.4f}"
    assert figures["After tanh"] == f"{measured.pooler_norms[0, 0]:.4f}"
    assert float(figures["After dense"]) > float(figures["After tanh"])
    assert "16 × 16 weights and a bias" in texts(page)
    found = jobs_of(page)[0].work.found.measurements
    low, high = np.percentile(found.pooler_norms[:, 0], [25, 75])
    assert page.metric[2].delta == f"corpus {low:.2f} to {high:.2f}"


def test_a_model_without_a_pooler_says_so(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    page = finish(open_page(model=str(write_bert(tmp_path / "bare", pooler=False)), text=TYPED))
    assert "bare has no pooler" in texts(page)
    assert not page.metric


def cosines(vectors: np.ndarray) -> np.ndarray:
    directions = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    return directions @ directions.T


def test_several_sentences_are_compared_by_where_they_rank_among_corpus_pairs(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = finish(open_page(text=TYPED))
    assert not [table for table in page.dataframe if "Less alike" in table.value]  # corpus vectors are not measured
    finish(page.selectbox(key="sentence").set_value(2).run())
    page = finish(page.toggle(key="nearest").set_value(True).run())
    assert "not trained to be compared by cosine" in texts(page)
    of = cosines(tiny_encoder.vectors(TYPED.splitlines()).of(Pooling.CLS, None))
    corpus = cosines(jobs_of(page)[1].work.found.vectors.of(Pooling.CLS, None))
    pairs = corpus[np.triu_indices(len(corpus), 1)]
    table = page.dataframe[-1].value
    assert table["Sentence"].tolist() == [TYPED.splitlines()[0], TYPED.splitlines()[2]]
    np.testing.assert_allclose(table["Similarity"], [of[1, 0], of[1, 2]], atol=1e-5)
    np.testing.assert_allclose(
        table["Less alike"], [100 * (pairs < of[1, 0]).mean(), 100 * (pairs < of[1, 2]).mean()], atol=0.1
    )
    page.get_by_key("pooling").set_value("mean").run()
    assert "not trained to be compared by cosine" in texts(page)  # nobody knows how this model was trained


def test_nearest_sentences_are_measured_when_asked_for(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page(text="the cat sat on the mat .", sample_size="5000"))
    assert len(jobs_of(page)) == 1
    assert "the first 400 sentences" in texts(page)  # there are no more
    page.toggle(key="nearest").set_value(True).run()
    assert page.query_params["nearest"] == "yes"
    page = finish(page)
    assert len(jobs_of(page)) == 2
    sentences = jobs_of(page)[1].work.found.sentences
    of = tiny_encoder.vectors([*sentences, "the cat sat on the mat ."]).of(Pooling.CLS, None).astype(float)
    of /= np.linalg.norm(of, axis=1, keepdims=True)
    best = int(np.argmax(of[:-1] @ of[-1]))
    table = page.dataframe[-1].value
    assert table["Sentence"].iloc[0] == sentences[best]
    assert table["Similarity"].iloc[0] == pytest.approx((of[:-1] @ of[-1]).max(), abs=1e-3)  # stored in two bytes
    assert len(table) == 10
    with monkeypatch.context() as patched:
        patched.setattr(Vectors, "of", None)  # what is polled reads no vectors again
        page.run()
        upper = np.triu_indices(len(sentences), 1)
        typical = float((of[:-1] @ of[:-1].T)[upper].mean())
        assert f"two random corpus sentences have a similarity of {typical:.3f} on average" in texts(page)
        assert not page.exception
    page.get_by_key("pooling").set_value("mean").run()
    assert "corpus sentences of about this length" in answer(page)  # now the corpus's mean vectors are known
    page.toggle(key="nearest").set_value(False).run()
    assert len(jobs_of(page)) == 1
    assert "nearest" not in page.query_params


def test_a_model_that_has_to_be_fetched_waits_for_a_word(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="bert-base-uncased", text=TYPED))
    assert answer(page).startswith("Press Run")
    assert not below(page)
    assert page.text_area(key="text_area").value == TYPED
    assert "text" in page.query_params


def test_before_the_corpus_is_measured_the_sentence_is(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clsviz.measuring.jobs.FREE_SECONDS", -1.0)
    page = finish(open_page(text=TYPED, nearest="yes", seed="1"))
    assert "The corpus to compare it with has not been measured yet" in answer(page)
    assert list(lines_of(below(page)[1])) == ["as typed", "words shuffled", "one word repeated"]
    assert "Press Run to measure the corpus’s vectors" in texts(page)
    assert not page.exception


def test_an_encoder_that_fails_says_why(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Encoder, sentences: list[str]) -> None:
        raise ModelError("It needs more memory than there is.")

    monkeypatch.setattr(Encoder, "cls_and_pooler", fail)
    page = finish(open_page(text=TYPED))
    assert "It needs more memory than there is." in texts(page)
    assert "Looking for the model" not in texts(page)


def test_no_page_waits_while_the_sentences_are_measured(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    measure = Encoder.cls_and_pooler

    def held(self: Encoder, sentences: list[str]) -> Any:
        assert may_go_on.wait(60)
        return measure(self, sentences)

    monkeypatch.setattr(Encoder, "cls_and_pooler", held)
    page = open_page(text=TYPED)
    while jobs_of(page)[0].work.found is None:
        page.run()
    page.run()
    assert "Measuring with tiny-bert" in texts(page)
    assert page.text_area(key="text_area").value == TYPED
    assert not below(page)
    other = open_page(model="bert-base-uncased")  # of another visitor
    assert answer(other).startswith(("Press Run", "Looking for the model"))
    may_go_on.set()
    assert answer(finish(page)).startswith("“the cat sat on the mat .” has 7 tokens")
    assert "Measuring with" not in texts(page)


@pytest.mark.parametrize("content", ["the cat sat\n", "the cat sat\na dog ran\n", "the cat\n" * 50])
def test_tiny_and_constant_corpora_explain_themselves(
    open_page: Callable[..., AppTest], tmp_path: Path, content: str
) -> None:
    small = corpora.keep_upload(io.BytesIO(content.encode()), "few.txt", tmp_path / "store" / "corpora")
    page = finish(open_page(corpus=small, text=TYPED))
    assert "too few corpus sentences of about this length" in answer(page) or "50 corpus sentences" in answer(page)
    assert len(below(page)) == 2


def test_nothing_under_the_cutoff_is_explained(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    long = corpora.keep_upload(io.BytesIO(b"the cat sat on the mat\n" * 5), "long.txt", tmp_path / "store" / "corpora")
    page = finish(open_page(corpus=long, length_cutoff="3", text=TYPED))
    assert texts(page).count("Too few corpus sentences are under 3 tokens to draw a band") == 2


def test_odd_text_is_shown_as_it_is(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text="**bold** :material/check: [a](http://b)\n$x$ <i> ``` # c\n" + "a " * 700))
    assert answer(page).startswith("“**bold** :material/check: [a](http://b)” has")
    finish(page.selectbox(key="sentence").set_value(3).run())
    assert "the model reads only its beginning" in answer(page)
    assert len(lines_of(below(page)[1])["as typed"]["text"]) == 60
    assert not page.exception


@needs_bfloat16
def test_norms_of_the_fast_precision_are_shown_where_they_can_be(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page(precision="fast", text=TYPED))
    assert "corpus sentences of about this length" in answer(page)
    assert page.metric[0].delta.startswith("corpus ")
    monkeypatch.setattr(statistics.Audit, "is_measurable", property(lambda audit: audit.largest_error == 0))
    page.select_slider(key="length_cutoff").set_value(75).run()
    assert "In fast precision the error exceeds the variation of the corpus’s norms" in answer(page)
    assert list(lines_of(below(page)[1])) == ["as typed", "words shuffled", "one word repeated"]
    assert page.metric[0].delta == "–"


def test_a_link_restores_all_that_the_page_has(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text=TYPED, sentence="2", word="3", nearest="yes"))
    assert "In the link" not in texts(page)
    assert answer(page).startswith("“a big dog ran")
    assert page.selectbox(key="word").value == 3
    assert len(jobs_of(page)) == 2
    bad = finish(open_page(text=TYPED, sentence="99", word="-1", nearest="maybe"))
    assert answer(bad).startswith("“the cat sat on the mat .”")
    assert texts(bad).count("In the link") == 2


def test_more_sentences_than_are_measured_are_counted(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text="\n".join(random_sentences(25, seed=5))))
    assert "Only the first 20 of 25 lines are measured" in texts(page)
    assert len(page.selectbox(key="sentence").options) == 20


def test_every_table_that_is_drawn_can_be_taken_along(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(text=TYPED))
    page.toggle(key="nearest").set_value(True).run()
    page = finish(page)
    buttons = [button.proto.label for button in page.get("download_button")]
    tables = ["Tokens", "Norms by layer", "Norms by word", "Corpus by length", "Pooler", "Nearest", "Similarity"]
    assert buttons == [f"{table} ({kind})" for table in tables for kind in ("CSV", "Parquet")]


@needs_bfloat16
def test_every_table_says_in_which_numbers_it_was_measured(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, Mapping[str, object]] = {}
    monkeypatch.setattr(
        "clsviz.ui.parts.share.table_downloads", lambda label, name, table, about: said.update({label: about()})
    )
    page = finish(finish(open_page(precision="fast", text=TYPED, nearest="yes", probe_size="200")))
    of_corpus = {label: (about.get("corpus_numbers"), about.get("n_measured")) for label, about in said.items()}
    fast = ("bfloat16", 300)
    assert of_corpus == dict.fromkeys(["Tokens", "Norms by word", "Pooler"], (None, None)) | {
        "Norms by layer": fast,
        "Corpus by length": fast,
        "Nearest": ("float32", 200),
        "Similarity": ("float32", 200),
    }
    assert {about["numbers"] for about in said.values()} == {"float32"}
    page.get_by_key("pooling").set_value("mean").run()
    assert said["Corpus by length"]["corpus_numbers"] == "float32"  # mean vectors are always measured exactly
