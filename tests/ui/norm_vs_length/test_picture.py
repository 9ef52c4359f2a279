"""The picture and its answer, without a browser."""

import io
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from support.app import answer, chart, charts, drawn, figures, finish, job_of, settle, texts, unfold
from support.processor import needs_bfloat16

from clsviz import corpora, statistics, words
from clsviz.encoder import Encoder
from clsviz.measuring import Cost, Extraction, Found, State
from clsviz.measuring.lane import Lane
from clsviz.progress import Progress
from clsviz.settings import Pooling
from clsviz.ui import controls
from clsviz.ui.state import server, session


def test_the_page_answers_its_question(open_page: Callable[..., AppTest], tiny_encoder: Encoder) -> None:
    page = finish(open_page())
    assert "Does tiny-bert encode the length of a sentence" in texts(page)
    sentences = server.jobs().open(job_of(page).work.experiment).work.found.sentences
    measured = tiny_encoder.measure(sentences)
    r_squared = np.corrcoef(measured.n_tokens, measured.cls_norms[:, -1])[0, 1] ** 2
    assert figures(page)["R²"] == words.number(r_squared)
    assert f"{100 * r_squared:.1f}% of the differences between norms" in answer(page)
    assert figures(page)["Slope"] == words.number(np.polyfit(measured.n_tokens, measured.cls_norms[:, -1], 1)[0])
    assert figures(page)["Sentences"] == "300"
    cloud = chart(page)["data"][0]
    assert len(cloud["text"]) == 300
    assert f"({measured.n_tokens.min()}–{measured.n_tokens.max()} tokens)" in texts(page)
    assert len(page.title) == len(page.header) == 1
    assert not page.metric


