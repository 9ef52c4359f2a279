"""Where length lives: the answer to where the length of a sentence can be read from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.analyses.probes import (
    COLUMNS,
    N_WORDS,
    ControlProbes,
    ProbeNumbers,
    ProbeScores,
    key_of,
    name_of,
)
from clsviz.analyses.recall import LayerSearch, Recalls
from clsviz.analyses.select import resolve
from clsviz.numbers import counted, folded, length, lowered, percent
from clsviz.results import provenance
from clsviz.results.result import Fact, Result, first, left_out, origin, remedy_of, vector_of
from clsviz.settings import Experiment
from clsviz.sources.models import MOST_TEXTS, unknown_tokens
from clsviz.sources.sentences import letters_count

if TYPE_CHECKING:
    import pandas as pd

LAST: Final = {
    "pipeline": "vector of its own pipeline",
    "mean": "mean-pooled vector",
    "pooler": "pooler output",
}
"""Vectors after the last layer, besides that of [CLS]."""

RECALL: Final = ("recall_at_10", "recall_at_10_low", "recall_at_10_high")
"""Columns of the table where vectors also search."""

ALIKE: Final = 1.1  # errors whose ratio is less are about the same

BY_CHANCE: Final = 9.5
"""R² times the number of sentences that the best of many layers may reach where there is nothing:
the .998 quantile of chi-square of one degree of freedom, as .998 to the 25th power is .95."""

ALMOST_ALL, MOST, HALF, PART, LITTLE = 0.9, 0.75, 0.5, 0.25, 0.05
"""R² from which on the words of a verdict hold."""


def result(numbers: ProbeNumbers, experiment: Experiment) -> Result:
    """The answer in words, with or without its controls, random weights and searches."""
    prepared, scores, random = numbers.prepared, numbers.scores, numbers.random
    name = name_of(experiment, scores.names, prepared.weights)
    view = resolve(experiment, prepared.weights)
    is_of_layers = name.isdecimal() and experiment.layer is None
    verdict = (
        verdict_of(scores, experiment.unit)
        if is_of_layers
        else verdict_of_vector(scores, name, experiment.unit)
    )
    table = _table(scores, random)
    of_cls = table[table["vector"] == "cls"]
    band = of_cls[["layer", "random_low", "random_high"]].set_axis(["layer", "low", "high"], axis=1)
    layers = of_cls[["layer", *COLUMNS, "is_nearly_constant"]].to_dict("records")
    sizes = prepared.sample, scores.n_long, scores.n
    settings: dict[str, Any] = {"random_weights": bool(random)}
    if numbers.recall is not None:
        texts = numbers.recall.settings
        settings |= {"recall": True, "search_corpus": texts.corpus, "search_titles": texts.titles}
    answer = Result(
        kind="probes",
        question=f"Where can length be read from in {prepared.weights.label}?",
        verdict=verdict,
        advice=_beside(scores, experiment.unit) * is_of_layers
        if scores.has_probe
        else remedy_of(scores.remedy, experiment, *sizes),
        facts=_facts(scores, numbers.controls, name, experiment.unit),
        details={
            "layers": [folded(row) for row in layers],
            "random_weights": band.to_dict("records") if random else None,
        },
        picture={"guess": scores.baseline_error, "unit": experiment.unit},
        caveats=_caveats(numbers, experiment),
        table=table,
        about={
            **provenance.source(prepared, experiment),
            **vector_of(prepared.weights, view),
            "width": scores.width,
            "n_measured": scores.n,
            "seconds": round(numbers.seconds, 3),
        },
        command=provenance.command("probe", experiment, settings),
        weights=prepared.weights,
        corpus=prepared.sample.corpus,
        n_drawn=scores.n,
    )
    if numbers.recall is None:
        return answer
    return _with_recall(answer, numbers.recall, numbers, name)


def _with_recall(result: Result, search: LayerSearch, numbers: ProbeNumbers, name: str) -> Result:
    """The answer with the recall of every vector. name: of the experiment's vector."""
    made, recalls, scores = search.searches, search.recalls, numbers.scores
    table = result.table.assign(**dict(zip(RECALL, recalls.numbers.T, strict=True)))
    of_layers = zip(result.details["layers"], table[list(RECALL)].to_dict("records"), strict=False)
    values = dict(zip(scores.names, recalls.numbers.tolist(), strict=True))
    value, *ends = values[name]
    n, share, quiet = len(made.texts.table), "percent", True
    difference = recalls.difference, (recalls.low, recalls.high), "points", quiet
    facts = [
        Fact("vector_recall_at_10", "recall among ten", value, (ends[0], ends[1]), share),
        Fact("n_searches", "searches", len(made.relevant), form="count"),
        Fact("n_texts", "texts searched", n, None, "count", quiet),
        Fact("recall_difference", f"layer {recalls.best} less the last: recall", *difference),
    ]
    for other in filter(values.__contains__, LAST):
        value, *ends = values[other]
        label = f"{LAST[other]}: recall among ten"
        facts.append(Fact(f"{other}_recall_at_10", label, value, (ends[0], ends[1]), share, quiet))
    cut = f"The model reads only the beginning of {counted(recalls.n_truncated, 'text')} of them."
    caveats = [
        f"Recall is by cosine, among {n:,} {made.texts.label}.",
        *[cut] * bool(recalls.n_truncated),
        *made.caveats,
        *origin(search.key),
    ]
    return replace(
        result,
        advice=f"{result.advice} {advice_of(recalls, scores.n_layers) * name.isdecimal()}".strip(),
        facts=(*result.facts, *facts),
        caveats=tuple(dict.fromkeys([*result.caveats, *caveats])),
        details={**result.details, "layers": [layer | folded(row) for layer, row in of_layers]},
        table=table,
    )


