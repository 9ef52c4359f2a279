"""What comparing models shows."""

from collections.abc import Sequence
from dataclasses import replace

from clsviz import analysis
from clsviz.analysis.compare import Row
from clsviz.experiment import Experiment, View
from clsviz.jobs import Found, State
from clsviz.settings import Lengths, NearDuplicates, SimilarityFunction, Unit
from clsviz.sources import models
from clsviz.statistics.intervals import FEW_SENTENCES
from clsviz.statistics.line import Fit
from clsviz.words import provenance
from clsviz.words.answer import HARDLY, NOT_GROUPED, NOT_TOLD, SHUFFLED, SMALL_SPREAD, UNTRAINED_NORM
from clsviz.words.labels import axis_title, cutoff_units
from clsviz.words.numbers import number, r_squared, share
from clsviz.words.readings import counted


def answer(rows: Sequence[Row], experiment: Experiment) -> str:
    """Where length explains most and where least of the norm, of the models that have measured the whole sample."""
    whole = [row for row in rows if row.norms is not None and row.is_whole]
    if not whole:
        return ""
    first = whole[0]
    assert first.norms is not None  # it is one of the whole
    text = " ".join(filter(None, [_ranking(whole), *(_lack(row, experiment) for row in whole if row.fit is None)]))
    text += (
        f" The comparison uses {len(first.norms.n_tokens):,} of {counted(first.n_sampled, first.n_sampled)}: those "
        f"under {experiment.length_cutoff} {cutoff_units(row.model for row in whole)} for every model."
    )
    text += _few(whole)
    if not _knows_near_duplicates(whole):
        text += " Near-duplicates are not looked for among so many: if there are any, the intervals are too narrow."
    if experiment.near_duplicates is NearDuplicates.INDEPENDENT:
        text += f" {NOT_GROUPED}"
    if experiment.lengths is Lengths.SHUFFLED:
        text += SHUFFLED
    partly = [row.label for row in rows if row not in whole]
    if partly:
        text += f" Not included, because not measured on the whole sample: {', '.join(partly)}."
    return text


def searches(rows: Sequence[Row]) -> str:
    """Which model finds the right text more often, of those whose search was tested; "" for fewer than two."""
    tested = {row.label: row.search.ranking(SimilarityFunction.COSINE) for row in rows if row.search is not None}
    if len(tested) < 2:
        return ""
    most, least = (of(tested, key=lambda label: tested[label].recall_at_10) for of in (max, min))
    if tested[most].recall_interval[0] <= tested[least].recall_interval[1]:
        return f"{most} and {least} find the right text about equally often."
    high, low = (f"{tested[label].recall_at_10:.0%}" for label in (most, least))
    return f"{most} finds the right text more often than {least}: {high} against {low}."


def _few(rows: Sequence[Row]) -> str:
    """That there are too few different sentences for a firm answer, or ""."""
    fits = [row.fit for row in rows if row.fit and row.fit.n_clusters < FEW_SENTENCES]
    if not fits:
        return ""
    repeats = [fit.n_clusters for fit in fits if fit.n_clusters < fit.n]
    if not repeats:
        return " That is too few for a firm answer."
    n = min(repeats)
    what = "is only 1 different sentence" if n == 1 else f"are only {n} different sentences"
    return f" Among them {what}, too few for a firm answer."


def headline(rows: Sequence[Row]) -> str:
    """The answer in one sentence, of the models that have measured the whole sample; "" if there are none."""
    fits = {row.label: row.fit for row in rows if row.is_whole and row.fit is not None}
    if not fits:
        return "" if not any(row.norms is not None and row.is_whole for row in rows) else _NO_LINE
    most, least = max(fits, key=lambda label: fits[label].r_squared), min(fits, key=lambda label: fits[label].r_squared)
    explained = f"{share(fits[most].r_squared)} of the differences between norms"
    fewest = min(fits.values(), key=lambda fit: fit.n_clusters)
    are_few = fewest.n_clusters < FEW_SENTENCES
    if len(fits) == 1:
        among = f" of only {counted(fewest.n, fewest.n_clusters)}" if are_few else ""
        untold = f", {NOT_TOLD}" if not are_few and fits[most].r_squared_interval[0] == 0 else ""
        return f"In {most}, a straight line in length explains {explained}{among}{untold}."
    is_told = fits[most].r_squared_interval[0] > fits[least].r_squared_interval[1]
    told = "Told apart" if _knows_near_duplicates(rows) else "Told apart if there are no near-duplicates"
    lead = "Too few sentences to tell" if are_few else told if is_told else "Not told apart"
    return f"{lead}: a line in length explains {explained} in {most}, {share(fits[least].r_squared)} in {least}."


