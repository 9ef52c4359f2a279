"""The settings of an experiment: what each may be, and how it is written in a link or a flag."""

from enum import StrEnum

from clsviz.errors import SettingError


class Pooling(StrEnum):
    """Which vector stands for the sentence."""

    CLS = "cls"
    MEAN = "mean"
    MAX = "max"
    POOLER = "pooler"


class Precision(StrEnum):
    """How precisely the model computes."""

    EXACT = "exact"
    FAST = "fast"

    @property
    def numbers(self) -> str:
        """The dtype of matrix products; everything else is computed in float32."""
        return {Precision.EXACT: "float32", Precision.FAST: "bfloat16"}[self]


class Unit(StrEnum):
    """What the length of a sentence is counted in."""

    TOKENS = "tokens"
    WORDS = "words"
    CHARACTERS = "characters"

    @property
    def singular(self) -> str:
        """The word for one of them."""
        return self.removesuffix("s")


class Lengths(StrEnum):
    """The length a sentence is given: its own, or, as a control, that of a random other sentence."""

    TRUE = "true"
    SHUFFLED = "shuffled"


class NearDuplicates(StrEnum):
    """How sentences count that are the same or nearly: as one where it matters, or each as a sentence of its own."""

    GROUPED = "grouped"
    INDEPENDENT = "independent"


class Segmentation(StrEnum):
    """Whether the texts of a corpus are cut into sentences."""

    AUTO = "auto"
    NONE = "none"
    SENTENCES = "sentences"


class Reading(StrEnum):
    """What is one text in a plain text file."""

    AUTO = "auto"
    LINES = "lines"
    PARAGRAPHS = "paragraphs"


class Alteration(StrEnum):
    """How sentences are changed before the model reads them, to find out where their length can be read from."""

    SHUFFLED = "shuffled_tokens"
    RANDOM = "random_tokens"
    REPEATED = "one_token_repeated"
    ONE_POSITION = "one_position"
    NO_SEPARATOR = "no_separator"


RANDOM_ALTERATIONS = frozenset({Alteration.SHUFFLED, Alteration.RANDOM, Alteration.REPEATED})
"""Those that are drawn at random, several times over, as one draw may be a lucky one."""

DRAWS = 5
"""Of a control that is drawn at random."""

N_ALTERED = DRAWS * len(RANDOM_ALTERATIONS) + len(Alteration) - len(RANDOM_ALTERATIONS)
"""How often the sentences are read to find out where their length can be read from."""


class SimilarityFunction(StrEnum):
    """What ranks texts for a query: the cosine of two vectors, or the dot product of vectors as pooling gives them."""

    COSINE = "cosine"
    DOT = "dot"


class Task(StrEnum):
    """Where the searches of a test come from, and so which texts are right for each."""

    TITLES = "titles"
    HALVES = "halves"
    INVERSE_CLOZE = "inverse cloze"
    JUDGED = "judged"


class Fix(StrEnum):
    """What can be done to vectors or scores, where texts of some lengths are found too often.

    NORMALIZED: vectors divided by their norms. CENTRED: their mean taken away. ERASED: LEACE of log length. WHITENED:
    correlations between dimensions taken away. CALIBRATED: scores in standard deviations from what texts of their
    length get from other queries. SQRT_TOKENS, TOKENS_TENTH, TOKENS_POWER: scores times a power of the length (½, 0.1,
    or one of the user's own). MEAN_POOLED: vectors of mean pooling instead.
    """

    NORMALIZED = "normalized"
    CENTRED = "centred"
    ERASED = "leace"
    WHITENED = "whitened"
    CALIBRATED = "calibrated"
    MEAN_POOLED = "mean_pooled"
    SQRT_TOKENS = "tokens^0.5"
    TOKENS_TENTH = "tokens^0.1"
    TOKENS_POWER = "tokens^p"


class Overlay(StrEnum):
    """What can be drawn over the sentences of the main picture."""

    CURVES = "curves"
    MEDIANS = "medians"
    RANGES = "ranges"


