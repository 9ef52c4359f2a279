import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from support.tiny import ARCHITECTURES, SPECIAL, WORDS, needs_bfloat16, random_sentences, write_model, write_tokenizer

from clsviz import models
from clsviz.encoder import Encoder, has_fast_bfloat16, linear
from clsviz.encoder.linear import ROWS, Linear, activation_name, can_pack
from clsviz.errors import ModelError
from clsviz.settings import Precision

BUILT_LIKE_BERT = [name for name in ARCHITECTURES if name not in ("deberta-v2", "modernbert")]
SENTENCES = [*random_sentences(30, seed=4, longest=40), "cat", "", "the " * 300 + "cat " * 210, "cat", "the " * 600]


def load(folder: Path, **settings: Any) -> Encoder:
    return Encoder(models.find(str(folder)), device="cpu", **settings)


def reference(folder: Path, sentences: list[str]) -> np.ndarray:
    """Norms of [CLS] after every layer and of the pooler output: transformers' own way, one sentence at a time."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    rows = []
    for sentence in sentences:
        inputs = tokenizer(sentence, truncation=True, max_length=512, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            output = model(**inputs, output_hidden_states=True)
        vectors = [*(state[0, 0] for state in output.hidden_states[:-1]), output.last_hidden_state[0, 0]]
        if getattr(output, "pooler_output", None) is not None:
            vectors.append(output.pooler_output[0])
        rows.append([float(vector.double().norm()) for vector in vectors])
    return np.array(rows)


def norms(encoder: Encoder, sentences: list[str]) -> np.ndarray:
    measured = encoder.measure(sentences)
    return np.concatenate([measured.cls_norms, measured.pooler_norms], axis=1)


@pytest.fixture(scope="module", params=ARCHITECTURES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / request.param, request.param)


def test_every_architecture_measures_what_its_own_forward_pass_does(folder: Path) -> None:
    """Of all lengths from one token to 512, with duplicates, in batches of several lengths and alone."""
    expected = reference(folder, SENTENCES)
    encoder = load(folder)
    np.testing.assert_allclose(norms(encoder, SENTENCES), expected, rtol=1e-5)
    np.testing.assert_allclose(norms(load(folder, token_budget=64), SENTENCES), expected, rtol=1e-5)
    alone = np.concatenate([norms(encoder, [sentence]) for sentence in SENTENCES])
    np.testing.assert_allclose(alone, expected, rtol=1e-5)
    if folder.name in BUILT_LIKE_BERT:
        assert encoder.slower_because == ""
    else:
        assert encoder.slower_because == (
            f"there is no fast forward pass for models of the type {folder.name}; "
            "its linear layers are replaced by faster ones"
        )


def test_the_side_on_which_a_tokenizer_pads_does_not_matter(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    write_tokenizer(tmp_path, padding_side="left")
    np.testing.assert_allclose(norms(load(tmp_path), SENTENCES), reference(folder, SENTENCES), rtol=1e-5)


@needs_bfloat16
def test_every_architecture_is_nearly_right_in_the_fast_precision(folder: Path) -> None:
    expected = reference(folder, SENTENCES)
    fast = norms(load(folder, precision=Precision.FAST), SENTENCES)
    np.testing.assert_allclose(fast, expected, rtol=0.05)
    assert np.abs(fast / expected - 1).max() > 1e-5, "this was computed in float32"


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "silu"])
def test_every_activation_is_the_models_own(tmp_path: Path, activation: str) -> None:
    folder = write_model(tmp_path, "bert", hidden_act=activation)
    encoder = load(folder)
    assert encoder.slower_because == ""
    np.testing.assert_allclose(norms(encoder, SENTENCES), reference(folder, SENTENCES), rtol=1e-5)


@pytest.mark.parametrize("settings", [{"num_hidden_groups": 2, "num_hidden_layers": 5}, {"num_hidden_layers": 1}])
def test_blocks_that_are_used_again_come_in_the_models_order(tmp_path: Path, settings: dict[str, int]) -> None:
    folder = write_model(tmp_path, "albert", **settings)
    encoder = load(folder)
    assert encoder.slower_because == ""
    np.testing.assert_allclose(norms(encoder, SENTENCES), reference(folder, SENTENCES), rtol=1e-5)


def test_a_model_that_only_looks_like_its_type_runs_another_way(tmp_path: Path) -> None:
    """ALBERT may have several blocks in a group: the fast pass knows one, and its check finds that out."""
    folder = write_model(tmp_path, "albert", inner_group_num=2)
    encoder = load(folder)
    assert encoder.slower_because.startswith("the fast forward pass does not reproduce this model")
    np.testing.assert_allclose(norms(encoder, SENTENCES), reference(folder, SENTENCES), rtol=1e-5)


def test_without_the_packed_layers_of_this_torch_the_result_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [write_model(tmp_path / name, name) for name in ("bert", "deberta-v2")]
    monkeypatch.setattr("clsviz.encoder.linear.can_pack", lambda dtype: False)
    bert, deberta = map(load, folders)
    assert bert.slower_because == ""
    assert deberta.slower_because.endswith("; it runs as it is")
    for loaded, folder in zip((bert, deberta), folders, strict=True):
        np.testing.assert_allclose(norms(loaded, SENTENCES), reference(folder, SENTENCES), rtol=1e-5)


@pytest.fixture
def fresh_can_pack() -> Iterator[None]:
    can_pack.cache_clear()
    yield
    can_pack.cache_clear()


def test_a_torch_without_packed_layers_is_noticed(fresh_can_pack: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(torch.ops, "mkldnn", object())
    assert not can_pack(torch.float32)


def test_packed_layers_are_used_only_where_they_were_measured(
    fresh_can_pack: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not can_pack(torch.float32)


def test_linears_that_do_not_reproduce_the_model_are_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path, "modernbert")
    monkeypatch.setattr(linear._Swapped, "forward", lambda self, x: Linear.forward(self, x) * 1.001)
    encoder = load(folder)
    assert encoder.slower_because.endswith("; it runs as it is")
    np.testing.assert_allclose(norms(encoder, SENTENCES), reference(folder, SENTENCES), rtol=1e-5)
    if has_fast_bfloat16(torch.device("cpu")):
        monkeypatch.setattr(linear._Swapped, "forward", lambda self, x: Linear.forward(self, x) * 2)
        with pytest.raises(ModelError, match="can only be measured in the exact precision"):
            load(folder, precision=Precision.FAST)


def test_a_machine_without_bfloat16_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    with pytest.raises(ModelError, match="no faster than float32"):
        load(write_model(tmp_path, "bert"), precision=Precision.FAST)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("packs", [True, False])
@pytest.mark.parametrize("activation", ["", *linear._ACTIVATIONS])
def test_a_linear_is_a_product_and_an_activation(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype, packs: bool, activation: str
) -> None:
    if not packs:
        monkeypatch.setattr("clsviz.encoder.linear.can_pack", lambda dtype: False)
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
    encoder = load(write_model(tmp_path, model_type), token_budget=256)
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


def test_a_model_does_not_keep_the_blocks_that_are_here(tmp_path: Path) -> None:
    encoder = load(write_model(tmp_path, "bert"))
    held = sum(parameter.numel() for name, parameter in encoder._loaded.model.named_parameters() if ".layer." in name)
    assert held == 0


@needs_bfloat16
def test_the_sums_between_blocks_are_exact_in_the_fast_precision(minilm_encoder: Encoder) -> None:
    """Rounded to bfloat16 they would err by some 1e-3 after every layer."""
    sentences = ["The quick brown fox jumps over the lazy dog.", "Return the length.", "A third sentence, at last."] * 5
    exact = minilm_encoder.measure(sentences).cls_norms
    fast = Encoder(minilm_encoder.weights, Precision.FAST, device="cpu").measure(sentences).cls_norms
    assert np.abs(fast / exact - 1)[:, :4].max() < 5e-5
    assert np.abs(fast / exact - 1).max() < 5e-3


def write_other(folder: Path, name: str, **settings: Any) -> Path:
    """A model of a type that has no fast forward pass, with random weights."""
    torch.manual_seed(0)
    shape = {"vocab_size": len(SPECIAL) + len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "pad_token_id": 0}
    shape |= {"num_attention_heads": 2, "intermediate_size": 32}
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**{**shape, **settings}))
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.3)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return folder


@pytest.mark.parametrize(("name", "settings"), [("ConvBert", {"embedding_size": 16, "head_ratio": 1}), ("FNet", {})])
def test_what_padding_changes_is_measured_one_length_at_a_time(
    tmp_path: Path, name: str, settings: dict[str, Any]
) -> None:
    """Some models mix the padding into the sentence in spite of its mask."""
    folder = write_other(tmp_path, name, **settings)
    encoder = load(folder)
    assert encoder.slower_because.endswith("it is changed by padding, so each length is measured by itself")
    np.testing.assert_allclose(norms(encoder, SENTENCES[:32]), reference(folder, SENTENCES[:32]), rtol=1e-5)
