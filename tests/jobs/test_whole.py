"""Whole corpora that are on the stand-in for the Hub, from the look-up to the census."""

from pathlib import Path

import pyarrow as pa
import pytest
from support.corpora import shrink
from support.datasets import write
from support.extracting import run
from support.hub import Hub

from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, Machine, Share, plan
from clsviz.measurements import MAX_LENGTH
from clsviz.progress import Progress
from clsviz.settings import ALL, Pooling
from clsviz.statistics import line
from clsviz.store import Store


@pytest.fixture
def on_hub(hub: Hub, tiny_folder: Path, text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """The 400 sentences of the file as a dataset of three files, of which 200 are shuffled and 100 in memory."""
    shrink(monkeypatch, 200, 100)
    sentences = text_file.read_text(encoding="utf-8").splitlines()
    for number, texts in enumerate((sentences[:150], sentences[150:151], sentences[151:])):
        write(tmp_path / "own" / f"train-{number}.parquet", pa.table({"text": texts}))
    hub.add("me/whole", tmp_path / "own", kind="dataset")
    return Experiment(str(tiny_folder), "me/whole", sample_size=ALL)


def test_all_of_a_dataset_is_measured_like_a_file_of_its_sentences(
    on_hub: Experiment, hub: Hub, store: Store, text_file: Path, tmp_path: Path, tiny_encoder: Encoder
) -> None:
    assert Extraction(on_hub, store, Encoders()).find_stored(Progress()) is None
    assert hub.requests == []
    found, _ = run(on_hub, store)
    assert found.census is not None
    assert (found.census.n, found.n_missing, len(found.sentences)) == (400, 0, 100)
    measured = tiny_encoder.measure(text_file.read_text(encoding="utf-8").splitlines())
    expected = line.fit(measured.n_tokens, measured.norms(Pooling.CLS, 1))
    fit = found.census.vector(Pooling.CLS, 1).fit(MAX_LENGTH + 1)
    assert (fit.n, fit.slope, fit.r_squared) == pytest.approx((400, expected.slope, expected.r_squared), rel=1e-5)
    of_file, _ = run(Experiment(on_hub.model, str(text_file), sample_size=ALL), Store(tmp_path / "other"))
    assert of_file.sentences == found.sentences
    assert of_file.measurements.n_tokens.tolist() == found.measurements.n_tokens.tolist()
    hub.requests.clear()
    stored = Extraction(on_hub, store, Encoders()).find_stored(Progress())
    assert stored is not None
    assert stored.census is not None
    assert hub.requests == []


def test_workers_of_different_machines_share_what_one_of_them_fetched(on_hub: Experiment, store: Store) -> None:
    parts = [
        measured.part.start
        for rank in (1, 0)
        for measured in Extraction(on_hub, store, Encoders())
        .worker(Progress(), Share(rank, 2))
        .measure(32 * rank, 32 + 32 * rank)
        if measured.part
    ]
    assert parts == [32, 0]
    found, _ = run(on_hub, store)
    assert found.n_measured == 400


def test_a_plan_judges_a_dataset_by_its_files_until_it_is_here(
    on_hub: Experiment, hub: Hub, store: Store, tmp_path: Path
) -> None:
    machine = Machine()
    machine._measured = 1e9  # so that it need not be measured

    def planned() -> object:
        return plan(Extraction(on_hub, store, Encoders(), machine=machine), machine, Progress())

    before = planned()
    sizes = [path.stat().st_size for path in (tmp_path / "own").iterdir()]
    assert before.n_sentences == before.n_missing == pytest.approx(400, rel=0.3)
    assert not before.is_counted
    assert before.megabytes == sum(sizes) // 10**6
    assert not [r for r in hub.requests if r.method == "GET" and r.path.endswith(".parquet") and not r.range]
    Extraction(on_hub, store, Encoders()).fetch(Progress())
    after = planned()
    assert (after.n_sentences, after.n_missing, after.is_counted, after.megabytes) == (400, 400, True, 0)
    assert (before.norms_bytes // before.n_sentences, before.vectors_bytes // before.n_sentences) == (
        after.norms_bytes // 400,
        after.vectors_bytes // 400,
    )  # the model is here


def test_the_line_of_the_first_sentences_is_not_shown_where_that_of_all_is_kept(
    on_hub: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[Found] = []
    publish = Extraction._publish
    monkeypatch.setattr(Extraction, "_publish", lambda self, found: published.append(found) or publish(self, found))
    run(on_hub, store)
    published.clear()
    Extraction(on_hub, store, Encoders()).look_up(Progress())
    assert [found.census is not None for found in published] == [True]
    for kept in store.root.glob("norms-*/census-*"):
        kept.unlink()
    published.clear()
    Extraction(on_hub, store, Encoders()).look_up(Progress())  # which counts: meanwhile there is something to see
    assert [found.census is not None for found in published] == [False, True]


def test_what_is_left_is_told_as_it_is_measured(
    on_hub: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[tuple[int, int]] = []
    publish = Extraction._publish

    def noting(self: Extraction, found: Found) -> Found:
        left.append((len(found.measurements), found.n_missing))
        return publish(self, found)

    monkeypatch.setattr(Extraction, "_publish", noting)
    run(on_hub, store)
    assert left[-7:] == [(0, 400), (32, 368), (64, 336), (100, 272), (100, 144), (100, 0), (100, 0)]
