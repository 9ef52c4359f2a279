"""The table of settings: name = keyword = flag = parameter of the address = key of a widget.

Defaults, flags and their help, widgets, links, commands that repeat an answer, and refusals come
from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self, TypedDict, get_args

from clsviz.errors import SettingError, quote

Segmentation = Literal["auto", "sentences", "lines", "paragraphs"]
Precision = Literal["exact", "fast"]
Pooling = Literal["cls", "mean", "pooler", "pipeline"]
Unit = Literal["tokens", "words", "characters"]
Similarity = Literal["auto", "cosine", "dot"]

LONGEST_NAME: Final = 500  # characters of a setting that has neither values nor ends

MOST_CHUNKED: Final = 20_000
"""Sentences of a chunk test, at most: each is measured at every size of a chunk."""

SEARCHES: Final = ("search-test", "chunk-test")
SAMPLES: Final = ("measure", "probe", "compare", "report")
PROBED: Final = SAMPLES[1:]
SEARCHING: Final = (*SEARCHES, *SAMPLES[2:])
SEARCHED: Final = (*SEARCHES, "report")
EVERY: Final = (*SAMPLES, *SEARCHES)
OWN: Final = "own vectors"
"""Questions by their commands: of whole texts, of samples, of probes, that search; and of vectors
that come in a file, which have fewer settings."""


class Setting(NamedTuple):
    """A row of the table.

    label: of its widget; "" where it is a flag alone. help: what it means, in sentences.
    questions: the commands that heed it.
    values: it has one of these. ends: or a number from the first to the second.
    kind: its type where Python and the command have it alone.
    word: a text with a meaning of its own, and the value that it means.
    of_search: the keyword of its value where a search is the question: there is one corpus then.
    corpus: the setting of the corpus that it is a part of: another corpus has it not.
    is_more: True if its widget is in the box with more settings.
    is_verbatim: True if its spaces count, and it may have lines.
    """

    name: str
    default: Any
    label: str
    help: str
    questions: tuple[str, ...]
    values: tuple[str, ...] = ()
    ends: tuple[float, float] | None = None
    kind: type = str
    word: tuple[str, Any] | None = None
    of_search: str = ""
    corpus: str = ""
    is_more: bool = False
    is_verbatim: bool = False

    def keyword(self, question: str) -> str:
        """The name that a question has for it."""
        return self.of_search if self.of_search and question in SEARCHES else self.name

    def parse(self, text: str) -> Any:
        """The value that is written as text; an empty one is the default. Raises SettingError."""
        text = text if self.is_verbatim else text.strip()
        if not text:
            return self.default
        if self.word and text == self.word[0]:
            return self.word[1]
        if self.kind is bool:
            return {"true": True, "false": False}.get(text, text)
        try:
            return text if self.ends is None else int(text)
        except ValueError:
            raise SettingError(f"{self.name} is {quote(text)}.", "Write a whole number.") from None

    def write(self, value: Any) -> str:
        """A value as text, as in an address."""
        if self.word and value == self.word[1]:
            return self.word[0]
        if self.is_verbatim:
            return value or ""
        return str(value).lower() if self.kind is bool else str(value)

    def check(self, value: object) -> None:
        """Raise SettingError where it cannot have a value."""
        if remedy := self._remedy(value):
            name = self.of_search or self.name
            raise SettingError(f"{name} is {quote(value)}.", remedy)

    def _remedy(self, value: object) -> str:
        """What to do about a value that it cannot have; "" where it can."""
        if self.word and value == self.word[1]:
            return ""
        if self.word and value == self.word[0]:  # a link could not tell it from the word
            return f"Write {self.word[1]!r} in Python."
        if self.kind is bool:
            return "" if isinstance(value, bool) else "Choose true or false."
        if self.values:
            return "" if value in self.values else f"Choose {' or '.join(self.values)}."
        if self.is_verbatim and (value is None or isinstance(value, str)):
            return "" if len(value or "") <= LONGEST_NAME else "Shorten it."
        if self.ends is None:
            if not isinstance(value, str) or len(value) > LONGEST_NAME or not value.isprintable():
                return f"Choose a name of at most {LONGEST_NAME} printable characters."
            return "Choose a name." if self.default and not value else ""
        if isinstance(value, bool) or not isinstance(value, int):
            return "Choose a whole number."
        low, high = self.ends
        return "" if low <= value <= high else f"Choose a number from {low:,} to {high:,}."


_CORPUS = "python-docs, python-api, any dataset of the Hugging Face Hub, or a file."
_COLUMN = "Of a table; empty takes the likeliest."
_ENCODING = "Of a file, such as cp1254; empty takes the likeliest."
_LANGUAGE = "By whose rules texts are cut into sentences, such as de; empty takes the likeliest."
_PART = "Of a dataset of the Hub; empty takes its default."

# fmt: off
_ROWS: Final = (
    Setting("model", "minilm", "Model",
            "minilm, an id of the Hugging Face Hub: owner/name@revision, or a folder; “untrained:” "
            "before a name replaces its weights by random ones.", EVERY),
    Setting("models", (), "", "Two to six names of models, with commas between.", ("compare",),
            kind=list),
    Setting("others", (), "Compare with", "Names of models; several have commas between.",
            ("report",), kind=list),
    Setting("chunks", False, "Test chunks too",
            "Cut the texts to search into chunks, as on the page on chunks: measures each text "
            "several times.", ("compare",), kind=bool),
    Setting("corpus", "python-docs", "Corpus", _CORPUS, SAMPLES),
    Setting("corpora", (), "", f"{_CORPUS} Several times for several. By default python-docs.",
            ("compare",), kind=list),
    Setting("sample_size", 5000, "Sample size", "Sentences to draw, or all.", (*EVERY, OWN),
            ends=(2, 100_000_000), word=("all", "all")),
    Setting("length_cutoff", 80, "Token cutoff",
            "Only sentences with fewer tokens enter the answer.", (*SAMPLES, OWN),
            ends=(2, 100_000)),
    Setting("layer", None, "Layer", "After which the vector is taken; 0 is the embedding output.",
            SAMPLES, ends=(0, 999), word=("last", None)),
    Setting("pooling", "cls", "Vector",
            "[CLS], the mean over all tokens, the pooler’s output, or the vector of the model’s "
            "own pipeline.", SAMPLES, get_args(Pooling)),
    Setting("unit", "tokens", "Length in", "The cutoff is always in tokens.",
            (*SAMPLES, "search-test", OWN), get_args(Unit)),
    Setting("search_corpus", "python-api", "Texts to search",
            f"{_CORPUS} Titles search for their texts, else halves of texts for the other half.",
            (*SEARCHING, "probe"), of_search="corpus"),
    Setting("search_pooling", "pipeline", "Vector to search by",
            "That of the model’s own pipeline, with its prompts, is what people search by.",
            SEARCHING, get_args(Pooling), of_search="pooling"),
    Setting("similarity", "auto", "Similarity",
            "Dot product heeds norms, cosine does not; auto takes the one that the model names.",
            SEARCHED, get_args(Similarity)),
    Setting("query_prompt", None, "Prompt before queries",
            "By default the model’s own; none takes none.", SEARCHING, word=("none", ""),
            is_more=True, is_verbatim=True),
    Setting("text_prompt", None, "Prompt before texts",
            "By default the model’s own; none takes none.", (*SEARCHING, "probe"),
            word=("none", ""), is_more=True, is_verbatim=True),
    Setting("own_chunks", "", "Your chunks",
            "A file of the chunks that your splitter makes of these texts, one a row.",
            (*SEARCHES[1:], *SAMPLES[2:]), of_search="chunks", corpus="search_corpus"),
    Setting("seed", 0, "Seed", "Of the draw, and of random weights.", (*EVERY, OWN),
            ends=(0, 2**32 - 1), is_more=True),
    Setting("search_titles", "", "Column that searches",
            "Of a table; empty takes the likeliest, or none for chunks.", (*SEARCHED, "probe"),
            of_search="titles", corpus="search_corpus", is_more=True),
    Setting("search_column", "", "Column that is searched", _COLUMN, SEARCHED,
            of_search="column", corpus="search_corpus", is_more=True),
    Setting("search_encoding", "", "Encoding", _ENCODING, SEARCHED,
            of_search="encoding", corpus="search_corpus", is_more=True),
    Setting("search_language", "", "Language", _LANGUAGE, SEARCHES,
            of_search="language", corpus="search_corpus", is_more=True),
    Setting("precision", "exact", "Precision",
            "Exact is float32; fast is bfloat16, whose error is reported.", SAMPLES,
            get_args(Precision), is_more=True),
    Setting("segmentation", "auto", "Texts are cut into",
            "Sentences; or lines: each line of a text file, or row of a table, as it is; or "
            "paragraphs: lines up to an empty one. Auto takes what suits the texts.",
            (*SAMPLES, "search-test"), get_args(Segmentation), is_more=True),
    Setting("probe_size", 5000, "Vector sample",
            "Sentences, from the start of the sample, whose vectors are measured.", PROBED,
            ends=(2, 20_000), is_more=True),
    Setting("column", "", "Column", _COLUMN, SAMPLES, corpus="corpus", is_more=True),
    Setting("encoding", "", "Encoding", _ENCODING, SAMPLES, corpus="corpus", is_more=True),
    Setting("language", "", "Language", _LANGUAGE, SAMPLES, corpus="corpus", is_more=True),
    Setting("configuration", "", "Configuration", _PART, EVERY, corpus="corpus", is_more=True),
    Setting("split", "", "Split", _PART, EVERY, corpus="corpus", is_more=True),
    Setting("task", "", "", "What searches; by default what suits the corpus.", SEARCHES[:1],
            ("titles", "halves", "cloze")),
    Setting("searches", None, "",
            "A file of query and ids, or of query and text, maybe with score; or of qrels.",
            SEARCHES, kind=Path),
    Setting("queries", None, "", "A file of id and text, where the searches have ids of queries.",
            SEARCHES, kind=Path),
    Setting("vectors", None, "", "A file of own vectors, instead of model and corpus.",
            ("measure", "search-test"), kind=Path),
    Setting("query_vectors", None, "",
            "A file of own vectors of queries, with the ids of the right texts.", SEARCHES[:1],
            kind=Path),
    Setting("max_exposure", None, "",
            "Status 1 if a fifth’s exposure is significantly beyond this ratio.", SEARCHES[:1],
            ends=(1, 1000), kind=float),
    Setting("max_truncated", None, "",
            "Status 1 if the model reads more than this share of the texts only in part.",
            SEARCHES[:1], ends=(0, 1), kind=float),
    Setting("length_power", None, "",
            "Of tokens, by which scores are multiplied as another fix to try.", SEARCHES[:1],
            ends=(-2, 2), kind=float),
    Setting("chunk_tokens", None, "", "Tokens of the chunks of your pipeline.", SEARCHES[1:],
            ends=(1, 100_000), kind=int),
    Setting("max_lost", None, "",
            "Status 1 if these chunks, or your own, surely lose over this share of the sentences.",
            SEARCHES[1:], ends=(0, 1), kind=float),
    Setting("overlap", None, "",
            "Share of a chunk’s sentences that the next one repeats, to try it.", SEARCHES[1:],
            ends=(0.01, 0.9), kind=float),
    Setting("random_weights", False, "", "Compare with random weights, of three seeds.",
            ("probe",), kind=bool),
    Setting("encode", None, "", "module:function[:query_function]: a function from a list of texts "
            "to an array, in the place of the model.", (*PROBED, *SEARCHES)),
    Setting("name", "", "", "Of the function of encode: its vectors are stored under it.",
            (*PROBED, *SEARCHES)),
    Setting("recall", False, "", "Search by the vector after every layer, too.", ("probe",),
            kind=bool),
    Setting("ray", None, "",
            "Address of a Ray cluster that measures; local: one on this machine.", ("measure",)),
)
# fmt: on

SETTINGS: Final = {row.name: row for row in _ROWS}
"""The settings by name, in the order of their widgets."""

DEFAULTS: Final = {row.name: row.default for row in _ROWS}

NOT_SEARCHED: Final = ("search-test", "segmentation", "sentences")
"""The one value of a setting that a question does not heed, of one that it heeds."""

STANDS_FOR: Final = {"models": "model", "corpora": "corpus"}
"""Settings with several values, by the setting whose place they take."""


@dataclass(frozen=True)
class Experiment:
    """One question to one encoder. Every setting changes the result, or is refused.

    The settings down to `precision` decide what is measured; the others select from what was
    measured, and cost no model time. Raises SettingError where a value cannot be used.
    """

    model: str = DEFAULTS["model"]
    corpus: str = DEFAULTS["corpus"]
    configuration: str = DEFAULTS["configuration"]
    split: str = DEFAULTS["split"]
    column: str = DEFAULTS["column"]
    encoding: str = DEFAULTS["encoding"]
    language: str = DEFAULTS["language"]
    segmentation: Segmentation = DEFAULTS["segmentation"]
    sample_size: int | Literal["all"] = DEFAULTS["sample_size"]
    seed: int = DEFAULTS["seed"]
    precision: Precision = DEFAULTS["precision"]
    probe_size: int = DEFAULTS["probe_size"]
    length_cutoff: int = DEFAULTS["length_cutoff"]
    layer: int | None = DEFAULTS["layer"]
    pooling: Pooling = DEFAULTS["pooling"]
    unit: Unit = DEFAULTS["unit"]
    query_prompt: str | None = DEFAULTS["query_prompt"]
    text_prompt: str | None = DEFAULTS["text_prompt"]

    def __post_init__(self) -> None:
        for name in OF_EXPERIMENT:
            SETTINGS[name].check(getattr(self, name))

    @property
    def most_sentences(self) -> float:
        """The sample size as a number, infinite for “all”."""
        return float("inf") if self.sample_size == "all" else self.sample_size

    def to_query(self) -> dict[str, str]:
        """The settings that differ from the defaults: `Experiment.parse(e.to_query()) == e`."""
        values = {name: getattr(self, name) for name in OF_EXPERIMENT}
        changed = {name: value for name, value in values.items() if value != DEFAULTS[name]}
        return {name: SETTINGS[name].write(value) for name, value in changed.items()}

    @classmethod
    def parse(cls, settings: Mapping[str, str]) -> Self:
        """The experiment whose settings are written as text; raises SettingError."""
        return cls(**{name: setting_of(name).parse(text) for name, text in settings.items()})


OF_EXPERIMENT: Final = tuple(field.name for field in fields(Experiment))

Experiment.__doc__ = "\n".join(
    [cleandoc(f"{Experiment.__doc__}\n"), "", *(f"{n}: {SETTINGS[n].help}" for n in OF_EXPERIMENT)]
)


class Settings(TypedDict, total=False):
    """The settings besides model and corpus, as keywords; `Experiment` says what they mean."""

    configuration: str
    split: str
    column: str
    encoding: str
    language: str
    segmentation: Segmentation
    sample_size: int | Literal["all"] | None
    seed: int
    precision: Precision
    probe_size: int
    length_cutoff: int
    layer: int | None
    pooling: Pooling
    unit: Unit
    query_prompt: str | None
    text_prompt: str | None


@dataclass(frozen=True)
class SearchSettings:
    """The settings of a search test besides those of the experiment.

    searches, queries, vectors, query_vectors: files, or what is in memory.
    max_exposure: exposures surely beyond it, or below 1 / it, exceed it. max_truncated: share of
    texts that the model may read in part.
    Raises SettingError where a value cannot be used.
    """

    task: str = ""
    titles: str = ""
    searches: Any = None
    queries: Any = None
    vectors: Any = None
    query_vectors: Any = None
    similarity: Similarity = DEFAULTS["similarity"]
    max_exposure: float | None = None
    max_truncated: float | None = None
    length_power: float | None = None

    def __post_init__(self) -> None:
        _check_values(self)
        _check_pair(self, ("vectors", "query_vectors"), ": of the texts, and of the queries")
        if self.vectors is not None and (self.task or self.titles or self.searches is not None):
            reason = "Own vectors name the right texts by their ids."
            raise SettingError(reason, "Leave task, titles and searches out.")
        if self.vectors is not None and self.max_truncated is not None:
            reason = "Own vectors do not tell which texts were cut."
            raise SettingError(reason, "Leave max_truncated out.")


@dataclass(frozen=True)
class ChunkTestSettings:
    """The settings of a chunk test besides those of the experiment.

    titles, searches, queries: judged searches for whole texts. chunks: the name of a file of own
    ones, or “memory”.
    Raises SettingError where a value cannot be used.
    """

    titles: str = ""
    searches: Any = None
    queries: Any = None
    similarity: Similarity = DEFAULTS["similarity"]
    chunk_tokens: int | None = None
    max_lost: float | None = None
    chunks: str = ""
    overlap: float | None = None

    def __post_init__(self) -> None:
        _check_values(self)
        if self.max_lost is None or not self.chunks:
            _check_pair(self, ("chunk_tokens", "max_lost"))


def setting_of(name: str) -> Setting:
    """The row of a setting of an experiment; raises SettingError where there is none."""
    if name not in OF_EXPERIMENT:
        remedy = f"The settings are {', '.join(OF_EXPERIMENT)}."
        raise SettingError(f"There is no setting {quote(name)}.", remedy)
    return SETTINGS[name]


def settings_of(question: str) -> dict[str, Setting]:
    """The settings that a question heeds, by its keywords for them."""
    return {row.keyword(question): row for row in _ROWS if question in row.questions}


def heeded(question: str, experiment: Experiment) -> Experiment:
    """An experiment without what a question does not heed."""
    unheeded = set(OF_EXPERIMENT) - set(settings_of(question))
    return replace(experiment, **{name: DEFAULTS[name] for name in unheeded})


UNHEEDED: Final = {
    "measure": "{name} is {value:,}, and norms take the whole sample.",
    "search-test": "{name} is {quoted}; a search has whole texts and exact last vectors.",
    "chunk-test": "{name} is {quoted}; chunks have sentences and exact last vectors.",
    "prompt": "{name} is {quoted}, and this question has no prompts.",
    OWN: "{name} is {quoted}, which own vectors do not have.",
}
"""The reason why a question does not heed a setting."""


def refuse(
    question: str,
    experiment: Experiment,
    settings: SearchSettings | ChunkTestSettings | None = None,
    has_own_vectors: bool = False,
) -> None:
    """Raise SettingError where a setting is set that a question does not heed."""
    rows = settings_of(question)
    is_own = has_own_vectors or getattr(settings, "vectors", None) is not None
    for name in OF_EXPERIMENT:
        row, value, by = rows.get(name), getattr(experiment, name), question
        if row is not None and is_own and OWN not in row.questions:
            by = OWN
        elif row is None and SETTINGS[name].is_verbatim:
            by = "prompt"
        elif row is not None and (question, name, value) != NOT_SEARCHED:
            continue
        if value != (row or SETTINGS[name]).default:
            reason = UNHEEDED.get(by, UNHEEDED[OWN])
            texts = {"name": name, "value": value, "quoted": quote(value)}
            raise SettingError(reason.format(**texts), f"Leave {name} out.")
    size, most, n_probed = experiment.sample_size, experiment.most_sentences, experiment.probe_size
    if question == "probe" and most < n_probed != DEFAULTS["probe_size"]:
        reason = f"probe_size is {n_probed:,}, and sample_size only {size:,}."
        raise SettingError(reason, "Raise sample_size.")
    if question == "chunk-test" and most > MOST_CHUNKED:
        remedy = f"Choose at most {MOST_CHUNKED:,} sentences."
        raise SettingError(f"sample_size is {quote(size)}.", remedy)


def _check_values(settings: SearchSettings | ChunkTestSettings) -> None:
    """Raise SettingError where a similarity, or a number, cannot be used."""
    SETTINGS["similarity"].check(settings.similarity)
    if settings.queries is not None and settings.searches is None:
        raise SettingError("There are queries, and no searches.", "Give both.")
    for field in fields(settings):
        row, value = SETTINGS.get(field.name), getattr(settings, field.name)
        if row and row.ends and value is not None:
            (low, high), is_number = row.ends, isinstance(value, int | float)
            if not is_number or not low <= value <= high:
                written = f"{value:g}" if is_number else quote(value)
                remedy = f"Choose a number from {low} to {high}."
                raise SettingError(f"{row.name} is {written}.", remedy)


def _check_pair(
    settings: SearchSettings | ChunkTestSettings, names: tuple[str, str], of: str = ""
) -> None:
    """Raise SettingError where only one of two settings is set."""
    if sum(getattr(settings, name) is None for name in names) == 1:
        raise SettingError(f"Only one of {' and '.join(names)} is given.", f"Give both{of}.")
