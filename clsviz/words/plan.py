"""What a measurement would take, in words."""

from collections.abc import Iterator

from clsviz.jobs import GPU_RATE, Plan
from clsviz.words.numbers import duration


def lines(plan: Plan, n_workers: int) -> Iterator[str]:
    """A line each: what there is to do, how long it takes on what, and how much is kept."""
    if plan.megabytes:
        yield f"To download first: about {plan.megabytes:,} MB."
    stored = plan.n_sentences - plan.n_missing
    about = "" if plan.is_counted else "about "
    judged = "" if plan.is_counted else ", judged by the size of the files"
    yield f"Sentences: {about}{plan.n_sentences:,}{judged}" + (
        f", of which {stored:,} are measured already." if stored else "."
    )
    if plan.n_missing:
        yield f"Tokens to read: about {plan.n_tokens:,}, estimated from the sentences’ characters."
        how = (
            "as measured here before"
            if plan.is_measured
            else "estimated from the model’s size and this machine’s speed"
        )
        yield f"On this machine: about {duration(plan.seconds())}, at {plan.rate:,.0f} sentences/s ({how})."
        if n_workers > 1:
            each = duration(plan.seconds(n_workers))
            yield f"On {n_workers:,} machines like it, each with an equal share: about {each}."
        yield (
            f"On a GPU: about {duration(plan.gpu_seconds)}, assuming that it sustains {GPU_RATE / 1e12:.0f} TFLOP/s in "
            "float32; not measured."
        )
    yield (f"Kept: about {_size(plan.norms_bytes)} of norms. Vectors of all would take {_size(plan.vectors_bytes)}.")


def line(plan: Plan, *, of_vectors: bool = False) -> str:
    """The same in a line, but for the time. of_vectors: whether vectors are measured, and not norms."""
    first = f"Downloads about {_size(1e6 * plan.megabytes)} first. " if plan.megabytes else ""
    n_tokens = _rough(plan.n_tokens)
    what = f"{plan.n_sentences:,} sentences, about {n_tokens} tokens"
    if not plan.is_counted:
        what = f"About {_rough(plan.n_sentences)} sentences, {n_tokens} tokens"
    return f"{first}{what}; keeps {_size(plan.vectors_bytes if of_vectors else plan.norms_bytes)}."


def _rough(n: int) -> str:
    """A number to two digits."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if n >= size:
            return f"{n / size:,.{1 if n < 10 * size else 0}f} {word}"
    return f"{float(f'{n:.1e}'):,.0f}"


def _size(n_bytes: float) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.{1 if n_bytes < 10 * size else 0}f} {unit}"
    return f"{max(n_bytes / 1e3, 0.1):,.1f} kB"
