import json
from pathlib import Path

import pytest

from clsviz.cli.main import main


def parts(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in store.glob("norms-*/0*.safetensors")}


@pytest.fixture
def elsewhere(arguments: list[str], tmp_path: Path) -> list[str]:
    """The same measurement with another store."""
    others = [word for word in arguments if not word.startswith("--store")]
    return [*others, f"--store={tmp_path / 'elsewhere'}"]


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    result: dict[str, object] = json.loads(capsys.readouterr().out)
    return result


def store_of(arguments: list[str]) -> Path:
    (store,) = (word.partition("=")[2] for word in arguments if word.startswith("--store="))
    return Path(store)


def test_one_worker_measures_its_share_and_says_how_much(
    arguments: list[str], elsewhere: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == 0
    assert told(capsys)["n_sampled"] == 200
    assert main([*elsewhere, "--rank=1", "--of=2", "--json"]) == 0
    report = told(capsys)
    assert (report["rank"], report["workers"], report["sentences"], report["left"]) == (1, 2, 104, 96)
    assert main([*elsewhere, "--rank=0", "--of=2"]) == 0
    assert capsys.readouterr().out.startswith("Worker 0 of 2: 96 sentences measured, ")
    assert parts(store_of(elsewhere)) == parts(store_of(arguments))
    assert main([*elsewhere, "--rank=0", "--of=2"]) == 0
    assert capsys.readouterr().out == "Worker 0 of 2: 0 sentences measured, 0 tokens; none are left.\n"


def test_several_workers_on_this_machine_make_the_same_files(
    arguments: list[str], elsewhere: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json"]) == 0
    alone = told(capsys)
    assert main([*elsewhere, "--workers=2", "--json"]) == 0
    together = told(capsys)
    assert {name for name in alone if alone[name] != together[name]} <= {"seconds", "sentences_per_second"}
    assert sorted(parts(store_of(elsewhere))) == sorted(parts(store_of(arguments)))


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--rank=0"], "--rank and --of go together"),
        (["--of=2"], "--rank and --of go together"),
        (["--rank=2", "--of=2"], "rank is 2 of 2; it must be a number from 0 to 1"),
        (["--rank=-1", "--of=2"], "“-1” is not a whole number"),
        (["--rank=0", "--of=2", "--workers=2"], "Leave out one"),
        (["--workers=0"], "--workers is 0; it must be at least 1"),
        (["--workers=two"], "“two” is not a whole number"),
    ],
)
def test_workers_that_cannot_be_are_refused(
    arguments: list[str], flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, *flags]) == 2
    assert problem in capsys.readouterr().err
    assert not parts(store_of(arguments))


def test_a_plan_says_what_it_would_take_and_measures_nothing(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("clsviz.jobs.estimate.MEASURING_SECONDS", 0.25)  # of the machine, not of the model
    assert main([*arguments, "--dry-run", "--workers=4", "--json"]) == 0
    plan = told(capsys)
    assert (plan["n_sentences"], plan["n_missing"], plan["is_measured"]) == (200, 200, False)
    assert not parts(store_of(arguments))
    assert main(arguments) == 0
    capsys.readouterr()
    assert main([*arguments, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("Sentences: 200, of which 200 are measured already.\nKept: about")
