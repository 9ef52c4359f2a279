import json
from pathlib import Path

import pandas as pd
import pytest
from support.files import write_task
from support.tiny import random_sentences, write_model

from clsviz.cli.main import main
from clsviz.settings import Alteration


def test_probing_prints_a_row_a_layer_and_writes_the_readings(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "layers.parquet"
    command = ["probe", *arguments[1:], "--json", "--probe-size=150", f"--output={output}"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_sampled"] == 150
    assert [row["layer"] for row in result["layers"]] == [0, 1, 2]
    assert result["layers"][0]["probe_r_squared"] is None  # [CLS] is the same for all sentences there
    assert result["layers"][1]["probe_r_squared"] > 0.5
    table = pd.read_parquet(output)
    at = table[(table["pooling"] == "cls") & (table["readout"] == "vector") & (table["layer"] == 1)]
    assert at["r_squared"].item() == result["layers"][1]["probe_r_squared"]
    assert main(command) == 0  # from the store, with the same numbers
    again = json.loads(capsys.readouterr().out)
    assert again["layers"] == result["layers"]
    assert again["sentences_per_second"] is None
    assert main([argument for argument in command if argument != "--json"]) == 0
    assert "misses by" in capsys.readouterr().out.splitlines()[1]


def test_probes_travel_and_the_length_is_erased_when_asked_by_a_flag_or_a_link(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.txt"
    other.write_text("\n".join(random_sentences(180, seed=9)), encoding="utf-8")
    command = ["probe", *arguments[1:], "--probe-size=150", "--layer=1"]
    assert main([*command, "--json", "--erase", f"--travel-to={other}"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [leg["layer"] for leg in result["travel"]["layers"]] == [0, 1, 2]
    assert result["travel"]["corpus"] == str(other)
    assert result["travel"]["n_used_there"] == 149  # one is in both
    assert result["travel"]["layers"][1]["within_error"] == result["layers"][1]["probe_error"]
    assert result["travel"]["layers"][1]["within_fold_r_squared"] == result["layers"][1]["probe_fold_r_squared"]
    assert len(result["travel"]["layers"][1]["there_fold_r_squared"]) == 5
    assert 0 < result["travel"]["layers"][1]["across_error"] < result["travel"]["guess_error_across"]
    before = result["erasure"]["before"]["linear_fold_r_squared"]
    assert before == pytest.approx(result["layers"][1]["probe_fold_r_squared"])
    assert result["erasure"]["after"]["linear_r_squared"] < result["erasure"]["before"]["linear_r_squared"] - 0.3
    assert main([*command, "--json", f"--query=http://host/where?erase=yes&travel_to={other}"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["travel"], again["erasure"]) == (result["travel"], result["erasure"])
    assert main([*command, "--erase", f"--travel-to={other}"]) == 0
    said = capsys.readouterr().out
    assert "Once the length is erased, a linear probe reads R²" in said
    assert "read on other.txt" in said
    assert main([*command, f"--travel-to={tmp_path / 'nowhere.txt'}"]) == 2
    assert main(["probe", *arguments[1:], "--probe-size=4", "--erase", "--json"]) == 0
    few = json.loads(capsys.readouterr().out)
    assert few["erasure"] is None
    assert "at least 10" in few["erasure_problem"]


def test_untrained_models_are_probed_when_asked_by_a_flag_or_a_link(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["probe", *arguments[1:], "--probe-size=150"]
    assert main([*command, "--json", "--random-weights"]) == 0
    result = json.loads(capsys.readouterr().out)["random_weights"]
    assert [len(draw["layers"]) for draw in result["draws"]] == [3] * 5
    assert main([*command, "--json", "--query=http://host/where?random_weights=yes"]) == 0
    assert json.loads(capsys.readouterr().out)["random_weights"] == result
    assert main([*command, "--random-weights"]) == 0
    assert "In the trained model a linear probe with this many sentences misses by " in capsys.readouterr().out


def test_links_of_every_page_are_taken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    link = "http://host/compare_models?models=a,b&axes=free&heat=probe&nearest=yes&sentence=2&word=3&joined=yes&text=x&seed=4"
    assert main(["probe", *arguments[1:], "--probe-size=30", "--json", f"--query={link}"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 4


def test_sentences_are_altered_when_asked_by_a_flag_or_a_link(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["probe", *arguments[1:], "--probe-size=110"]
    assert main([*command, "--json", "--origin=100"]) == 0
    result = json.loads(capsys.readouterr().out)["origin"]
    assert result["n_used"] == 100
    assert result["problems"] == {}
    for name in ("natural", *Alteration):
        assert [row["layer"] for row in result[name]] == [0, 1, 2]
        assert len(result[name][2]["fold_r_squared"]) == 5
    assert main([*command, "--json", "--query=http://host/where_length_lives?origin=100"]) == 0
    assert json.loads(capsys.readouterr().out)["origin"] == result
    assert main([*command, "--origin"]) == 0  # all 110, as they are fewer than 1,000
    said = capsys.readouterr().out
    assert "tokens shuffled" in said
    assert "110 sentences" in said
    for wrong in ("--origin=5", "--origin=many"):
        assert main([*command, wrong]) == 2
        assert "must be a number" in capsys.readouterr().err.splitlines()[-1]
    folder = write_model(tmp_path / "mpnet", "mpnet")
    assert main([*command, f"--model={folder}", "--origin=100"]) == 0
    assert "does not know the positions of tokens from position vectors alone" in capsys.readouterr().out


def test_the_published_task_is_run_on_its_own_file(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_task(tmp_path / "sentence_length.txt")
    command = ["probe", *arguments[1:], "--probe-size=150", "--layer=1"]
    assert main([*command, "--json", f"--sentlen-file={path}"]) == 0
    printed = capsys.readouterr()
    cost = next(line for line in printed.err.splitlines() if "sentence_length.txt: 600 sentences: about" in line)
    assert cost.endswith("in the store.")
    result = json.loads(printed.out)["sentlen_file"]
    assert (result["n_train"], result["n_validation"], result["n_test"]) == (360, 120, 120)
    assert result["interval"][0] < result["accuracy"] < result["interval"][1]
    assert result["accuracy"] > result["accuracy_norm_only"]
    assert main([*command, f"--sentlen-file={path}", "--sentlen-size=10"]) == 0
    said = capsys.readouterr().out
    assert "On 60 test sentences of sentence_length.txt, the whole vector tells" in said
    assert "60 training sentences are few for vectors of 16 dimensions" in said
    assert "The classifier is a logistic regression" in said
    for wrong, problem in (
        ("--sentlen-size=many", "sentlen_size is “many”; it must be a whole number."),
        ("--sentlen-size=0", "it must be 1 or more"),
        (f"--sentlen-file={tmp_path / 'nowhere.txt'}", "There is no file"),
    ):
        assert main([*command, f"--sentlen-file={path}", wrong]) == 2
        assert problem in capsys.readouterr().err.splitlines()[-1]
