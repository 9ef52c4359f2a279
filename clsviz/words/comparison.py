"""What comparing models shows."""

from collections.abc import Sequence
from dataclasses import replace

from clsviz import analysis
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment, View
from clsviz.jobs import Cost, Found, State
from clsviz.settings import Lengths, NearDuplicates, SimilarityFunction, Unit
from clsviz.sources import models
from clsviz.statistics.exposure import Ranking
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.words import provenance, search
from clsviz.words.answer import HARDLY, NOT_GROUPED, SHUFFLED, SMALL_SPREAD, UNTRAINED_NORM
from clsviz.words.labels import axis_title, cutoff_units
from clsviz.words.numbers import duration, number, r_squared, share, share_in_short
from clsviz.words.profile import counted


def caveats(rows: Sequence[Row], experiment: Experiment) -> str:
    """What else to know of the headline: which models have no line or are left out, and what intervals rest on."""
    whole = {row.label: (row, row.norms.shown) for row in rows if row.norms is not None and row.is_whole}
    if not whole:
        return ""
    texts, fits = [], {label: row.fit for label, (row, _) in whole.items() if row.fit is not None}
    for label, (row, shown) in whole.items():
        if label not in fits:
            text = f"There is no regression line for {label}: {shown.problem[:1].lower()}{shown.problem[1:]}"
            is_constant = len(shown.index) >= 3 and len(set(shown.lengths.tolist())) > 1
            if is_constant and models.Name.parse(row.model).untrained and experiment.layer != 0:
                text += f" {UNTRAINED_NORM}"
            texts.append(text)
    for label, fit in fits.items():
        if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
            spread, mean = number(fit.norm_sd, digits=2), number(fit.norm_mean, digits=2)
            texts.append(f"In {label}, the norm barely varies: its standard deviation is {spread}, around {mean}.")
    few = [fit for fit in fits.values() if fit.n_clusters < FEW_SENTENCES]
    if repeats := [fit.n_clusters for fit in few if fit.n_clusters < fit.n]:
        n = min(repeats)
        what = "is only 1 different sentence" if n == 1 else f"are only {n} different sentences"
        texts.append(f"Among them {what}, too few for a firm answer.")
    elif few:
        texts.append("That is too few for a firm answer.")
    if any(whole[label][1].clusters is None for label in fits):
        texts.append(
            "Near-duplicates are not looked for among so many: if there are any, the intervals are too narrow."
        )
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        texts.append(NOT_GROUPED)
    if experiment.lengths is Lengths.SHUFFLED:
        texts.append(SHUFFLED)
    if partly := [row.label for row in rows if row.norms is None or not row.is_whole]:
        texts.append(f"Not included, because not measured on the whole sample: {', '.join(partly)}.")
    return " ".join(texts)


def in_numbers(rows: Sequence[Row], experiment: Experiment) -> str:
    """What stands below the headline: what a probe of each last layer misses, and of how many sentences."""
    whole = [row for row in rows if row.norms is not None and row.is_whole]
    if not whole:
        return ""
    first, errors = whole[0], analysis.compare.last_errors(whole)
    assert first.norms is not None  # it is one of the whole
    parts = []
    if errors:
        missed = [f"{error:.1f} {experiment.unit} in {label}" for label, error in list(errors.items())[:_MOST_NAMED]]
        parts.append(f"After the last layer, a linear probe misses length by {', '.join(missed)}")
        if profile := next((row.profile for row in whole if row.profile), None):
            parts.append(f"guessing by {profile.guess_error:.1f}")
    lines = []
    for row in whole:
        if row.fit is not None:
            low, high = (share(end) for end in row.fit.r_squared_interval)
            interval = f"95% interval {low.removesuffix('%')}–{high}"
            lines.append(f"straight line {share(row.fit.r_squared)} ({interval}) in {row.label}")
    units = cutoff_units(row.model for row in whole)
    sample = f"{len(first.norms.n_tokens):,} of {counted(first.n_sampled, first.n_sampled)}, under "
    sample += f"{experiment.length_cutoff} {units} in every model"
    return " · ".join([*parts, *lines[:_MOST_NAMED], sample])


_MOST_NAMED = 3


