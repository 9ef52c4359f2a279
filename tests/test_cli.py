import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import WORDS

import clsviz
from clsviz import cli


@pytest.fixture
def run(tmp_path: Path, tiny_model: Path, corpus_file: Path, capsys: pytest.CaptureFixture[str]):
    """Runs `measure` on the tiny model and corpus; returns its status, output and errors."""

    def command(*words: str, is_whole: bool = False) -> tuple[int, str, str]:
        name, *flags = words if words[:1] == ("chunk-test",) else ("measure", *words)
        usual = [name, "--model", str(tiny_model), "--corpus", str(corpus_file)]
        usual += ["--store", str(tmp_path / "store")]
        try:
            status = cli.main([*words] if is_whole else [*usual, *flags])
        except SystemExit as exit_:
            status = exit_.code
        return status, *capsys.readouterr()

    return command


def test_files_are_written_in_the_format_of_their_name(run, tmp_path: Path) -> None:
    for name in ("table.csv", "table.parquet"):
        words = "--output", str(tmp_path / name), "--plot", str(tmp_path / "picture.svg")
        assert run(*words)[0] == 0
    csv = pd.read_csv(tmp_path / "table.csv")
    parquet = pd.read_parquet(tmp_path / "table.parquet")
    assert list(csv["sentence"]) == list(parquet["sentence"])
    assert {"n_tokens", "truncated", "is_used", "cls_0", "cls_2", "pooler"} <= set(parquet)
    assert "<svg" in (tmp_path / "picture.svg").read_text()[:1000]


def test_a_link_gives_the_settings_and_flags_come_first(run) -> None:
    link = "https://example.org/?layer=1&length_cutoff=20&sample_size=200&text=hello"
    answer = json.loads(run("--query", link, "--layer", "2", "--json")[1])
    assert (answer["layer"], answer["length_cutoff"], answer["sample_size"]) == (2, 20, 200)


def test_status_1_means_that_pieces_surely_lose_more_than_they_may(run, tmp_path: Path) -> None:
    words = np.random.RandomState(0).choice(WORDS, (150, 8))
    book = tmp_path / "book.txt"
    book.write_text("\n\n".join(f"The {' '.join(row)} garden." for row in words))
    usual = ["chunk-test", *("--corpus", str(book), "--chunk-tokens", "50", "--pooling", "cls")]
    for most, expected in (("0.05", 1), ("1", 0)):
        status, output, errors = run(*usual, "--max-lost", most)
        assert (status, errors) == (expected, "")
        assert ("lose over 5% of their sentences" in output) == (status == 1)


