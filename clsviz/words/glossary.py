"""The terms that the pages use, each in a sentence or two that hold for every model."""

from collections.abc import Sequence

from clsviz.experiment import Experiment
from clsviz.words.labels import is_imported

TERMS = {
    "token": (
        "A piece of text that the model reads as one unit: a word, a part of one, or a punctuation mark. Models cut "
        "sentences in different ways, so they may count the same one differently. Lengths leave out special tokens "
        "such as [CLS]."
    ),
    "[CLS]": (
        "A special token that is put beside the words of a sentence, in most models before them; some write it <s>. "
        "Its vector is often taken to stand for the whole sentence."
    ),
    "norm": (
        "How long a vector is, as an arrow: the square root of the sum of its squared components (the L2 norm). It "
        "says nothing of where the arrow points."
    ),
    "layer": (
        "One of the steps in which a model computes: each turns the vectors of all tokens into new ones. Layer 0 is "
        "what goes into the first, the embeddings."
    ),
    "R²": (
        "The share of the differences in one number that a prediction from another accounts for: 0 is none, 1 is all. "
        "On sentences that the prediction was not fitted to it can fall below 0; guessing the mean is then better."
    ),
    "probe": (
        "A small model trained to predict something, here the length, from the vectors of a larger one, and tested on "
        "sentences it has not seen. If it succeeds, the vectors hold what it predicts; that does not show that the "
        "larger model uses it."
    ),
    "pooler": (
        "A last step that some models apply to [CLS]: a matrix and a bias, then a curve that bends each component, "
        "most often tanh. Its output is one more vector of the sentence."
    ),
    "cosine": (
        "How nearly two vectors point the same way: 1 is the same direction, 0 a right angle, −1 the opposite. Norms "
        "play no part in it."
    ),
    "exposure": (
        "How often texts of a length are found, over how often they are right: 1 is a fair share, 2 is twice that."
    ),
    "recall": "The share of right texts that are among the ten that a search finds.",
    "BM25": "The usual way to rank texts by the words that they share with a query. It knows no model.",
}

NORM_VS_LENGTH = ("[CLS]", "norm", "token", "R²", "layer", "pooler")

WHERE_LENGTH_LIVES = ("probe", "R²", "layer", "[CLS]", "norm", "pooler", "token")

LENGTH_AND_SEARCH = ("exposure", "recall", "BM25", "cosine", "token", "layer", "[CLS]", "pooler")

TRY_A_SENTENCE = ("token", "[CLS]", "norm", "layer", "pooler", "cosine")

COMPARE_MODELS = ("[CLS]", "norm", "R²", "layer", "probe", "token")

INSIDE_THE_MODEL = ("layer", "token", "[CLS]", "norm", "pooler")


def of_page(terms: Sequence[str], experiment: Experiment) -> Sequence[str]:
    """Those of a page's terms that say something of an experiment: of imported vectors those of models do not."""
    of_models = {"[CLS]", "layer", "pooler", "token"}
    return [term for term in terms if term not in of_models] if is_imported(experiment) else terms


def explained(terms: Sequence[str]) -> dict[str, str]:
    """The terms with what they mean, in that order."""
    return {term: TERMS[term] for term in terms}
