"""The ways to compute norms of [CLS] that benchmarks.encoder compares."""

import functools
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import transformers

from benchmarks import engines
from benchmarks.engines import MAX_LENGTH, Norms, Run, in_sorted_batches
from clsviz.encoder import Encoder, has_fast_bfloat16
from clsviz.settings import Precision
from clsviz.sources import models

Maker = Callable[[], Run]


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
        return [min(len(ids), MAX_LENGTH) for ids in self.tokenizer(list(sentences))["input_ids"]]

    @torch.inference_mode()
    def one_by_one(self, sentences: Sequence[str]) -> Norms:
        """The reference for all others: norms after every layer, float32 (n, n_layers + 1)."""
        norms = []
        for sentence in sentences:
            inputs = self.tokenizer(sentence, truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
            output = self.model(input_ids=inputs["input_ids"].to(self.device), output_hidden_states=True)
            states = [*output.hidden_states[:-1], output.last_hidden_state]
            norms.append(torch.stack([state[0, 0].norm() for state in states]).cpu().numpy())
        return np.stack(norms)

    def in_sorted_batches(self, sentences: Sequence[str]) -> Norms:
        """Longest first, in batches of 32."""
        return in_sorted_batches(sentences, self._norms)

    @torch.inference_mode()
    def as_the_original(self, sentences: Sequence[str]) -> Norms:
        """In the given order, in batches of 8, padded to the longest of all and trimmed to the longest in the batch."""
        inputs = self.tokenizer(
            list(sentences), padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt"
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
        inputs = self.tokenizer(sentences, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
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
    """How to set up each way that is installed, by name; ours are `functools.partial(in_parts, encoder)`."""
    has_bfloat16 = has_fast_bfloat16(torch.device(device))
    plain = functools.cache(lambda: Plain(weights, device))
    ways: dict[str, Maker] = {
        "original": lambda: plain().as_the_original,
        "transformers": lambda: plain().in_sorted_batches,
        "sentence-transformers": lambda: _sentence_transformers(weights, device),
    }
    if device == "cpu":
        ways["onnx"] = lambda: engines.onnx(weights, folder)
        ways["openvino float32"] = lambda: engines.openvino(weights, folder, "f32")
        if has_bfloat16:
            ways["openvino bfloat16"] = lambda: engines.openvino(weights, folder, "bf16")
        ways["ctranslate2 float32"] = lambda: engines.ctranslate2(weights, folder)
    ways["exact"] = lambda: functools.partial(in_parts, Encoder(weights, Precision.EXACT, device))
    if has_bfloat16:
        ways["fast"] = lambda: functools.partial(in_parts, Encoder(weights, Precision.FAST, device))
    return {name: way for name, way in ways.items() if name not in engines.missing()}


def in_parts(encoder: Encoder, sentences: Sequence[str]) -> Norms:
    """Norms of the last layer, measured in parts such as most sentences of a sample are measured in."""
    size = 1024 if encoder.device.type == "cpu" else 16_384
    parts = (sentences[start : start + size] for start in range(0, len(sentences), size))
    return np.concatenate([measured.cls_norms[:, -1] for measured in encoder.stream(parts)])


def _sentence_transformers(weights: models.Weights, device: str) -> Run:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(weights.folder), max_seq_length=MAX_LENGTH)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="cls")
    model = SentenceTransformer(modules=[transformer, pooling], device=device)

    def run(sentences: Sequence[str]) -> Norms:
        norms: Norms = np.linalg.norm(model.encode(list(sentences), show_progress_bar=False), axis=1)
        return norms

    return run


def find_weights(name: str, folder: Path) -> models.Weights:
    """The model `name`; for bert-base-shape, one shaped like bert-base-uncased with random weights, in `folder`."""
    if name != "bert-base-shape":
        return models.fetch(name)
    shaped = folder / "bert-base-shape"
    tokenizer = transformers.AutoTokenizer.from_pretrained(models.find("minilm").folder)
    tokenizer.save_pretrained(shaped)  # its vocabulary is that of bert-base-uncased
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig())
    for module in model.modules():  # as they are drawn, every norm would be the same, and no error could be seen
        if isinstance(module, torch.nn.LayerNorm):
            module.weight.data.normal_(1, 0.2)
            module.bias.data.normal_(0, 0.2)
    model.save_pretrained(shaped)
    return models.find(str(shaped))


def note(text: str) -> None:
    """Show on stderr what is going on, replacing the previous note."""
    print(f"\r{text:60}", end="", file=sys.stderr)
