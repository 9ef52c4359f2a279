"""An encoder by its name, for sentences of one's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clsviz import analysis, encoder, export
from clsviz.api.inputs import Bar
from clsviz.errors import SentenceError, SettingError
from clsviz.experiment import Experiment, View, parse_setting
from clsviz.measurements import POOLED
from clsviz.settings import Pooling, Precision
from clsviz.sources import models

if TYPE_CHECKING:
    import pandas as pd


class Encoder:
    """A loaded model that measures any sentences, one by one; nothing is sampled or stored.

    model: a name as `measure` takes it.
    precision: “exact” (float32) or “fast” (bfloat16).
    device: “cpu”, “cuda” or “mps”; by default the best there is.
    progress: whether to show a bar on stderr while the model is downloaded; by default on terminals and in notebooks.

    It has these attributes:

    name, label: what the model is called, by programs and in texts.
    n_layers: number of the last layer; 0 is the embedding output.
    max_length: tokens, special ones included, beyond which a sentence is cut.
    has_pooler: whether the model has a pooler.

    Raises ModelError where there is no such model, or it is not an encoder with a [CLS] token.

    >>> import clsviz
    >>> encoder = clsviz.Encoder("minilm")
    >>> encoder.n_layers, encoder.max_length, encoder.has_pooler
    (6, 512, True)
    >>> encoder.tokens("An unwatered fern.")
    ['an', 'un', '##water', '##ed', 'fern', '.']
    >>> sentences = ["A cat.", "A very big cat."]
    >>> encoder.table(sentences)["n_tokens"].tolist()
    [3, 5]
    >>> norms = encoder.norms(sentences)
    >>> norms.shape, norms.dtype
    ((2,), dtype('float32'))
    >>> encoder.vectors(sentences, layer=3, pooling="mean").shape
    (2, 384)
    >>> encoder.encode("A cat.").shape
    (384,)
    """

    def __init__(
        self,
        model: str = Experiment.model,
        *,
        precision: str = Precision.EXACT,
        device: str | None = None,
        progress: bool | None = None,
    ) -> None:
        with Bar(progress) as bar:
            weights = models.fetch(parse_setting("model", model), progress=bar)
        if weights.imported:
            raise weights.imported.no_model
        self._encoder = encoder.Encoder(weights, parse_setting("precision", precision), device)
        self.name = weights.name
        self.label = weights.label
        self.n_layers = self._encoder.n_layers
        self.max_length = self._encoder.max_length
        self.has_pooler = self._encoder.has_pooler

    def __repr__(self) -> str:
        return f"Encoder({self.name!r})"

    def tokens(self, sentence: str) -> list[str]:
        """The tokens of a sentence, without the special ones and before truncation; their number is its length."""
        return self._encoder.tokens(sentence)

    def table(self, sentences: Sequence[str]) -> "pd.DataFrame":
        """One row per sentence: sentence, n_tokens, truncated, cls_0 to cls_L and pooler, as `NormResult.table`."""
        texts = _checked(sentences)
        return export.table(texts, self._encoder.measure(texts))

    def norms(
        self, sentences: Sequence[str], *, layer: int | None = None, pooling: str = Pooling.CLS
    ) -> NDArray[np.float32]:
        """L2 norms of one vector per sentence, float32 (n,).

        layer: 0 is the embedding output, None the last. pooling: “cls”, “mean” or “max” over all tokens, or “pooler”,
        the output of the model's pooler, which has no layer. Raises SettingError where the model has none such, and
        ModelError where the memory does not suffice.
        """
        texts = _checked(sentences)
        view = self._view(layer, pooling)
        if view.pooling in POOLED[1:]:
            return self._encoder.vectors(texts).norms(view.pooling, view.layer)
        return self._encoder.measure(texts).norms(view.pooling, view.layer)

    def vectors(
        self, sentences: Sequence[str], *, layer: int | None = None, pooling: str = Pooling.CLS
    ) -> NDArray[np.float32]:
        """One vector per sentence, float32 (n, width), exactly as computed; arguments and errors as for `norms`."""
        texts = _checked(sentences)
        view = self._view(layer, pooling)
        if view.pooling is Pooling.POOLER or (view.pooling is Pooling.CLS and view.layer in (None, self.n_layers)):
            of_cls, of_pooler = self._encoder.cls_and_pooler(texts)  # which needs less of the last layer
            return of_cls if view.pooling is Pooling.CLS else of_pooler
        return self._encoder.pooled(texts, [view.pooling], view.layer).vectors[view.pooling]

    def encode(
        self, sentences: str | Sequence[str], *, layer: int | None = None, pooling: str = Pooling.MEAN
    ) -> NDArray[np.float32]:
        """Vectors as sentence-transformers gives them: float32 (n, width), of one sentence (width,); mean-pooled.

        They are raw: a model whose own pipeline divides vectors by their norms has that step left out here. The rest is
        as in `vectors`.
        """
        if isinstance(sentences, str):
            (vector,) = self.vectors([sentences], layer=layer, pooling=pooling)
            return np.asarray(vector)
        return self.vectors(sentences, layer=layer, pooling=pooling)

    def _view(self, layer: int | None, pooling: str) -> View:
        view = View(
            layer=parse_setting("layer", "last" if layer is None else str(layer)),
            pooling=parse_setting("pooling", pooling),
        )
        analysis.check_layer(view, self.n_layers)
        if view.pooling is Pooling.POOLER and not self.has_pooler:
            raise SettingError(f"pooling is pooler, but {self.label} has no pooler. Choose cls.")
        return view


def _checked(sentences: Sequence[str]) -> list[str]:
    """The sentences as a list; raises SentenceError where they are one text, or not all texts."""
    if isinstance(sentences, str):
        raise SentenceError("sentences is one text. Give a list of them, even of one.")
    texts = list(sentences)
    if wrong := next((number for number, text in enumerate(texts, 1) if not isinstance(text, str)), None):
        raise SentenceError(f"Item {wrong:,} of sentences is a {type(texts[wrong - 1]).__name__}, not text.")
    return texts