def searches(rows: Sequence[Row]) -> str:
    """Which model finds the right text more often, of those whose search was tested.

    "" for fewer than two, and where none finds it more often than chance.
    """
    tested = rankings(rows)
    tests = [row.search for row in rows if row.search is not None]
    if len(tests) < 2 or all(search.is_near_chance(test, SimilarityFunction.COSINE) for test in tests):
        return ""
    most, least = (of(tested, key=lambda label: tested[label].recall_at_10) for of in (max, min))
    if tested[most].recall_interval[0] <= tested[least].recall_interval[1]:
        return f"{most} and {least} find the right text about equally often."
    high, low = (f"{tested[label].recall_at_10:.0%}" for label in (most, least))
    return f"{most} finds the right text more often than {least}: {high} against {low}."


def rankings(rows: Sequence[Row]) -> dict[str, Ranking]:
    """How each model that was tested ranks mean-pooled vectors by cosine, by its label."""
    return {row.label: row.search.ranking(SimilarityFunction.COSINE) for row in rows if row.search is not None}


def fifths(rows: Sequence[Row]) -> list[str]:
    """The fifths of the searched texts by length: their tokens, or their names where tokenizers disagree on them."""
    spans = [search.spans(row.search) for row in rows if row.search is not None]
    return spans[0] if all(one == spans[0] for one in spans) else [name.capitalize() for name in search.FIFTHS]


def about_searches(rows: Sequence[Row], corpus: str) -> str:
    """What the picture of searches in a corpus shows, by its label; which models are not tested."""
    test = next((row.search for row in rows if row.search is not None), None)
    problems = [row.search_problem for row in rows if row.search_problem]
    if test is None:
        return f"No search was tested: {problems[0]}" if problems else "No search is tested yet."
    text = (
        f"Search: {test.n_searches:,} searches {search.SEARCHES[test.task]} in {corpus}, by cosine of mean-pooled "
        "vectors. Exposure 1 is fair."
    )
    lacking = [row.label for row in rows if row.search is None]
    return f"{text} Not tested: {', '.join(lacking)}." if lacking else text


def measure_searches(costs: Sequence[Cost]) -> str:
    """The button that has the other models tested."""
    megabytes = sum(cost.megabytes for cost in costs)
    about = f" · about {duration(sum(cost.seconds for cost in costs))}" if any(cost.seconds for cost in costs) else ""
    return f"Measure searches{about}" + (f" · {megabytes:,} MB" if megabytes else "")


def headline(rows: Sequence[Row]) -> str:
    """The answer in one sentence, of the models that have measured the whole sample; "" if there are none."""
    whole = [row for row in rows if row.is_whole and row.norms is not None]
    fits = {row.label: row.fit for row in whole if row.fit is not None}
    if not fits:
        return "Can’t compare: no model gives a line here." if whole else ""
    most, least = max(fits, key=lambda label: fits[label].r_squared), min(fits, key=lambda label: fits[label].r_squared)
    highest, (_, high) = share_in_short(fits[most].r_squared), fits[most].r_squared_interval
    if min(fit.n_clusters for fit in fits.values()) < FEW_SENTENCES:
        return f"Too few sentences to compare: a straight line accounts for {highest} at most, in {most}."
    if len(fits) == 1:
        if len(whole) == 1:
            return f"In {most}, a straight line accounts for {highest} of the differences between norms."
        return f"Only {most} gives a line: it accounts for {highest} of the differences between norms."
    if high < HARDLY:
        return f"By a straight line, hardly any: at most {highest}, in {most}."
    by_label = {row.label: row for row in whole}
    if analysis.compare.r_squared_difference(by_label[most], by_label[least])[0] > 0:
        return f"{most} more than {least}: a straight line accounts for {highest} of its norm differences."
    return f"Too close to call: the highest is {highest}, in {most}."


def answer(rows: Sequence[Row], experiment: Experiment) -> str:
    """The headline with its numbers and caveats, as the command and the Python interface have it."""
    numbers = in_numbers(rows, experiment)
    return " ".join(filter(None, [headline(rows), numbers and f"{numbers}.", caveats(rows, experiment)]))


