import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from clsviz.cli.main import main


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (["--corpus=/nowhere/text.txt"], "/nowhere/text.txt"),
        (["--model=/nowhere/model"], "no folder /nowhere/model"),
        (["--sample-size=many"], "many"),
        (["--sample-size=0"], "sample_size is 0"),
        (["--layer=9"], "layers 0 to 2"),
        (["--query=?shade=red"], "shade"),
        (["--output={tmp}/out.xlsx"], ".parquet or .csv"),
        (["--output={tmp}/nowhere/out.csv"], "cannot be written"),
        (["--output={tmp}"], "must end in"),
        (["--plot={tmp}/out.jpg"], "--plot {tmp}/out.jpg must end in .png, .svg or .pdf."),
        (["--plot={tmp}/nowhere/out.png"], "--plot {tmp}/nowhere/out.png cannot be written"),
        (["--colour=red"], "--colour"),
        (["--store={tmp}/empty.txt/store"], "empty.txt"),
        (["--store=s3://"], "s3:// names no bucket"),
        (["--corpus=two words"], "is not the name of a dataset"),
        (["--column=text"], "column “text”"),
        (["--segmentation=words"], "auto or none or sentences"),
        (["--output=" + "x" * 300 + ".csv"], "has a name of over 200 bytes"),
        (["--store="], "store"),
        (["--\x1b[31m=1"], "[31m"),
    ],
)
def test_a_mistake_is_one_line_and_status_2_and_writes_nothing(
    arguments: list[str], tmp_path: Path, changed: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    output = tmp_path / "out.csv"
    changed = [word.format(tmp=tmp_path) for word in changed]
    assert main([*arguments, f"--output={output}", *changed]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("clsviz: ")
    assert captured.err.rstrip("\n").isprintable()
    assert named.format(tmp=tmp_path) in captured.err
    assert not output.exists()
    assert not (tmp_path / "store").exists()


def test_the_dashboard_does_not_start_with_a_limit_that_makes_no_sense(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_SESSIONS", "many")
    assert main(["app"]) == 2
    assert capsys.readouterr().err.startswith("clsviz: CLSVIZ_LIMIT_SESSIONS is “many”. It must be a whole number")


def test_a_command_looks_for_circles_rarely_and_not_as_it_ends() -> None:
    """What libraries make stays, and is much."""
    program = """
import atexit, gc, sys
from clsviz.cli.main import command
atexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 10_000))  # runs last
sys.argv = ["clsviz", "--help"]
command()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "200000 True"


@pytest.mark.skipif(os.name == "nt", reason="its shell closes nothing")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_goes_to_a_closed_output_is_dropped(closed: str, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("One sentence.\n" * 20)
    command = shlex.join([sys.executable, "-m", "clsviz", "preview", str(text)])
    ended = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True)
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    assert text.read_text() == "One sentence.\n" * 20


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_output_that_nobody_takes_is_one_line(arguments: list[str]) -> None:
    assert main(arguments) == 0  # from now on it comes from the store, which takes no torch
    command = [sys.executable, "-m", "clsviz", *arguments]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert run.stderr.endswith("clsviz: The result cannot be printed: No space left on device.\n")
    closed = subprocess.run(f"{shlex.join([*command, '--json'])} | true", shell=True, stderr=subprocess.PIPE, text=True)
    assert "Traceback" not in closed.stderr


def test_a_terminal_without_the_characters_gets_their_codes(arguments: list[str]) -> None:
    assert main(arguments) == 0  # from now on it comes from the store, which takes no torch
    command = [sys.executable, "-m", "clsviz", *arguments]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, text=True, env=ascii_only)
    assert run.returncode == 0
    assert "fifth: " in run.stdout
    assert "\\xd7 \\xb7 " in run.stdout


def test_the_command_line_itself_with_its_progress_on_stderr(tmp_path: Path) -> None:
    """The real model on real sentences, as a user runs it."""
    settings = ["--model=minilm", "--corpus=python-docs", "--sample-size=200", "--seed=0", "--length-cutoff=80"]
    command = ["measure", *settings, "--no-shipped", "--json"]
    output = tmp_path / "out.parquet"
    ran = subprocess.run(
        [sys.executable, "-m", "clsviz", *command, "--output", output, "--store", tmp_path / "store"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    assert len(ran.stdout.splitlines()) == 1
    assert (result["model"], result["corpus"], result["n_sampled"]) == ("minilm", "python-docs", 200)
    assert 0 < result["r_squared"] < 0.1  # hardly, as measured before
    assert result["norm_mean"] == pytest.approx(7.6, abs=0.2)
    assert all("Measuring" in line for line in ran.stderr.splitlines() if line.strip())  # where it took over a second
    assert len(pd.read_parquet(output)) == 200
