"""What a measurement would take, in words."""

from collections.abc import Iterator

from clsviz.measuring import GPU_RATE, Plan
from clsviz.words.numbers import duration

_DAY = 24 * 3600


def lines(plan: Plan, n_workers: int) -> Iterator[str]:
    """A line each: what there is to do, how long it takes on what, and how much is kept."""
    if plan.megabytes:
        yield f"To download first: about {plan.megabytes:,} MB."
    stored = plan.n_sentences - plan.n_missing
    yield f"Sentences: {plan.n_sentences:,}" + (f", of which {stored:,} are measured already." if stored else ".")
    if plan.n_missing:
        yield f"Tokens to read: about {plan.n_tokens:,}, estimated from the sentences’ characters."
        how = (
            "as measured here before"
            if plan.is_measured
            else "estimated from the model’s size and this machine’s speed"
        )
        yield f"On this machine: about {_long(plan.seconds())}, at {plan.rate:,.0f} sentences/s ({how})."
        if n_workers > 1:
            yield (
                f"On {n_workers:,} machines like it, each with an equal share: about {_long(plan.seconds(n_workers))}."
            )
        yield (
            f"On a GPU: about {_long(plan.gpu_seconds)}, assuming that it sustains {GPU_RATE / 1e12:.0f} TFLOP/s in "
            "float32; not measured."
        )
    yield (f"Kept: about {_size(plan.norms_bytes)} of norms. Vectors of all would take {_size(plan.vectors_bytes)}.")


def _long(seconds: float) -> str:
    return f"{seconds / _DAY:,.1f} days" if seconds >= 2 * _DAY else duration(seconds)


def _size(n_bytes: float) -> str:
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{max(n_bytes / 1e3, 0.1):,.1f} kB"
