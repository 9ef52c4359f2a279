"""Sentences as bags of words: what a search by shared words would find."""

from collections.abc import Sequence

from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from clsviz.errors import UndefinedFitError

_WORD = r"(?u)\b\w+\b"
"""One letter is a word too."""


def tf_idf(sentences: Sequence[str]) -> sparse.csr_matrix:
    """How often each sentence has each word, the rare ones weighted more: sparse float64 (n, words), of norm 1.

    Two sentences are alike in it as far as they share words: term frequency times inverse document frequency (Salton
    and Buckley 1988), as scikit-learn has it. Words are runs of letters and digits, so in scripts without spaces they
    are whole clauses. Raises UndefinedFitError where there are no words.
    """
    try:
        weights: sparse.csr_matrix = TfidfVectorizer(token_pattern=_WORD).fit_transform(sentences)
    except ValueError as error:  # an empty vocabulary
        raise UndefinedFitError("These sentences have no words, so shared words are no baseline.") from error
    return weights