def advice_of(recalls: Recalls, n_layers: int) -> str:
    """The layer to take, in a sentence: where [CLS] finds most, and if that is beyond chance."""
    rows = recalls.numbers[[n_layers, recalls.best]].tolist()
    at_last, at_best = (f"[CLS] finds {percent(row[0])} of right texts" for row in rows)
    return first(
        (
            max(low for _, low, _ in rows) <= recalls.chance,
            "No layer to take: after none does [CLS] find right texts more often than chance.",
        ),
        (
            recalls.low > 0,
            f"Take layer {recalls.best}: there {at_best}, surely more than after the last.",
        ),
        (
            recalls.high < 0,
            f"Take the last layer: there {at_last}, surely more than after any other.",
        ),
        (True, f"Take the last layer: there {at_last}, and after no other surely more."),
    )


def verdict_of(scores: ProbeScores, unit: str) -> str:
    """The answer in a sentence: of the best layer of those that stand out from chance."""
    r2, low, _, error, *_ = scores.numbers[: scores.n_layers + 1].T
    with np.errstate(invalid="ignore"):
        is_significant = (low > 0) & (r2 * scores.n_different >= BY_CHANCE)
    best = int(np.argmax(np.where(is_significant, r2, -np.inf)))
    b = float(r2[best]) if is_significant[best] else 0.0
    fades = not r2[-1] >= MOST or error[-1] >= max(2 * error[best], 0.5)  # of a whole number
    at_best, at_last = (length(error[layer], unit) for layer in (best, -1))
    only = "only " * (not at_best.startswith("under"))
    after, misses = _after(str(best)), "a linear probe misses length by"
    hardly = "a linear probe finds almost no length in the [CLS] vector, after any layer"
    return first(
        (not scores.has_probe, f"Can’t tell: {lowered(scores.problems[scores.n_layers])}"),
        (
            b >= ALMOST_ALL and fades,
            f"{after.capitalize()}, then it fades: {misses} {only}{at_best}.",
        ),
        (b >= ALMOST_ALL, f"Even after the last layer: there {misses} {at_last}."),
        (b >= HALF, f"Largely: {misses} {at_best} {after}."),
        (b >= PART, f"Partly: {misses} {at_best} {after}."),
        (b >= LITTLE, f"A little: {after}, a linear probe beats guessing somewhat."),
        (True, f"Hardly: with this many sentences, {hardly}."),
    )


