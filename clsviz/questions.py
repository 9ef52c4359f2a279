"""The table of questions: pages and commands come from it."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from clsviz.settings import DEFAULTS, OF_EXPERIMENT

DEFAULT_CHUNKED: Final = 2400
"""Sentences of a chunk test, by default."""

NO_DEFAULTS: Final[Mapping[str, Any]] = {}

SEARCHED: Final = {"corpus": DEFAULTS["search_corpus"], "pooling": DEFAULTS["search_pooling"]}

SEARCH: Final = (
    *("model", "seed", "search_corpus", "search_pooling", "similarity"),
    *("search_titles", "search_column", "search_encoding", "search_language"),
    *("query_prompt", "text_prompt"),
)

SENTENCES: Final = tuple(name for name in OF_EXPERIMENT if not name.endswith("_prompt"))

NORM: Final = tuple(name for name in SENTENCES if name != "probe_size")

MODELS: Final = (*OF_EXPERIMENT, "others", "search_corpus", "search_pooling")


PRODUCT: Final = "clsviz measures what an encoder does with the length of a text."
STUDY, USE = "I study encoders", "I search with embeddings"
"""Groups of the menu, by the visitors whom they are for."""


class Question(NamedTuple):
    """A row of the table.

    path: of its page, whose script has this name; "" without one. title: in the menu. question: in
    full, of whatever model. icon: by Material's name. settings: those that the page has, and that
    the command takes from a link.
    command, function: of the terminal and of `api`; "" without one.
    defaults: of settings whose defaults are others than those of `Experiment`.
    next: the question that leads on. old_path: of the page, in links. group: of the menu.
    """

    path: str
    title: str
    question: str
    icon: str
    settings: tuple[str, ...]
    command: str = ""
    function: str = ""
    defaults: Mapping[str, Any] = NO_DEFAULTS
    next: str = ""
    old_path: str = ""
    group: str = STUDY


# fmt: off
QUESTIONS: Final = (
    Question("norm_vs_length", "Norm vs length",
             "Does the model encode a sentence’s length in the norm of its [CLS]?", "scatter_plot",
             NORM, "measure", "measure", next="Then where is it?"),
    Question("where_length_lives", "Where length lives", "Where can length be read from?",
             "layers", (*SENTENCES, "text_prompt", "search_corpus", "search_titles"), "probe",
             "probe", next="Does it matter?"),
    Question("search", "Does length bend my search?",
             "Are texts of some lengths found more often than they are right?", "search", SEARCH,
             "search-test", "search_test", {**SEARCHED, "sample_size": "all"},
             "How long may a text be?", group=USE),
    Question("chunks", "How long may a chunk be?",
             "Up to which length does a chunk keep its sentences findable?", "content_cut",
             (*SEARCH, "own_chunks"),
             "chunk-test", "chunk_test", {**SEARCHED, "sample_size": DEFAULT_CHUNKED},
             "Is another model better?", "pieces", USE),
    Question("compare", "Compare models", "Which model does what?", "compare_arrows",
             (*MODELS, "chunks"), "compare", "compare", next="And your sentence?", group=USE),
    Question("sentence", "Try a sentence", "What does the model make of your sentence?", "edit",
             SENTENCES, next="How does it do that?"),
    Question("model", "Inside the model", "What happens to [CLS] on its way?", "schema",
             SENTENCES),
    Question("", "", "", "", (*MODELS, *SEARCH, "own_chunks"), "report", "report"),
)
# fmt: on
"""In the order in which they lead to each other; the page of the first is also at /."""

PAGES: Final = {question.path: question for question in QUESTIONS if question.path}

FIRST_PAGE: Final = next(iter(PAGES))

COMMANDS: Final = {question.command: question for question in QUESTIONS if question.command}
