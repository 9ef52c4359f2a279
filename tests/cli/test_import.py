import json
import shlex
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tiny import random_sentences

from clsviz.cli.main import main
from clsviz.experiment import Experiment

TEXTS = random_sentences(200, seed=4)
VECTORS = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)


@pytest.fixture
def table(tmp_path: Path) -> str:
    tokens = [len(text.split()) + 1 for text in TEXTS]
    pq.write_table(pa.table({"body": TEXTS, "v": VECTORS.tolist(), "tokens": tokens}), tmp_path / "my vectors.parquet")
    return str(tmp_path / "my vectors.parquet")


def test_the_commands_and_the_link_that_it_prints_show_what_was_imported(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", table, "--tokens=tokens", f"--store={tmp_path / 'a store'}"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("my-vectors: 200 vectors of 6 numbers, with their texts.\n")
    command = shlex.split(next(line for line in printed.splitlines() if "clsviz measure" in line))
    assert main([*command[1:], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_sampled"], found["unit"]) == (200, "tokens")
    norms = np.linalg.norm(VECTORS, axis=1)
    assert found["norm_mean"] == pytest.approx(norms.mean(), rel=1e-5)
    (link,) = [line.strip() for line in printed.splitlines() if line.strip().startswith("?")]
    asked = Experiment.from_query(dict(parse_qsl(link[1:])))
    assert (asked.model, asked.corpus) == (found["model"], found["corpus"])
    for name in ("probe", "similarity"):
        assert main([name, *command[2:]]) == 0
        assert "[CLS]" not in capsys.readouterr().out


def test_texts_of_a_file_of_their_own_are_counted_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "norms.npy", np.linalg.norm(VECTORS, axis=1))
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    given = ["import", str(tmp_path / "norms.npy"), f"--texts={tmp_path / 'texts.txt'}", f"--store={tmp_path / 's'}"]
    assert main([*given, "--name=mine"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("mine: 200 norms, with their texts. How many tokens the texts have was not given")
    assert "--unit words" in printed
    assert main([*given, "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert (about["n"], about["width"]) == (200, None)
    assert about["model"].startswith("imported:norms@")
    assert about["model"].endswith("-norms-words")
    asked = [
        f"--model={about['model']}",
        f"--corpus={about['corpus']}",
        "--segmentation=none",
        f"--store={tmp_path / 's'}",
    ]
    assert main(["probe", *asked]) == 2
    assert "only norms were imported: there are no vectors" in capsys.readouterr().err
    assert main(["measure", *asked, "--unit=tokens", "--json"]) == 0  # which are not known
    assert json.loads(capsys.readouterr().out)["unit"] == "words"


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--vectors=w"], "has no vectors under “w”. There is v."),
        (["--name=a b"], "must be 1 to 60 letters"),
        (["--texts=missing.txt"], "There is no file “missing.txt”"),
        (["--vectors=v", "--norms=tokens"], "not both"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    flags: list[str], problem: str, table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", table, f"--store={tmp_path / 'store'}", *flags]) == 2
    out, err = capsys.readouterr()
    assert problem in err
    assert (out, err.count("\n")) == ("", 1)
    assert not (tmp_path / "store").exists()
