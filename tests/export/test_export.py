import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from clsviz import export, figures
from clsviz.analysis import ViewData, select
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.settings import Overlay
from clsviz.statistics.line import fit
from clsviz.statistics.summary import Census
from clsviz.store import Store

EVIL = ['<script>alert("x")</script>', 'comma, "quotes" and\ttab', "=1+1", "ünï 漢字 👋🏽", "the cat sat on the mat"]


@pytest.fixture(scope="module")
def experiment(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    path = tmp_path_factory.mktemp("evil") / "evil.txt"
    path.write_text("\n".join([*EVIL, *(" ".join(["the cat"] * n) for n in range(1, 15))]), encoding="utf-8")
    return Experiment(model=str(tiny_folder), corpus=str(path), sample_size=1000)


@pytest.fixture(scope="module")
def found(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Found:
    return Extraction(experiment, Store(tmp_path_factory.mktemp("store")), Encoders()).run(Progress())


@pytest.fixture(scope="module")
def shown(experiment: Experiment, found: Found) -> ViewData:
    return select(found, experiment.view)


def test_the_table_has_a_row_a_sentence(found: Found) -> None:
    table = export.table(found.sentences, found.measurements)
    assert list(table.columns) == ["sentence", "n_tokens", "truncated", "cls_0", "cls_1", "cls_2", "pooler"]
    assert table["sentence"].tolist() == found.sentences
    np.testing.assert_array_equal(table["cls_2"], found.measurements.cls_norms[:, 2])


def test_csv_and_parquet_come_back_as_they_were(experiment: Experiment, found: Found, shown: ViewData) -> None:
    table = export.table(found.sentences, found.measurements)
    from_csv = pd.read_csv(io.BytesIO(export.to_csv(table)), keep_default_na=False)
    pd.testing.assert_frame_equal(from_csv, table, check_dtype=False)
    parquet = export.to_parquet(table, export.summary(experiment, found, shown))
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(parquet)), table)
    about = json.loads(pq.read_schema(io.BytesIO(parquet)).metadata[b"clsviz"])
    assert about["model_fingerprint"] == found.weights.fingerprint
    assert about["n_sampled"] == len(found.sentences)


def test_the_summary_is_json_and_restores_the_experiment(experiment: Experiment, found: Found, shown: ViewData) -> None:
    summary = export.summary(experiment, found, shown)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert shown.fit is not None
    assert summary["r_squared"] == shown.fit.r_squared
    assert summary["n_used"] == shown.fit.n
    assert summary["layer"] == 2
    assert summary["query"].startswith("?model=%2F")


def test_what_is_undefined_is_none_and_explained(experiment: Experiment, found: Found) -> None:
    constant = select(found, replace(experiment, layer=0).view)
    summary = export.summary(replace(experiment, layer=0), found, constant)
    assert summary["r_squared"] is summary["r_squared_interval"] is summary["slope"] is None
    assert "norm is the same" in summary["problem"]


def test_an_interval_without_end_is_none(experiment: Experiment, found: Found) -> None:
    few = found.measurements.head(4)
    few = type(few)(np.array([5, 5, 5, 40], np.int32), np.zeros(4, bool), few.cls_norms, few.pooler_norms)
    summary = export.summary(experiment, found, select(replace(found, measurements=few), experiment.view))
    assert summary["slope_interval"] is None
    assert summary["slope"] is not None


def test_the_report_of_a_whole_corpus_has_no_curves_of_a_part(experiment: Experiment, found: Found) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(3, 60, 200).astype(np.int32)
    norms = (9 + lengths / 20 + random.standard_normal(200)).astype(np.float32)
    index = np.arange(200) % len(found.sentences)
    of_sample = ViewData(index, lengths, norms, fit(lengths, norms), "")
    assert "R² of a curve" in export.report(experiment, found, of_sample).decode()
    census = Census.of(lengths, norms)
    of_all = replace(of_sample, fit=census.fit(), census=census)
    page = export.report(experiment, found, of_all).decode()
    assert f"{of_all.fit.r_squared:.4f}" in page
    assert "R² of a curve" not in page
    assert "95% interval" not in page
    assert "no interval is told with it, as no sentence was left to chance" in page


def test_the_line_of_a_whole_corpus_has_no_intervals(experiment: Experiment, found: Found, shown: ViewData) -> None:
    of_sample = export.summary(experiment, found, shown)
    census = Census.of(shown.lengths, shown.norms)
    of_all = export.summary(experiment, found, replace(shown, fit=census.fit(), census=census, clusters=None))
    intervals = [name for name in of_sample if name.endswith(("_interval", "_on_few"))]
    assert len(intervals) == 4
    assert not any(of_sample[name] is None for name in intervals)
    assert all(of_all[name] is None for name in intervals)
    assert (of_sample["is_of_all"], of_all["is_of_all"]) == (False, True)
    assert of_all["slope"] == pytest.approx(of_sample["slope"])


