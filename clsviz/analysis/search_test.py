"""Whether length bends a search, tested by searches whose right texts are known."""

from collections.abc import Mapping
from dataclasses import dataclass

from clsviz.settings import Fix, Pooling, SimilarityFunction, Task
from clsviz.statistics.exposure import FixResult, Ranking


@dataclass(frozen=True)
class Ranker:
    """What ranks the texts: which vector, after which layer (None: the last), compared how."""

    pooling: Pooling
    layer: int | None
    similarity: SimilarityFunction


@dataclass(frozen=True)
class FoundText:
    """A text that a search found, or should have: itself, its length in tokens, and whether it is right."""

    text: str
    n_tokens: int
    is_right: bool


@dataclass(frozen=True)
class Example:
    """A search that missed: its query, the ten texts found (the best first), and the right text that ranks best."""

    query: str
    found: tuple[FoundText, ...]
    right: FoundText
    right_rank: int


@dataclass(frozen=True)
class Threshold:
    """A similarity that 1% of all unrelated pairs of query and text pass, and the share that passes in each fifth.

    shares: five, the shortest texts first; each would be 0.01 if length played no part.
    """

    similarity: float
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Advice:
    """What to do: chosen on half of the searches, reported on the other half.

    fix: None to leave it. recall_before, recall_after: recall@10 of the other half without and with it.
    interval: 95%, of their paired difference. costs: whether recall may fall, which is the price of fair exposure.
    """

    fix: Fix | None
    recall_before: float | None = None
    recall_after: float | None = None
    interval: tuple[float, float] | None = None
    costs: bool = False


@dataclass(frozen=True)
class Correction:
    """A fix as a formula for one's own search, with its numbers, fitted to all searches.

    formula: in plain text, of score, n (tokens of the text) and the names of the coefficients.
    """

    fix: Fix
    formula: str
    coefficients: Mapping[str, float]


@dataclass(frozen=True)
class Consequences:
    """What is told of one ranker: what fixes do to it, what to do, where length went wrong most, and thresholds.

    fixes: by fix; one that cannot be fitted is left out. correction: the advised fix as a formula, None without one.
    """

    fixes: Mapping[Fix, FixResult]
    advice: Advice
    correction: Correction | None
    examples: tuple[Example, ...]
    threshold: Threshold


@dataclass(frozen=True)
class SearchTest:
    """Searches with known right texts, by the vectors of one model after one layer.

    task: where the searches come from. n_searches, n_texts: searches, and texts they search in.
    truncated_share: of the indexed texts that the model did not read whole.
    normalizes: whether the model's own pipeline divides its vectors by their norms, so that its dot product is the
        cosine; None where that is not known.
    rankings: by ranker, every pooling tested by both similarity functions. bm25: by shared words.
    consequences: of the rankers of the pooling asked for, by similarity function.
    pooling, layer: those asked for.
    """

    task: Task
    n_searches: int
    n_texts: int
    truncated_share: float
    normalizes: bool | None
    pooling: Pooling
    layer: int | None
    rankings: Mapping[Ranker, Ranking]
    bm25: Ranking
    consequences: Mapping[SimilarityFunction, Consequences]

    def ranking(self, similarity: SimilarityFunction, pooling: Pooling | None = None) -> Ranking:
        """By vectors of a pooling (by default the one asked for) and a similarity function."""
        return self.rankings[Ranker(pooling or self.pooling, self.layer, similarity)]
