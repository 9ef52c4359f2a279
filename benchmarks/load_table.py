"""The lines of the table of python -m benchmarks.load."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
import scipy.stats

from benchmarks.visited import Held, Server, Stored
from benchmarks.visitors import Met


@dataclass(frozen=True)
class Row:
    """One line of the table. is_wrong: whether it cannot be so on any machine."""

    name: str
    value: str
    is_wrong: bool = False


Report: TypeAlias = list[Row]


def points(name: str, met: Sequence[Met]) -> Row:
    """How long visitors waited for their first points, and what went wrong."""
    seconds = [one.points - one.began for one in met if one.points]
    errors = sorted({error for one in met for error in one.errors})
    told = "none"
    if seconds:
        told = f"p50 {np.percentile(seconds, 50):.2f} s, p95 {np.percentile(seconds, 95):.2f} s"
    if len(seconds) < len(met):
        told += f"; {len(met) - len(seconds)} saw none"
    return Row(name, "; ".join([told, *errors[:3]]), is_wrong=bool(errors) or len(seconds) < len(met))


def places(met: Sequence[Met], runs: Sequence[Stored]) -> list[tuple[int, int]]:
    """Each place in the queue that a visitor was told, and how many runs of others then ended before theirs began."""
    places = []
    for one, own in zip(met, runs, strict=True):
        ends = [other.times[-1] for other in runs if other is not own and other.times]
        if own.times:
            places += [(told, sum(at < end <= own.times[0] for end in ends)) for at, told in one.told]
    return places


def log(server: Server) -> Row:
    """Whether the server wrote of anything that went wrong."""
    is_clean = not any(sign in server.log for sign in ("Traceback", "ERROR", "Error"))
    return Row("its log", "has no error" if is_clean else server.log[-1000:], is_wrong=not is_clean)


def left(now: Held, before: Held, seconds: float) -> Report:
    """What a server holds so many seconds after all have left, against what it held before they came."""
    held = {field.name: (getattr(now, field.name), getattr(before, field.name)) for field in fields(Held)}
    return [
        Row(f"{name} {seconds:.0f} s after all left", f"{after:,.0f}, before {then:,.0f}: {after / then:.2f} times")
        for name, (after, then) in held.items()
    ]


def slopes(readings: Sequence[tuple[float, Held]], blocks: int = 10) -> Report:
    """The least-squares slopes of what was held, with 95% intervals.

    Readings that follow each other are alike: the lines go through the means of blocks of them. The first block is left
    out, in which the visitors gather.
    """
    times = np.array([at for at, _ in readings])
    if len(times) < 2 * blocks:
        return [Row("slopes", "too few readings")]
    parts = np.array_split(np.arange(len(times)), blocks)[1:]
    rows = []
    for name in [field.name for field in fields(Held)]:
        values = np.array([getattr(held, name) for _, held in readings])
        minutes = np.array([times[part].mean() for part in parts]) / 60
        means = np.array([values[part].mean() for part in parts])
        line = scipy.stats.linregress(minutes - minutes[0], means)
        reach = float(scipy.stats.t.ppf(0.975, len(parts) - 2)) * float(np.nan_to_num(line.stderr))
        slope = f"{line.slope:+.2f} a minute ({line.slope - reach:+.2f} to {line.slope + reach:+.2f})"
        rows.append(Row(f"{name} meanwhile", f"{means[0]:,.0f} at first, {means[-1]:,.0f} at last, {slope}"))
    return rows


def several(counts: Sequence[float]) -> str:
    """Different numbers, each of them once."""
    return ", ".join(f"{count:,.0f}" for count in sorted(set(counts)))
