"""Compare models: search, probe and norm of several models on the same sentences."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from clsviz.analyses.compare import CHUNKS, OWN, SEARCH, CompareNumbers, Numbers, compare_key
from clsviz.numbers import counted, folded, length, lowered, percent
from clsviz.results import provenance
from clsviz.results.chunks import EASY, STRINGS
from clsviz.results.result import POOLINGS, Fact, Result, first, left_out, origin, remedy_of
from clsviz.results.search import pipeline_caveats
from clsviz.settings import DEFAULTS
from clsviz.sources.chunks import Chunks
from clsviz.sources.searches import Searches
from clsviz.statistics.intervals import Contrast

if TYPE_CHECKING:
    import pandas as pd

QUESTION: Final = "Which model does what?"

EQUAL: Final = 0.05  # recall that surely differs by less is about equal


def result(numbers: CompareNumbers) -> Result:
    """The answer in words."""
    inputs, comparison, rows = numbers.inputs, numbers.comparison, numbers.searched
    prepared, experiment = inputs.prepared, inputs.experiment
    sample, table = prepared[0].sample, _table(numbers)
    problem = next(filter(None, comparison.problems), "")
    verdict = verdict_of(table, _is_telling(rows), problem)
    sizes = comparison.n_long, comparison.n
    advice = remedy_of(comparison.remedy, experiment, sample, *sizes)
    return Result(
        kind="models",
        question=QUESTION,
        verdict=verdict,
        advice=advice if verdict.startswith("Can’t") else "",
        facts=_facts(table, comparison.is_equal_length),
        details={"models": [folded(row) for row in table.to_dict("records")]},
        caveats=_caveats(numbers, table),
        table=table,
        about={**provenance.source(prepared[0], experiment), "seconds": round(numbers.seconds, 3)},
        command=_command([numbers]),
        weights=prepared[0].weights,
        corpus=sample.corpus,
        n_drawn=comparison.n,
    )


def results(comparisons: Sequence[CompareNumbers]) -> Result:
    """The answer on one corpus, or on several: then with a row for each model and corpus."""
    import pandas as pd

    answers = list(map(result, comparisons))
    one, is_same = answers[0], len({answer.verdict for answer in answers}) == 1
    if len(answers) == 1:
        return replace(one, answered=comparisons)
    verdicts = [f"{answer.table['corpus'].iloc[0]}: {answer.verdict}" for answer in answers]
    caveats = [caveat for answer in answers for caveat in answer.caveats]
    return replace(
        one,
        verdict=one.verdict if is_same else "It depends on the corpus.",
        facts=(Fact("n_corpora", "corpora", len(answers), form="count"),),
        details={"models": [model for answer in answers for model in answer.details["models"]]},
        caveats=tuple(dict.fromkeys(caveats if is_same else verdicts + caveats)),
        table=pd.concat([answer.table for answer in answers], ignore_index=True),
        about={**one.about, "seconds": sum(answer.about["seconds"] for answer in answers)},
        command=_command(comparisons),
        answered=comparisons,
    )


def verdict_of(table: "pd.DataFrame", is_telling: bool, problem: str = "") -> str:
    """The answer in a sentence: of the search, or else of probes, or else of norms.

    is_telling: True if there is a search that finds more than chance. problem: why there is no
    line, or "".
    """
    recall, probe, norm = _leads(table)
    labels, errors, unit = list(table["label"]), table["last_probe_error"], table["unit"].iloc[0]
    a, b = labels[recall.most], labels[recall.least]
    near, far = probe.least, probe.most  # the smaller error gives more away
    misses = f"{length(errors[near], unit)} against {length(errors[far], unit).split()[0]}"
    gives = f"{labels[near]} gives length away more than {labels[far]}"
    both = " and ".join(labels) if len(labels) == 2 else f"All {len(labels)} models"
    varies = f"more of {labels[norm.most]}’s norms than of {labels[norm.least]}’s"
    recalls, r2s = _against(table["recall_at_10"], recall), _against(table["r_squared"], norm)
    is_equal = is_telling and recall.interval[1] < EQUAL
    is_undefined = bool(table[["last_probe_error", "r_squared"]].isna().all(axis=None))
    verdict = first(
        (
            is_telling and recall.is_sure,
            f"{a} finds the right text more often than {b}: {recalls}.",
        ),
        (is_equal, f"{both} find the right text about equally often."),
        (is_telling, f"Too close to call: too few searches to tell {a} from {b}."),
        (probe.is_sure and errors[near] < errors[far], f"{gives}: a probe misses by {misses}."),
        (norm.is_sure, f"A line accounts for {varies}: {r2s}."),
        (is_undefined, f"Can’t compare: {lowered(problem)}"),
        (True, "Too close to call."),
    )
    return f"U{verdict[1:]}" if verdict.startswith("untrained ") else verdict


def _leads(table: "pd.DataFrame") -> tuple[Contrast, Contrast, Contrast]:
    """Of recall, of the last probe's error as a share of that of guessing, and of the line's R²."""
    guess, margins = table["guess_error"], table["last_probe_error_margin"]
    return (
        Contrast.of(table["recall_at_10"], table["recall_margin"].max()),
        Contrast.of(table["last_probe_error"] / guess, (margins / guess).max()),
        Contrast.of(table["r_squared"], table["r_squared_margin"].max()),
    )


def _against(shares: "pd.Series[float]", lead: Contrast) -> str:
    """Two shares that differ, also as they are written."""
    high, low = shares[lead.most], shares[lead.least]
    if percent(high) == percent(low):
        return f"{100 * high:.2f}% against {100 * low:.2f}%"
    return f"{percent(high)} against {percent(low)}"


def _is_telling(rows: Sequence[Numbers]) -> bool:
    """True if a model clearly finds the right text more often than by chance."""
    return any(row["recall_at_10_low"] > row["chance"] for row in rows)


def _table(numbers: CompareNumbers) -> "pd.DataFrame":
    """A row for each model, for a paper; NaN where undefined.

    Columns: model, label, corpus, n_used; SEARCH, of the search; CHUNKS; maybe OWN; COLUMNS; …_low
    and …_high are 95% intervals, and …_margin a difference beyond which two models of a corpus
    differ; then settings, revisions, fingerprints and versions.
    """
    import pandas as pd

    inputs, comparison, rows = numbers.inputs, numbers.comparison, numbers.searched
    searches = inputs.searches if isinstance(inputs.searches, Searches) else None
    corpus, experiment = inputs.prepared[0].sample.corpus, inputs.experiment
    labels = Counter(one.weights.label for one in inputs.prepared)
    view = ("seed", "precision", "length_cutoff", "unit", "pooling")
    table = []
    for place, one in enumerate(inputs.prepared):
        weights, of_model = one.weights, comparison.models[place]
        search = rows[place] if rows else dict.fromkeys(SEARCH, np.nan)
        chunks = numbers.cut[place] if numbers.cut else dict.fromkeys(CHUNKS, np.nan)
        row = {
            "model": weights.name,
            "label": weights.label if labels[weights.label] == 1 else weights.name,
            "corpus": corpus.label,
            "n_used": comparison.n_used,
            **{name: search[name] for name in SEARCH},
            "n_searches": len(searches.relevant) if searches else 0,
            **chunks,
            **of_model,
            "last_probe_error_margin": comparison.error_margin * of_model["guess_error"],
            "r_squared_margin": comparison.r_squared_margin,
            **{name: getattr(experiment, name) for name in view},
            "layer": of_model["n_layers"] if experiment.layer is None else experiment.layer,
            "model_revision": weights.revision,
            "model_fingerprint": weights.fingerprint,
            "corpus_revision": corpus.reading.revision,
            "corpus_fingerprint": corpus.fingerprint,
            "search_corpus": searches.texts.label if searches else "",
            "search_fingerprint": searches.fingerprint if searches else "",
            **{f"version_{name}": number for name, number in provenance.versions().items()},
        }
        table.append(row)
    return pd.DataFrame(table).astype(
        {"probe_layer": "Int64", "n_layers": "int64", "width": "int64"}
    )


def _facts(table: "pd.DataFrame", is_equal_length: bool) -> tuple[Fact, ...]:
    """Differences of the models that differ most, and counts."""
    recall, _, norm = _leads(table)
    errors: ArrayLike = table["last_probe_error"] if is_equal_length else []
    error = Contrast.of(errors, table["last_probe_error_margin"].max())
    leads = [
        ("recall_difference", "recall differs by", recall, "points"),
        ("error_difference", "the last probe’s error by", error, table["unit"].iloc[0]),
        ("r_squared_difference", "R² of the norm by", norm, "points"),
    ]
    if OWN[0] in table:
        own = Contrast.of(table[OWN[0]], table[f"{OWN[0]}_margin"].max())
        leads.append(("own_chunks_difference", "exact sentences in your chunks by", own, "points"))
    facts = [
        Fact(key, label, lead.difference, lead.interval, form)
        for key, label, lead, form in leads
        if not np.isnan(lead.difference)
    ]
    facts.append(Fact("n_used", "sentences", int(table["n_used"].iloc[0]), form="count"))
    if n_searches := int(table["n_searches"].iloc[0]):
        facts.append(Fact("n_searches", "searches", n_searches, form="count"))
    return tuple(facts)


def _caveats(numbers: CompareNumbers, table: "pd.DataFrame") -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    labels, inputs, comparison = list(table["label"]), numbers.inputs, numbers.comparison
    prepared, searches, rows = inputs.prepared, inputs.searches, numbers.searched
    sample, widths = prepared[0].sample, list(table["width"])
    pooling = (inputs.search or inputs.experiment).pooling
    caveats = []
    if any(one.weights.no_cls for one in prepared):
        caveats.append("Some models have no [CLS]: probes and norms are of what each emits.")
    if len(set(widths)) > 1:
        of_each = ", ".join(f"{w:,} of {label}" for label, w in zip(labels, widths, strict=True))
        caveats.append(f"Vectors have different widths, and more numbers tell more: {of_each}.")
    if isinstance(searches, Searches):
        where = f"in {searches.texts.label}, by cosine of the {POOLINGS[pooling]}"
        caveats.append(f"The search is {where}.")
        if not _is_telling(rows):
            caveats.append("All models find the right text hardly more often than chance.")
        caveats += _truncated("long texts", labels, [row["truncated"] for row in rows])
        caveats += searches.caveats
    elif searches:
        caveats.append(f"No search was tested: {searches}")
    if isinstance(inputs.chunks, Chunks):
        n = f"{table['chunk_sentences'].iloc[0]:.0f} sentences"
        caveats.append(f"Chunks of {n} are the longest that all models were tried on.")
        caveats += [f"{EASY}: real ones are found less often.", f"{STRINGS}."]
        caveats += inputs.chunks.caveats
        if OWN[0] in table:
            in_two = percent(table["own_chunks_cut_in_two"].iloc[0])
            caveats.append(f"Your chunks cut {in_two} of sentences in two: no model finds these.")
            caveats += _truncated("your chunks", labels, table["own_chunks_truncated"])
    elif inputs.chunks:
        caveats.append(f"No chunks were tested: {inputs.chunks}")
    n_long, n_truncated = comparison.n_long, comparison.n_truncated
    caveats += left_out(inputs.experiment, sample, n_long, n_truncated, len(prepared))
    if comparison.n < len(sample):
        first_ones = f"the first {comparison.n:,} of {counted(len(sample))}"
        caveats.append(f"Models are compared on {first_ones}: see probe_size.")
    if not comparison.is_equal_length:
        means = zip(labels, comparison.models, strict=True)
        tokens = ", ".join(f"{of_model['mean_tokens']:.1f} by {label}" for label, of_model in means)
        equal = "words or characters as unit are the same for all models"
        caveats.append(f"Tokenizers differ: the same sentences have on average {tokens}; {equal}.")
    if any(one.weights.is_untrained for one in prepared):
        average = "[CLS] is nearly an average of the tokens, which gives length away"
        caveats.append(f"With random weights attention is almost even: {average}.")
    for label, one, problem in zip(labels, prepared, comparison.problems, strict=True):
        if problem:
            caveats.append(f"{label} has no line: {lowered(problem)}")
        if not one.weights.is_untrained:
            steps = pipeline_caveats(one.weights, replace(inputs.experiment, pooling=pooling))
            words = [caveat for caveat, holds in steps.items() if holds]
            caveats += [
                caveat if label in caveat else f"{label}: {lowered(caveat)}" for caveat in words
            ]
    caveats += [*sample.corpus.reading.caveats, *origin(compare_key(inputs))]
    return tuple(dict.fromkeys(caveats))  # the search may be in the same corpus


def _truncated(what: str, labels: Sequence[str], shares: Iterable[float]) -> list[str]:
    """A caveat on the shares of texts that models read in part, where there are any."""
    pairs = zip(labels, shares, strict=True)
    cut = ", ".join(f"{label} of {percent(share)}" for label, share in pairs if share)
    return [f"The models read only the beginning of {what}: {cut}."] * bool(cut)


def _command(comparisons: Sequence[CompareNumbers]) -> str:
    """The command that repeats a comparison; none does for sentences in memory."""
    inputs = comparisons[0].inputs
    view, search = inputs.experiment, inputs.search
    settings: dict[str, Any] = {
        "models": [one.weights.name for one in inputs.prepared],
        "corpora": [numbers.inputs.experiment.corpus for numbers in comparisons],
        "search_corpus": search.corpus if search else "",
        "search_pooling": search.pooling if search else DEFAULTS["search_pooling"],
        "chunks": bool(inputs.chunks),
        "own_chunks": inputs.own_chunks,
    }
    return provenance.command("compare", view, settings)
