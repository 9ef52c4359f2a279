"""Compare models: search, probe and norm of several models on the same sentences."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from clsviz.encoder import pipeline
from clsviz.errors import SettingError, Undefined
from clsviz.experiment import Experiment, Pooling
from clsviz.jobs.jobs import Job, Steps
from clsviz.jobs.measure import Measured, Prepared, measure
from clsviz.jobs.search import Rankings, key_of, run
from clsviz.jobs.worker import Runner
from clsviz.measurements import Kind, Vectors
from clsviz.results import provenance
from clsviz.results.norms import check_precision, clusters_of, layer_of
from clsviz.results.numbers import counted, length, percent
from clsviz.results.result import Fact, Result, first
from clsviz.results.select import POOLINGS, select
from clsviz.sources.searches import Searches
from clsviz.statistics import exposure, paired, ridge
from clsviz.statistics import line as lines
from clsviz.statistics.bootstrap import folds
from clsviz.statistics.exposure import Outcome, Ranking
from clsviz.statistics.jackknife import Floats, check_different, clusterings
from clsviz.statistics.paired import Lead
from clsviz.statistics.ranking import Relevance
from clsviz.store.chunks import Chunks
from clsviz.store.results import Results

if TYPE_CHECKING:
    import pandas as pd

VERSION: Final = 2
"""Changes when a number is computed in another way."""

MOST_MODELS: Final = 6

QUESTION: Final = "Which model does what?"

SEARCH_CORPUS: Final = "python-api"
SEARCH_POOLING: Final[Pooling] = "mean"
"""Of the search, where no other is chosen."""

EQUAL: Final = 0.05
"""Models whose recall surely differs by less find the right text about equally often."""

VIEW: Final = ("seed", "precision", "length_cutoff", "unit", "pooling")
"""Settings that a row of the table has."""

SEARCH: Final = (
    *("recall_at_10", "recall_at_10_low", "recall_at_10_high", "ndcg_at_10"),
    *("exposure_shortest", "exposure_shortest_low", "exposure_shortest_high"),
    *("exposure_longest", "exposure_longest_low", "exposure_longest_high"),
)
"""Columns of the table: of a search, its recall and the exposure of two fifths of the texts."""

COLUMNS: Final = (
    *("last_probe_error", "last_probe_error_low", "last_probe_error_high", "last_probe_r_squared"),
    *("probe_r_squared", "probe_layer", "guess_error"),
    *("r_squared", "r_squared_low", "r_squared_high", "slope", "slope_low", "slope_high"),
    *("intercept", "norm_mean", "norm_sd", "n_layers", "mean_tokens"),
)
"""Columns of the table: of held-out lengths by probes of [CLS] after the last layer and after the
best one, of guessing, and of the line of the norm on length."""

Numbers = dict[str, float]

Stores = tuple[Chunks, Runner, Results]
"""Where vectors are, what measures those that are missing, and where numbers are."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Numbers of models on the n_used of n sentences that all of them read as a whole.

    models: of each, the numbers of COLUMNS; NaN where undefined.
    problems: why a model has no line, or "". remedy: of the first problem.
    error_margin, r_squared_margin: two models that differ by more differ beyond chance; errors
    are shares of those of guessing.
    n_long, n_truncated: sentences over the cutoff by a model, and others that a model does not read
    as a whole.
    is_equal_length: True if all models give every sentence the same length.
    """

    models: tuple[Numbers, ...]
    problems: tuple[str, ...]
    remedy: str
    error_margin: float
    r_squared_margin: float
    n: int
    n_used: int
    n_long: int
    n_truncated: int
    is_equal_length: bool


@dataclass(frozen=True, eq=False)
class Searched:
    """The same searches by several models, by cosine.

    rankings: of each model. margin: two whose recall differs by more differ beyond chance.
    chance: the recall of texts drawn at random. truncated: of each model, the share of the texts of
    which it reads only the beginning.
    """

    searches: Searches
    rankings: tuple[Ranking, ...]
    margin: float
    chance: float
    truncated: tuple[float, ...]

    @property
    def is_near_chance(self) -> bool:
        """True if no model finds the right text clearly more often than by chance."""
        return all(ranking.recall_interval[0] <= self.chance for ranking in self.rankings)


@dataclass(frozen=True, eq=False)
class Part:
    """One model on the sentences that all read: lengths and norms, float64 (n_used,).

    last_errors: of the probe after the last layer, as shares of that of guessing; NaN where it is
    undefined. problem, remedy: why there is no line, or "".
    """

    lengths: Floats
    norms: Floats
    last_errors: Floats
    numbers: Numbers
    problem: str
    remedy: str


def check(models: Sequence[str]) -> None:
    """Raise SettingError where these are not two to six different models."""
    if not 2 <= len(set(models)) == len(models) <= MOST_MODELS:
        reason = f"models is {', '.join(models) or 'empty'}."
        raise SettingError(reason, f"Name two to {MOST_MODELS} different models.")


def searching_of(experiment: Experiment, corpus: str, pooling: Pooling) -> Experiment | None:
    """The settings of the search in a corpus; None where there is none."""
    if not corpus:
        return None
    model, seed = experiment.model, experiment.seed
    return Experiment(model=model, seed=seed, corpus=corpus, sample_size="all", pooling=pooling)


def find(prepared: Sequence[Prepared], experiment: Experiment, store: Results) -> Comparison | None:
    """The stored numbers of a comparison, for which nothing need be measured; None if missing."""
    return store.find(_key(prepared, experiment), Comparison)


def measure_all(
    job: Job[float],
    prepared: Sequence[Prepared],
    experiment: Experiment,
    searching: Experiment | None,
    searches: Searches | None,
    stores: Stores,
) -> Steps:
    """Store all vectors that a comparison takes; the result is the seconds that measuring took."""
    tasks: list[tuple[Prepared, Experiment, Kind]] = []
    if find(prepared, experiment, stores[2]) is None:
        tasks += [(one, experiment, "vectors") for one in prepared]
    for one in prepared:
        if searches is None or searching is None:
            continue
        key = key_of(searches, one.weights.fingerprint, searching, None)
        if stores[2].find(key, Rankings) is None:
            tasks += [(Prepared(one.weights, part), searching, "last") for part in searches.samples]
    sizes = [
        min(len(one.sample), view.probe_size) if kind == "vectors" else len(one.sample)
        for one, view, kind in tasks
    ]
    done, seconds = 0, 0.0
    for (one, view, kind), size in zip(tasks, sizes, strict=True):
        job.model = one.weights.fingerprint
        part: Job[Measured] = Job()
        for _ in measure(part, one, view, kind, *stores[:2]):
            job.show(done + part.done, sum(sizes), "sentences")
            yield
        done += size
        seconds += part.result.seconds if part.result else 0.0
    job.result = seconds


def answer(
    job: Job[Result],
    prepared: Sequence[Prepared],
    experiment: Experiment,
    searching: Experiment | None,
    searches: Searches | str,
    seconds: float,
    stores: Stores,
) -> Steps:
    """Compare models, whose vectors are stored.

    searching: the settings of the search, None for none. searches: those, or why there are none.
    Raises SettingError where a model lacks the layer or the vector.
    """
    numbers = find(prepared, experiment, stores[2])
    if numbers is None:
        computing: Job[Comparison] = Job()
        for _ in compute(computing, prepared, experiment, stores):
            job.show(computing.done, computing.total, computing.unit)
            yield
        numbers = computing.result
        assert numbers is not None  # it has taken its last step
    searched: Searched | str = searches if isinstance(searches, str) else ""
    if isinstance(searches, Searches) and searching:
        rankings = []
        try:
            for one in prepared:
                ranking: Job[Rankings] = Job()
                yield from run(ranking, searches, one.weights, searching, None, *stores)
                assert ranking.result is not None  # it has taken its last step
                rankings.append(ranking.result)
            searched = search(searches, rankings, searching.seed)
        except Undefined as error:
            searched = str(error)
    job.result = comparison(prepared, numbers, experiment, searching, searched, seconds)


def compute(
    job: Job[Comparison], prepared: Sequence[Prepared], experiment: Experiment, stores: Stores
) -> Steps:
    """Compare models on the sentences that all of them read, and store the numbers.

    The vectors of one model at a time are read from the store, or measured.
    """
    tables = [select(_measured(one, experiment, stores), experiment) for one in prepared]
    is_long = np.any([table["n_tokens"] >= experiment.length_cutoff for table in tables], axis=0)
    is_cut = np.any([table["truncated"] for table in tables], axis=0)
    rows = np.flatnonzero(~is_long & ~is_cut)
    clusters = clusters_of(_measured(prepared[0], experiment, stores), stores[2])[rows]
    groups = tables[0]["row_group"].to_numpy()[rows] if "row_group" in tables[0] else None
    parts: list[Part] = []
    for number, (one, table) in enumerate(zip(prepared, tables, strict=True)):
        vectors = _measured(one, experiment, stores)
        lengths = table["length"].to_numpy(np.float64)[rows]
        errors: list[Floats] = []
        for layer in range(vectors.norms.n_layers + 1):
            job.show(number, len(prepared), "models")
            yield
            errors.append(_errors(vectors, layer, rows, lengths, clusters))
        parts.append(_part(vectors, experiment, table.iloc[rows], errors, clusters, groups))
    groupings = clusterings(clusters, groups)
    probed = [part for part in parts if np.isfinite(part.last_errors).all()]
    intervals, error_margin = paired.means([part.last_errors for part in probed], groupings)
    for part, ends in zip(probed, intervals, strict=True):
        low, high = (end * part.numbers["guess_error"] for end in ends)
        part.numbers.update(last_probe_error_low=low, last_probe_error_high=high)
    has_line = [(part.lengths, part.norms) for part in parts if not part.problem]
    computed = Comparison(
        models=tuple(part.numbers for part in parts),
        problems=tuple(part.problem for part in parts),
        remedy=next((part.remedy for part in parts if part.remedy), ""),
        error_margin=error_margin,
        r_squared_margin=paired.line_margin(has_line, groupings),
        n=len(is_long),
        n_used=len(rows),
        n_long=int(is_long.sum()),
        n_truncated=int((is_cut & ~is_long).sum()),
        is_equal_length=all(np.array_equal(part.lengths, parts[0].lengths) for part in parts),
    )
    job.result = stores[2].get(_key(prepared, experiment), Comparison, lambda: computed)


def search(searches: Searches, rankings: Sequence[Rankings], seed: int) -> Searched:
    """Recall and exposure by each model."""
    relevance = Relevance.of(searches.right, searches.texts.table.num_rows)
    samples = exposure.draws(relevance.n_searches, seed)
    recalls, summaries = [], []
    for one in rankings:
        tens, fifths = one.tens[one.names.index("cosine")], exposure.fifths_of(one.n_tokens)
        outcome = Outcome.of(tens, relevance, fifths)
        chance = exposure.shuffled(tens, relevance, fifths, seed)
        columns = relevance, one.n_tokens, fifths, samples, chance
        recalls.append(outcome.recall)
        summaries.append(exposure.summarize(outcome, *columns))
    draws = np.stack(recalls) @ samples.T / relevance.n_searches
    truncated = tuple(float(one.truncated.mean()) for one in rankings)
    return Searched(searches, tuple(summaries), paired.margin(draws), relevance.chance, truncated)


def comparison(
    prepared: Sequence[Prepared],
    numbers: Comparison,
    experiment: Experiment,
    searching: Experiment | None = None,
    searched: Searched | str = "",
    seconds: float = 0.0,
) -> Result:
    """The answer of stored or computed numbers.

    searching: the settings of the search, None for none. searched: its numbers, or why there are
    none. seconds: that measuring took.
    """
    tested = searched if isinstance(searched, Searched) else None
    table = _table(prepared, numbers, experiment, tested)
    verdict = verdict_of(table, numbers, tested is not None and not tested.is_near_chance)
    names = [one.weights.name for one in prepared]
    return Result(
        kind="models",
        question=QUESTION,
        verdict=verdict,
        advice=numbers.remedy if verdict.startswith("Can’t") else "",
        facts=_facts(table, numbers, tested),
        details={"models": [_folded(row) for row in table.to_dict("records")]},
        caveats=_caveats(prepared, table, numbers, experiment, searching, searched),
        table=table,
        about={**provenance.source(prepared[0], experiment), "seconds": round(seconds, 3)},
        command=_command(names, experiment, [experiment.corpus], searching),
    )


def joined(
    results: Sequence[Result],
    corpora: Sequence[str],
    experiment: Experiment,
    searching: Experiment | None,
) -> Result:
    """The answers on several corpora as one, whose table has a row for each model and corpus."""
    import pandas as pd

    table = pd.concat([result.table for result in results], ignore_index=True)
    labels = [result.table["corpus"].iloc[0] for result in results]
    is_same = len({result.verdict for result in results}) == 1
    verdicts = [f"{label}: {one.verdict}" for label, one in zip(labels, results, strict=True)]
    caveats = dict.fromkeys(caveat for result in results for caveat in result.caveats)
    return replace(
        results[0],
        verdict=results[0].verdict if is_same else "It depends on the corpus.",
        facts=(Fact("n_corpora", "corpora", len(results), form="count"),),
        details={"models": [model for result in results for model in result.details["models"]]},
        caveats=(*([] if is_same else verdicts), *caveats),
        table=table,
        about={**results[0].about, "seconds": sum(result.about["seconds"] for result in results)},
        command=_command(list(results[0].table["model"]), experiment, corpora, searching),
    )


def verdict_of(table: "pd.DataFrame", numbers: Comparison, is_searched: bool) -> str:
    """The answer in a sentence: of the search, if there is one, or of probes, or else of norms."""
    recall, probe, norm = _leads(table, numbers)
    labels, errors, unit = list(table["label"]), table["last_probe_error"], table["unit"].iloc[0]
    a, b = labels[recall.most], labels[recall.least]
    near, far = probe.least, probe.most  # the smaller error gives more away
    misses = f"{length(errors[near], unit)} against {length(errors[far], unit).split()[0]}"
    both = " and ".join(labels) if len(labels) == 2 else f"All {len(labels)} models"
    more = f"more of {labels[norm.most]}’s norms than of {labels[norm.least]}’s"
    found, r2s = (
        _against(table[name], lead)
        for name, lead in (("recall_at_10", recall), ("r_squared", norm))
    )
    is_undefined = bool(table[["last_probe_error", "r_squared"]].isna().all(axis=None))
    problem = next(filter(None, numbers.problems), "")
    verdict = first(
        (is_searched and recall.is_sure, f"{a} finds the right text more often than {b}: {found}."),
        (
            is_searched and recall.interval[1] < EQUAL,
            f"{both} find the right text about equally often.",
        ),
        (is_searched, f"Too close to call: too few searches to tell {a} from {b}."),
        (
            probe.is_sure and bool(errors[near] < errors[far]),
            f"{labels[near]} gives length away more than {labels[far]}:"
            f" a probe misses by {misses}.",
        ),
        (norm.is_sure, f"A line accounts for {more}: {r2s}."),
        (is_undefined, f"Can’t compare: {problem[:1].lower()}{problem[1:]}"),
        (True, "Too close to call."),
    )
    return f"U{verdict[1:]}" if verdict.startswith("untrained ") else verdict


def _leads(table: "pd.DataFrame", numbers: Comparison) -> tuple[Lead, Lead, Lead]:
    """Of recall, of the last probe's error as a share of that of guessing, and of the line's R²."""
    return (
        Lead.of(table["recall_at_10"], table["recall_margin"].iloc[0]),
        Lead.of(table["last_probe_error"] / table["guess_error"], numbers.error_margin),
        Lead.of(table["r_squared"], numbers.r_squared_margin),
    )


def _against(shares: "pd.Series[float]", lead: Lead) -> str:
    """Two shares that differ, also as they are written."""
    high, low = shares[lead.most], shares[lead.least]
    if percent(high) == percent(low):
        return f"{100 * high:.2f}% against {100 * low:.2f}%"
    return f"{percent(high)} against {percent(low)}"


def _key(prepared: Sequence[Prepared], experiment: Experiment) -> tuple[object, ...]:
    sample = prepared[0].sample
    n = min(len(sample), experiment.probe_size)
    models = [one.weights.fingerprint for one in prepared]
    source = experiment.precision, sample.corpus.fingerprint, sample.seed, n
    view = experiment.length_cutoff, experiment.layer, experiment.pooling, experiment.unit
    return "compare", VERSION, models, *source, *view


def _measured(prepared: Prepared, experiment: Experiment, stores: Stores) -> Measured:
    """The vectors of a model, and its norms."""
    job: Job[Measured] = Job()
    for _ in measure(job, prepared, experiment, "vectors", *stores[:2]):
        pass
    assert job.result is not None  # it has taken its last step
    return job.result


def _errors(
    measured: Measured,
    layer: int,
    rows: NDArray[np.intp],
    lengths: Floats,
    clusters: NDArray[np.intp],
) -> Floats:
    """Errors of held-out lengths by probes of [CLS], float64 (n_used,); NaN where undefined."""
    assert isinstance(measured.norms, Vectors)
    try:
        check_different(clusters)
        vectors = measured.norms.of("cls", layer)[rows]
        predictions = ridge.predict(vectors, lengths[:, None], folds(clusters))
    except Undefined:
        return np.full(len(lengths), np.nan)
    return np.asarray(predictions[:, 0] - lengths)


def _part(
    measured: Measured,
    experiment: Experiment,
    used: "pd.DataFrame",
    errors: Sequence[Floats],
    clusters: NDArray[np.intp],
    groups: NDArray[Any] | None,
) -> Part:
    """The numbers of one model; errors: a row for each layer."""
    lengths, norms = (used[name].to_numpy(np.float64) for name in ("length", "norm"))
    numbers: Numbers = dict.fromkeys(COLUMNS, np.nan)
    numbers.update(n_layers=len(errors) - 1, mean_tokens=float(used["n_tokens"].mean()))
    squares = np.array([(row**2).sum() for row in errors])
    last = np.full(len(lengths), np.nan)
    if np.isfinite(squares).any():
        guess = float(abs(lengths - ridge.guess(lengths, folds(clusters))).mean())
        r2s = 1 - squares / ((lengths - lengths.mean()) ** 2).sum()
        last = abs(errors[-1])
        numbers.update(
            last_probe_error=float(last.mean()),
            last_probe_r_squared=float(r2s[-1]),
            probe_r_squared=float(np.nanmax(r2s)),
            probe_layer=int(np.nanargmax(r2s)),
            guess_error=guess,
        )
        last = last / guess
    try:
        check_different(clusters)
        check_precision(measured, layer_of(measured, experiment), norms)
        line = lines.fit(lengths, norms, clusters, groups)
    except Undefined as error:
        return Part(lengths, norms, last, numbers, error.reason, error.remedy)
    ends = *line.r2_interval, *line.slope_interval
    names = ("r_squared_low", "r_squared_high", "slope_low", "slope_high")
    numbers.update(r_squared=line.r2, slope=line.slope, **dict(zip(names, ends, strict=True)))
    numbers.update(intercept=line.intercept, norm_mean=line.norm_mean, norm_sd=line.norm_sd)
    return Part(lengths, norms, last, numbers, "", "")


def _table(
    prepared: Sequence[Prepared],
    numbers: Comparison,
    experiment: Experiment,
    searched: Searched | None,
) -> "pd.DataFrame":
    """A row for each model, for a paper; NaN where undefined.

    Columns: model, label, corpus, n_used; recall, nDCG and exposure of the search; COLUMNS; …_low
    and …_high are 95% intervals, and …_margin a difference beyond which two models of a corpus
    differ; then settings, revisions, fingerprints and versions.
    """
    import pandas as pd

    counts = Counter(one.weights.label for one in prepared)
    searches = searched.searches if searched else None
    rows = []
    for place, one in enumerate(prepared):
        weights, corpus, of_model = one.weights, one.sample.corpus, numbers.models[place]
        row = {
            "model": weights.name,
            "label": weights.label if counts[weights.label] == 1 else weights.name,
            "corpus": corpus.label,
            "n_used": numbers.n_used,
            **_search_numbers(searched.rankings[place] if searched else None),
            "recall_margin": searched.margin if searched else np.nan,
            "n_searches": len(searches.right) if searches else 0,
            **of_model,
            "last_probe_error_margin": numbers.error_margin * of_model["guess_error"],
            "r_squared_margin": numbers.r_squared_margin,
            **{name: getattr(experiment, name) for name in VIEW},
            "layer": of_model["n_layers"] if experiment.layer is None else experiment.layer,
            "model_revision": weights.revision,
            "model_fingerprint": weights.fingerprint,
            "corpus_revision": corpus.reading.revision,
            "corpus_fingerprint": corpus.fingerprint,
            "search_corpus": searches.texts.label if searches else "",
            "search_fingerprint": searches.fingerprint if searches else "",
            **{f"version_{name}": number for name, number in provenance.versions().items()},
        }
        rows.append(row)
    return pd.DataFrame(rows).astype({"probe_layer": "Int64", "n_layers": "int64"})


def _search_numbers(ranking: Ranking | None) -> Numbers:
    """The columns of a search; NaN where a model was not tested, or they are undefined."""
    if ranking is None:
        return dict.fromkeys(SEARCH, np.nan)
    ends = ranking.fifths[0], ranking.fifths[-1]
    exposures = [(fifth.exposure, *(fifth.interval or (None, None))) for fifth in ends]
    numbers = ranking.recall, *ranking.recall_interval, ranking.ndcg, *exposures[0], *exposures[1]
    return dict(zip(SEARCH, np.array(numbers, np.float64).tolist(), strict=True))


def _folded(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A row of the table as JSON has it: intervals as pairs, null where undefined."""
    import pandas as pd

    values = {str(name): None if pd.isna(value) else value for name, value in row.items()}
    folded = {}
    for name, value in values.items():
        if name.endswith("_low"):
            high = values[name.replace("_low", "_high")]
            folded[name.replace("_low", "_interval")] = None if high is None else [value, high]
        elif not name.endswith("_high"):
            folded[name] = value
    return folded


