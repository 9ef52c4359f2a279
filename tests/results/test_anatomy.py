"""Inside the model: the answer, and what is stored of it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from results.conftest import workspace_of
from safetensors.numpy import save_file

from clsviz.analyses.typed import EXAMPLE, dissect
from clsviz.encoder.anatomy import Anatomy
from clsviz.errors import SettingError
from clsviz.jobs.worker import InProcess
from clsviz.progress import silent
from clsviz.results.anatomy import answers, hidden_state, pooler, verdict_of
from clsviz.results.anatomy import result as result_of
from clsviz.settings import Experiment
from clsviz.sources import models
from clsviz.sources.models import Weights
from clsviz.store import SHIPPED
from clsviz.store.results import Results

TEXT = "the old cat sings"


@pytest.fixture(scope="module")
def parts(tiny_weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> Anatomy:
    root = tmp_path_factory.mktemp("store")
    parts = dissect(tiny_weights, "exact", TEXT, workspace_of(root), silent)
    assert not list(root.rglob("*.*"))  # what a visitor types is stored nowhere
    return parts


@pytest.mark.parametrize(
    ("size", "verdict"),
    [
        ((6, 22_713_216, 0.525), "6 layers, 22.7 million weights, 52% of them"),
        ((12, 109_482_240, 0.218), "12 layers, 109.5 million weights, 22% of them"),
        ((1, 9_000, 0.05), "1 layer, 9,000 weights, 5% of them"),
    ],
)
def test_verdicts(size: tuple[int, int, float], verdict: str) -> None:
    assert verdict_of(*size) == f"{verdict} in the embeddings."


def test_the_way_has_every_weight_and_the_norms_of_cls(parts, tiny_weights) -> None:
    result = result_of(parts, tiny_weights, TEXT, Experiment(model="tiny"))
    steps = {step["name"]: step for step in result.picture["steps"]}
    assert list(steps) == ["input vector", "embeddings", "layer 1", "layer 2", "pooler"]
    assert sum(step["weights"] or 0 for step in steps.values()) == result.fact("n_weights")
    numbers = InProcess().run(tiny_weights, "exact", [TEXT], "norms")
    norms = [steps[name]["norm"] for name in ("embeddings", "layer 1", "layer 2")]
    np.testing.assert_allclose(norms, numbers["cls"][0], rtol=1e-6)
    assert steps["pooler"]["norm"] == pytest.approx(numbers["pooler"][0, 0], rel=1e-6)
    json.dumps(result.json(), allow_nan=False)


def test_a_hidden_state_can_be_copied(parts: Anatomy) -> None:
    numbers = json.loads(hidden_state(parts.states, Experiment(layer=1, pooling="mean"), "Tiny"))
    np.testing.assert_allclose(numbers, parts.states[1], 1e-6)
    with pytest.raises(SettingError, match="layer is 3, and Tiny has layers 0 to 2"):
        hidden_state(parts.states, Experiment(layer=3), "Tiny")


def test_answers_name_the_numbers_of_this_model(parts: Anatomy, tiny_weights: Weights) -> None:
    reasons = " ".join(reason for _, reason in answers(parts, tiny_weights))
    assert "row 2 of the word embeddings" in reasons
    assert f"begins {parts.cls_input[0]:.4f}".replace("-", "−") in reasons
    assert "the same up to rounding" in pooler(parts)[1]


def test_a_head_for_classes_is_named_with_its_shape(parts, tiny_weights, tmp_path: Path) -> None:
    shutil.copytree(tiny_weights.folder, folder := tmp_path / "model")
    assert "have no head" in str(answers(parts, tiny_weights))
    save_file({"classifier.weight": np.zeros((3, 16))}, folder / "model-2.safetensors")
    classifier = answers(parts, replace(tiny_weights, folder=folder))
    assert "a head: classifier.weight 3 × 16." in str(classifier)


def test_a_text_that_is_cut_and_weights_that_are_random_are_caveats(tiny_weights, store) -> None:
    text, random = "the cat " * 40, replace(tiny_weights, is_untrained=True)
    parts = dissect(tiny_weights, "exact", text, workspace_of(store), silent)
    assert result_of(parts, random, text, Experiment()).caveats == (
        "The weights are random.",
        "The model reads only the beginning of the sentence: 64 tokens, special ones included.",
    )


@pytest.mark.slow
def test_the_shipped_example_is_what_the_built_in_model_gives(tmp_path: Path) -> None:
    weights, runner = models.find("minilm"), InProcess()
    workspace = workspace_of(Results(tmp_path, SHIPPED))
    shipped = dissect(weights, "exact", EXAMPLE, workspace, silent)
    assert not list(tmp_path.rglob("*.*"))
    fresh = runner.dissect(weights, "exact", EXAMPLE)
    np.testing.assert_allclose(shipped.states, fresh.states, rtol=1e-4, atol=1e-5)
    assert (tuple(shipped.ids), shipped.names) == (fresh.ids, fresh.names)