def _knows_near_duplicates(rows: Sequence[Row]) -> bool:
    """Whether near-duplicates were looked for; if not, intervals treat all sentences as different ones."""
    return all(row.norms.shown.clusters is not None for row in rows if row.is_whole and row.norms and row.fit)


_NO_LINE = "None of the models has a regression line here."


def _ranking(rows: Sequence[Row]) -> str:
    fits = {row.label: row.fit for row in rows if row.fit is not None}
    if not fits:
        return _NO_LINE
    most, least = max(fits, key=lambda label: fits[label].r_squared), min(fits, key=lambda label: fits[label].r_squared)
    text = ""
    if len(rows) == len(fits) > 1 and fits[most].r_squared < HARDLY:
        text = f"In none of them does a straight line account for as much as {HARDLY:.0%} of the norm’s variance. "
    if len(fits) == 1:
        text += f"In {most}, a straight line in length explains {_explained(fits[most])}."
    elif f"{fits[most].r_squared:.3f}" == f"{fits[least].r_squared:.3f}":
        all_of = "both" if len(fits) == 2 else f"all {len(fits)}"
        text += f"The same to three decimals in {all_of}: a straight line in length explains {_explained(fits[most])}."
    else:
        text += (
            f"Most in {most}, where a straight line in length explains {_explained(fits[most])}; least in {least}, "
            f"where it explains {_explained(fits[least], '')}."
        )
        if fits[most].r_squared_interval[0] <= fits[least].r_squared_interval[1]:
            text += " The intervals overlap, so the order may be due to chance."
    for label in dict.fromkeys([most, least]):
        fit = fits[label]
        if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
            spread = number(fit.norm_sd, digits=2)
            text += (
                f" In {label}, the norm barely varies: its standard deviation is {spread}, around a mean of "
                f"{number(fit.norm_mean, digits=2)}."
            )
    return text


def _explained(fit: Fit, of: str = " of the norm’s variance") -> str:
    value, low, high = map(r_squared, (fit.r_squared, *fit.r_squared_interval))
    return f"{share(fit.r_squared)}{of} (R² {value}, 95% interval {low} to {high})"


def _lack(row: Row, experiment: Experiment) -> str:
    assert row.norms is not None  # asked only where there is a view
    shown = row.norms.shown
    text = f"There is no regression line for {row.label}: {shown.problem[:1].lower()}{shown.problem[1:]}"
    is_constant = len(shown.index) >= 3 and len(set(shown.lengths.tolist())) > 1
    if is_constant and models.Name.parse(row.model).untrained and experiment.layer != 0:
        text += UNTRAINED_NORM
    return text


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


def probe_curves(rows: Sequence[Row]) -> str:
    """What the picture of R² of the probes by layer shows, and how many sentences they are fitted to."""
    profiles = [row.profile for row in rows if row.profile]
    numbers = sorted({profile.n for profile in profiles})
    of = (
        f"on the first {' or '.join(f'{n:,}' for n in numbers)} sentences"
        if numbers
        else "once the vectors are measured"
    )
    text = f"From the whole [CLS] vector: cross-validated R² of a linear probe, {of}."
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
All models are measured on the same sentences. R² is the share of the norm’s variance that a straight line on length \
explains: 0 is none, 1 is all. It does not say how much the norm varies in the first place; for that, see its standard \
deviation. The slope also depends on the size of a model’s vectors, so do not compare slopes between models; R² and \
Spearman’s ρ can be compared.

The lower pictures show every layer, from the embeddings to the last, on a scale that does not depend on the number of \
layers. On the left, how much of the norm of [CLS] length explains; on the right, how well a linear probe predicts \
length from the whole vector. A gap between the two is what a linear probe reads beyond a straight line on the norm. A \
model with random weights is a control: whatever it shows as well takes no training."""
