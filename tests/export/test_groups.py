import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.tiny import random_sentences

from clsviz import export
from clsviz.analysis import ViewData, select
from clsviz.analysis.fields import field
from clsviz.experiment import Experiment
from clsviz.export import Groups
from clsviz.jobs import Encoders, Extraction, Found
from clsviz.progress import Progress
from clsviz.settings import Unit
from clsviz.store import Store

N = 60
TOPICS = [None if at % 7 == 3 else f"<b>topic</b> {at % 3}" for at in range(N)]
SCORES = [None if at % 10 == 4 else str(at / 8) for at in range(N)]


@pytest.fixture(scope="module")
def experiment(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    path = tmp_path_factory.mktemp("groups") / "sentences.txt"
    path.write_text("\n".join(random_sentences(N, seed=3)))
    return Experiment(model=str(tiny_folder), corpus=str(path), sample_size=1000, length_cutoff=20)


@pytest.fixture(scope="module")
def found(experiment: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Found:
    return Extraction(experiment, Store(tmp_path_factory.mktemp("store")), Encoders()).run(Progress())


@pytest.fixture(scope="module")
def shown(experiment: Experiment, found: Found) -> ViewData:
    shown = select(found, experiment.view)
    assert 20 < len(shown.index) < N
    return shown


TRAIT = Groups("Has a digit", "group_digit", np.arange(N) % 4 == 0)
NAMED = Groups("Column “topic”", "group_topic", field(TOPICS))
NUMBERS = Groups("Column “score”", "group_score", field(SCORES))


def in_figure(experiment: Experiment, found: Found, shown: ViewData, groups: Groups) -> tuple[dict, np.ndarray]:
    """A figure as plain data, and the numbers that say which colours its points have."""
    figure = export.picture(experiment, found, shown, export.Seen(groups=groups))
    return figure.to_dict(), np.asarray(figure.data[0].marker.color)


def named(figure: dict) -> list[str]:
    return [trace["name"] for trace in figure["data"] if trace.get("showlegend")]


def test_the_picture_has_their_colours_and_what_these_stand_for(
    experiment: Experiment, found: Found, shown: ViewData
) -> None:
    topics = [TOPICS[place] for place in shown.index]
    figure, codes = in_figure(experiment, found, shown, NAMED)
    assert len({*zip(codes.tolist(), topics, strict=True)}) == 4
    counts = {f"&lt;b&gt;topic&lt;/b&gt; {at}": topics.count(f"<b>topic</b> {at}") for at in range(3)}
    counts["no value"] = topics.count(None)
    assert dict(re.fullmatch(r"(.+) \((\d+)\)", name).groups() for name in named(figure)) == {  # type: ignore[union-attr]
        name: str(n) for name, n in counts.items()
    }

    figure, codes = in_figure(experiment, found, shown, TRAIT)
    n = int((shown.index % 4 == 0).sum())
    assert named(figure) == [f"yes ({n})", f"no ({len(shown.index) - n})"]
    assert codes.sum() == n
    assert figure["layout"]["legend"]["title"]["text"] == "Has a digit"

    figure, _ = in_figure(experiment, found, shown, NUMBERS)
    scores = np.array([float(SCORES[place] or "nan") for place in shown.index])
    (scale,) = [trace["marker"] for trace in figure["data"] if trace.get("marker", {}).get("colorbar")]
    assert (scale["cmin"], scale["cmax"]) == pytest.approx(np.nanquantile(scores, [0.02, 0.98]))
    assert named(figure) == [f"no value ({np.isnan(scores).sum()})"]


def test_the_report_has_them_and_escapes_their_names(experiment: Experiment, found: Found, shown: ViewData) -> None:
    page = export.report(experiment, found, shown, export.Seen(groups=NAMED)).decode()
    assert "topic" in page
    assert "<b>topic</b>" not in page
    assert "<b>topic</b>" not in page.replace("\\u003c", "<").replace("\\u003e", ">")
    assert "topic" not in export.report(experiment, found, shown).decode()


def test_tables_have_a_column_of_them(found: Found, shown: ViewData) -> None:
    for groups, values in ((NAMED, TOPICS), (NUMBERS, [score and float(score) for score in SCORES])):
        table = export.table(found.sentences, found.measurements, groups)
        assert list(table.columns) == [*export.table(found.sentences, found.measurements).columns, groups.name]
        read = csv.DictReader(io.StringIO(export.to_csv(table).decode()))
        assert [row[groups.name] for row in read] == ["" if value is None else str(value) for value in values]
        parquet = pq.read_table(io.BytesIO(export.to_parquet(table, {"a": 1})))
        assert parquet[groups.name].to_pylist() == [*values]
        assert json.loads(parquet.schema.metadata[b"clsviz"]) == {"a": 1}
    selected = export.tables.named(found.sentences, np.array([3, 1]), shown, Unit.TOKENS, TRAIT)
    assert selected["group_digit"].tolist() == [bool(place % 4 == 0) for place in shown.index[[3, 1]]]
    assert "group_digit" not in export.tables.named(found.sentences, np.array([3]), shown, Unit.TOKENS).columns
