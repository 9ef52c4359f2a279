"""The ways to compute norms of [CLS] that benchmarks.encoder compares."""

import functools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from clsviz import models
from clsviz.encoder import Encoder, has_fast_bfloat16
from clsviz.settings import Precision

Norms = NDArray[np.float32]
Maker = Callable[[], Callable[[Sequence[str]], Norms]]

_MAX_LENGTH = 512


class Plain:
    """The untouched Hugging Face model, and the ways that use it."""

    def __init__(self, weights: models.Weights, device: str) -> None:
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        self.device = device
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)
        model = transformers.AutoModel.from_pretrained(weights.folder, use_safetensors=True, dtype=torch.float32)
        self.model = model.eval().to(device)
        self.products = self._products()

    def lengths(self, sentences: Sequence[str]) -> list[int]:
        """Tokens of each sentence, special ones included."""
        return [min(len(ids), _MAX_LENGTH) for ids in self.tokenizer(list(sentences))["input_ids"]]

    @torch.inference_mode()
    def one_by_one(self, sentences: Sequence[str]) -> Norms:
        """The reference for all others: norms after every layer, float32 (n, n_layers + 1)."""
        norms = []
        for sentence in sentences:
            inputs = self.tokenizer(sentence, truncation=True, max_length=_MAX_LENGTH, return_tensors="pt")
            output = self.model(input_ids=inputs["input_ids"].to(self.device), output_hidden_states=True)
            states = [*output.hidden_states[:-1], output.last_hidden_state]
            norms.append(torch.stack([state[0, 0].norm() for state in states]).cpu().numpy())
        return np.stack(norms)

    def in_sorted_batches(self, sentences: Sequence[str]) -> Norms:
        """Longest first, in batches of 32."""
        return _in_sorted_batches(sentences, self._norms)

    @torch.inference_mode()
    def as_the_original(self, sentences: Sequence[str]) -> Norms:
        """In the given order, in batches of 8, padded to the longest of all and trimmed to the longest in the batch."""
        inputs = self.tokenizer(
            list(sentences), padding=True, truncation=True, max_length=_MAX_LENGTH, return_tensors="pt"
        )
        norms = []
        for start in range(0, len(sentences), 8):
            mask = inputs["attention_mask"][start : start + 8]
            longest = int(mask.sum(1).max())
            batch = {"input_ids": inputs["input_ids"][start : start + 8, :longest], "attention_mask": mask[:, :longest]}
            output = self.model(**{name: tensor.to(self.device) for name, tensor in batch.items()})
            norms.append(output.last_hidden_state[:, 0].norm(dim=-1).cpu().numpy())
        return np.concatenate(norms)

    @torch.inference_mode()
    def _norms(self, sentences: list[str]) -> Norms:
        inputs = self.tokenizer(sentences, padding=True, truncation=True, max_length=_MAX_LENGTH, return_tensors="pt")
        output = self.model(
            input_ids=inputs["input_ids"].to(self.device), attention_mask=inputs["attention_mask"].to(self.device)
        )
        norms: Norms = output.last_hidden_state[:, 0].norm(dim=-1).cpu().numpy()
        return norms

    @torch.inference_mode()
    def _products(self) -> Counter[tuple[int, int]]:
        """How often each token is multiplied by a weight of each shape (out, in)."""
        products: Counter[tuple[int, int]] = Counter()

        def count(linear: torch.nn.Linear, inputs: tuple[torch.Tensor, ...], _: object) -> None:
            if inputs[0].dim() == 3:  # all tokens; the pooler sees one per sentence
                products[tuple(linear.weight.shape)] += 1  # type: ignore[index]

        linears = [module for module in self.model.modules() if isinstance(module, torch.nn.Linear)]
        hooks = [linear.register_forward_hook(count) for linear in linears]
        self._norms(["a sentence"])
        for hook in hooks:
            hook.remove()
        return products


