"""Does length bend my search?: exposure of texts by length, and what to do about it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clsviz.analyses.search import LENGTHENED, OTHER, SearchNumbers, key_of
from clsviz.analyses.select import resolve
from clsviz.numbers import lowered, percent, points, rounded, times
from clsviz.results import provenance
from clsviz.results.norms import IN_WORDS
from clsviz.results.result import Fact, Result, origin, vector_of
from clsviz.settings import Experiment, SearchSettings
from clsviz.sources.models import Weights, unknown_tokens
from clsviz.sources.sentences import letters_count
from clsviz.statistics.exposure import FAIR, MATCHES, QUINTILES, SIGNIFICANT, UNRELATED, Ranking
from clsviz.statistics.fixes import FORMULAS

if TYPE_CHECKING:
    import pandas as pd

BY: Final[dict[str, str]] = {"cosine": "cosine", "dot": "dot product", "bm25": "BM25"}
"""Ways to search as sentences name them."""

FIXES: Final = {
    "normalized": "Normalise your vectors",
    "mean_pooled": "Take mean-pooled vectors",
    "unprompted": "Leave the prompts out",
    "centred": "Subtract the mean vector of your texts",
    "calibrated": "Calibrate scores by length",
    "tokens^p": "Multiply scores by your power of tokens",
}
"""Each fix as an imperative."""

MOST_MISLED: Final = 10

TRUNCATED: Final = "truncated texts"
"""The name of a limit that is exceeded."""


def result(numbers: SearchNumbers, experiment: Experiment, search: SearchSettings) -> Result:
    """The answer in words."""
    searches, model = numbers.searches, numbers.model
    verdict = verdict_of(numbers)
    excess = _excess(numbers, search)
    settings = {**asdict(experiment), **provenance.values(search)}
    unit = experiment.unit if model or experiment.unit != "tokens" else "words"
    if not model:
        name = Path(settings["vectors"]).name
        settings |= dict.fromkeys(("model", "corpus"), name)
    view = resolve(experiment, model) if model else experiment
    fingerprint = model.key(view.pooling) if model else numbers.fingerprint
    key = key_of(searches, fingerprint, view, search.length_power)
    return Result(
        kind="search",
        question="Are texts of some lengths found more often than they are right?",
        verdict=verdict,
        advice=advice_of(numbers, verdict),
        facts=_facts(numbers, experiment.seed),
        details={**_details(numbers), **excess},
        picture=_picture(numbers) | {"unit": unit},
        caveats=(*_caveats(numbers, excess, experiment, search, unit), *origin(key)),
        table=_table(numbers),
        about={
            **settings,
            **vector_of(model, view),
            "similarity": numbers.similarity,
            "width": numbers.rankings.width,
            "model_fingerprint": numbers.fingerprint,
            "corpus_fingerprint": searches.fingerprint,
            "seconds": round(numbers.rankings.seconds, 3),
        },
        command=provenance.command("search-test", experiment, provenance.values(search)),
        weights=model,
        corpus=searches.texts,
        n_drawn=searches.texts.table.num_rows,
        answered=numbers,
    )


def verdict_of(numbers: SearchNumbers) -> str:
    """The answer in a sentence."""
    own, by = numbers.own.quintiles, f"by {BY[numbers.similarity]}"
    beyond, standing = _standing(own)
    states = {state: own[own["state"] == state] for state in ("uneven", "even", "undecided")}
    if numbers.own.recall_interval[0] <= numbers.qrels.chance:
        return "Can’t tell: the search finds the right text hardly more often than chance."
    if len(beyond):
        return f"Yes: {by}, {_share(beyond)}."
    if len(standing):
        return f"Yes, but not clearly more than word matching: {_share(standing)}."
    if len(states["uneven"]):
        return f"Somewhat: {by}, {_share(states['uneven'])}."
    if len(states["even"]) == len(own):
        return f"Hardly: {by}, texts of every length are found about as often as they are right."
    if len(states["undecided"]):
        fifth = states["undecided"].index[0]
        return f"Can’t tell yet: too few texts of the {fifth} fifth, or searches for them."
    return f"No sign of it: {by}, no fifth’s share of the places stands out from chance."


def _standing(quintiles: "pd.DataFrame") -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """The fifths that stand out beyond word matching, and all that stand out."""
    return quintiles[quintiles["is_beyond_words"]], quintiles[quintiles["state"].isin(SIGNIFICANT)]


def _share(quintiles: "pd.DataFrame") -> str:
    """The most conspicuous exposure."""
    fifth = _conspicuous(quintiles)
    exposure = float(quintiles["exposure"][fifth])
    return f"the {fifth} fifth takes{' only' * (exposure <= 1)} {_amount(exposure)}"


def _conspicuous(quintiles: "pd.DataFrame") -> str:
    """The fifth that takes most beyond its share, or else the one that takes least of it."""
    exposure = quintiles["exposure"]
    return str(exposure.idxmax() if exposure.max() > 1 else exposure.idxmin())


def _amount(exposure: float) -> str:
    amount = rounded(exposure) if exposure >= 0.01 else "under 0.01"
    return f"{amount} times its share" if amount != "1" else "its share"


def advice_of(numbers: SearchNumbers, verdict: str) -> str:
    """What to do, in a sentence."""
    advice, own = numbers.advice, numbers.own
    is_answered = not verdict.startswith("Can’t")
    if advice is None:
        why = ": no fix that was tried makes it fair, or adds to recall" * own.is_biased
        return f"Leave the search as it is{why}." if is_answered else ""
    fix, before, after = FIXES[advice.fix], percent(advice.before), percent(advice.after)
    direction = "rises" if advice.after > advice.before else "falls"
    change = f"{direction} from {before} to {after}" if before != after else f"stays at {after}"
    if not (own.is_biased and is_answered):
        return f"{fix}: recall {change}."
    beyond, standing = _standing(own.quintiles)
    fifth = _conspicuous(beyond if len(beyond) else standing)
    amount = _amount(numbers.fixes[advice.fix][0].quintiles["exposure"][fifth])
    if not advice.makes_fair:
        return f"{fix}: recall {change}, but the {fifth} fifth still takes {amount}."
    fix += " only if all lengths must be found equally often" * (advice.interval[1] < 0)
    return f"{fix}: then the {fifth} fifth takes {amount}, and recall {change}."


def _facts(numbers: SearchNumbers, seed: int) -> tuple[Fact, ...]:
    own, qrels = numbers.own, numbers.qrels
    rows = list(zip(QUINTILES, own.exposure, own.intervals, strict=True))
    plain = numbers.fixes.get("unprompted")
    without = plain and Fact(
        *("unprompted_gain", "without prompts", plain[1].gain, plain[1].interval, "points")
    )
    return (
        Fact("recall_at_10", "recall among ten", own.recall, own.recall_interval, "percent"),
        Fact("ndcg_at_10", "nDCG", own.ndcg),
        *filter(None, [without]),
        Fact("bm25_recall_at_10", "by BM25", numbers.words.recall, None, "percent"),
        *(
            Fact(f"exposure_{name}", f"{name} fifth", exposure, interval, "times")
            for name, exposure, interval in (rows[0], rows[-1])
        ),
        *_places_lost(numbers, seed),
        *unread_facts("texts", *numbers.truncated),
        Fact("n_searches", "searches", qrels.n_searches, None, "count"),
        Fact("n_texts", "texts", qrels.n_texts, None, "count"),
        Fact("n_used", "searches", qrels.n_searches, None, "count", is_quiet=True),
    )


def _places_lost(numbers: SearchNumbers, seed: int) -> list[Fact]:
    """Places that a right text loses, on average, by each change of its length."""
    if numbers.lengthened is None:
        return []
    changes = numbers.lengthened.changes(numbers.similarity, seed)
    return [
        Fact(f"places_lost_{key.split()[0]}", f"places lost, {key}", *change, is_quiet=n != 1)
        for n, (key, change) in enumerate(zip(LENGTHENED, changes, strict=True))
    ]


def lengthened_title(result: Result) -> str:
    """The change of the rank of a right text that is twice as long, in a sentence."""
    fact = next((fact for fact in result.facts if fact.key == "places_lost_repeated"), None)
    if fact is None:
        return "Too few right texts to try them at twice their length"
    low, high = fact.interval or (0.0, 0.0)
    sign, verb = (-1, "gains") if high < 0 else (1, "loses")
    ends = " to ".join(rounded(end) for end in sorted((sign * low, sign * high)))
    if low <= 0 <= high:
        return f"Repeated, the same text loses no places for sure ({ends})"
    value = rounded(sign * (fact.value or 0.0))
    return f"Repeated, the same text {verb} {value} place{'s' * (value != '1')} ({ends}) on average"


def unread_facts(what: str, truncated: float, unread: float) -> tuple[Fact, Fact]:
    """The shares of texts, and of their tokens, that a model does not read to the end."""
    return (
        Fact("truncated_share", f"{what} that are cut", truncated, None, "percent", not truncated),
        Fact("unread_tokens_share", "tokens never read", unread, None, "percent", not truncated),
    )


def _details(numbers: SearchNumbers) -> dict[str, Any]:
    """Entries of JSON besides the facts."""
    similarity, searches, rankings = numbers.similarity, numbers.searches, numbers.rankings
    matches = rankings.matches[list(OTHER).index(similarity)]
    fix = numbers.advice.fix if numbers.advice else None
    correction = fix and {
        "formula": FORMULAS[fix],
        "coefficients": dict(rankings.coefficients.get(f"{similarity} {fix}", {})),
    }
    return {
        **_ranking(numbers.own),
        "task": searches.task,
        "matches": [dict(zip(MATCHES, row, strict=True)) for row in matches.tolist()],
        "bm25": _ranking(numbers.words),
        "other_similarity": {"similarity": OTHER[similarity], **_ranking(numbers.other)},
        "fixes": {
            name: {
                "recall_at_10": ranking.recall,
                "difference": effect.gain,
                "interval": effect.interval,
                "exposure": ranking.exposure,
            }
            for name, (ranking, effect) in numbers.fixes.items()
        },
        "advised_fix": fix,
        "correction": correction,
        "n_unknown_ids": searches.n_unknown_ids,
        "n_without_text": searches.n_without_text,
    }


def _ranking(ranking: Ranking) -> dict[str, Any]:
    columns = ["from_tokens", "to_tokens", "n_texts", "recall_at_10", "ndcg_at_10"]
    return {
        "recall_at_10": ranking.recall,
        "ndcg_at_10": ranking.ndcg,
        "recall_interval": ranking.recall_interval,
        "exposure": ranking.exposure,
        "exposure_interval": ranking.intervals,
        "fifths": ranking.quintiles[columns].to_dict("records"),
    }


def _table(numbers: SearchNumbers) -> "pd.DataFrame":
    """A row for each search, in the order of the searches.

    Columns: query; right, its right text that ranks best, right_tokens, and right_rank, in the
    middle of those of the same score; n_right; first, the text that ranks first, and first_tokens;
    mean_tokens of the ten; recall; misled: where no right text is among the ten, the logarithm of
    how many times as long as the right text these are, else 0.
    """
    import pandas as pd

    searches, rankings = numbers.searches, numbers.rankings
    texts = searches.texts.table["sentence"].to_pandas().to_numpy()
    side = list(OTHER).index(numbers.similarity)
    top_k, recall = numbers.own.top_k, numbers.own.recalls
    nearest, ten_tokens = rankings.nearest[side], rankings.n_tokens[top_k]
    right_tokens = rankings.n_tokens[nearest]
    table = pd.DataFrame(
        {
            "query": searches.queries.table["sentence"].to_pandas().to_numpy(),
            "right": texts[nearest],
            "right_tokens": right_tokens,
            "right_rank": rankings.ranks[side],
            "n_right": numbers.qrels.n_relevant,
            "first": texts[top_k[:, 0]],
            "first_tokens": ten_tokens[:, 0],
            "mean_tokens": ten_tokens.mean(axis=1),
            "recall": recall,
        }
    )
    ratio = np.log(table["mean_tokens"].clip(lower=1) / np.maximum(right_tokens, 1))
    return table.assign(misled=ratio.where(recall == 0, 0.0))


def misled(result: Result) -> "pd.DataFrame":
    """Rows of the searches that missed, and found texts of the most different lengths."""
    rows = result.table[result.table["recall"] == 0]
    return rows.sort_values("misled", key=lambda column: -abs(column), kind="stable")[:MOST_MISLED]


def misled_title(rows: "pd.DataFrame") -> str:
    """How much longer or shorter texts are that are found in the place of the right ones."""
    if rows.empty:
        return "No search misses all of its right texts"
    worst = float(rows["misled"].iloc[0])
    ratio = f"{rounded(np.exp(abs(worst)))} times {'longer' if worst > 0 else 'shorter'}"
    return f"The most misled search finds texts on average {ratio} than the right one"


def match_title(result: Result) -> str:
    """One threshold for all lengths, or not, in a sentence."""
    table = match_table(result)
    low, high, least = table["low"], table["high"], table["threshold"]
    a, b = str(least.idxmin()), str(least.idxmax())
    if low.max() > 2 * (1 - UNRELATED) or high.min() < (1 - UNRELATED) / 2:
        under = f"stay under {rounded(least[a])} for the {a} fifth, under {rounded(least[b])}"
        return f"No one threshold serves all lengths: unrelated texts {under} for the {b}"
    if high.max() <= 2 * (1 - UNRELATED) and low.min() >= (1 - UNRELATED) / 2:
        under = f"stay under {rounded(least[a])} to {rounded(least[b])} in 99 of 100 pairs"
        return f"One threshold serves all lengths: unrelated texts {under}"
    return "Too few pairs to tell if one threshold serves all lengths"


def match_table(result: Result) -> "pd.DataFrame":
    """A row for each fifth, with columns MATCHES."""
    import pandas as pd

    return pd.DataFrame(result.details["matches"], QUINTILES)


def fix_title(result: Result) -> str:
    """The fix that is advised, of those that were tried."""
    n, fix = len(result.details["fixes"]), result.details["advised_fix"]
    tried = f"{n} fix{'es' * (n != 1)} tried"
    return f"{tried}, one advised: {lowered(FIXES[fix])}" if fix else f"{tried}, none advised"


def snippet(correction: Mapping[str, Any]) -> str:
    """An advised fix in Python, to copy."""
    numbers = [f"{name} = {number:.6g}" for name, number in correction["coefficients"].items()]
    target = "scores" if "score" in correction["formula"] else "vectors"
    if numbers:
        fitted = "# Fitted to these texts and this model: for others, run clsviz search-test again."
        meant = (
            "# n: the tokens of each text that the model reads. scores: of a query with each text."
        )
        numbers = [fitted, meant, *numbers]
    return "\n".join(["import numpy as np", *numbers, f"{target} = {correction['formula']}"])


def fix_table(result: Result) -> "pd.DataFrame":
    """A row for each way to search: as it is, by words, and with every fix."""
    import pandas as pd

    details = result.details
    retrievers = {
        f"As it is, by {BY[result.about['similarity']]}": details,
        "By BM25, which matches words": details["bm25"],
        **{FIXES[fix]: numbers for fix, numbers in details["fixes"].items()},
    }
    rows = []
    for way, numbers in retrievers.items():
        ends = " to ".join(rounded(100 * end) for end in numbers.get("interval", ()))
        shortest, *_, longest = np.array(numbers["exposure"], np.float64)
        row = {
            "Way": way,
            "Recall": percent(numbers["recall_at_10"]),
            "Change": f"{points(numbers['difference'])} ({ends})" if ends else "",
            "Shortest fifth": times(shortest),
            "Longest fifth": times(longest),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _picture(numbers: SearchNumbers) -> dict[str, Any]:
    """Lengths of the fifths, and a line for each way, that of the similarity first."""
    other, advice = OTHER[numbers.similarity], numbers.advice
    lines = {BY[numbers.similarity]: numbers.own}
    if not np.array_equal(numbers.own.top_k, numbers.other.top_k):  # of norm 1 they are the same
        lines[BY[other]] = numbers.other
    lines[BY["bm25"]], quintiles = numbers.words, numbers.own.quintiles
    if advice and advice.fix != "normalized":  # whose line is that of cosine
        lines[advice.fix.replace("_", "-")] = numbers.fixes[advice.fix][0]
    return {
        "spans": list(zip(quintiles["from_tokens"], quintiles["to_tokens"], strict=True)),
        "fair": FAIR,
        "lines": [
            {
                "name": name,
                "exposure": ranking.exposure,
                "intervals": ranking.intervals,
                "recall": ranking.quintiles["recall_at_10"].tolist(),
            }
            for name, ranking in lines.items()
        ],
    }


def _excess(numbers: SearchNumbers, search: SearchSettings) -> dict[str, list[str]]:
    """What is surely beyond a limit, and the fifths for which that is open."""
    most, quintiles = search.max_exposure, numbers.own.quintiles
    if search.max_truncated is None and most is None:
        return {}
    is_cut = numbers.truncated[0] > (1 if search.max_truncated is None else search.max_truncated)
    cut, most = [TRUNCATED] * is_cut, np.inf if most is None else most
    low, high = quintiles["low"], quintiles["high"]
    exceeded = (low > most) | (high < 1 / most)
    undecided = ((low < 1 / most) | (high > most)) & ~exceeded
    names = [*quintiles.index[exceeded], *cut]
    return {"exceeded": names, "undecided": [*quintiles.index[undecided]]}


def _caveats(
    numbers: SearchNumbers,
    excess: Mapping[str, list[str]],
    experiment: Experiment,
    search: SearchSettings,
    unit: str,
) -> tuple[str, ...]:
    """Everything left out or doubtful, a sentence each. unit: of lengths."""
    texts = numbers.searches.texts.table["sentence"].to_pylist()
    most = search.max_exposure or 1.0
    limits, few = f"{rounded(1 / most)} to {most:g}", "Too few texts or searches to tell"
    exceeded, undecided = excess.get("exceeded", []), ", ".join(excess.get("undecided", []))
    beyond = ", ".join(name for name in exceeded if name != TRUNCATED)
    share = percent(search.max_truncated or 0)
    cases = {
        IN_WORDS: unit == "words" and not numbers.model,
        **pipeline_caveats(numbers.model, experiment, numbers.similarity),
        f"Exposure is outside {limits} for fifths: {beyond}.": beyond,
        f"The model reads over {share} of the texts in part.": TRUNCATED in exceeded,
        f"{few} if exposure is within {limits} for fifths: {undecided}.": undecided,
    }
    unknown = unknown_tokens(numbers.model, texts) if numbers.model else ()
    return (
        *unknown,
        *letters_count(texts, unit),
        *numbers.searches.caveats,
        *(text for text, holds in cases.items() if holds),
    )


def pipeline_caveats(
    model: Weights | None, experiment: Experiment, similarity: str = "cosine"
) -> dict[str, object]:
    """Sentences about the vector and the model's own pipeline, each with what makes it hold."""
    if model is None:
        return {}
    own, view = model.pipeline, resolve(experiment, model)
    label = model.label
    unit = "normalises vectors: dot product concerns those who do not"
    if view.pooling == "pipeline":
        unit = "ends in vectors of norm 1: dot product and cosine are the same"
    none = f"{label} has no pipeline of its own: this is about its mean-pooled vector."
    return {
        f"{label} is a function: without count_tokens its “tokens” are words.": (
            "words" in own.steps
        ),
        none: experiment.pooling == "pipeline" and not own.steps,
        **dict.fromkeys(own.caveats(view.pooling, is_of_norms=False), True),
        f"{label}’s own pipeline {unit}.": own.normalizes and similarity == "dot",
    }