def verdict_of_vector(scores: ProbeScores, name: str, unit: str) -> str:
    """The answer in a sentence, of one vector."""
    place = scores.names.index(name)
    r2, low, _, error, *_ = scores.numbers[place].tolist()
    b = r2 if low > 0 and r2 * scores.n_different >= BY_CHANCE else 0.0
    vector = f"[CLS] {_after(name)}" if name.isdecimal() else f"the {LAST[name]}"
    misses = f"a linear probe of {vector} misses length by {length(error, unit)}"
    return first(
        (np.isnan(r2), f"Can’t tell: {lowered(scores.problems[place])}"),
        (b >= ALMOST_ALL, f"Yes: {misses}."),
        (b >= HALF, f"Largely: {misses}."),
        (b >= PART, f"Partly: {misses}."),
        (b >= LITTLE, f"A little: a linear probe of {vector} beats guessing somewhat."),
        (True, f"Hardly: a linear probe finds almost no length in {vector}."),
    )


def _beside(scores: ProbeScores, unit: str) -> str:
    """What the model emits gives away, next to [CLS] after the last layer; "" where unknown."""
    emitted, cls = scores.error("pipeline"), scores.error(str(scores.n_layers))
    if not np.isfinite([emitted, cls]).all():
        return ""
    is_more, is_less = ALIKE * emitted < cls, emitted > ALIKE * cls
    amount = "more than" if is_more else "less than" if is_less else "about as much as"
    misses = f"a probe misses by {length(emitted, unit)} against {length(cls, unit).split()[0]}"
    return f"The vector that this model emits gives length away {amount} the last [CLS]: {misses}."


def findings(result: Result) -> list[tuple[str, str]]:
    """For each check that is computed and defined, what it finds, and what that means."""
    keys = ["vector_error", "direction_error", "half_error", "shuffled_probe_r_squared"]
    keys.append("words_error")
    error, direction, half, shuffled, words = np.array(
        [result.fact(key) for key in keys], np.float64
    )
    unit = result.picture["unit"]
    both = f"A probe of the whole vector, with all sentences, misses by {length(error, unit)}."
    is_better, is_worse = ALIKE * direction < error, direction > ALIKE * error
    does = "better" if is_better else "worse" if is_worse else "as well"
    halves_do = "worse" if half > ALIKE * error else "almost as well"
    amount, meaning = "nothing", "the probe does not make up what it finds"
    if shuffled >= 0.01:
        amount, meaning = "something", "as much of what it finds may be chance"
    order = "The lengths are put in a random order, five times. An R² of 0 or less is guessing"
    cases = {
        f"The direction alone does {does}: it misses by {length(direction, unit)}": (
            f"Each vector is divided by its norm, so that all have size 1. {both}"
        ),
        f"Half as many sentences do {halves_do}: a probe misses by {length(half, unit)}": (
            f"{both} Twice as many may lower that about as much again."
        ),
        f"In shuffled lengths, a probe finds {amount}: R² {percent(shuffled)}": (
            f"{order}: {meaning}."
        ),
        f"A probe of which words occur misses by {length(words, unit)}, without any vector": (
            f"A probe of the words alone, hashed into {N_WORDS} columns, misses by so much. {both}"
        ),
    }
    values = direction, half, shuffled, words
    return [case for case, value in zip(cases.items(), values, strict=True) if not np.isnan(value)]


def _table(scores: ProbeScores, random: Sequence[ProbeScores]) -> "pd.DataFrame":
    """A row for each vector: the points of the picture.

    random_low, random_high: the errors of [CLS] with random weights.
    """
    import pandas as pd

    names, last = scores.names, scores.n_layers
    is_cls = np.array([name.isdecimal() for name in names])
    table = pd.DataFrame(scores.numbers, columns=COLUMNS)
    table.insert(0, "vector", np.where(is_cls, "cls", names))
    table.insert(1, "layer", [int(name) if name.isdecimal() else max(last, 0) for name in names])
    error = COLUMNS.index("probe_error")
    errors = [other.numbers[:, error] for other in random] or [np.full(len(names), np.nan)]
    is_flat = pd.Series([name in scores.nearly_constant for name in names], dtype=object)
    table["is_nearly_constant"] = is_flat.where(table["norm_error"].notna(), None)
    table["random_low"] = np.where(is_cls, np.fmin.reduce(errors), np.nan)
    table["random_high"] = np.where(is_cls, np.fmax.reduce(errors), np.nan)
    return table


