"""Measure norms: the main question."""

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import jinja2

from clsviz import analysis, export, words
from clsviz.api.inputs import (
    DEFAULT_CORPUS,
    Bar,
    Corpus,
    Given,
    Settings,
    ViewSettings,
    extract,
    open_store,
    question,
    read_corpus,
    results_of,
    spelled_out,
    with_view,
)
from clsviz.errors import UndefinedFitError
from clsviz.experiment import Experiment
from clsviz.jobs import Found, kind_of_norms
from clsviz.store.results import ResultCache

if TYPE_CHECKING:
    import pandas as pd

    from clsviz.figures import Figure
    from clsviz.statistics.line import Fit
    from clsviz.statistics.means import Averaging
    from clsviz.statistics.shape import Shape


_HTML = jinja2.Environment(autoescape=True)

_RESULT = _HTML.from_string("""\
<div>
<p><strong>{{ question }}</strong></p>
<p>{{ answer }}</p>
{{ table | safe }}
<details>
<summary>How it was measured</summary>
{{ settings | safe }}
</details>
</div>""")

_NUMBERS = _HTML.from_string("""\
<table>
{% for name, value in numbers.items() %}
<tr><th scope="row" style="text-align: left">{{ name }}</th><td style="text-align: left">{{ value }}</td></tr>
{% endfor %}
</table>""")


def numbers_table(numbers: Mapping[str, str]) -> str:
    """Names and values as an HTML table, escaped."""
    return _NUMBERS.render(numbers=numbers)


def to_html(question: str, answer: str, table: str, settings: Mapping[str, str]) -> str:
    """A result as a piece of HTML: everything is escaped but `table`, which is markup already."""
    return _RESULT.render(question=question, answer=answer, table=table, settings=numbers_table(settings))


@dataclass(frozen=True, eq=False, repr=False)
class NormResult:
    """The norms of one model on one sample, as `measure` returns them. A notebook shows the answer and its numbers.

    experiment: what was asked, with its view: the length cutoff, layer and pooling that the answer is about.
    found: the sentences, `found.sentences`, and their measurements, `found.measurements`.
    kept: where results are looked for before they are computed.
    given: the corpus as it was given; of texts in memory it has their index.

    The methods that take a view use that of the experiment unless told otherwise, by the keywords length_cutoff (only
    sentences of fewer tokens are used), layer (0 is the embedding output, None the last), pooling (“cls” or “pooler”;
    “mean” or “max” where one of these was measured), unit (“tokens”, “words” or “characters”) and lengths (“true”, or
    “shuffled” as a control). None of them runs the model again.

    >>> import clsviz
    >>> result = clsviz.measure("minilm", "python-docs", n=300)
    >>> len(result)
    300
    >>> result.fit(layer=1).norm_sd < result.fit(layer=6).norm_sd
    True
    """

    experiment: Experiment
    found: Found
    kept: ResultCache | None = None
    given: Given | None = None

    def __len__(self) -> int:
        return len(self.found.measurements)

    def __repr__(self) -> str:
        return f"NormResult({self.experiment.model} on {self.found.corpus.label}: {self.answer})"

    def _repr_html_(self) -> str:
        flat = analysis.flat(self._shown, self.experiment.view)
        return to_html(
            words.question(self.experiment),
            self.answer,
            numbers_table(words.key_numbers(self._shown, self.experiment.unit, flat, self._shape)),
            words.settings(self.experiment, self.found, self._shown),
        )

    @functools.cached_property
    def _shown(self) -> analysis.ViewData:
        return analysis.select(self.found, self.experiment.view, cache=self.kept)

    @functools.cached_property
    def _shape(self) -> "Shape | None":
        """What the answer needs of what a straight line leaves out; None where it cannot be said."""
        return analysis.first_shape(self.found, self.experiment.view, self._shown, self.kept)

    @property
    def answer(self) -> str:
        """What the numbers say, in a few sentences."""
        return words.result(self._shown, self.experiment, self.found.n_measured, self._shape)

    @property
    def in_numbers(self) -> str:
        """What the line, the curve and the spread are, and of how many sentences, on one line."""
        return words.in_numbers(self._shown, self.experiment, self.found.n_measured, self._shape)

    @property
    def notes(self) -> list[str]:
        """What else to know, such as that the corpus has fewer sentences than were asked for."""
        return [*words.notes(self.experiment, self.found), *(self.given.notes if self.given else ())]

    def table(self) -> "pd.DataFrame":
        """One row per measured sentence, whatever the view.

        The rows of texts in memory are in the order and have the index in which they were given, those of any other
        corpus are in the order of the sample.

        Columns: sentence; n_tokens (int32, without [CLS] and [SEP], before truncation); truncated (bool); cls_0 to
        cls_L (float32, L2 norm of [CLS] after each layer); mean_0 to mean_L and max_0 to max_L, where the pooling that
        was measured is one of these; pooler (float32), where the model has one.

        >>> import clsviz
        >>> clsviz.measure("minilm", "python-docs", n=300).table().shape
        (300, 11)
        """
        table = export.table(self.found.sentences, self.found.measurements)
        return self.given.arranged(table, self.experiment) if self.given else table

    def fit(self, **view: Unpack[ViewSettings]) -> "Fit":
        """The regression line of norm on length, with 95% intervals; takes a view.

        Of a whole corpus of more sentences than can be drawn, it is that of all of them: no sentence was left to
        chance, and its intervals are those of a sample of that size.
        Raises UndefinedFitError where the sentences determine no line, with the reason, and SettingError where the
        model has no such layer or pooling.

        >>> import clsviz
        >>> result = clsviz.measure("minilm", "python-docs", n=300)
        >>> line = result.fit(length_cutoff=40, layer=3)
        >>> line.n == sum(result.table()["n_tokens"] < 40)
        True
        """
        return fit_of(self.found, with_view(self.experiment, view))

    def averaging(self) -> "Averaging | None":
        """What averaging has to do with the norm of the mean after the last layer; None unless that was measured.

        Of the sentences under the length cutoff, with lengths in tokens: the squared norm of a mean of m vectors is
        A / m + (1 − 1/m) C, and `accounted_for` and `on_averaging` say how far that goes with A and C the same for all.

        >>> import clsviz
        >>> result = clsviz.measure("untrained:minilm", "python-docs", n=300, pooling="mean")
        >>> result.averaging().accounted_for > 0.5
        True
        """
        return analysis.averaging(self.found, self.experiment.view)

    def plot(self, **view: Unpack[ViewSettings]) -> "Figure":
        """The picture of the main page, a plotly Figure: norm against length, the line and the medians; takes a view.

        Of 100,000 sentences or more it shows the density, and 5,000 of them as points; the line is always that of all.
        Raises SettingError as `fit` does.

        >>> import clsviz
        >>> clsviz.measure("minilm", "python-docs", n=300).plot(unit="words").layout.xaxis.title.text
        'Sentence length (in words)'
        """
        experiment = with_view(self.experiment, view)
        figure = export.picture(experiment, self.found, analysis.select(self.found, experiment.view))
        return figure.update_layout(template="plotly_white", height=500)

    def summary(self) -> dict[str, object]:
        """Numbers, settings and fingerprints, ready for JSON: the keys of `clsviz measure --json`."""
        return {
            **export.summary(self.experiment, self.found, self._shown),
            **export.shape(self.found, self._shown, self.experiment.view),
        }


