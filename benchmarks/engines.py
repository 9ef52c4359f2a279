"""Other programs that run a model on a CPU, each used directly; those that are not installed are left out.

Requires benchmarks/requirements.txt, and for the optional ones benchmarks/requirements-engines.txt.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from clsviz.sources.models import Weights

Norms = NDArray[np.float32]
Run = Callable[[Sequence[str]], Norms]

MAX_LENGTH = 512
OPTIONAL = {
    "openvino float32": "openvino",
    "openvino bfloat16": "openvino",
    "ctranslate2 float32": "ctranslate2",
}
"""The ways that may be missing, and the package that each needs."""


def missing() -> dict[str, str]:
    """The optional ways whose package is not installed, and that package."""
    return {way: package for way, package in OPTIONAL.items() if find_spec(package) is None}


def in_sorted_batches(sentences: Sequence[str], of_batch: Callable[[list[str]], Norms]) -> Norms:
    """Norms by what computes those of a batch: the longest first, in batches of 32."""
    order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
    norms = np.empty(len(sentences), np.float32)
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        norms[batch] = of_batch([sentences[index] for index in batch])
    return norms


def onnx(weights: Weights, folder: Path) -> Run:
    """ONNX Runtime in float32."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(_exported(weights, folder), settings, providers=["CPUExecutionProvider"])
    return _padded(weights, lambda fed: session.run(None, fed)[0])


def openvino(weights: Weights, folder: Path, precision: str) -> Run:
    """OpenVINO, on the same exported model; precision: f32 or bf16, of its products."""
    import openvino

    core = openvino.Core()
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    model = core.compile_model(core.read_model(_exported(weights, folder)), "CPU", settings)
    return _padded(weights, lambda fed: model(fed)[0])


def ctranslate2(weights: Weights, folder: Path) -> Run:
    """CTranslate2 in float32, which takes token ids and pads by itself."""
    import ctranslate2

    converted = folder / "ctranslate2"
    if not converted.exists():
        ctranslate2.converters.TransformersConverter(str(weights.folder)).convert(str(converted))
    n_threads = torch.get_num_threads()
    encoder = ctranslate2.Encoder(str(converted), "cpu", compute_type="float32", intra_threads=n_threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)

    def of_batch(sentences: list[str]) -> Norms:
        ids = tokenizer(sentences, truncation=True, max_length=MAX_LENGTH)["input_ids"]
        states = np.asarray(encoder.forward_batch(ids).last_hidden_state)
        norms: Norms = np.linalg.norm(states[:, 0], axis=1)
        return norms

    return lambda sentences: in_sorted_batches(sentences, of_batch)


def _padded(weights: Weights, states_of: Callable[[dict[str, Any]], Any]) -> Run:
    """Norms by what gives the last layer's states, (n, width of the batch, width), for ids and mask."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)

    def of_batch(sentences: list[str]) -> Norms:
        inputs = tokenizer(sentences, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="np")
        fed = {name: inputs[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
        norms: Norms = np.linalg.norm(states_of(fed)[:, 0], axis=1)
        return norms

    return lambda sentences: in_sorted_batches(sentences, of_batch)


def _exported(weights: Weights, folder: Path) -> Path:
    """The model as an ONNX file, written on the first call."""
    path = folder / "model.onnx"
    if path.exists():
        return path
    model = transformers.AutoModel.from_pretrained(weights.folder, use_safetensors=True, dtype=torch.float32).eval()
    mask = torch.ones((2, 7), dtype=torch.long)
    mask[1, 4:] = 0
    size = {0: torch.export.Dim("batch", min=1, max=4096), 1: torch.export.Dim("width", min=2, max=MAX_LENGTH)}
    torch.onnx.export(
        _OnlyStates(model).eval(),
        (torch.full((2, 7), 5), mask),
        path,
        input_names=["input_ids", "attention_mask"],
        dynamic_shapes=(size, size),
        dynamo=True,
        verbose=False,
    )
    return path


class _OnlyStates(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return states
