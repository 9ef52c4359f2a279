"""The main page: the answer, the picture, its controls, and the visitor's own sentences."""

import base64
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block
from support.app import (
    answer,
    chart,
    charts_by_key,
    dimmed,
    drawn,
    figures,
    finish,
    go_to,
    job_of,
    settle,
    texts,
    thumbnails,
    unfold,
)
from support.corpora import shrink
from support.processor import needs_bfloat16
from support.tiny import random_sentences
from support.waiting import wait_for

from clsviz import words
from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.limits import PUBLIC
from clsviz.sources.near_duplicates import clusters_of
from clsviz.statistics import line
from clsviz.statistics.line import Audit
from clsviz.statistics.means import averaging
from clsviz.statistics.shape import shape as shape_of
from clsviz.ui.state import server
from clsviz.words.glossary import NORM_VS_LENGTH, TERMS, TOUR, TOUR_PAGES

pytestmark = pytest.mark.usefixtures("measured_before")

ODD = "<img src=x onerror=alert(1)>"


def test_the_page_answers_its_question(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = finish(open_page())
    assert "Does tiny-bert encode the length of a sentence" in texts(page)
    measured = tiny_encoder.measure(job_of(page).work.found.sentences)
    r_squared = np.corrcoef(measured.n_tokens, measured.cls_norms[:, -1])[0, 1] ** 2
    assert figures(page)["R²"] == words.numbers.share(r_squared)
    assert "of the differences between norms" in answer(page)
    assert figures(page)["Sentences"] == "300"
    assert len(chart(page)["data"][0]["text"]) == 300
    assert [term for term in TERMS if f"**{term}** — " in texts(page)] == [t for t in TERMS if t in NORM_VS_LENGTH]


def test_what_is_not_measured_leaves_the_picture_before_dimmed(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = chart(page)["data"][0]["y"]
    assert not dimmed(page)
    page.selectbox(key="model").set_value("bert-base-uncased").run()
    assert answer(page).startswith("Press Measure to start.")
    assert (dimmed(page), chart(page)["data"][0]["y"]) == ({"scatter"}, before)
    assert words.waiting.SETTINGS_BEFORE in texts(page)


def test_the_norm_of_the_mean_is_measured_when_it_is_chosen(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder
) -> None:
    page = settle(finish(open_page(pooling="mean")))
    sentences = job_of(page).work.found.sentences
    measured = tiny_encoder.means(sentences)
    r_squared = np.corrcoef(measured.n_tokens, measured.mean_norms[:, -1])[0, 1] ** 2
    assert figures(page)["R²"] == words.numbers.share(r_squared)
    assert "in the norm of its mean-pooled vector" in texts(page)
    title = words.averaging.title(averaging(measured, np.arange(300), clusters_of(sentences)), untrained=False)
    box = next(one for one in page.expander if one.label == title)
    assert not box.children
    page.session_state["averaging"] = True
    page.run()
    wait_for(lambda: any("R² (untrained)" in frame.value for frame in settle(page.run()).dataframe))
    assert "The same architecture with random weights is the control." in texts(page)
    shuffled = finish(open_page(pooling="mean", lengths="shuffled"))
    assert not [one for one in shuffled.expander if one.label.startswith("Longer sentences")]


def test_facts_say_how_texts_were_cut_and_a_button_cuts_them_otherwise(
    open_page: Callable[..., AppTest], tmp_path: Path
) -> None:
    path = tmp_path / "two.txt"
    path.write_text("\n".join(f"{text} . And then it ran ." for text in random_sentences(40, seed=8)))
    page = unfold(finish(open_page(corpus=str(path), segmentation="none")), "how_measured")
    assert "40 sentences, one per line)" in texts(page)
    button = next(one for one in page.button if one.key == "other_cut")
    assert button.label == "Cut into sentences instead"
    page = button.click().run()
    assert page.session_state["segmentation"] == "sentences"
    assert "Each line was cut into sentences." in texts(page)
    cut = unfold(finish(open_page(corpus=str(path), segmentation="sentences")), "how_measured")
    assert "cut into sentences)" in texts(cut)
    assert next(one.label for one in cut.button if one.key == "other_cut") == "Take one per line instead"


def test_the_shape_and_the_cutoffs_follow_and_the_picture_stays(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = chart(page)
    assert charts_by_key(page).keys() == {"scatter"}  # what nobody has opened is not drawn
    page.session_state["how_measured"] = page.session_state["every_cutoff"] = True
    page = settle(page.run())
    found = job_of(page).work.found
    lengths, norms = found.measurements.n_tokens, found.measurements.cls_norms[:, -1]
    shape = shape_of(lengths, norms, clusters_of(found.sentences[:300]))
    assert words.PENDING not in answer(page)
    assert f"**R² of a curve:** {words.number(shape.curve_r_squared)}" in texts(page)
    by_cutoff = line.by_cutoff(lengths, lengths, norms, clusters_of(found.sentences))
    assert words.by_cutoff(by_cutoff) in texts(page)
    assert chart(page) == before
    assert charts_by_key(page).keys() == {"scatter", "cutoffs"}
    page.get_by_key("overlays").set_value(["Medians"]).run()
    assert len(drawn(page)) == 2


def test_a_small_picture_of_each_layer_opens_its_view(open_page: Callable[..., AppTest]) -> None:
    page = settle(finish(open_page()))
    found = job_of(page).work.found
    lengths, norms = found.measurements.n_tokens, found.measurements.cls_norms
    small = thumbnails(page)
    assert [(one["name"], one["is_chosen"]) for one in small] == [("Layer 1", False), ("Layer 2", True)]
    assert [one["result"] for one in small] == [
        f"R² {np.corrcoef(lengths, norms[:, layer])[0, 1] ** 2:.2f}" for layer in (1, 2)
    ]
    page.session_state.layer = 1
    page = settle(page.run())
    assert [one["is_chosen"] for one in thumbnails(page)] == [True, False]


def test_the_view_is_instant(open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch) -> None:
    page = finish(open_page())
    before = figures(page)
    monkeypatch.setattr(Encoder, "measure", None)  # no model run
    page.select_slider(key="length_cutoff").set_value(15).run()
    assert figures(page)["Sentences"] != before["Sentences"]
    page.select_slider(key="layer_2").set_value(1).run()
    assert "after layer 1?" in texts(page)
    assert (page.query_params["layer"], page.query_params["length_cutoff"]) == ("1", "15")
    page.get_by_key("pooling").set_value("pooler").run()
    assert "its pooler output?" in texts(page)
    page.button(key="control-Shuffle lengths").click().run()
    assert "lengths are shuffled across sentences" in texts(page)
    page.button(key="control-Shuffle lengths").click().run()
    assert "lengths" not in page.query_params


@needs_bfloat16
def test_a_layer_that_varies_less_than_the_error_of_the_fast_precision_is_marked_and_not_drawn(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page(precision="fast"))
    assert "Computed in bfloat16. Compared with float32 on 256 sentences" in texts(page)
    monkeypatch.setattr(Audit, "is_measurable", property(lambda audit: audit.largest_error == 0))
    page.select_slider(key="layer_2").set_value(1).run()
    assert page.select_slider(key="layer_2").options == ["0", "1 (not measurable)", "last (not measurable)"]
    assert answer(page) == "Can’t tell: not measurable in the fast precision."
    assert "Not measurable in the fast precision: the norm varies by " in texts(page)
    assert not any(len(trace.get("text") or []) for trace in chart(page)["data"])


def test_a_whole_corpus_shows_the_line_of_all(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 200, 100)  # of the 400 sentences 200 are shuffled, and 100 in memory
    said = texts(finish(open_page(sample_size="all")))
    assert "All 400 sentences of the corpus were measured" in said
    assert "points, curves and medians are of 100 of them" in said
    monkeypatch.setattr(server, "limits", lambda: PUBLIC)
    page = unfold(open_page(model="minilm", corpus="python-docs", sample_size="all"), "settings")
    assert "sample_size is all; on this server it can be at most 20,000." in texts(page)
    assert page.select_slider(key="sample_size").value == 20_000


def test_cite_and_export_is_made_once_it_is_opened(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    assert not page.get("download_button")
    page.session_state["export"] = True
    page = settle(page.run())
    labels = [button.proto.label for button in page.get("download_button")]
    assert labels == ["Picture (PDF)", "Picture (HTML)", "Table (CSV)", "Table (Parquet)"]
    caption, entry = (code.value for code in page.code)
    assert caption.startswith("Norm of ")
    assert entry.startswith("@software{clsviz-")


def test_the_tour_starts_when_asked_frames_what_is_there_and_ends(open_page: Callable[..., AppTest]) -> None:
    def keys_of(block: Block) -> set[str]:
        keys = set()
        for child in block.children.values():
            keys.add(str(getattr(child.proto, "id", "")).partition("-")[2].partition("-")[2])
            keys |= keys_of(child) if isinstance(child, Block) else set()
        return keys

    def framed() -> set[str]:
        styles = [element.proto.body for element in page.get("html") if "outline: 3px" in element.proto.body]
        return set(re.findall(r"\.st-key-(\w+)", " ".join(styles))) - {"text_area"}

    page = finish(open_page())
    assert not framed()
    page.button(key="tour_start").click().run()
    for number, (title, _) in enumerate([*TOUR, *TOUR_PAGES], 1):
        if number > len(TOUR):
            path = "length_and_search" if title.endswith("?") else title.lower()
            page = settle(go_to(page, path.replace(" ", "_")).run())
        assert f"**{number} of {len(TOUR) + len(TOUR_PAGES)} · {title}**" in texts(page)
        assert framed()
        assert framed() <= keys_of(page.main)
        if number < len(TOUR):
            page.button(key="tour_next").click().run()
    page.button(key="tour_next").click().run()
    assert not framed()


def test_whatever_a_visitor_types_does_something_sensible(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    for text, n_stars in (
        ("  \n\t ", 0),
        ("<script>alert(1)</script> **bold** :red[x] $x$ [link](javascript:alert(1)) `code`", 1),
        ("control \x00\x07\x1b \u202edraw 👋🏽 مرحبا", 1),
        ("the cat " * 10_000, 1),
    ):
        settle(page.text_input(key="text_line").set_value(text).run())
        assert not page.error
        assert sum(trace["marker"].get("symbol") == "star" for trace in drawn(page)) == n_stars
    settle(page.text_input(key="text_line").set_value("\n".join(["the cat"] * 50)).run())
    assert "first 20 of 50 lines" in texts(page)
    assert len(page.dataframe[0].value) == 20


def test_an_own_sentence_is_set_beside_the_corpus_and_goes_into_the_link_only_if_ticked(
    open_page: Callable[..., AppTest], tiny_encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    settle(page.text_input(key="text_line").set_value("the secret cat").run())
    norm = tiny_encoder.measure(["the secret cat"]).cls_norms[0, -1]
    assert f"norm **{norm:.4f}**" in texts(page)
    assert "text" not in page.query_params
    page.checkbox(key="with_text").check().run()
    assert page.query_params["text"] == "the secret cat"
    again = settle(finish(open_page(text="the secret cat")))
    assert "**3 tokens**" in texts(again)
    again.text_input(key="text_line").set_value("the other cat").run()
    assert "text" not in again.query_params
    settle(again)
    monkeypatch.setattr(Encoder, "measure", None)
    again.select_slider(key="layer_2").set_value(0).run()  # without the model
    assert "**3 tokens**" in texts(again)


def test_nothing_waits_for_a_visitors_own_sentence(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    is_free = threading.Event()
    tokens = Encoder.tokens

    def slow(encoder: Encoder, sentence: str) -> list[str]:
        assert is_free.wait(30)
        if sentence == "a bad one":
            raise ModelError("It needs more memory than there is.")
        return tokens(encoder, sentence)

    monkeypatch.setattr(Encoder, "tokens", slow)
    page.text_input(key="text_line").set_value("the cat sat").run()
    assert "Measuring with tiny-bert…" in texts(page)
    assert figures(page)["Sentences"] == "300"
    is_free.set()
    assert "**3 tokens**" in texts(settle(page))
    assert "Measuring with" not in texts(page)
    settle(page.text_input(key="text_line").set_value("a bad one").run())
    assert [error.value for error in page.main.error] == ["It needs more memory than there is."]


def colours(page: AppTest) -> np.ndarray:
    """Of the points, as the browser gets them."""
    packed = drawn(page)[0]["marker"]["color"]
    return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])


def legend(page: AppTest) -> str:
    return next((element.proto.body for element in page.get("html") if "legend" in element.proto.body), "")


def test_a_table_is_coloured_by_another_of_its_columns(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    sentences = random_sentences(90, seed=6)
    topics = [(ODD, "two", "three")[at % 3] for at in range(90)]
    rows = [f"{text};{topic};{at}" for at, (text, topic) in enumerate(zip(sentences, topics, strict=True))]
    (tmp_path / "mine.csv").write_text("\n".join(["text;topic;number", *rows]))
    page = finish(open_page(corpus=str(tmp_path / "mine.csv"), colour="column:topic"))
    box = page.selectbox(key="colour")
    assert (box.value, box.options[-2:]) == ("column:topic", ["Column “topic”", "Column “number”"])
    found = job_of(page).work.found
    of_sentence = dict(zip(sentences, topics, strict=True))
    named = re.findall(r"</span> ([^<]+) <span[^>]*>(\d+), mean norm ([\d.]+)</span>", legend(page))
    assert {name: int(n) for name, n, _ in named} == {"&lt;img src=x onerror=alert(1)&gt;": 30, "two": 30, "three": 30}
    assert len({(code, of_sentence[text]) for code, text in zip(colours(page), found.sentences, strict=True)}) == 3
    box.select("column:number").run()
    assert len({*colours(page).tolist()}) > 50
    page = finish(open_page(corpus=str(tmp_path / "mine.csv"), colour="column:gone"))
    assert "mine.csv has no other column “gone” to colour by." in texts(page)


def test_what_is_looked_for_is_selected(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(find="the"))
    sentences = job_of(page).work.found.sentences
    n = sum("the" in sentence.lower() for sentence in sentences)
    assert len(chart(page)["data"][0]["selectedpoints"]) == n
    assert 1 < n < 300
    assert f"{n} selected" in texts(page)
    page.text_input(key="find").set_value("nowhere to be found").run()
    assert "Nothing found." in texts(page)
