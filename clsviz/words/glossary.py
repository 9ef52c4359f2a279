"""The terms of the pages, each in a sentence or two that hold for every model; how to read the pages; the tour."""

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


HOW_TO_READ_LAYERS = """\
Each point says by how much predicted lengths are off after a layer, on average: 0 would be no error, and the dotted \
line is the error of guessing the mean length. A linear probe reads the vector and a straight line reads its norm; \
both are tested on sentences that they were not fitted to. A line misses a curve. Point at a layer for R², the share \
of the variation in length that is predicted: below 0, guessing would have done better. The R² of the norm is that \
of its line through all sentences. The direction is the vector divided by its norm. That need not take the norm out: \
where a LayerNorm made the vector, its norm follows from its direction (see *Inside the model*). A norm can have a \
high R² and still barely vary: the chart of its spread shows how much it varies relative to its mean. None of this \
shows that the model uses the length."""

HOW_TO_READ = """\
Every point is a sentence: its length runs to the right, the norm of its vector upwards. Of 100,000 sentences or more \
only some are points, drawn at random; below them the colour of a cell is the number of all sentences of that length \
and norm, on a logarithmic scale. The red line is the straight \
line that best predicts the norm from the length, with its 95% band. R² is the share of the norm’s variance that the \
line accounts for: 0 is none, 1 is all. The dark curves show what a straight line cannot, such as a spread that \
changes with length: at each length, about 5% of the norms lie below the lowest curve, half below the median, and 95% \
below the highest. “Medians” are those of sentences of similar length, with whiskers from the lower to the upper \
quartile. \
“Lengths at a norm” turns the question round: for sentences of similar norm, it shows the median length and the range \
that holds nine in ten. What does not *stand out from chance* would often look the same if norms had nothing to do \
with length."""

TOUR: list[tuple[str, str]] = [
    (
        "The answer",
        "The large sentence answers the question above it, for this model, these sentences and the settings below. "
        "The small line under it has the numbers; “Terms” says what its words mean.",
    ),
    (
        "A point",
        "Each point is a sentence: its length runs to the right, the norm of its vector upwards. Point at one to read "
        "it. Click one, or draw around several with the box or the lasso that appear above the picture, to list them "
        "below it.",
    ),
    (
        "The line and the curves",
        "The red line is the straight line that best predicts the norm from the length. The dark curves show what a "
        "line cannot: where 5%, half and 95% of the norms lie at each length. The buttons under the picture switch "
        "them on and off.",
    ),
    (
        "Layer, cutoff and vector",
        "These change the picture at once: after which layer of the model the norm is taken, up to which length "
        "sentences count, and which vector it is. Model and corpus are in the sidebar; they may have to be measured "
        "first.",
    ),
    (
        "Your own sentence, and the link",
        "Type a sentence, and a star shows where it lies. “Copy link” gives an address that opens this very picture; "
        "your sentence goes into it only if you tick the box.",
    ),
]
"""What each step on the main page is about, and what it says of it."""

TOUR_PAGES: list[tuple[str, str]] = [
    (
        "Where length lives",
        "The same question, layer by layer: how many tokens a linear probe misses the length by when it reads the "
        "whole vector, and what the norm alone gives away.",
    ),
    (
        "Does length bend my search?",
        "Searches whose right texts are known: are texts of some lengths found more often than they are right? Under "
        "the verdict stands what to do.",
    ),
    (
        "Compare models",
        "Several models on the same sentences, at first the trained one next to the same architecture with random "
        "weights. Choose others in the sidebar.",
    ),
    (
        "Try a sentence",
        "Type one, or two to compare: how its norm grows word by word, and how it ranks among corpus sentences about "
        "as long.",
    ),
    (
        "Inside the model",
        "The norm of [CLS] at each step through the model, and which parts have the weights. That is the whole story.",
    ),
]
"""The same of the other pages, in the order of their story."""
