"""What comparing models showed."""

from collections.abc import Sequence

from clsviz import analysis, models, statistics
from clsviz.analysis.comparison import Row
from clsviz.experiment import Experiment
from clsviz.settings import Lengths, Unit
from clsviz.words.answer import FEW_SENTENCES, SMALL_SPREAD, STRENGTHS
from clsviz.words.numbers import number


def answer(rows: Sequence[Row], experiment: Experiment) -> str:
    """Whose norm tells most of the length and whose least, of the models that have measured the whole sample."""
    whole = [row for row in rows if row.norms is not None and row.is_whole]
    if not whole:
        return ""
    first = whole[0]
    assert first.norms is not None  # it is one of the whole
    text = " ".join(filter(None, [_ranking(whole), *(_lack(row) for row in whole if row.fit is None)]))
    text += (
        f" Compared are {len(first.norms.n_tokens):,} of {first.n_sampled:,} sentences: those under "
        f"{experiment.length_cutoff} tokens for every model."
    )
    few = [row for row in whole if row.fit and row.fit.n < FEW_SENTENCES]
    if few:
        text += " So few sentences give no firm answer."
    if experiment.lengths is Lengths.SHUFFLED:
        text += " The lengths are shuffled among them, as a control: whatever is left is chance."
    partly = [row.label for row in rows if row not in whole]
    if partly:
        text += f" Left out here, as not measured on all of them: {', '.join(partly)}."
    return text


def _ranking(rows: Sequence[Row]) -> str:
    fits = {row.label: row.fit for row in rows if row.fit is not None}
    if not fits:
        return "In none of them is there a line."
    most, least = max(fits, key=lambda label: fits[label].r_squared), min(fits, key=lambda label: fits[label].r_squared)
    text = "Hardly in any. " if len(rows) == len(fits) > 1 and fits[most].r_squared < STRENGTHS[0][0] else ""
    if len(fits) == 1:
        text += f"In {most} length explains {_explained(fits[most])}."
    elif f"{fits[most].r_squared:.3f}" == f"{fits[least].r_squared:.3f}":
        all_of = "both" if len(fits) == 2 else f"all {len(fits)}"
        text += f"As much in {all_of}: length explains {_explained(fits[most])}."
    else:
        text += (
            f"Most in {most}, where length explains {_explained(fits[most])}; least in {least}, where it explains "
            f"{_explained(fits[least], '')}."
        )
        if fits[most].r_squared_interval[0] <= fits[least].r_squared_interval[1]:
            text += " The intervals overlap, so the order may be chance."
    for label in dict.fromkeys([most, least]):
        fit = fits[label]
        if fit.norm_sd < SMALL_SPREAD * fit.norm_mean:
            spread = number(fit.norm_sd, digits=2)
            text += (
                f" In {label} the norm hardly varies: its standard deviation is {spread}, around {fit.norm_mean:.2f}."
            )
    return text


def _explained(fit: statistics.Fit, of: str = " of the norm’s variance") -> str:
    low, high = fit.r_squared_interval
    return f"{fit.r_squared:.1%}{of} (R² {fit.r_squared:.3f}, 95% interval {low:.3f} to {high:.3f})"


def _lack(row: Row) -> str:
    assert row.norms is not None  # asked only where there is a view
    shown = row.norms.shown
    text = f"In {row.label} there is no line: {shown.problem[:1].lower()}{shown.problem[1:]}"
    is_constant = len(shown.index) >= 3 and len(set(shown.lengths.tolist())) > 1
    if is_constant and models.Name.parse(row.model).untrained:
        text += " That is what a LayerNorm does before it is trained, in many models: see the pooler output."
    return text


def tokenizers(rows: Sequence[Row], unit: Unit) -> str:
    """Whether the lengths of the models can be set side by side, or "" while that is not known."""
    agree = analysis.comparison.tokens_agree(rows)
    if agree is None:
        return ""
    if unit is not Unit.TOKENS:
        return f"Lengths are counted in {unit}, which are the same for all models; the cutoff is in tokens."
    if agree:
        return "The tokenizers of these models cut every sentence into equally many tokens."
    means = ", ".join(
        f"{counts.mean():.1f} by {label}" for label, counts in analysis.comparison.token_counts(rows).items()
    )
    return (
        f"The same sentences have different lengths, as every model has its own tokenizer: {means} tokens on average. "
        "A slope per token is not the same thing for each; words are."
    )
