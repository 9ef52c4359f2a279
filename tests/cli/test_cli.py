import json
import os
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.hub import Hub
from support.tiny import needs_bfloat16, random_sentences, write_bert, write_dataset, write_model

from clsviz.cli import main
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment


@pytest.fixture
def arguments(tiny_folder: Path, text_file: Path, tmp_path: Path) -> list[str]:
    """Measure 200 sentences of the text file with the tiny model."""
    store = str(tmp_path / "store")
    return ["measure", f"--model={tiny_folder}", f"--corpus={text_file}", "--sample-size=200", f"--store={store}"]


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
    slope, intercept = np.polyfit(used["n_tokens"], used["cls_2"], 1)
    assert (result["slope"], result["intercept"]) == (
        pytest.approx(slope, rel=1e-3),
        pytest.approx(intercept, rel=1e-3),
    )
    low, high = result["r_squared_interval"]
    assert low <= result["r_squared"] <= high
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


def test_a_column_of_a_table_is_measured(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "table.csv.gz"
    sentences = random_sentences(40, seed=7)
    pd.DataFrame({"id": range(40), "text": "the cat. the dog.", "remark": sentences}).to_csv(path, index=False)
    output = tmp_path / "out.csv"
    assert main([*arguments, f"--corpus={path}", "--column=remark", f"--output={output}"]) == 0
    assert sorted(pd.read_csv(output)["sentence"]) == sorted(sentences)
    assert main([*arguments, f"--corpus={path}", "--segmentation=sentences", f"--output={output}"]) == 0
    assert set(pd.read_csv(output)["sentence"]) == {"the cat.", "the dog."}
    capsys.readouterr()
    assert main([*arguments, f"--corpus={path}", "--column=none"]) == 2
    assert "text, remark" in capsys.readouterr().err


def test_an_untrained_model_is_another(
    arguments: list[str], tiny_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for name in (str(tiny_folder), f"untrained:{tiny_folder}", f"untrained:{tiny_folder}"):
        assert main([*arguments, f"--model={name}", "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    trained, untrained, again = results
    assert trained["model_fingerprint"] != untrained["model_fingerprint"] == again["model_fingerprint"]
    assert untrained["norm_mean"] == again["norm_mean"] != trained["norm_mean"]


def test_a_second_time_comes_from_the_store(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*arguments, "--json"])
    first = json.loads(capsys.readouterr().out)
    main([*arguments, "--json"])
    second = json.loads(capsys.readouterr().out)
    assert second["sentences_per_second"] is None
    timing = {"seconds", "sentences_per_second"}
    assert {key: first[key] for key in first.keys() - timing} == {key: second[key] for key in second.keys() - timing}


def test_without_json_the_answer_is_in_words(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    question, answer = capsys.readouterr().out.splitlines()
    assert question == "Does tiny-bert encode the length of a sentence in the norm of its [CLS]?"
    assert "of 200 sentences" in answer


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


def test_damage_to_the_store_is_reported(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(arguments)
    part = next((tmp_path / "store").glob("norms-*/*.safetensors"))
    part.write_bytes(b"")
    capsys.readouterr()
    assert main(arguments) == 0
    assert "A damaged part" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (["--corpus=/nowhere/text.txt"], "/nowhere/text.txt"),
        (["--corpus={tmp}/empty.txt"], "empty.txt holds no text"),
        (["--model=/nowhere/model"], "no folder /nowhere/model"),
        (["--model=two words"], "is not the name of a model"),
        (["--sample-size=many"], "many"),
        (["--sample-size=0"], "sample_size is 0"),
        (["--layer=9"], "layers 0 to 2"),
        (["--pooling=mean"], "pooling"),
        (["--query=?colour=red"], "colour"),
        (["--query=http://[?colour=red"], "colour"),
        (["--output={tmp}/out.xlsx"], ".parquet or .csv"),
        (["--output={tmp}/nowhere/out.csv"], "cannot be written"),
        (["--output={tmp}"], "must end in"),
        (["--colour=red"], "--colour"),
        (["--store={tmp}/empty.txt/store"], "empty.txt"),
        (["--corpus={tmp}/picture.pdf"], "picture.pdf"),
        (["--corpus=two words"], "is not the name of a dataset"),
        (["--column=text"], "column “text”"),
        (["--split=test"], "split “test”"),
        (["--segmentation=words"], "auto or none or sentences"),
        (["--corpus=python-docs", "--configuration=plain_text"], "configuration “plain_text”"),
        (["--model=untrained:/nowhere/model"], "no folder /nowhere/model"),
        (["--model=minilm@main"], "one revision"),
    ],
)
def test_a_mistake_is_one_line_and_status_2_and_writes_nothing(
    arguments: list[str], tmp_path: Path, changed: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    (tmp_path / "picture.pdf").write_text("%PDF")
    output = tmp_path / "out.csv"
    changed = [word.format(tmp=tmp_path) for word in changed]
    assert main([*arguments, f"--output={output}", *changed]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("clsviz: ")
    assert named in captured.err
    assert not output.exists()


def test_no_command_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "--help" in capsys.readouterr().err


def test_the_help_names_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["measure", "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for field in fields(Experiment):
        assert f"--{field.name.replace('_', '-')}" in text
    for flag in ("query", "output", "json", "store"):
        assert f"--{flag}" in text


def test_a_model_without_cls_is_refused_in_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import transformers
    from support.tiny import write_tokenizer

    folder = tmp_path / "decoder"
    config = transformers.GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=16)
    transformers.GPT2Model(config).save_pretrained(folder)
    write_tokenizer(folder)
    settings = folder / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"cls_token": "[CLS]",', ""))
    capsys.readouterr()
    assert main([*arguments, f"--model={folder}"]) == 2
    err = capsys.readouterr().err
    assert "no [CLS] token" in err
    assert len(err.splitlines()) == 1


def test_the_command_line_itself_with_its_progress_on_stderr(tmp_path: Path) -> None:
    """The real model on real sentences, as a user runs it."""
    command = [
        "measure",
        "--model",
        "minilm",
        "--corpus",
        "python-docs",
        "--sample-size",
        "1500",
        "--seed",
        "0",
        "--length-cutoff",
        "80",
        "--json",
    ]
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
    assert (result["model"], result["corpus"], result["n_sampled"]) == ("minilm", "python-docs", 1500)
    assert 0 < result["r_squared"] < 0.1  # hardly, as measured before
    assert result["norm_mean"] == pytest.approx(7.6, abs=0.2)
    assert "Measuring" in ran.stderr
    assert len(pd.read_parquet(output)) == 1500


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
    assert "Computed in bfloat16: on 256 sentences measured again in float32" in capsys.readouterr().out


def test_a_precision_that_does_not_exist_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--precision=half"]) == 2
    assert capsys.readouterr().err == "clsviz: precision is “half”; it must be exact or fast.\n"


def test_a_layer_that_the_model_lacks_is_refused_before_any_work(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--layer=3"]) == 2
    assert capsys.readouterr().err == "clsviz: layer is 3, but this model has layers 0 to 2.\n"
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("flags", [["--output=" + "x" * 300 + ".csv"], ["--store="], ["--\x1b[31m=1"]])
def test_names_that_are_none_are_one_clean_line(
    arguments: list[str], capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    assert main([*arguments, *flags]) == 2
    error = capsys.readouterr().err
    assert error.startswith("clsviz: ")
    assert error.endswith("\n")
    assert error.rstrip("\n").isprintable()


def test_a_fragment_of_a_link_is_no_setting(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--query=https://example.org/?seed=3#top", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_output_that_nobody_takes_is_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "clsviz", *arguments]
    with open("/dev/full", "w") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 2
    assert run.stderr.endswith("clsviz: The result cannot be printed: No space left on device.\n")
    closed = subprocess.run(f"{shlex.join([*command, '--json'])} | true", shell=True, stderr=subprocess.PIPE, text=True)
    assert "Traceback" not in closed.stderr


def test_a_terminal_without_the_characters_gets_their_codes(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "clsviz", *arguments]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, text=True, env=ascii_only)
    assert run.returncode == 0
    assert "(R\\xb2 " in run.stdout


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
    assert "can" in capsys.readouterr().out.splitlines()[1]


def test_mean_vectors_are_of_the_command_probe(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--pooling=mean"]) == 2
    assert "which the command probe has" in capsys.readouterr().err
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
    assert "A probe needs at least 10 sentences; here are 4." in capsys.readouterr().out


def test_lengths_in_words_are_those_of_the_sentences(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    results = []
    for unit in ("tokens", "words"):
        assert main([*arguments, f"--unit={unit}", "--json"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[0]["n_used"] == results[1]["n_used"]
    assert results[1]["unit"] == "words"
    assert main([*arguments, "--lengths=shuffled", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["r_squared"] < 0.05
