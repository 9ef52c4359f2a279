"""Why longer sentences have shorter mean vectors: what averaging does, and what the token vectors do."""

from clsviz.measurements import FIXED
from clsviz.statistics.means import Averaging, Trend
from clsviz.words.answer import HARDLY
from clsviz.words.numbers import number, r_squared

PENDING = "What averaging alone does is computed once all sentences are measured."

ABOUT = (
    "The mean of more vectors is shorter where they differ. Averaging alone gives m tokens the squared norm A / m + "
    "(1 − 1/m) C: A is the mean squared norm of a token, and C the mean product of two tokens of a sentence, both over "
    "these sentences. Tokens from anywhere are dealt out again among neighbours in the sample, which leaves averaging "
    f"alone; {FIXED} random word tokens of each sentence leave it out. All of this is after the last layer, before "
    "anything is normalised, with lengths in tokens."
)

UNTRAINED = "The same architecture with random weights is the control."

COLUMNS = "R²", "Slope per token"

_ABOUT_THAT = 1.25
"""Slopes that differ by a smaller factor are called about the same."""

_SHARES = {
    0.75: "three quarters of",
    0.667: "two thirds of",
    0.5: "half of",
    0.333: "a third of",
    0.25: "a quarter of",
    0.2: "a fifth of",
    0.167: "a sixth of",
    0.143: "a seventh of",
    0.125: "an eighth of",
    0.111: "a ninth of",
    0.1: "a tenth of",
}


def title(found: Averaging, *, untrained: bool) -> str:
    """The finding, in one to three sentences."""
    norm = found.norm
    if norm is None or not norm.sign:
        return "Mean-pooled vectors: no sign that longer sentences have shorter or longer ones."
    slightly = "slightly " if norm.r_squared < HARDLY else ""
    text = f"{slightly}{'longer' if norm.sign > 0 else 'shorter'} mean vectors (R² {r_squared(norm.r_squared, 2)})."
    text = f"On paper only, longer sentences have {text}" if found.is_flat else f"Longer sentences have {text}"
    if found.is_flat:
        return text
    if norm.sign > 0:
        return f"{text} Averaging alone would make them shorter{_tokens(found, 1, untrained=untrained)}."
    on = found.on_averaging
    if on is None or on.sign <= 0:
        return f"{text} Averaging alone does not account for it{_tokens(found, -1, untrained=untrained)}."
    if max(on.slope, 1 / on.slope) < _ABOUT_THAT:
        return f"{text} Averaging alone would give about that slope."
    if on.slope < 1:
        steeper = f"{text} Averaging alone would give a slope {number(1 / on.slope)} times as steep"
        return f"{steeper}{_tokens(found, 1, untrained=untrained)}."
    share = min(_SHARES, key=lambda share: abs(share - 1 / on.slope))
    how_much = "less than a tenth of" if 1 / on.slope < 0.09 else f"about {_SHARES[share]}"
    return f"{text} Averaging alone would give {how_much} that slope{_tokens(found, -1, untrained=untrained)}."


def _tokens(found: Averaging, sign: int, *, untrained: bool) -> str:
    """What token vectors do as sentences grow that bends the norm of their mean that way; "" if nothing shows."""
    done = []
    if found.squares and found.squares.sign == sign:
        done.append("grow" if sign > 0 else "shrink")
    if found.agreement and found.agreement.sign == sign:
        done.append("agree more" if sign > 0 else "agree less")
    if not done:
        return ""
    model = "untrained" if untrained else "trained"
    return f"; in this {model} model the token vectors themselves {' and '.join(done)}"


def rows(found: Averaging) -> dict[str, Trend | None]:
    """The trends against length that the card has, by what they are of."""
    n = f"{found.fixed.n:,}" if found.fixed else "no"
    return {
        "All tokens": found.norm,
        "Tokens from anywhere": found.dealt,
        f"{FIXED} random word tokens ({n} sentences)": found.fixed,
        "All tokens of those sentences": found.same,
    }


def cell(trend: Trend | None) -> tuple[str, str]:
    """R² and slope of a trend, for a table."""
    return (r_squared(trend.r_squared), number(trend.slope, sign="+")) if trend else ("–", "–")


def accounts(found: Averaging) -> str:
    """How far averaging alone goes, in a sentence or two."""
    if found.accounted_for is None or found.on_averaging is None:
        return ""
    share = found.accounted_for
    text = f"Taken as it is, averaging alone accounts for {100 * share:.0f}% of the variance of the squared norm"
    if share < 0:
        text = "Taken as it is, averaging alone misses the squared norm by more than its mean does"
    on = found.on_averaging
    low, high = (number(end, 2) for end in on.slope_interval)
    return (
        f"{text}. Fitted to it, the slope is {number(on.slope, 2)} ({low} to {high}; R² {r_squared(on.r_squared, 2)})."
    )
