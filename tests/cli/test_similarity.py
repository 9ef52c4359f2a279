import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics.pairwise import cosine_similarity

import clsviz
from clsviz.cli.main import main


def test_it_prints_what_a_script_of_ones_own_computes(
    arguments: list[str], tiny_folder: Path, text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "map.csv"
    command = ["similarity", *arguments[1:], "--pooling=mean", "--json", f"--output={output}"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert f"{text_file.name}: Each line is taken as one sentence. 400 sentences." in printed.err
    result = json.loads(printed.out)
    probed = clsviz.probe(str(tiny_folder), text_file, n=200, store=tmp_path / "store")
    sentences, lengths = probed.found.sentences, probed.found.measurements.n_tokens
    used = [place for place, s in enumerate(sentences) if s.casefold() not in map(str.casefold, sentences[:place])]
    table = cosine_similarity(probed.vectors(pooling="mean")[used])
    np.fill_diagonal(table, -2)
    nearest = np.argsort(-table, axis=1)[:, :10]
    expected = stats.spearmanr(lengths[used], lengths[used][nearest].mean(axis=1)).statistic
    assert result["n_used"] == len(used)
    assert result["pooling"] == "mean"
    assert result["neighbor_length_correlation"] == pytest.approx(expected, abs=2e-3)
    assert np.shape(result["cosine_by_length"]) == (10, 10)
    assert result["joined"][0]["sentences"] == 1
    written = pd.read_csv(output)["cosine"].to_numpy()
    np.testing.assert_allclose(written, np.ravel(result["cosine_by_length"]))
    assert main(command) == 0  # from the store, with the same numbers
    again = json.loads(capsys.readouterr().out)
    assert again["sentences_per_second"] is None
    assert again["joined"] == result["joined"]
    assert main([argument for argument in command if argument != "--json"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "Does length bend my search?"


def test_too_few_sentences_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["similarity", *arguments[1:], "--probe-size=60"]) == 2
    assert "At least 100 different sentences are needed" in capsys.readouterr().err.splitlines()[-1]