def test_the_report_holds_picture_numbers_and_settings_and_escapes_all_text(
    experiment: Experiment, found: Found, shown: ViewData
) -> None:
    assert shown.fit is not None
    page = export.report(experiment, found, shown).decode()
    assert f"{shown.fit.r_squared:.4f}" in page
    assert found.weights.fingerprint[:16] in page
    assert found.corpus.fingerprint[:16] in page
    assert "python -m clsviz measure --model tiny-bert --corpus evil.txt" in page
    assert str(Path(experiment.corpus).parent) not in page
    assert str(Path(experiment.model).parent) not in page
    assert '<script>alert("x")' not in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)", page)


def test_a_picture_has_what_the_visitor_sees_in_it(experiment: Experiment, found: Found, shown: ViewData) -> None:
    own = figures.Points(figures.labels_of(["<b>mine</b>"]), np.array([3], np.int32), np.array([1.5], np.float32))
    seen = export.Seen(own, [Overlay.RANGES], (2.0, 9.0, 0.5, 1.75), np.array([1, 4]))
    plain = export.picture(experiment, found, shown).to_dict()
    picture = export.picture(experiment, found, shown, seen).to_dict()
    assert "star" not in {trace["marker"].get("symbol") for trace in plain["data"]}
    assert "star" in {trace["marker"].get("symbol") for trace in picture["data"]}
    assert list(picture["data"][0]["selectedpoints"]) == [1, 4]
    assert [*picture["layout"]["xaxis"]["range"], *picture["layout"]["yaxis"]["range"]] == [2.0, 9.0, 0.5, 1.75]
    page = export.report(experiment, found, shown, seen).decode()
    assert '"symbol":"star"' in page
    assert "<b>mine</b>" not in page
    assert '"symbol":"star"' not in export.report(experiment, found, shown).decode()


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if these few sentences were very many."""
    for name, number in (("FEWEST_MEASURED", 15), ("FEWEST_SHOWN", 15), ("MOST_ABOVE", 5)):
        monkeypatch.setattr(f"clsviz.figures.density.{name}", number)


def test_many_sentences_are_a_density_with_some_of_them_as_points(
    dense: None, experiment: Experiment, found: Found, shown: ViewData
) -> None:
    heat_map, cloud, *_ = export.picture(experiment, found, shown).to_dict()["data"]
    counts = [0 if z is None else round(10**z) for row in heat_map["z"] for z in row]
    assert sum(counts) == len(shown.index)
    assert len(cloud["text"]) == 5
    page = export.report(experiment, found, shown).decode()
    assert f"the points are 5 of the {len(shown.index)}, drawn at random." in page
    assert '"type":"heatmap"' in page


def test_the_cells_that_are_seen_are_a_table(dense: None, found: Found, shown: ViewData) -> None:
    table = export.cells(found, shown, export.Seen())
    assert list(table.columns) == ["shortest", "longest", "norm_from", "norm_to", "sentences"]
    assert table["sentences"].sum() == len(shown.index)
    assert (table["sentences"] > 0).all()
    for row in table.itertuples():
        inside = (row.shortest <= shown.lengths) & (shown.lengths <= row.longest) & (row.norm_from <= shown.norms)
        assert (inside & (shown.norms < row.norm_to)).sum() in (row.sentences, row.sentences - 1)  # the highest norm
    middle = float(np.median(shown.norms))
    part = export.cells(found, shown, export.Seen(zoom=(0.0, 8.2, middle, 100.0)))
    seen = (shown.lengths <= 8) & (shown.norms >= middle)
    assert seen.sum() <= part["sentences"].sum() < len(shown.index)
    assert (part["longest"].max(), part["norm_to"].min() > middle) == (shown.lengths[seen].max(), True)


def test_few_sentences_have_no_cells(found: Found, shown: ViewData) -> None:
    assert export.cells(found, shown, export.Seen()).empty
    assert export.legend(found, shown, export.Seen()) == ""


def test_a_report_without_a_line_says_why(experiment: Experiment, found: Found) -> None:
    asked = replace(experiment, length_cutoff=2)
    assert "least 3" in export.report(asked, found, select(found, asked.view)).decode()


def test_markup_in_a_name_is_text_in_the_report(found: Found, shown: ViewData) -> None:
    page = export.report(Experiment(model="/<img src=x>", corpus="<i>"), found, shown).decode()
    assert "<img src=x>" not in page
    assert "&lt;img src=x&gt;" in page