def _facts(scores: ProbeScores, controls: ControlProbes, name: str, unit: str) -> tuple[Fact, ...]:
    """Those of the experiment's vector, then those of others, which are in JSON alone."""
    vector = f"[CLS] after layer {name}" if name.isdecimal() else LAST[name]
    rows = dict(zip(scores.names, scores.numbers.tolist(), strict=True))
    r2, low, high, error, _, norm_error = rows[name]
    share, quiet = "percent", True
    facts = [
        Fact("vector_r_squared", f"{vector}: R²", r2, (low, high), share),
        Fact("vector_error", "misses by", error, None, unit),
        Fact("guess_error", "guessing", scores.baseline_error, None, unit),
        Fact("vector_norm_error", "a line on its norm (held-out)", norm_error, None, unit),
        Fact("words_error", "which words occur alone", controls.words_error, None, unit),
        Fact("direction_error", "direction alone", controls.direction_error, None, unit),
        Fact("half_error", "half as many sentences", controls.half_error, None, unit),
        Fact("shuffled_probe_r_squared", "shuffled lengths: R²", controls.shuffled_r2, None, share),
        Fact(
            "direction_r_squared", "direction alone: R²", controls.direction_r2, None, share, quiet
        ),
        Fact("half_r_squared", "half as many sentences: R²", controls.half_r2, None, share, quiet),
        Fact("words_r_squared", "which words occur: R²", controls.words_r2, None, share, quiet),
    ]
    for other, label in LAST.items():
        r2, _, _, error, *_ = rows.get(other, [np.nan] * len(COLUMNS))
        facts.append(Fact(f"{other}_probe_r_squared", f"{label}: R²", r2, None, share, quiet))
        is_quiet = other != "pipeline" or name == other
        facts.append(Fact(f"{other}_probe_error", label, error, None, unit, is_quiet))
    return (
        *(replace(fact, is_quiet=True) if np.isnan(fact.value or 0.0) else fact for fact in facts),
        Fact("n_used", "sentences", scores.n_used, form="count"),
    )


def _caveats(numbers: ProbeNumbers, experiment: Experiment) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each."""
    prepared, scores, random = numbers.prepared, numbers.scores, numbers.random
    sample, n, n_different = prepared.sample, scores.n, scores.n_different
    has_probe, has_line = np.isfinite(scores.numbers[:, [0, 4]]).T
    vectors = np.array([_after(name) for name in scores.names])
    weights = prepared.weights
    caveats = [f"{weights.label} {weights.no_cls}: this is about what it emits."]
    caveats = caveats * bool(weights.no_cls) + [
        f"There is no probe {vector}: {lowered(problem)}"
        for vector, problem in zip(vectors, scores.problems, strict=True)
        if problem and has_probe.any()
    ]
    is_emitted = np.array([name == "pipeline" for name in scores.names])  # its norms may be all 1
    if where := ", ".join(vectors[has_probe & ~has_line & ~is_emitted]):
        caveats.append(f"Norms are constant, or not resolved by the precision, {where}.")
    if where := ", ".join(map(_after, scores.nearly_constant)):
        caveats.append(f"Norms differ by less than 0.1% of their mean, on paper only, {where}.")
    caveats += left_out(experiment, sample, scores.n_long, scores.n_truncated)
    if n < len(sample):
        caveats.append(f"Probes take the first {n:,} of {counted(len(sample))}: see probe_size.")
    if has_probe.any() and n_different < 5 * scores.width:
        few = f"{counted(n_different, 'different sentence')} are few for {scores.width:,}"
        caveats.append(f"{few} dimensions: with more, a probe may miss by less.")
    if last := [one.numbers[one.n_layers] for one in random if one.has_probe]:
        r2, *_, error, _, _ = np.max(last, axis=0).tolist()
        misses = f"probes of the last layer miss length by {length(error, experiment.unit)}"
        reason = ": attention is almost even there, so [CLS] is nearly an average of the tokens"
        caveats.append(f"With random weights, {misses}{reason * (r2 >= HALF)}.")
    texts = sample.sentences(0, MOST_TEXTS)
    return (
        *unknown_tokens(prepared.weights, texts),
        *letters_count(texts, experiment.unit),
        *weights.pipeline.caveats("pipeline" if weights.no_cls else experiment.pooling),
        *caveats,
        *prepared.sample.corpus.reading.caveats,
        *origin(key_of(prepared, experiment)),
    )


def _after(name: str) -> str:
    if name.isdecimal():
        return f"after layer {name}{' (embeddings)' * (name == '0')}"
    return f"of the {LAST[name]}"
