"""An evaluator of sentence-transformers: search by length, in training runs and model cards."""

import csv
from functools import partial
from pathlib import Path
from typing import Any, Final

from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator

from clsviz.api import chunk_test, search_test

METRICS: Final = ("recall_at_10", "ndcg_at_10", "exposure_shortest", "exposure_longest")


class LengthEvaluator(SentenceEvaluator):  # type: ignore[misc]
    """Recall of a search, and the exposure of the shortest and the longest fifth of its texts.

    texts, settings: corpus and settings of `clsviz.search_test`; the similarity is by default the
    model's own. name: before each metric. has_chunks: also `advised_tokens`, the length of a chunk
    as `clsviz.chunk_test` advises it; 0 where no length keeps three in four sentences findable.
    """

    def __init__(
        self, texts: Any, *, name: str = "", has_chunks: bool = False, **settings: Any
    ) -> None:
        super().__init__()
        self.texts, self.name, self.has_chunks = texts, name, has_chunks
        self.settings = settings
        self.primary_metric = METRICS[0]

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """The metrics of a model, also in its card, and a row of a .csv in a folder.

        Exposures are NaN where they are undefined. Raises ClsvizError.
        """
        is_dot = model.similarity_fn_name == "dot"
        settings = {"similarity": "dot" if is_dot else "cosine"} | self.settings
        function = {
            "encode": partial(model.encode_document, show_progress_bar=False),
            "encode_query": partial(model.encode_query, show_progress_bar=False),
            "count_tokens": lambda text: len(model.tokenizer.tokenize(text)),
        }
        result = search_test(corpus=self.texts, **settings, **function)
        facts = {key: result.fact(key) for key in METRICS}
        if self.has_chunks:
            similarity = settings["similarity"]
            answer = chunk_test(corpus=self.texts, similarity=similarity, **function).json()
            facts["advised_tokens"] = answer["advised_tokens"] or 0
        numbers = {key: float("nan" if value is None else value) for key, value in facts.items()}
        metrics: dict[str, float] = self.prefix_name_to_metrics(numbers, self.name)
        self.store_metrics_in_model_card_data(model, metrics, epoch, steps)
        if output_path is not None:
            row = {"epoch": epoch, "steps": steps, **metrics}
            path = Path(output_path) / f"length_evaluation_{self.name or 'results'}.csv"
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, row)
                if not file.tell():
                    writer.writeheader()
                writer.writerow(row)
        return metrics
