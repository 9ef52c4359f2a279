from pathlib import Path

import numpy as np
import pytest
from support.hub import Hub

from clsviz.cli.main import main
from clsviz.encoder import Encoder
from clsviz.experiment import Experiment
from clsviz.jobs import Encoders, Extraction
from clsviz.measurements import Kind
from clsviz.progress import Progress
from clsviz.store import Store


@pytest.fixture
def showcase(tiny_folder: Path, text_file: Path, tmp_path: Path) -> Path:
    """The norms of 60 sentences with the tiny model, and the vectors of 30."""
    here = f'[[experiment]]\nmodel = "{tiny_folder}"\ncorpus = "{text_file}"\nsample_size = 60\n'
    path = tmp_path / "showcase.toml"
    path.write_text(f'{here}{here}probe_size = 30\nkind = "vectors"')
    return path


def test_what_is_listed_is_there_for_the_first_visitor(
    showcase: Path,
    tiny_folder: Path,
    text_file: Path,
    tmp_path: Path,
    tiny_encoder: Encoder,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["warm", str(showcase), f"--store={tmp_path / 'store'}"]
    assert main(command) == 0
    first = capsys.readouterr().out.splitlines()
    assert first == [
        "tiny-bert on sentences.txt: norms of 60 sentences",
        "tiny-bert on sentences.txt: vectors of 30 sentences",
    ]
    experiment = Experiment(str(tiny_folder), str(text_file), sample_size=60, probe_size=30)
    for kind, n in ((Kind.NORMS, 60), (Kind.VECTORS, 30)):
        extraction = Extraction(experiment, Store(tmp_path / "store"), Encoders(), kind=kind)
        assert extraction.look_up(Progress()).seconds == 0
        assert extraction.found is not None
        assert (len(extraction.found.measurements), extraction.found.n_missing) == (n, 0)
        if kind is Kind.NORMS:
            expected = tiny_encoder.measure(extraction.found.sentences)
            np.testing.assert_allclose(extraction.found.measurements.cls_norms, expected.cls_norms, rtol=1e-5)
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == [f"{line}, already there" for line in first]


def test_what_comes_with_clsviz_is_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "list.toml").write_text("[[experiment]]")
    assert main(["warm", str(tmp_path / "list.toml"), f"--store={tmp_path / 'store'}"]) == 0
    assert capsys.readouterr().out.endswith(": norms of 5,000 sentences, already there\n")
    assert not list((tmp_path / "store").rglob("*.safetensors"))


def test_what_the_hub_does_not_give_is_skipped_and_the_rest_measured(
    showcase: Path, hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = showcase.read_text()
    showcase.write_text(f'[[experiment]]\nmodel = "owner/tiny"\n{text}\n[[experiment]]\ncorpus = "imdb"')
    hub.misbehave("*", "403")
    assert main(["warm", str(showcase), f"--store={tmp_path / 'store'}"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    skipped = [line for line in captured.err.splitlines() if "Skipped" in line]
    assert skipped[0].startswith("clsviz: Skipped tiny on Python 3.11 documentation. ")
    assert skipped[1].startswith("clsviz: Skipped MiniLM-L6 on IMDb reviews. ")
    assert all("Hugging Face Hub" in line for line in skipped)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[experiment]", "is not TOML"),
        ("", "lists no experiments"),
        ('model = "minilm"', "lists no experiments"),
        ("experiment = 3", "lists no experiments"),
        ('[[experiment]]\n[[experiment]]\nmodle = "minilm"', "Experiment 2 of list.toml: There is no setting “modle”"),
        ("[[experiment]]\nsample_size = 0", "sample_size is 0"),
        ('[[experiment]]\nkind = "pictures"', "kind is “pictures”; it must be norms or vectors or means."),
        ('[[experiment]]\ncorpus = "./gone.txt"', "gone.txt"),
    ],
)
def test_a_list_that_cannot_be_used_is_one_line(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["warm", "list.toml"]) == 2
    assert capsys.readouterr().err.startswith("clsviz: list.toml cannot be read: No such file or directory.")
    Path("list.toml").write_text(text)
    assert main(["warm", "list.toml", "--store=store"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("clsviz: ")
    assert said in error