def _facts(
    table: "pd.DataFrame", numbers: Comparison, searched: Searched | None
) -> tuple[Fact, ...]:
    """Differences of the models that differ most, and counts."""
    recall, probe, norm = _leads(table, numbers)
    guess = float(table["guess_error"].iloc[0])
    ends = probe.interval[0] * guess, probe.interval[1] * guess
    errors = replace(probe, difference=probe.difference * guess, interval=ends)
    differences = {
        "recall_difference": ("recall differs by", recall, "points"),
        "error_difference": ("the last probe’s error by", errors, table["unit"].iloc[0]),
        "r_squared_difference": ("R² of the norm by", norm, "points"),
    }
    if not numbers.is_equal_length:  # a token is not the same for all
        del differences["error_difference"]
    counts = [Fact("n_used", "sentences", numbers.n_used, form="count")]
    if searched:
        counts.append(Fact("n_searches", "searches", len(searched.searches.right), form="count"))
    facts = [
        Fact(key, label, lead.difference, lead.interval, form)
        for key, (label, lead, form) in differences.items()
        if not np.isnan(lead.difference)
    ]
    return (*facts, *counts)


def _caveats(
    prepared: Sequence[Prepared],
    table: "pd.DataFrame",
    numbers: Comparison,
    experiment: Experiment,
    searching: Experiment | None,
    searched: Searched | str,
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    n, labels = len(prepared[0].sample), list(table["label"])
    is_short = experiment.sample_size != "all" and n < experiment.sample_size
    means = zip(table["mean_tokens"], labels, strict=True)
    tokens = ", ".join(f"{mean:.1f} by {label}" for mean, label in means)
    cases = [
        (
            numbers.n_long > 0,
            f"{counted(numbers.n_long)} of {experiment.length_cutoff:,} tokens or more by a model"
            " are left out.",
        ),
        (
            numbers.n_truncated > 0,
            f"{counted(numbers.n_truncated)} longer than a model reads are left out.",
        ),
        (is_short, f"The corpus has {counted(n)}: the sample is all of them."),
        (
            numbers.n < n,
            f"Models are compared on the first {numbers.n:,} of {counted(n)}: see probe_size.",
        ),
        (
            not numbers.is_equal_length,
            f"Tokenizers differ: the same sentences have on average {tokens}; words or characters"
            " as unit are the same for all models.",
        ),
        (
            any(one.weights.is_untrained for one in prepared),
            "With random weights attention is almost even: [CLS] is nearly an average of the"
            " tokens, which gives length away.",
        ),
    ]
    caveats = _search_caveats(labels, searching, searched)
    caveats += [text for holds, text in cases if holds]
    for label, one, problem in zip(labels, prepared, numbers.problems, strict=True):
        if problem:
            caveats.append(f"{label} has no line: {problem[:1].lower()}{problem[1:]}")
        if not one.weights.is_untrained:
            steps = pipeline.read(one.weights.folder)
            texts = steps.caveats(searching.pooling if searching else experiment.pooling)
            caveats += [f"{label}: {text[0].lower()}{text[1:]}" for text in texts]
    return (*caveats, *prepared[0].sample.corpus.reading.caveats)


def _search_caveats(
    labels: Sequence[str], searching: Experiment | None, searched: Searched | str
) -> list[str]:
    if isinstance(searched, str):
        return [f"No search was tested: {searched}"] if searched else []
    corpus = searched.searches.texts.label
    vector = POOLINGS[searching.pooling if searching else SEARCH_POOLING]
    caveats = [f"The search is in {corpus}, by cosine of the {vector}."]
    if searched.is_near_chance:
        caveats.append("All models find the right text hardly more often than chance.")
    shares = dict(zip(labels, searched.truncated, strict=True))
    if len(set(shares.values())) == 1:
        shares = {"Each model": searched.truncated[0]}
    for label, share in shares.items():
        if share:
            caveats.append(f"{label} reads only the beginning of {percent(share)} of the texts.")
    return [*caveats, *searched.searches.caveats]


def _command(
    models: Sequence[str],
    experiment: Experiment,
    corpora: Sequence[str],
    searching: Experiment | None,
) -> str:
    """The command that repeats a comparison; none does for sentences in memory."""
    view = replace(experiment, model=Experiment.model, corpus=Experiment.corpus)
    flags = {"models": ",".join(models)}
    if searching is None or searching.corpus != SEARCH_CORPUS:
        flags["search_corpus"] = searching.corpus if searching else ""
    if searching and searching.pooling != SEARCH_POOLING:
        flags["search_pooling"] = searching.pooling
    several = "".join(f" --corpus {shlex.quote(corpus)}" for corpus in corpora)
    return "" if "memory" in corpora else provenance.command("compare", view, flags) + several