def tokenizers(rows: Sequence[Row], unit: Unit) -> str:
    """Whether the models' lengths can be compared, or "" while that is not known."""
    agree = analysis.compare.tokens_agree(rows)
    if agree is None:
        return ""
    if unit is not Unit.TOKENS:
        cutoff = cutoff_units(row.model for row in rows)
        return f"Lengths are counted in {unit}, which are the same for all models; the cutoff is in {cutoff}."
    in_words = [row.label for row in rows if cutoff_units([row.model]) == Unit.WORDS]
    if in_words:
        return (
            f"Of {', '.join(in_words)} lengths are in words, as numbers of tokens were not given; choose words for all."
        )
    if agree:
        return "These models’ tokenizers give every sentence the same number of tokens."
    means = ", ".join(
        f"{counts.mean():.1f} {'tokens ' if not index else ''}for {label}"
        for index, (label, counts) in enumerate(analysis.compare.token_counts(rows).items())
    )
    return (
        f"Each model has its own tokenizer, so the same sentences differ in length: on average {means}. A slope per "
        "token therefore means something different for each model; in words, a length is the same for all."
    )


SEARCHING = "Each model searches for texts; the answer follows."


def waiting(states: Sequence[State]) -> str:
    """Why there is no answer yet, from the states of all jobs."""
    if any(state.is_active for state in states):
        return "Models are measured one after another. Rows and pictures fill in as results arrive."
    if State.WAITING in states:
        return "Press Measure to start. This takes a while or needs a download, so it does not start on its own."
    if all(state is State.FAILED for state in states):
        return "Nothing was measured; the error says why."
    return "No model has been measured on the whole sample yet. Press Measure to continue."


def pictures(rows: Sequence[Row], view: View) -> str:
    """What the pictures of norm against length show, for those who cannot see them."""
    said = "; ".join(
        f"{row.label}: " + (f"R² {r_squared(row.fit.r_squared)}" if row.fit else "no line") for row in rows
    )
    return f"{axis_title(view)} against sentence length, one picture per model. {said}."


def norm_curves(unit: Unit) -> str:
    """What the picture of R² of the norm by layer shows."""
    return f"From the norm of [CLS]: R² of its regression on length in {unit}."


def probe_curves(rows: Sequence[Row], unit: Unit) -> str:
    """What the picture of the errors of the probes by layer shows, and how many sentences they are fitted to."""
    profiles = [row.profile for row in rows if row.profile]
    numbers = sorted({profile.n for profile in profiles})
    of = (
        f"on the first {' or '.join(f'{n:,}' for n in numbers)} sentences"
        if numbers
        else "once the vectors are measured"
    )
    text = f"From the [CLS] vector: by how many {unit} a linear probe misses length, {of}."
    fewest = min(profiles, key=lambda profile: profile.n_different, default=None)
    if fewest is None or fewest.n_different >= FEW_SENTENCES:
        return text
    return (
        f"{text} {counted(fewest.n, fewest.n_different)} {'is' if fewest.n_different == 1 else 'are'} too few to tell."
    )


def settings(experiment: Experiment, measured: Sequence[tuple[Row, Found]]) -> dict[str, str]:
    """How the comparison came about, by name; measured: at least one model, with its norms."""
    (first, found), *_ = measured
    assert first.norms is not None  # it is measured
    of_first = provenance.settings(replace(experiment, model=first.model), found, first.norms.shown)
    shared = {name: of_first[name] for name in ("Corpus", "Sample", "Length", "Precision", "Line")}
    shared["Sample"] = f"{len(found.sentences):,} sentences, {found.sample.drawn}"
    units = cutoff_units(row.model for row, _ in measured)
    shared["Compared"] = (
        f"sentences of fewer than {experiment.length_cutoff} {units} for every model that all of them read in full"
    )
    of_models = {
        f"Model {row.label}": f"{found.weights.pinned}, fingerprint {found.weights.fingerprint[:16]}"
        for row, found in measured
    }
    return of_models | shared


HOW_TO_READ = """\
All models are measured on the same sentences. R² is the share of the norm’s variance that a straight line in length \
accounts for: 0 is none, 1 is all. It does not say how much the norm varies in the first place; for that, see its \
standard deviation. The slope also depends on the size of a model’s vectors, so do not compare slopes between models; \
R² and Spearman’s ρ can be compared.

The pictures of layers show every layer, from the embeddings to the last, on a scale that does not depend on the \
number of layers. On the left, by how much a linear probe of the [CLS] vector misses length; on the right, how much of \
the norm of [CLS] a straight line in length accounts for. A model with random weights shows what there is before \
any training; that a probe finds less in a trained one does not mean that training takes length away."""