class Trait(StrEnum):
    """What of their text sentences can be coloured by."""

    FULL_STOP = "full-stop"
    QUESTION = "question-mark"
    DIGIT = "digit"
    CAPITAL = "capital"


DEFAULT_OVERLAYS = (Overlay.CURVES,)
"""Those that are drawn unless the visitor decides otherwise."""


TEXT_PARAMETER = "text"
"""The URL parameter that holds a visitor's own sentences, if they tick the box. Not part of the experiment."""


PAGE_PARAMETERS = (
    *("models", "axes", "heat", "nearest", "sentence", "word", "overlays", "zoom", "selected", "joined"),
    *("erase", "travel_to", "colour", "find", "origin", "sentlen_file", "project", "random_weights"),
    *("similarity", "titles", "searches"),
)
"""URL parameters that belong to a single page. Not part of the experiment."""


SEARCH_DEFAULTS = {"corpus": "python-api", "pooling": "mean"}
"""Settings of a search test that a link or a command leaves out, where they are not those of other pages."""


ALTERED_SIZES = (100, 20_000)
"""The fewest and the most sentences that are altered to find out where a probe gets the length from."""


ALTERED_DEFAULT = 1000
"""How many are, unless asked otherwise: a few seconds for each alteration, by a small model."""


MOST_MODELS = 6
"""The most models in one comparison."""


MODEL_PARAMETER, CORPUS_PARAMETER = "model_fingerprint", "corpus_fingerprint"
"""URL parameters that record what a link was made with. Not part of the experiment."""


FINGERPRINT_DIGITS = 12
"""How much of a fingerprint a link holds."""


_LONGEST_NAME = 500


NAME_SETTINGS = {"model": 1, "corpus": 1, "configuration": 0, "split": 0, "column": 0}
"""The settings that are names, and the fewest characters each may have."""


ALL = 2**40
"""The sample size that stands for all sentences of a corpus, written “all”: more than any has."""


RANGES = {
    "sample_size": (1, 1_000_000),
    "seed": (0, 2**32 - 1),
    "probe_size": (1, 20_000),
    "length_cutoff": (2, 512),
    "layer": (0, 999),
}
"""The lowest and the highest value of each numeric setting."""


CHOICES: dict[str, type[StrEnum]] = {
    "segmentation": Segmentation,
    "reading": Reading,
    "precision": Precision,
    "pooling": Pooling,
    "unit": Unit,
    "lengths": Lengths,
    "near_duplicates": NearDuplicates,
}
"""The settings with a fixed set of values."""


def is_name(text: str) -> bool:
    """Whether a setting can hold `text` as a name, such as a column's."""
    return 1 <= len(text) <= _LONGEST_NAME and text.isprintable() and text == text.strip()


def check_name(name: str, value: str) -> str:
    """`value`, which the setting `name` may have; raises SettingError otherwise."""
    if not NAME_SETTINGS[name] <= len(value) <= _LONGEST_NAME or not value.isprintable():
        limit = f"1 to {_LONGEST_NAME} printable characters"
        raise SettingError(f"{name} is “{shown(value)}”; it must be a name of {limit}.")
    return value


def check_number(name: str, value: int | None) -> int | None:
    """`value`, which the setting `name` may have; raises SettingError otherwise."""
    low, high = RANGES[name]
    if value is None or low <= value <= high or (name == "sample_size" and value == ALL):
        return value
    or_all = ", or all" if name == "sample_size" else ""
    raise SettingError(f"{name} is {shown(str(value))}; it must be a number from {low:,} to {high:,}{or_all}.")


def written(name: str, value: object) -> str:
    """The value of a setting as links and flags have it."""
    return "all" if name == "sample_size" and value == ALL else str(value)


def printable(text: str) -> str:
    """`text` with every character that would break a line or move a cursor replaced by a mark."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)


def shown(text: str) -> str:
    """`text`, short and printable, for a message."""
    text = printable(text)
    return text if len(text) <= 60 else text[:59] + "…"
