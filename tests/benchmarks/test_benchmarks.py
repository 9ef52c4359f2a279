import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.corpora import shrink
from support.tiny import write_model

from benchmarks import census, encoder, layers, whole
from benchmarks.ways import Plain
from clsviz.encoder import has_fast_bfloat16
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.progress import Progress
from clsviz.settings import ALL
from clsviz.store import Store

WAYS = ["original", "sentence-transformers", "exact", "fast"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, text_file: Path) -> Callable[..., dict[str, object]]:
    """Run the benchmark with a tiny model, in a process of its own: the libraries it compares with issue warnings.

    Without the ways that have to build something first, as ONNX does: they would take most of the time.
    """
    folder = write_model(tmp_path_factory.mktemp("models") / "bert", "bert", max_position_embeddings=512)
    # One thread: on a model this small, more of them only wait for each other.
    environment = {**os.environ, "CLSVIZ_STORE": str(tmp_path_factory.mktemp("store")), "OMP_NUM_THREADS": "1"}

    def run(*options: str) -> dict[str, object]:
        command = [sys.executable, "-m", "benchmarks.encoder", f"--model={folder}", f"--corpus={text_file}", "--json"]
        command += ["--sentences=40", "--ways", *WAYS]
        ran = subprocess.run([*command, *options], capture_output=True, text=True, env=environment)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    return run


@pytest.fixture(scope="module")
def result(run: Callable[..., dict[str, object]]) -> dict[str, object]:
    return run("--rounds=1", "--growth", "--memory", "exact", "--beside=1")


def test_every_way_measures_the_same_norms(result: dict[str, object]) -> None:
    rows = {row["name"]: row for row in result["rows"]}
    assert list(rows) == WAYS[: 4 if has_fast_bfloat16(torch.device("cpu")) else 3]
    assert all(rows[name]["max_relative_error"] < 1e-5 for name in WAYS[:3])
    assert all(row["computes_the_same"] for row in rows.values())
    assert rows["sentence-transformers"]["ratio"] == 1
    for row in rows.values():
        assert row["ratio"] == pytest.approx(
            row["sentences_per_second"] / rows["sentence-transformers"]["sentences_per_second"]
        )
        assert row["tokens_per_second"] > row["sentences_per_second"] > 0
        assert ("ceiling_fraction" in row) == (row["name"] in ("exact", "fast"))


def test_shares_growth_and_memory_are_told_where_they_were_asked_for(result: dict[str, object]) -> None:
    fair = len(os.sched_getaffinity(0)) / (len(os.sched_getaffinity(0)) + 1)
    for row in result["rows"]:
        assert row["fair_share"] == pytest.approx(row["beside"] / (row["sentences_per_second"] * fair))
        assert row["processor_seconds"] > 0
    assert result["growth"]["sentences"] == 400
    megabytes = {row["name"]: row["peak_megabytes"] for row in result["rows"] if row["peak_megabytes"] is not None}
    assert list(megabytes) == ["exact"]  # which alone was asked for
    assert 100 < megabytes["exact"] < 4000


def test_the_ceiling_counts_every_product_of_a_token(tiny_weights) -> None:
    plain = Plain(tiny_weights, "cpu")
    assert plain.products == {(16, 16): 8, (32, 16): 2, (16, 32): 2}  # two layers


def test_a_corpus_that_is_too_small_is_refused_at_once(
    text_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLSVIZ_STORE", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["encoder", f"--corpus={text_file}", "--sentences=400", "--growth"])
    with pytest.raises(SystemExit) as ended:
        encoder.main()
    assert str(ended.value).endswith("has only 400 sentences of 4,000. Take fewer, or another corpus.")


def test_the_layers_are_timed_from_the_store(
    tiny_folder: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--model={tiny_folder}", f"--corpus={text_file}", "--sentences=120"]
    monkeypatch.setattr(sys, "argv", ["layers", *options])
    layers.main()
    printed = capsys.readouterr().out
    assert "120 sentences of 10 vectors of 16" in printed  # three poolings after three layers, and the pooler
    for name in (
        "norms",
        "vectors",
        "from the store",
        "all 23 readings",
        "SentLen",
        "dimensions, gain and bias",
        "similarity by length",
    ):
        assert f"\n{name}: " in printed


def test_a_whole_corpus_is_counted_and_viewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path)
    census.write(store, 0, 20_000, n_layers=2)
    for step in census.STEPS.values():
        step(store, 20_000)
    printed = capsys.readouterr().out
    for name in ("all parts", "the line under 40 tokens", "another layer, and its line"):
        assert f"\n  {name}: " in f"\n{printed}"
    off = [float(line.split()[-1]) for line in printed.splitlines() if "relative difference" in line]
    assert len(off) == 7
    assert max(off) < 1e-4


def test_a_made_up_whole_corpus_is_found_as_if_it_had_been_measured(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrink(monkeypatch, 300, 100)
    experiment = Experiment(corpus=str(tmp_path / "made.txt"), sample_size=ALL)
    for _ in range(2):  # made, and found again
        whole.prepare(experiment, store, 1000)
    found = Extraction(experiment, store, Encoders()).find_stored(Progress())
    assert found is not None
    assert found.census is not None
    assert found.census.n == 1000
    n_words = [len(sentence.split()) - 1 for sentence in found.sentences]  # one is a number
    assert n_words == found.measurements.n_tokens.tolist()
