"""Downloads, and what breaks them off."""

import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from huggingface_hub import hf_hub_download
from support.hub import Hub
from support.hub_clients import environment
from support.hub_models import CHUNK, WEIGHTS, Watched, assert_whole, fetched, fingerprint, norms, refusal, write_shards

from clsviz.errors import CancelledError
from clsviz.sources import models
from clsviz.sources.models import NotDownloadedError

pytestmark = pytest.mark.usefixtures("quickly")


def test_a_download_that_was_cut_goes_on_where_it_was(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/cut", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "cut")
    said: list[logging.LogRecord] = []
    noise = logging.Handler()
    noise.emit = said.append  # type: ignore[method-assign]
    logging.getLogger("huggingface_hub").addHandler(noise)
    message = refusal("owner/cut")
    logging.getLogger("huggingface_hub").removeHandler(noise)
    assert "broke off" in message
    assert "resumes from there" in message
    assert not said
    [part] = cache.glob("*/blobs/*part")
    there, size = part.stat().st_size, (large_folder / WEIGHTS).stat().st_size
    assert size / 2 - CHUNK < there < size
    with pytest.raises(NotDownloadedError):
        models.find("owner/cut")
    assert "broke off" in refusal("owner/cut")  # and what is there stays

    hub.behave()
    there = part.stat().st_size
    hub.requests.clear()
    progress = Watched()
    assert models.fetch("owner/cut", progress=progress).fingerprint == fingerprint(large_folder)
    assert [r.range for r in hub.requests if r.method == "GET" and r.path.endswith(WEIGHTS)] == [f"bytes={there}-"]
    assert hub.bytes_sent(f"*{WEIGHTS}") == size - there
    assert ("Downloading owner/cut", "MB", there // 10**6, size // 10**6) in progress.told
    assert_whole(cache)


def test_a_download_that_was_cancelled_goes_on_where_it_was(hub: Hub, large_folder: Path, cache: Path) -> None:
    commit = hub.add("owner/cancelled", large_folder)
    size = (large_folder / WEIGHTS).stat().st_size
    hub.misbehave(f"*{WEIGHTS}", "slow", seconds=0.005)
    with pytest.raises(CancelledError):
        models.fetch("owner/cancelled", progress=Watched(cancel_at=size // 2 // 10**6))
    hub.behave()
    weights = models.fetch("owner/cancelled")
    assert (weights.commit, weights.fingerprint) == (commit, fingerprint(large_folder))
    first, second = [r for r in hub.requests if r.method == "GET" and r.path.endswith(WEIGHTS)]
    assert first.n_bytes < size
    assert int(second.range.removeprefix("bytes=").removesuffix("-")) == size - second.n_bytes >= size // 4
    assert_whole(cache)


def test_a_download_is_cancelled_although_nothing_arrives(hub: Hub, large_folder: Path) -> None:
    hub.add("owner/stalled", large_folder)
    for what in ("/api/models/owner/stalled*", f"*{WEIGHTS}"):
        hub.misbehave(what, "stall")
        progress = Watched()
        began = time.monotonic()
        threading.Timer(0.3, progress.cancel).start()
        with pytest.raises(CancelledError):
            models.fetch("owner/stalled", progress=progress)
        assert 0.3 <= time.monotonic() - began < 1.3
        hub.closing = True  # what it waits for ends
        for thread in threading.enumerate():
            if thread.name == "interruptible":
                thread.join(10)
        hub.closing = False
        hub.behave()
    assert models.fetch("owner/stalled").fingerprint == fingerprint(large_folder)


def test_progress_is_of_megabytes_and_never_goes_back(hub: Hub, large_folder: Path) -> None:
    hub.add("owner/progress", large_folder)
    progress = Watched()
    models.fetch("owner/progress", progress=progress)
    assert progress.told[0] == ("Looking for owner/progress on the Hugging Face Hub", "", 0, 0)
    total = (large_folder / WEIGHTS).stat().st_size // 10**6
    downloaded = [
        done for stage, unit, done, of in progress.told if (unit, of) == ("MB", total) and "Downloading" in stage
    ]
    assert downloaded == sorted(downloaded)
    assert set(downloaded) == set(range(total + 1))
    assert progress.told[-1] == ("Downloading owner/progress", "MB", total, total)


@pytest.mark.parametrize("file", [WEIGHTS, "tokenizer.json", "config.json"])
def test_damage_on_the_way_is_noticed(file: str, hub: Hub, folder: Path, cache: Path) -> None:
    hub.add("owner/damaged", folder)
    hub.misbehave(f"*/{file}", "damaged", times=1)
    assert "damaged on its way" in refusal("owner/damaged")
    assert_whole(cache)
    assert not list(cache.glob(f"*/snapshots/*/{file}"))
    with pytest.raises(NotDownloadedError):
        models.find("owner/damaged")
    assert models.fetch("owner/damaged").fingerprint == fingerprint(folder)
    assert_whole(cache)


def test_a_file_that_ends_early_is_completed(hub: Hub, folder: Path, cache: Path) -> None:
    hub.add("owner/short", folder)
    hub.misbehave(f"*{WEIGHTS}", "wrong-length", times=1)
    assert "broke off" in refusal("owner/short")
    hub.requests.clear()
    assert models.fetch("owner/short").fingerprint == fingerprint(folder)
    assert hub.bytes_sent(f"*{WEIGHTS}") == 1
    assert_whole(cache)


def test_an_interrupted_download_of_shards_is_not_taken_for_complete(
    hub: Hub, large_folder: Path, tmp_path: Path, cache: Path
) -> None:
    folder = write_shards(tmp_path / "shards", large_folder)
    last = max(path.name for path in folder.glob("*.safetensors"))
    hub.add("owner/shards", folder)
    hub.misbehave(f"*/{last}", "500")
    assert "(500)" in refusal("owner/shards")
    with pytest.raises(NotDownloadedError):
        models.find("owner/shards")
    hub.behave()
    hub.requests.clear()
    weights = models.fetch("owner/shards")
    assert [Path(path).name for path in fetched(hub)] == [last]
    assert weights.fingerprint == fingerprint(folder)
    np.testing.assert_array_equal(norms(weights), norms(models.find(str(large_folder))))
    assert_whole(cache)


def test_a_shard_without_the_list_of_all_is_not_taken_for_complete(
    hub: Hub, large_folder: Path, tmp_path: Path
) -> None:
    folder = write_shards(tmp_path / "shards", large_folder)
    hub.add("owner/shard", folder)
    files = [path.name for path in folder.iterdir() if path.suffix != ".safetensors" and "index" not in path.name]
    for file in [*files, min(path.name for path in folder.glob("*.safetensors"))]:
        hf_hub_download("owner/shard", file)
    with pytest.raises(NotDownloadedError):
        models.find("owner/shard")
    assert models.fetch("owner/shard").fingerprint == fingerprint(folder)


def test_two_at_once_fetch_a_model_once(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/twice", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "slow", seconds=0.002)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: models.fetch("owner/twice"), range(2)))
    assert both[0] == both[1]
    assert both[0].fingerprint == fingerprint(large_folder)
    assert hub.bytes_sent(f"*{WEIGHTS}") == (large_folder / WEIGHTS).stat().st_size
    assert_whole(cache)


def test_a_full_disk_is_noticed_before_the_download(
    hub: Hub, large_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("owner/large", large_folder)
    free = (large_folder / WEIGHTS).stat().st_size - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(total=10**12, used=10**12 - free, free=free))
    message = refusal("owner/large")
    assert "The disk is too full for owner/large" in message
    assert "HF_HOME" in message
    assert not fetched(hub, WEIGHTS)


def test_another_process_goes_on_with_what_is_there(hub: Hub, large_folder: Path, cache: Path) -> None:
    hub.add("owner/process", large_folder)
    hub.misbehave(f"*{WEIGHTS}", "cut")
    assert "broke off" in refusal("owner/process")
    hub.behave()
    hub.requests.clear()
    # The stand-in's address is in the environment alone.
    program = "from clsviz.sources import models; print(models.fetch('owner/process').fingerprint)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | environment(hub, cache.parent)
    )
    assert (answer.stdout.strip(), answer.stderr) == (fingerprint(large_folder), "")
    assert hub.bytes_sent(f"*{WEIGHTS}") < (large_folder / WEIGHTS).stat().st_size / 2 + CHUNK
