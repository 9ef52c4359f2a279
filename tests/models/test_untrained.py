import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny import write_bert

from clsviz.encoder import Encoder
from clsviz.encoder.load import load
from clsviz.sources import models


def norms(name: str) -> Any:
    return Encoder(models.find(name), device="cpu").measure(["the cat sat .", "a dog"]).cls_norms


@pytest.mark.parametrize("name", ["minilm", "folder"])
def test_an_untrained_model_is_always_the_same_and_not_the_trained_one(name: str, folder: Path) -> None:
    name = str(folder) if name == "folder" else name
    trained, control = models.find(name), models.find(f"untrained:{name}")
    assert control.untrained
    assert control.label == f"untrained {trained.label}"
    assert control.fingerprint != trained.fingerprint
    assert control == models.find(f"untrained:{name}")
    assert control.n_parameters == trained.n_parameters
    torch.manual_seed(1)
    first = norms(f"untrained:{name}")
    torch.manual_seed(2)
    np.testing.assert_array_equal(norms(f"untrained:{name}"), first)
    assert not np.isclose(first[:, 1:], norms(name)[:, 1:], rtol=1e-3).any()


def test_an_untrained_model_needs_no_weights_and_is_of_its_configuration(folder: Path) -> None:
    before = models.find(f"untrained:{folder}").fingerprint
    (folder / "model.safetensors").unlink()
    assert models.find(f"untrained:{folder}").fingerprint == before
    assert norms(f"untrained:{folder}").shape == (2, 3)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    assert models.find(f"untrained:{folder}").fingerprint != before
    assert norms(f"untrained:{folder}").shape == (2, 4)


def test_an_untrained_model_is_drawn_in_the_usual_way(folder: Path) -> None:
    """Of weights that a new BERT has: normal, of the configuration's deviation, around zero."""
    model = load(models.find(f"untrained:{folder}")).model
    deviation = json.loads((folder / "config.json").read_text())["initializer_range"]
    weights = torch.cat([parameter.flatten() for name, parameter in model.named_parameters() if "dense.weight" in name])
    assert weights.std().item() == pytest.approx(deviation, rel=0.05)
    assert abs(weights.mean().item()) < 3 * deviation / len(weights) ** 0.5
    assert all(bool((layer.bias == 0).all()) for layer in model.modules() if isinstance(layer, torch.nn.Linear))


@pytest.mark.parametrize("before", ["", "untrained:"])
@pytest.mark.parametrize("pooler", [False, True])
def test_the_state_of_chance_is_left_alone(before: str, pooler: bool, folder: Path) -> None:
    write_bert(folder, pooler=pooler)  # one that is missing is drawn, before it is left out
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(models.find(f"{before}{folder}"))
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)
