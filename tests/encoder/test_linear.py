import platform
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.reference import encoder_of, norms, norms_by_transformers
from support.tiny import random_sentences, write_model

from clsviz.encoder.linear import ACTIVATIONS, ROWS, Linear, activation_name, can_pack
from clsviz.errors import ModelError
from clsviz.settings import Precision

SENTENCES = [*random_sentences(30, seed=4, longest=40), "cat", "", "the " * 300 + "cat " * 210, "cat", "the " * 600]


def test_without_packed_layers_the_result_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [write_model(tmp_path / name, name) for name in ("bert", "deberta-v2")]
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    bert, deberta = map(encoder_of, folders)
    assert bert.slow_path_reason == ""
    assert deberta.slow_path_reason.endswith("; it runs unmodified")
    for loaded, folder in zip((bert, deberta), folders, strict=True):
        np.testing.assert_allclose(norms(loaded, SENTENCES), norms_by_transformers(folder, SENTENCES), rtol=1e-5)


def test_a_machine_without_bfloat16_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    with pytest.raises(ModelError, match="no faster than float32"):
        encoder_of(write_model(tmp_path, "bert"), precision=Precision.FAST)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("activation", ["", *ACTIVATIONS])
def test_a_linear_is_a_product_and_an_activation(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, packs: bool, activation: str
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", packs)
    x, weight, bias = torch.randn(3, 5, 8), torch.randn(6, 8), torch.randn(6)
    y = (x.double() @ weight.double().T + bias.double()).numpy()
    expected = {
        "": lambda: y,
        "gelu": lambda: torch.nn.GELU()(torch.tensor(y)).numpy(),
        "gelu-tanh": lambda: transformers.activations.NewGELUActivation()(torch.tensor(y)).numpy(),
        "relu": lambda: np.maximum(y, 0),
    }[activation]()
    result = Linear(weight, bias, dtype)(x, activation)
    assert result.dtype == dtype
    np.testing.assert_allclose(result.double().numpy(), expected, atol=1e-5 if dtype == torch.float32 else 0.1)


@pytest.mark.parametrize("model_type", ["bert", "modernbert"])
def test_products_have_few_different_numbers_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_type: str
) -> None:
    """As oneDNN keeps a kernel and its workspace for each, which made memory grow with the sample."""
    if not can_pack(torch.float32):
        pytest.skip("this PyTorch has no packed layers")
    encoder = encoder_of(write_model(tmp_path, model_type), token_budget=256)
    rows: set[int] = set()
    product = torch.ops.mkldnn._linear_pointwise
    monkeypatch.setattr(
        torch.ops.mkldnn, "_linear_pointwise", lambda x, *others: rows.add(len(x)) or product(x, *others)
    )
    encoder.measure(SENTENCES)
    assert rows
    assert all(n % ROWS == 0 for n in rows)


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "gelu_10", "relu6", "silu"])
def test_an_activation_is_known_by_what_it_does(name: str) -> None:
    known = {"gelu": "gelu", "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "relu": "relu"}
    assert activation_name(transformers.activations.ACT2FN[name]) == known.get(name, "")


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (platform, "machine", lambda: "riscv64"),  # where they were not measured
        (torch.ops, "mkldnn", object()),  # a torch that has none
        (torch.backends.mkldnn, "enabled", False),
    ],
)
def test_packed_layers_are_used_only_where_they_are_and_are_known(
    where: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(where, name, value)
    assert not can_pack(torch.float32)
