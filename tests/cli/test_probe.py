import json
from pathlib import Path

import pandas as pd
import pytest
from support.tiny import write_bert

from clsviz.cli import main


def test_probing_prints_a_row_a_layer_and_writes_the_readings(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "layers.parquet"
    command = ["probe", *arguments[1:], "--json", "--probe-size=150", f"--output={output}"]
    assert main(command) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["n_sampled"] == 150
    assert [row["layer"] for row in result["layers"]] == [0, 1, 2]
    assert set(result["layers"][0]) >= {
        "norm_r_squared",
        "norm_mean",
        "norm_sd",
        "probe_r_squared",
        "direction_r_squared",
        "mean_pool_probe_r_squared",
        "probe_error",
        "probe_fold_r_squared",
    }
    assert result["layers"][0]["probe_r_squared"] is None  # [CLS] is the same for all sentences there
    assert result["layers"][1]["probe_r_squared"] > 0.5
    assert abs(result["shuffled_probe_r_squared"]) < 0.3
    assert result.keys() >= {"pooler_probe_r_squared", "sentlen_accuracy", "sentlen_accuracy_norm_only"}
    table = pd.read_parquet(output)
    at = table[(table["pooling"] == "cls") & (table["readout"] == "vector") & (table["layer"] == 1)]
    assert at["r_squared"].item() == result["layers"][1]["probe_r_squared"]
    assert main(command) == 0  # from the store, with the same numbers
    again = json.loads(capsys.readouterr().out)
    assert again["layers"] == result["layers"]
    assert again["sentences_per_second"] is None
    assert main([argument for argument in command if argument != "--json"]) == 0
    assert "off by" in capsys.readouterr().out.splitlines()[1]


def test_mean_vectors_are_of_the_command_probe(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--pooling=mean"]) == 2
    assert "which only the command probe has" in capsys.readouterr().err
    assert main(["probe", *arguments[1:], "--pooling=mean", "--probe-size=30", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pooling"] == "mean"


def test_a_pooler_that_the_model_lacks_is_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_bert(tmp_path / "plain", pooler=False)
    assert main(["probe", *arguments[1:], f"--model={folder}", "--pooling=pooler"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "clsviz: pooling is pooler, but this model has no pooler. Choose cls."
    )


def test_links_of_every_page_are_taken(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    link = "http://host/compare_models?models=a,b&axes=free&heat=probe&nearest=yes&sentence=2&word=3&text=x&seed=4"
    assert main(["probe", *arguments[1:], "--probe-size=30", "--json", f"--query={link}"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 4


def test_a_tiny_sample_explains_itself(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", *arguments[1:], "--probe-size=4"]) == 0
    assert "A probe needs at least 10 sentences, and there are only 4" in capsys.readouterr().out
