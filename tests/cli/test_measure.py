import io
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image
from support.hub import Hub
from support.processor import needs_bfloat16
from support.programs import BRIEF
from support.tiny import random_sentences, write_dataset, write_model

from clsviz.cli.main import main
from clsviz.encoder import Encoder
from clsviz.figures.static import Scatter, image
from clsviz.sources.near_duplicates import clusters_of


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_measuring_writes_a_row_a_sentence_and_prints_one_object(
    arguments: list[str], tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str], tiny_encoder: Encoder
) -> None:
    output = tmp_path / f"out.{ending}"
    assert main([*arguments, f"--output={output}", "--json", "--length-cutoff=20"]) == 0
    table = pd.read_parquet(output) if ending == "parquet" else pd.read_csv(output)
    assert list(table.columns) == ["sentence", "n_tokens", "truncated", "cls_0", "cls_1", "cls_2", "pooler"]
    assert len(table) == 200
    expected = tiny_encoder.measure(table["sentence"].tolist())
    np.testing.assert_allclose(table["cls_2"], expected.cls_norms[:, 2], rtol=1e-5)

    result = json.loads(capsys.readouterr().out)
    used = table[table["n_tokens"] < 20]
    assert (result["n_sampled"], result["n_used"]) == (200, len(used))
    assert result["r_squared"] == pytest.approx(np.corrcoef(used["n_tokens"], used["cls_2"])[0, 1] ** 2, rel=1e-4)
    assert result["r_squared_interval"][0] <= result["r_squared"] <= result["r_squared_interval"][1]
    by_cutoff = {row["length_cutoff"]: row for row in result["by_cutoff"]}
    for name in ("r_squared", "r_squared_interval", "slope"):
        assert by_cutoff[20][name] == pytest.approx(result[name])
    assert by_cutoff[15]["n"] == (table["n_tokens"] < 15).sum()
    assert result["n_clusters"] == len(set(clusters_of(used["sentence"].tolist())))
    assert result["spearman"] == pytest.approx(used["n_tokens"].corr(used["cls_2"], method="spearman"))
    assert result["seconds"] > 0
    assert result["sentences_per_second"] > 0
    assert len(result["model_fingerprint"]) == len(result["corpus_fingerprint"]) == 64