def test_the_curve_the_spread_and_the_cutoffs_follow_and_the_picture_stays(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = chart(page)
    page.session_state["how_measured"] = page.session_state["every_layer"] = True
    page = settle(page.run())
    found = job_of(page).work.found
    lengths, norms = found.measurements.n_tokens, found.measurements.cls_norms[:, -1]
    shape = statistics.shape(lengths, norms, corpora.clusters_of(found.sentences[:300]))
    assert words.PENDING not in answer(page)
    assert f", a curve {100 * shape.curve_r_squared:.1f}%;" in answer(page)
    assert f"spread {max(shape.spread_ratio, 1 / shape.spread_ratio):.1f}× as wide" in answer(page)
    shown = texts(page)
    assert f"**R² of a curve:** {words.number(shape.curve_r_squared)}" in shown
    assert f"**Mutual information:** {words.number(shape.mutual_information)}" in shown
    assert chart(page) == before  # with its curves, from the start
    assert {"5%", "median", "95%"} <= {annotation["text"] for annotation in before["layout"]["annotations"]}
    cutoffs = charts(page)[1]
    under = lengths < 10
    slope = np.polyfit(lengths[under], norms[under], 1)[0]
    assert cutoffs["data"][1]["hovertemplate"].startswith("under %{x} tokens")
    table = statistics.by_cutoff(lengths, lengths, norms, corpora.clusters_of(found.sentences[:300]))
    assert table["slope"][0] == pytest.approx(slope, rel=1e-3)
    assert words.by_cutoff(table) in shown
    page.get_by_key("overlays").set_value([]).run()
    assert {annotation["text"] for annotation in chart(page)["layout"]["annotations"]}.isdisjoint({"5%", "95%"})
    page.get_by_key("overlays").set_value(["Medians"]).run()
    assert len(drawn(page)) == 2


def test_before_the_first_points_everything_has_its_place(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lane, "put", lambda self, job, *_: setattr(job, "state", State.QUEUED))
    page = open_page()
    assert not page.exception
    assert figures(page) == {"R²": "", "Slope": "", "Sentences": ""}
    assert "Does tiny-bert encode" in texts(page)
    assert answer(page).endswith("The first points appear in a few seconds.")
    assert {element.key for element in page.main.select_slider} == {"layer_2", "length_cutoff"}
    assert chart(page)["layout"]["xaxis"]["title"]["text"] == "Sentence length (in tokens)"


def test_the_cutoff_and_the_layer_are_instant(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page())
    before = figures(page)
    monkeypatch.setattr(Encoder, "measure", None)  # no model run
    page.select_slider(key="length_cutoff").set_value(15).run()
    assert figures(page)["Sentences"] != before["Sentences"]
    assert "–14 tokens)" in texts(page)
    page.select_slider(key="layer_2").set_value(1).run()
    assert "after layer 1?" in texts(page)
    assert page.query_params["layer"] == "1"
    assert page.query_params["length_cutoff"] == "15"
    page.get_by_key("pooling").set_value("pooler").run()
    assert not page.exception
    assert "its pooler output?" in texts(page)


@needs_bfloat16
def test_the_fast_precision_says_what_it_costs(open_page: Callable[..., AppTest]) -> None:
    page = unfold(finish(open_page()), "settings")
    page.get_by_key("precision").set_value("fast").run()
    finish(page)
    assert page.query_params["precision"] == "fast"
    found = job_of(page).work.found
    errors = np.abs(found.audit.measurements.cls_norms - found.measurements.head(256).cls_norms)[:, -1]
    assert "Computed in bfloat16. Compared with float32 on 256 sentences" in texts(page)
    assert f"{words.number(errors.mean())} on average and {words.number(errors.max())} at most" in texts(page)
    assert len(chart(page)["data"][0]["text"]) == 300


@needs_bfloat16
def test_a_layer_that_varies_less_than_the_error_is_marked_and_not_drawn(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = finish(open_page(precision="fast"))
    assert page.select_slider(key="layer_2").options == ["0", "1", "last"]
    monkeypatch.setattr(statistics.Audit, "is_measurable", property(lambda audit: audit.largest_error == 0))
    page.select_slider(key="layer_2").set_value(1).run()
    assert page.select_slider(key="layer_2").options == ["0", "1 (not measurable)", "last (not measurable)"]
    assert answer(page).startswith("Not measurable in the fast precision: the norm varies by ")
    assert figures(page)["R²"] == ""
    assert not any(len(trace.get("text") or []) for trace in chart(page)["data"])


def test_a_constant_norm_is_explained(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(layer="0"))
    assert "The norm is the same for all 300 sentences" in answer(page)
    assert figures(page)["R²"] == ""
    assert len(chart(page)["data"][0]["text"]) == 300


def test_nothing_under_the_cutoff_is_explained(open_page: Callable[..., AppTest], tmp_path: Path) -> None:
    long = corpora.keep_upload(io.BytesIO(b"the cat sat on the mat\n" * 5), "long.txt", tmp_path / "store" / "corpora")
    page = finish(open_page(corpus=long, length_cutoff="3"))
    assert "No whole sentence is shorter than the length cutoff" in answer(page)


def test_a_corpus_smaller_than_the_sample_says_so(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(sample_size="5000"))
    assert "has only 400 sentences" in texts(page)
    assert figures(page)["Sentences"] == "400"


def test_a_layer_that_the_model_turns_out_not_to_have_is_never_drawn(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look-up ends between the controls, which could not know, and the picture."""
    finish(open_page())
    st.cache_resource.clear()
    drawn = threading.Event()
    look_up, draw = Extraction.look_up, controls.view.fit

    def look_up_when_drawn(extraction: Extraction, progress: Progress) -> Cost:
        assert drawn.wait(10)
        return look_up(extraction, progress)

    def draw_and_wait(found: Found | None) -> None:
        draw(found)
        drawn.set()
        while server.jobs().open(session.experiment()).state.is_active:
            time.sleep(0.01)

    monkeypatch.setattr(Extraction, "look_up", look_up_when_drawn)
    monkeypatch.setattr("clsviz.ui.controls.view.fit", draw_and_wait)
    page = open_page(layer="77", text="the cat")
    assert not page.exception
    assert "has no layer 77" in texts(page.run())


def test_an_untrained_model_is_a_choice(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page(model="untrained:minilm", sample_size="100", pooling="pooler"))
    assert "Does untrained MiniLM-L6 encode" in texts(page)
    assert figures(page)["R²"]
    page.segmented_control(key="pooling").set_value(Pooling.CLS).run()
    assert "until it is trained" in texts(page)


def test_lengths_are_shuffled_by_a_button_and_back_by_another_click(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    before = figures(page)
    page.button(key="control-Shuffle lengths").click().run()
    assert page.query_params["lengths"] == "shuffled"
    assert "lengths are shuffled across sentences" in texts(page)
    assert float(figures(page)["R²"]) < 0.1
    page.button(key="control-Shuffle lengths").click().run()
    assert "lengths" not in page.query_params
    assert figures(page) == before