@spelled_out
def measure(
    model: str | Experiment = "minilm",
    corpus: Corpus = DEFAULT_CORPUS,
    *,
    text: str = "",
    n: int | None = None,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **settings: Unpack[Settings],
) -> NormResult:
    """Measure the norm of [CLS] of a sample of sentences, after every layer, and regress it on their length.

    What was measured before comes from the store; a larger n measures only what is new.

    model: a name of the catalogue, an id of the Hugging Face Hub with or without @REVISION, or a folder; “untrained:”
        before it gives it random weights. Or a whole Experiment, such as `Experiment.from_query` makes of a link.
    corpus: a name of the catalogue, a dataset of the Hub, the path of a text, CSV, JSON lines or Parquet file, or the
        texts themselves: a list of strings, a pandas Series or DataFrame, a datasets.Dataset or a column of it.
    text: the column of a DataFrame or Dataset that holds the texts. In memory each text is one sentence, however long.
    n: how many sentences to draw, 1 to 1,000,000; a corpus with fewer gives all it has. By default all texts in
        memory, and 5,000 sentences of any other corpus.
    seed: of the draw; the sample of a larger n begins with that of a smaller one.
    store: where measurements are kept: a folder, or a URL such as s3://bucket/folder; by default where CLSVIZ_STORE
        says, else in the user's cache.
    progress: whether to show a bar on stderr; by default on terminals and in notebooks.
    settings: the other fields of Experiment: those of the view (length_cutoff, layer, pooling, unit, lengths,
        near_duplicates), of the corpus (configuration, split, column, segmentation, reading), and precision (“exact”
        or “fast”).

    Raises SettingError where an argument is out of range, ModelError or CorpusError where the model or the corpus
    cannot be found, fetched or used, and StoreError where the store cannot be written; all are ClsvizError.

    >>> import clsviz
    >>> result = clsviz.measure("minilm", "python-docs", n=300, length_cutoff=60)
    >>> print(result.answer)
    Hardly: ...
    >>> result.fit().r_squared < 0.2
    True

    Sentences of one's own, and a control with random weights:

    >>> sentences = ["A cat.", "The dog sat on the mat.", "Then, at last, the big red dog ran home."]
    >>> clsviz.measure("untrained:minilm", sentences).table()["n_tokens"].tolist()
    [3, 7, 12]
    """
    opened = open_store(store)
    given = read_corpus(corpus, opened, text)
    experiment = question(model, given, n, seed, settings)
    with Bar(progress) as bar:
        _, found = extract(experiment, kind_of_norms(experiment), opened, bar)
    return NormResult(experiment, found, results_of(opened), given)


def fit_of(found: Found, experiment: Experiment) -> "Fit":
    """The line of the experiment's view; raises UndefinedFitError with the reason where there is none."""
    shown = analysis.select(found, experiment.view)
    if shown.fit is None:
        raise UndefinedFitError(shown.problem)
    return shown.fit
