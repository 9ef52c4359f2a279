"""Whole corpora, of a file and on the stand-in for the Hub: by one process or several, up to the census."""

import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from support.corpora import shrink
from support.datasets import write
from support.extracting import Steps, n_in_turns, run
from support.hub import Hub
from support.processor import needs_bfloat16
from support.waiting import wait_for

from clsviz.encoder import Encoder
from clsviz.errors import CancelledError, SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Found, Machine, Plan, Share, Worker, plan
from clsviz.measurements import MAX_LENGTH
from clsviz.progress import Progress
from clsviz.settings import ALL, Pooling, Precision
from clsviz.statistics import line
from clsviz.store import Key, Store

FIRST_BORDERS = [0, 32, 64, 128, 256]


@pytest.fixture
def whole(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """All 400 sentences of a file, of which 200 are shuffled and 100 in memory."""
    shrink(monkeypatch, 200, 100)
    return Experiment(experiment.model, experiment.corpus, sample_size=ALL)


def worker(
    experiment: Experiment, store: Store, share: Share | None = None, progress: Progress | None = None
) -> Worker:
    return Extraction(experiment, store, Encoders()).worker(progress or Progress(), share)


def files(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.root.glob("norms-*/0*.safetensors")}


def key_of(experiment: Experiment, store: Store) -> Key:
    extraction = Extraction(experiment, store, Encoders())
    extraction.look_up(Progress())
    return extraction.key_of(extraction.found)


def assert_of_all(found: Found, texts: list[str], encoder: Encoder) -> None:
    """That the census is of these 400 sentences, with the line through them."""
    assert (len(found.sentences), found.census.n, found.n_measured, found.n_missing) == (100, 400, 400, 0)
    measured = encoder.measure(texts)
    expected = line.fit(measured.n_tokens, measured.norms(Pooling.CLS, 1))
    fit = found.census.vector(Pooling.CLS, 1).fit(MAX_LENGTH + 1)
    assert (fit.n, fit.slope, fit.r_squared) == pytest.approx((400, expected.slope, expected.r_squared), rel=1e-5)


def test_workers_make_the_files_that_one_run_makes(whole: Experiment, store: Store, tmp_path: Path) -> None:
    run(whole, store)
    shared = Store(tmp_path / "shared")
    first, second = (worker(whole, shared, Share(rank, 2)) for rank in range(2))
    assert n_in_turns([first.run(), second.run()]) == 400
    assert files(shared) == files(store)
    assert first.n_missing == second.n_missing == 0
    parts = [shared.read(part) for part in shared.parts(key_of(whole, shared)).values()]
    assert first.n_tokens + second.n_tokens == sum(int(part.n_tokens.sum()) for part in parts)


def test_a_worker_measures_its_share_and_what_is_chosen_for_it_unless_somebody_has_it(
    whole: Experiment, store: Store, tmp_path: Path
) -> None:
    second = worker(whole, store, Share(1, 2))
    assert [measured.part.start for measured in second.run()] == [32, 128]
    assert second.n_missing == 400 - 32 - 128
    assert [measured.part.start for measured in worker(whole, store, Share(0, 2)).run()] == [0, 64, 256]
    other = Store(tmp_path / "other")
    chosen = worker(whole, other)
    assert [measured.part.start for measured in chosen.measure(128, 256)] == [128]
    assert [*chosen.measure(128, 256)] == []
    with other.lock(key_of(whole, other), "000000032.lock"):
        assert [*chosen.measure(32, 64)] == []
    assert [measured.part.start for measured in chosen.run()] == [0, 32, 64, 256]


@pytest.mark.parametrize("share", [Share(), Share(1, 2)])
def test_a_share_that_another_process_measures_is_waited_for_and_taken_over_if_that_is_killed(
    whole: Experiment, store: Store, share: Share
) -> None:
    folder = store.root / key_of(whole, store).folder_name
    folder.mkdir(parents=True)
    hold = "import filelock, sys; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(flush=True); input()"
    progress = Progress()
    with subprocess.Popen([sys.executable, "-c", hold, str(folder / share.lock)], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        waiting = threading.Thread(target=lambda: [*worker(whole, store, share, progress).run()])
        waiting.start()
        wait_for(lambda: "Another process" in progress.stage)
        assert files(store) == {}
        process.kill()
    waiting.join(60)
    assert sorted(int(name[:9]) for name in files(store)) == (FIRST_BORDERS if share == Share() else [32, 128])


def test_a_worker_that_was_stopped_is_run_again(whole: Experiment, store: Store) -> None:
    progress = Steps(64, lambda: progress.cancel())
    with pytest.raises(CancelledError):
        [*worker(whole, store, progress=progress).run()]
    n_before = len(files(store))
    assert 0 < n_before < 5
    assert len([*worker(whole, store, Share(0, 1)).run()]) == 5 - n_before


@pytest.mark.parametrize(("rank", "of"), [(2, 2), (-1, 2), (0, 0)])
def test_there_is_no_such_worker(rank: int, of: int) -> None:
    with pytest.raises(SettingError, match=f"rank is {rank} of {of}"):
        Share(rank, of)


def test_a_damaged_part_is_measured_again_and_what_was_counted_is_kept(
    whole: Experiment, store: Store, tiny_encoder: Encoder
) -> None:
    found, _ = run(whole, store)
    assert_of_all(found, Path(whole.corpus).read_text().splitlines(), tiny_encoder)
    again = Extraction(whole, store, Encoders())
    assert again.look_up(Progress()).seconds == 0
    assert again.found.census is not None
    before = files(store)
    next(store.root.glob("norms-*/000000128-*")).write_bytes(b"damaged")
    next(store.root.glob("norms-*/census*")).unlink()
    looked = Extraction(whole, store, Encoders())
    looked.look_up(Progress())
    assert (looked.found.n_missing, looked.found.damaged_parts) == (128, 1)
    assert run(whole, store)[0].census is not None
    assert files(store) == before


@needs_bfloat16
def test_the_error_of_the_fast_precision_is_known_of_a_whole_corpus(whole: Experiment, store: Store) -> None:
    found, _ = run(Experiment(whole.model, whole.corpus, sample_size=ALL, precision=Precision.FAST), store)
    assert found.audit.sentences == found.sentences
    assert (len(found.audit.measurements), found.n_measured) == (100, 400)


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
    first, second = (worker(on_hub, store, Share(rank, 2)) for rank in (1, 0))  # of what one of them fetched
    assert [measured.part.start for measured in (*first.measure(32, 64), *second.measure(0, 32))] == [32, 0]
    found, _ = run(on_hub, store)
    assert_of_all(found, text_file.read_text(encoding="utf-8").splitlines(), tiny_encoder)
    of_file, _ = run(Experiment(on_hub.model, str(text_file), sample_size=ALL), Store(tmp_path / "other"))
    assert of_file.sentences == found.sentences
    assert of_file.measurements.n_tokens.tolist() == found.measurements.n_tokens.tolist()
    hub.requests.clear()
    stored = Extraction(on_hub, store, Encoders()).find_stored(Progress())
    assert stored.census is not None
    assert hub.requests == []


def test_a_plan_judges_a_dataset_by_its_files_until_it_is_here(
    on_hub: Experiment, hub: Hub, store: Store, tmp_path: Path
) -> None:
    machine = Machine()
    machine._measured = 1e9  # so that it need not be measured

    def planned() -> Plan:
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


def test_what_is_left_is_told_as_it_is_measured_and_no_line_but_that_of_all_where_it_is_kept(
    whole: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, bool]] = []

    def noting(self: Extraction, name: str, value: object) -> None:
        if name == "found" and isinstance(value, Found):
            told.append((len(value.measurements), value.n_missing, value.census is not None))
        object.__setattr__(self, name, value)

    monkeypatch.setattr(Extraction, "__setattr__", noting)
    run(whole, store)
    assert [one[:2] for one in told[-7:]] == [
        (0, 400),
        (32, 368),
        (64, 336),
        (100, 272),
        (100, 144),
        (100, 0),
        (100, 0),
    ]
    for kept in (True, False):
        told.clear()
        Extraction(whole, store, Encoders()).look_up(Progress())
        # What counts shows something meanwhile.
        assert [is_counted for *_, is_counted in told] == ([True] if kept else [False, True])
        next(store.root.glob("norms-*/census-*")).unlink()