def test_what_the_hub_gave_is_pinned_in_the_result(
    hub: Hub, tiny_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_commit = hub.add("owner/tiny", tiny_folder)
    write_dataset(tmp_path / "corpus", {"plain_text": {"train": random_sentences(500, seed=5)}})
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "corpus.py").write_text("raise SystemExit('it ran')")
    hub.add("owner/corpus", tmp_path / "script", kind="dataset")
    corpus_commit = hub.add("owner/corpus", tmp_path / "corpus", kind="dataset", revision="refs/convert/parquet")
    store = f"--store={tmp_path / 'store'}"
    output = tmp_path / "out.parquet"
    arguments = ["measure", "--model=owner/tiny", "--corpus=owner/corpus", "--sample-size=200", store, "--json"]
    assert main([*arguments, f"--output={output}"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["model_commit"], result["corpus_commit"]) == (model_commit, corpus_commit)
    assert (result["configuration"], result["split"], result["column"]) == ("plain_text", "train", "text")
    assert json.loads(pq.read_schema(output).metadata[b"clsviz"])["model_commit"] == model_commit

    hub.add("owner/tiny", write_model(tmp_path / "other", "bert"))  # both move on
    write_dataset(tmp_path / "corpus", {"plain_text": {"train": random_sentences(500, seed=6)}})
    hub.add("owner/corpus", tmp_path / "corpus", kind="dataset", revision="refs/convert/parquet")
    assert main(["measure", f"--query={result['query']}", f"--store={tmp_path / 'other-store'}", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["r_squared"] == pytest.approx(result["r_squared"], rel=1e-6)
    assert "not the" not in captured.err


def test_a_link_that_cannot_be_reproduced_says_which_part_differs(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*arguments, "--json"])
    result = json.loads(capsys.readouterr().out)
    model, corpus = result["model_fingerprint"][:12], result["corpus_fingerprint"][:12]
    for made_with, named in [
        ({"model_fingerprint": model, "corpus_fingerprint": corpus}, []),
        ({"model_fingerprint": model, "corpus_fingerprint": "0" * 12}, ["not the sentences"]),
        ({"model_fingerprint": "0" * 12, "corpus_fingerprint": corpus}, ["not the model"]),
        ({"model_fingerprint": "x", "corpus_fingerprint": "y"}, ["not the model", "not the sentences"]),
    ]:
        assert main([*arguments, f"--query=?{urlencode(made_with)}"]) == 0
        err = capsys.readouterr().err
        assert [note for note in ("not the model", "not the sentences") if note in err] == named


def test_what_is_in_a_bucket_is_not_measured_on_another_machine(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for machine in ("here", "there"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / machine))
        assert main([*arguments, "--store=memory://bucket/store", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0]["sentences_per_second"] is not None
    assert told[1]["sentences_per_second"] is None
    assert told[0]["r_squared"] == told[1]["r_squared"]
    assert not (tmp_path / "store").exists()


def test_without_json_the_answer_is_in_words(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    question, answer, numbers = capsys.readouterr().out.splitlines()
    assert question == "Does tiny-bert encode the length of a sentence in the norm of its [CLS]?"
    assert "line, falling with length, accounts for " in answer or "smooth curve in length accounts for " in answer
    assert numbers.startswith("Straight line, falling: ")
    assert " of 200 sentences, " in numbers


def test_the_scatter_is_written_with_the_line_of_the_answer(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, plot = tmp_path / "out.parquet", tmp_path / "out.png"
    for flags, column in ((["--layer=1", "--length-cutoff=20"], "cls_1"), (["--layer=0"], "cls_0")):
        assert main([*arguments, f"--output={table}", f"--plot={plot}", *flags]) == 0
        question, answer = capsys.readouterr().out.splitlines()[:2]
        rows = pd.read_parquet(table)
        rows = rows[rows["n_tokens"] < 20] if column == "cls_1" else rows
        lengths, norms = rows["n_tokens"].to_numpy(), rows[column].to_numpy()
        line = r_squared = None  # as after layer 0, where all norms are the same
        if column == "cls_1":
            slope, intercept = np.polyfit(lengths, norms, 1)
            line, r_squared = (intercept, slope), np.corrcoef(lengths, norms)[0, 1] ** 2
        scatter = Scatter(lengths, norms, "Length", "Norm", line, r_squared)
        expected = np.asarray(Image.open(io.BytesIO(image(scatter, question, answer))), int)
        with Image.open(plot) as drawn:
            assert (drawn.format, drawn.size) == ("PNG", (1200, 630))
            differences = np.abs(np.asarray(drawn, int) - expected)
        assert differences[:, 120:].max(axis=2)[:545].max() < 8  # without the titles of the axes
        red = np.abs(expected[..., :3] - (214, 39, 40)).max(axis=2) < 24
        assert red.any() == (line is not None)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_ending_says_what_kind_of_picture_is_written(
    arguments: list[str], tmp_path: Path, ending: str, start: bytes
) -> None:
    path = tmp_path / f"out.{ending}"
    assert main([*arguments, f"--plot={path}"]) == 0
    assert path.read_bytes().startswith(start)


def test_a_shared_link_is_replayed_and_flags_go_before_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    link = "https://example.org/app/?seed=3&layer=1&length_cutoff=15&text=typed+by+a+visitor"
    assert main([*arguments, f"--query={link}", "--layer=2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["seed"], result["layer"], result["length_cutoff"]) == (3, 2, 15)
    assert main(["measure", f"--query={result['query']}", arguments[-1], "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["r_squared"] == result["r_squared"]


def test_a_small_corpus_says_so_and_a_constant_norm_explains_itself(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--sample-size=100000", "--layer=0", "--json"]) == 0
    captured = capsys.readouterr()
    assert "has only 400 sentences" in captured.err
    result = json.loads(captured.out)
    assert result["n_sampled"] == 400
    assert result["r_squared"] is None
    assert "norm is the same" in result["problem"]


@needs_bfloat16
def test_the_fast_precision_comes_with_its_error(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fast, exact = tmp_path / "fast.parquet", tmp_path / "exact.parquet"
    assert main([*arguments, "--sample-size=300", "--precision=fast", "--json", f"--output={fast}"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--sample-size=300", f"--output={exact}"]) == 0
    errors = (pd.read_parquet(fast)["cls_2"] - pd.read_parquet(exact)["cls_2"])[:256].abs()
    assert (result["precision"], result["numbers"]) == ("fast", "bfloat16")
    assert result["audit"]["n"] == 256
    assert result["audit"]["largest_error"] == pytest.approx(errors.max())
    assert result["audit"]["mean_error"] == pytest.approx(errors.mean())
    assert result["slower_because"] is None
    about = json.loads(pq.read_schema(fast).metadata[b"clsviz"])
    assert about["audit"] == result["audit"]
    assert json.loads(pq.read_schema(exact).metadata[b"clsviz"])["audit"] is None
    capsys.readouterr()
    assert main([*arguments, "--sample-size=300", "--precision=fast"]) == 0
    assert "Computed in bfloat16. Compared with float32 on 256 sentences" in capsys.readouterr().out


def test_a_slower_way_is_said_on_the_side(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_model(tmp_path / "m", "modernbert")
    capsys.readouterr()  # what transformers says of the writing
    assert main([*arguments, f"--model={folder}", "--json"]) == 0
    shown = capsys.readouterr()
    reason = json.loads(shown.out)["slower_because"]
    assert reason.startswith("there is no fast forward pass for models of the type modernbert")
    assert shown.err.endswith(f"clsviz: Not measured in the fastest way: {reason}.\n")


LOADED = """
import contextlib, sys
from clsviz.cli.main import main
with contextlib.suppress(SystemExit):
    main(["--help"])
print("LOADED", *sys.modules)
main(sys.argv[1:])
print("LOADED", *sys.modules)
main([*sys.argv[1:], "--length-cutoff=20"])
print("LOADED", *sys.modules)
"""


def test_what_is_stored_is_told_without_what_measures(arguments: list[str]) -> None:
    """Every library that is loaded is waited for."""
    assert main(arguments) == 0
    run = subprocess.run([sys.executable, "-c", BRIEF + LOADED, *arguments], capture_output=True, text=True, check=True)
    said = [line for line in run.stdout.splitlines() if line.startswith("LOADED")]
    by_help, by_measure, by_another_view = map(set, map(str.split, said))
    assert not by_help & {"torch", "transformers", "pandas", "pyarrow", "scipy", "sklearn", "jinja2"}
    assert not by_measure & {"scipy", "sklearn", "statsmodels"}  # its numbers are stored as well
    assert "statsmodels" in by_another_view
    assert not by_another_view & {"torch", "transformers", "tokenizers", "plotly", "datasets"}


def test_what_comes_with_clsviz_is_used_unless_a_flag_says_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["measure", "--sample-size=40", f"--store={tmp_path / 'store'}", "--json"]
    assert main(command) == 0
    shipped, notes = json.loads((told := capsys.readouterr()).out), told.err
    assert main([*command, "--no-shipped"]) == 0
    here = json.loads(capsys.readouterr().out)
    assert (shipped["sentences_per_second"], here["sentences_per_second"] > 0) == (None, True)
    assert shipped["r_squared"] == pytest.approx(here["r_squared"], rel=1e-3)
    assert "come with clsviz" in notes