def ways_to(weights: models.Weights, device: str, folder: Path) -> dict[str, Maker]:
    """How to set up each way, by name; ours are `functools.partial(in_parts, encoder)`."""
    plain = functools.cache(lambda: Plain(weights, device))
    ways: dict[str, Maker] = {
        "original": lambda: plain().as_the_original,
        "transformers": lambda: plain().in_sorted_batches,
        "sentence-transformers": lambda: _sentence_transformers(weights, device),
    }
    if device == "cpu":
        ways["onnx"] = lambda: _onnx(weights, folder / "model.onnx")
    ways["exact"] = lambda: functools.partial(in_parts, Encoder(weights, Precision.EXACT, device))
    if has_fast_bfloat16(torch.device(device)):
        ways["fast"] = lambda: functools.partial(in_parts, Encoder(weights, Precision.FAST, device))
    return ways


def in_parts(encoder: Encoder, sentences: Sequence[str]) -> Norms:
    """Norms of the last layer, measured part by part as clsviz measures a sample."""
    parts = (sentences[start : start + encoder.part_size()] for start in range(0, len(sentences), encoder.part_size()))
    return np.concatenate([measured.cls_norms[:, -1] for measured in encoder.stream(parts)])


def _sentence_transformers(weights: models.Weights, device: str) -> Callable[[Sequence[str]], Norms]:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(weights.folder), max_seq_length=_MAX_LENGTH)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="cls")
    model = SentenceTransformer(modules=[transformer, pooling], device=device)

    def run(sentences: Sequence[str]) -> Norms:
        norms: Norms = np.linalg.norm(model.encode(list(sentences), show_progress_bar=False), axis=1)
        return norms

    return run


def _onnx(weights: models.Weights, path: Path) -> Callable[[Sequence[str]], Norms]:
    import onnxruntime

    if not path.exists():
        _export(Plain(weights, "cpu").model, path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])

    def of_batch(sentences: list[str]) -> Norms:
        inputs = tokenizer(sentences, padding=True, truncation=True, max_length=_MAX_LENGTH, return_tensors="np")
        fed = {name: inputs[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
        norms: Norms = np.linalg.norm(session.run(None, fed)[0][:, 0], axis=1)
        return norms

    return lambda sentences: _in_sorted_batches(sentences, of_batch)


def _in_sorted_batches(sentences: Sequence[str], of_batch: Callable[[list[str]], Norms]) -> Norms:
    order = np.argsort([-len(sentence) for sentence in sentences], kind="stable")
    norms = np.empty(len(sentences), np.float32)
    for start in range(0, len(order), 32):
        batch = order[start : start + 32]
        norms[batch] = of_batch([sentences[index] for index in batch])
    return norms


def _export(model: Any, path: Path) -> None:
    class OnlyStates(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
            states: torch.Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            return states

    mask = torch.ones((2, 7), dtype=torch.long)
    mask[1, 4:] = 0
    size = {0: torch.export.Dim("batch", min=1, max=4096), 1: torch.export.Dim("width", min=2, max=_MAX_LENGTH)}
    torch.onnx.export(
        OnlyStates().eval(),
        (torch.full((2, 7), 5), mask),
        path,
        input_names=["input_ids", "attention_mask"],
        dynamic_shapes=(size, size),
        dynamo=True,
        verbose=False,
    )


def find_weights(name: str, folder: Path) -> models.Weights:
    """The model `name`; for bert-base-shape, one shaped like bert-base-uncased with random weights, in `folder`."""
    if name != "bert-base-shape":
        return models.fetch(name)
    shaped = folder / "bert-base-shape"
    tokenizer = transformers.AutoTokenizer.from_pretrained(models.find("minilm").folder)
    tokenizer.save_pretrained(shaped)  # its vocabulary is that of bert-base-uncased
    torch.manual_seed(0)
    transformers.BertModel(transformers.BertConfig()).save_pretrained(shaped)
    return models.find(str(shaped))


def note(text: str) -> None:
    """Show on stderr what is going on, replacing the previous note."""
    print(f"\r{text:60}", end="", file=sys.stderr)
