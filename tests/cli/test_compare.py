import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.tiny import random_sentences, write_bert

from clsviz.cli.main import main


@pytest.fixture
def command(arguments: list[str], tiny_folder: Path, tmp_path: Path) -> list[str]:
    """Compare the tiny model with its untrained self and a smaller one, on 200 sentences."""
    other = write_bert(tmp_path / "other", hidden_size=8, pooler=False)
    kept = [argument for argument in arguments[1:] if not argument.startswith("--model")]
    return ["compare", *kept, "--models", str(tiny_folder), f"untrained:{tiny_folder}", str(other)]


def test_the_models_are_compared_on_the_same_sentences(
    command: list[str], arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "models.parquet"
    assert main([*command, "--json", "--length-cutoff=20", "--layer=1", f"--output={output}"]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 1
    result = json.loads(printed)
    table = pd.read_parquet(output)
    assert table["model"].tolist() == command[-3:] == [row["model"] for row in result["models"]]
    assert json.loads(pq.read_schema(output).metadata[b"clsviz"])["answer"] == result["answer"]
    assert table["n_sentences"].nunique() == 1
    for row, numbers in zip(result["models"], table.to_dict("records"), strict=True):
        assert row["n_used"] == numbers["n_sentences"]
        assert row["probe_r_squared"] == pytest.approx(numbers["probe_r_squared"])
        assert row["layer"] == 1
    assert main([*arguments, "--length-cutoff=20", "--layer=1", "--json"]) == 0  # alone it says the same
    alone = json.loads(capsys.readouterr().out)
    for key in ("r_squared", "r_squared_interval", "slope", "norm_mean", "n_used", "model_fingerprint", "query"):
        assert result["models"][0][key] == alone[key]
    assert len({row["corpus_fingerprint"] for row in result["models"]}) == 1


def test_a_paper_has_a_row_for_every_model_and_corpus(
    command: list[str], text_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "a|b.txt"
    other.write_text("\n".join(random_sentences(260, seed=9)))
    output = tmp_path / "table.parquet"
    command = ["compare", "--probe-size=100", *command[1:]]
    assert main([*command, f"--corpus={other}", f"--output={output}", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    table = pd.read_parquet(output)
    assert table["model"].tolist() == [*command[-3:], *command[-3:]]
    assert table["corpus"].tolist() == [text_file.name] * 3 + [other.name] * 3
    numbers = [row["r_squared"] or np.nan for row in result["models"]]
    np.testing.assert_allclose(numbers, table["r_squared"].astype(float))
    assert table["corpus_fingerprint"].nunique() == 2
    trained, untrained, _ = table.to_dict("records")[:3]
    assert trained["n_random"] == 5
    for name in ("first", "last"):  # the untrained model that is compared is the first of the five
        low, high = trained[f"random_{name}_low"], trained[f"random_{name}_high"]
        assert low < high
        assert low <= untrained[f"{name}_error"] <= high
        assert trained[f"{name}_error"] < trained["guess_error"]
    assert trained["curve_low"] < trained["curve_r_squared"] < trained["curve_high"]
    assert untrained["n_random"] == 0
    assert main([*command, f"--corpus={other}", f"--output={tmp_path / 'table.md'}"]) == 0
    lines = (tmp_path / "table.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith((f"| {text_file.name} | ", "| a\\|b.txt | "))]
    assert len(rows) == 8  # six, and what the two corpora were measured with
    assert f"{trained['r_squared']:.3f} ({trained['r_squared_low']:.3f} to" in rows[0]
    assert trained["model_fingerprint"][:16] in "\n".join(lines)
    printed = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in printed[1:]] == [text_file.name, other.name]


def test_without_json_the_answer_is_in_words(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    question, answer = capsys.readouterr().out.splitlines()
    assert question == "Which model encodes the length of a sentence in the norm of its [CLS]?"
    assert "untrained tiny-bert" in answer
    assert "of 200 sentences" in answer


def test_a_link_of_the_page_is_replayed(
    arguments: list[str], tiny_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [argument for argument in arguments[1:] if not argument.startswith("--model")]
    link = f"?models={tiny_folder},untrained:{tiny_folder}&seed=3&axes=free&precision=fast&corpus_fingerprint=none"
    assert main(["compare", *kept, f"--query={link}", "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert [row["model"] for row in result["models"]] == [str(tiny_folder), f"untrained:{tiny_folder}"]
    assert {row["seed"] for row in result["models"]} == {3}
    assert {row["precision"] for row in result["models"]} == {"exact"}
    assert "compared in the exact precision" in captured.err
    assert "not the sentences the link was made with" in captured.err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ([], "--models is missing"),
        (["--models", "minilm"], "2 to 6"),
        (["--models", *"abcdefg"], "2 to 6"),
        (["--models", "minilm", "untrained:minilm", "--pooling=mean"], "pooling is mean"),
        (["--models", "minilm", "untrained:minilm", "--layer=7"], "layers 0 to 6"),
        (["--models", "minilm", "untrained:minilm", "--model=minilm"], "--model"),
    ],
)
def test_a_mistake_is_one_line(
    flags: list[str], named: str, tmp_path: Path, text_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", f"--store={tmp_path}", f"--corpus={text_file}", "--sample-size=40", *flags]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len([line for line in captured.err.splitlines() if line.startswith("clsviz: ")]) == 1
    assert named in captured.err


def test_a_search_stands_beside_the_norms(
    tiny_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts.csv"
    joined = [" ".join(random_sentences(2 + seed % 7, seed=seed)) for seed in range(130)]
    pd.DataFrame({"title": [text[:20] for text in joined], "text": joined}).to_csv(texts, index=False)
    models = [str(tiny_folder), f"untrained:{tiny_folder}"]
    command = ["compare", "--models", *models, f"--corpus={texts}", f"--store={tmp_path / 'store'}", "--json"]
    assert main([*command, "--search"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert "the right text" not in result["answer"]  # these models find it no more often than chance
    for model in result["models"]:
        assert model["search"]["task"] == "titles"
        assert len(model["search"]["exposure"]) == 5
    assert main(command) == 0
    assert [model["search"] for model in json.loads(capsys.readouterr().out)["models"]] == [None, None]
