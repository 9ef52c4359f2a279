import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from support.corpora import shrink
from support.extracting import Steps, n_in_turns, run
from support.waiting import wait_for

from clsviz.encoder import Encoder, has_fast_bfloat16
from clsviz.errors import CancelledError, SettingError
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction, Share, Worker
from clsviz.measurements import MAX_LENGTH
from clsviz.progress import Progress
from clsviz.settings import ALL, Pooling, Precision
from clsviz.statistics import line
from clsviz.store import Store

FIRST_BORDERS = [0, 32, 64, 128, 256]


@pytest.fixture
def whole(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """All 400 sentences of a corpus, of which 200 are shuffled and 100 in memory."""
    shrink(monkeypatch, 200, 100)
    return Experiment(experiment.model, experiment.corpus, sample_size=ALL)


def worker(
    experiment: Experiment, store: Store, share: Share | None = None, progress: Progress | None = None
) -> Worker:
    return Extraction(experiment, store, Encoders()).worker(progress or Progress(), share)


def files(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.root.glob("norms-*/*-*.safetensors") if path.name[0] == "0"}


def starts(store: Store) -> list[int]:
    return sorted(int(name[:9]) for name in files(store))


def test_workers_make_the_files_that_one_run_makes(whole: Experiment, store: Store, tmp_path: Path) -> None:
    run(whole, store)
    shared = Store(tmp_path / "shared")
    first, second = (worker(whole, shared, Share(rank, 2)) for rank in range(2))
    assert n_in_turns([first.run(), second.run()]) == 400
    assert files(shared) == files(store)
    assert first.n_missing == second.n_missing == 0
    assert first.n_tokens + second.n_tokens == sum(
        int(part.n_tokens.sum()) for part in map(shared.read, shared.parts(_key(whole, shared)).values()) if part
    )


def _key(experiment: Experiment, store: Store) -> object:
    extraction = Extraction(experiment, store, Encoders())
    extraction.look_up(Progress())
    assert extraction.found is not None
    return extraction.key_of(extraction.found)


def test_a_worker_measures_its_share_and_nothing_else(whole: Experiment, store: Store) -> None:
    second = worker(whole, store, Share(1, 2))
    assert [measured.part.start for measured in second.run()] == [32, 128]
    assert second.n_missing == 400 - 32 - 128
    assert [measured.part.start for measured in worker(whole, store, Share(0, 2)).run()] == [0, 64, 256]


def test_a_part_that_somebody_chose_is_measured_unless_it_is_there_or_in_hand(whole: Experiment, store: Store) -> None:
    chosen, key = worker(whole, store), _key(whole, store)
    assert [measured.part.start for measured in chosen.measure(128, 256)] == [128]
    assert [*chosen.measure(128, 256)] == []
    with store.lock(key, "000000032.lock"):
        assert [*chosen.measure(32, 64)] == []
    assert [measured.part.start for measured in chosen.run()] == [0, 32, 64, 256]


@pytest.mark.parametrize("share", [Share(), Share(1, 2)])
def test_a_share_that_another_process_measures_is_waited_for_and_taken_over_if_that_is_killed(
    whole: Experiment, store: Store, share: Share
) -> None:
    folder = store.root / _key(whole, store).folder_name
    folder.mkdir(parents=True)
    hold = "import filelock, sys; lock = filelock.FileLock(sys.argv[1]); lock.acquire(); print(flush=True); input()"
    progress = Progress()
    with subprocess.Popen([sys.executable, "-c", hold, str(folder / share.lock)], stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        waiting = threading.Thread(target=lambda: [*worker(whole, store, share, progress).run()])
        waiting.start()
        wait_for(lambda: "Another process" in progress.stage)
        assert starts(store) == []
        process.kill()
    waiting.join(60)
    assert starts(store) == (FIRST_BORDERS if share == Share() else [32, 128])


def test_a_worker_that_was_stopped_is_run_again(whole: Experiment, store: Store) -> None:
    progress = Steps(64, lambda: progress.cancel())
    with pytest.raises(CancelledError):
        [*worker(whole, store, progress=progress).run()]
    n_before = len(starts(store))
    assert 0 < n_before < 5
    assert len([*worker(whole, store, Share(0, 1)).run()]) == 5 - n_before


@pytest.mark.parametrize(("rank", "of"), [(2, 2), (-1, 2), (0, 0)])
def test_there_is_no_such_worker(rank: int, of: int) -> None:
    with pytest.raises(SettingError, match=f"rank is {rank} of {of}"):
        Share(rank, of)


def test_the_line_of_a_whole_corpus_is_that_of_all_its_sentences(
    whole: Experiment, store: Store, tiny_encoder: Encoder
) -> None:
    found, _ = run(whole, store)
    assert len(found.sentences) == len(found.measurements) == 100
    assert found.census is not None
    assert (found.census.n, found.n_measured, found.n_missing) == (400, 400, 0)
    measured = tiny_encoder.measure(Path(whole.corpus).read_text().splitlines())
    expected = line.fit(measured.n_tokens, measured.norms(Pooling.CLS, 1))
    fit = found.census.vector(Pooling.CLS, 1).fit(MAX_LENGTH + 1)
    assert (fit.n, fit.slope, fit.r_squared) == pytest.approx((400, expected.slope, expected.r_squared), rel=1e-5)
    again = Extraction(whole, store, Encoders())
    assert again.look_up(Progress()).seconds == 0
    assert again.found is not None
    assert again.found.census is not None


def test_a_damaged_part_of_a_whole_corpus_is_measured_again(whole: Experiment, store: Store) -> None:
    run(whole, store)
    before = files(store)
    damaged = next(path for path in store.root.glob("norms-*/000000128-*"))
    damaged.write_bytes(b"damaged")
    for census in store.root.glob("norms-*/census*"):
        census.unlink()
    looked = Extraction(whole, store, Encoders())
    looked.look_up(Progress())
    assert looked.found is not None
    assert (looked.found.n_missing, looked.found.damaged_parts) == (128, 1)
    found, _ = run(whole, store)
    assert found.census is not None
    assert files(store) == before


@pytest.mark.skipif(not has_fast_bfloat16(torch.device("cpu")), reason="needs a processor with bfloat16")
def test_the_error_of_the_fast_precision_is_known_of_a_whole_corpus(whole: Experiment, store: Store) -> None:
    found, _ = run(Experiment(whole.model, whole.corpus, sample_size=ALL, precision=Precision.FAST), store)
    assert found.audit is not None
    assert found.audit.sentences == found.sentences
    assert len(found.audit.measurements) == 100
    assert found.n_measured == 400