def test_a_history_keeps_a_row_a_run_and_tells_what_has_changed(run, tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    usual = ["--output", str(path), "--append", "--max-change", "0.02"]
    assert [run(*usual)[0] for _ in range(2)] == [0, 0]
    rows = pd.read_csv(path)
    assert list(rows["command"]) == ["measure", "measure"]
    ratio, r2 = rows.loc[1, ["spread_ratio", "r_squared"]]
    for factor, shift, status in ((1.01, 0, 0), (1.03, 0, 1), (1, 0.03, 1)):
        former = {"spread_ratio": ratio * factor, "r_squared": r2 + shift, "model": "former"}
        rows.assign(**former).to_csv(path, index=False)
        status_now, text, _ = run(*usual, "--json")
        assert status_now == status
        changed = ["r_squared"] * (shift > 0) or ["spread_ratio"]
        assert list(json.loads(text)["changed"]) == changed * status
    assert len(pd.read_csv(path)) == 3
    for is_first in (True, False):
        status, text, _ = run(*usual, "--length-cutoff", "20")
        assert (status, "no earlier row" in text) == (0, is_first)


MISTAKES = {
    "history that is no table": ["--append"],
    "change since nothing": ["--max-change", "0.1", "--output", "history.csv"],
    "layer out of range": ["--layer", "9"],
    "missing file": ["--corpus", "missing.csv"],
    "missing model": ["--model", "./missing"],
    "odd model": ["--model", "http://example.org/model"],
    "unknown encoding": ["--encoding", "klingon"],
    "unknown ending": ["--output", "table.xlsx"],
    "missing folder": ["--output", "missing/table.csv"],
    "folder as a file": ["--output", "folder.csv"],
    "folder that cannot be written": ["--output", "/proc/table.csv"],
    "picture that cannot be written": ["--plot", "/proc/table.svg"],
    "store that is a file": ["--store", "file/store"],
    "store that cannot be written": ["--store", "/proc/store"],
    "number of more digits": ["--seed", "9" * 5000],
    "long unknown flag": ["--" + "9" * 5000],
    "address of a file": ["--corpus", "file:///etc/passwd"],
    "control characters": ["--corpus", "\x1b[31m.csv"],
    "unknown flag": ["--nonsense"],
    "value that is missing": ["--seed"],
    "broken link": ["--query", "http://[::1"],
    "link without settings": ["--query", "https://example.org/"],
    "unknown command": ["measur"],
    "no command": [],
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str, run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    status, output, errors = run(*MISTAKES[name], is_whole="command" in name)
    assert (status, output) == (2, "")
    assert errors.count("\n") == 1, errors
    assert len(errors) < 400
    assert errors.rstrip("\n").isprintable()
    assert {path.name for path in tmp_path.iterdir()} <= {"store", "file", "folder.csv"}


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [(ZeroDivisionError, 3, "Traceback"), (KeyboardInterrupt, 130, "stopped")],
)
def test_status_1_is_for_nothing_else(error, expected, words, run, monkeypatch) -> None:
    def fail(*_, **__):
        raise error

    monkeypatch.setitem(cli.COMMANDS, "measure", fail)
    status, _, errors = run()
    assert status == expected
    assert words in errors


@pytest.fixture
def locked(tmp_path: Path):
    """A folder that this process may not enter, not even as root."""
    (folder := tmp_path / "locked").mkdir(mode=0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield folder
    os.seteuid(user)


@pytest.mark.parametrize("words", [["--store"], ["--output", "a.csv"], ["--plot", "a.svg"]])
def test_a_folder_that_may_not_be_entered_is_one_line(words: list[str], run, locked: Path) -> None:
    status, _, errors = run(words[0], str(locked.joinpath(*words[1:])))
    assert (status, errors.count("\n")) == (2, 1)
    assert "Permission denied" in errors


def test_all_corpora_are_looked_for_before_the_first_is_compared(run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    words = ["compare", "--models", "minilm,untrained:minilm", "--store", str(store)]
    words += ["--corpus", "python-docs", "--corpus", "missing.csv"]
    status, _, errors = run(*words, is_whole=True)
    assert (status, store.exists()) == (2, False)
    assert "missing.csv" in errors


@pytest.mark.slow
def test_a_reader_that_ends_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m clsviz measure --store {tmp_path} | exec true"
    ended = subprocess.run(["/bin/bash", "-o", "pipefail", "-c", command], capture_output=True)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "errors"),
    [
        ("measure --store {store} >&- 2>&-", 0, ""),
        ("measure --store {store} >/dev/full", 2, "clsviz: The answer cannot be printed"),
        ("measure --layer many 2>&-", 2, ""),
        ("--help >&-", 0, ""),
        ("--version >&-", 0, ""),
        ("--help >/dev/full", 0, ""),
    ],
)
def test_streams_that_take_nothing_leave_no_traceback(tmp_path, words, status, errors) -> None:
    command = f"exec {sys.executable} -m clsviz {words.format(store=tmp_path)}"
    ended = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (status, "")
    assert len(ended.stderr.splitlines()) == len(errors.splitlines())
    assert ended.stderr.startswith(errors)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["clsviz.api", "clsviz.cli"])
def test_an_import_that_is_interrupted_ends_in_one_line(tmp_path: Path, module: str) -> None:
    """The interpreter starts with a finder that interrupts it."""
    (tmp_path / "sitecustomize.py").write_text(
        f"""
import sys
class Interrupting:
    def find_spec(name, *_):
        if name == "{module}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting)
"""
    )
    path = os.pathsep.join([str(tmp_path), str(Path(clsviz.__file__).parents[1])])
    ended = subprocess.run(
        [sys.executable, "-m", "clsviz", "measure"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ended.returncode, ended.stderr) == (130, "clsviz: stopped.\n")


def test_a_terminal_without_our_letters_gets_their_numbers(run, monkeypatch) -> None:
    output = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr("sys.stdout", output)
    assert run("--json")[0] == 0
    assert json.loads(output.buffer.getvalue())["question"].startswith("Does tiny encode")


def test_the_command_of_a_result_repeats_it(run, corpus_file: Path, tiny_model: Path) -> None:
    first = json.loads(run("--layer", "1", "--seed", "3", "--length-cutoff", "20", "--json")[1])
    settings: dict = {"layer": 1, "seed": 3, "length_cutoff": 20, "store": corpus_file.parent}
    command = clsviz.measure(str(tiny_model), str(corpus_file), **settings).command
    again = json.loads(run(*shlex.split(command)[1:], "--json", is_whole=True)[1])
    names = clsviz.Experiment.__dataclass_fields__
    assert {name: first[name] for name in names} == {name: again[name] for name in names}
    assert first["r_squared"] == pytest.approx(again["r_squared"], rel=1e-3)


def test_random_weights_come_by_a_flag(run, tmp_path: Path) -> None:
    words = ["probe", "--store", str(tmp_path / "store"), "--json"]
    assert json.loads(run(*words, is_whole=True)[1])["random_weights"] is None
    answer = json.loads(run(*words, "--random-weights", is_whole=True)[1])
    assert [row["layer"] for row in answer["random_weights"]] == list(range(7))
    assert not (tmp_path / "store").exists()  # the default view is shipped


def test_a_link_keeps_what_changes_the_answer(run, tmp_path: Path) -> None:
    words = "--store", str(tmp_path), "--query", "https://example.org/search?similarity=dot"
    assert "by dot product" in run("search-test", *words, is_whole=True)[1]
    assert "probe_size is 6,000" in run("probe", *words[:3], "?probe_size=6000", is_whole=True)[2]
