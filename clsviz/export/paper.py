"""The table of `clsviz compare` for a paper, in Markdown."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from clsviz import words
from clsviz.words.numbers import r_squared

_HEAD = (
    *("Corpus", "Model", "Sentences", "R² of the line", "Slope per {unit}", "R² of the curve"),
    *("Probe error, first layer", "Probe error, last layer", "Guessing"),
)

_VERSIONS = {
    "clsviz": "clsviz",
    "python": "Python",
    "torch": "torch",
    "transformers": "transformers",
    "numpy": "numpy",
    "scikit_learn": "scikit-learn",
}

_NOTE = (
    "In parentheses 95% intervals, and for errors the range with random weights ({n}). Line and curve: R² of the norm "
    "of {vector} on length; the curve’s is cross-validated, and can be negative. Errors: mean absolute error of a "
    "cross-validated linear probe of [CLS], in {unit}."
)


def markdown(table: pd.DataFrame) -> str:
    """The table of `paper_table`: its main columns, then what each row was measured with, then the versions."""
    rows: Sequence[Mapping[Hashable, Any]] = table.astype(object).where(table.notna(), None).to_dict("records")
    first = rows[0]
    n_random = max(row["n_random"] for row in rows)
    draws = "one draw of them" if n_random == 1 else f"{n_random} draws of them"
    vector = words.POOLINGS[first["pooling"]].described
    layer = "" if first["layer"] is None or first["pooling"] == "pooler" else f" after layer {first['layer']}"
    unit = str(first["unit"])
    lines = [
        _line(name.format(unit=unit.removesuffix("s")) for name in _HEAD),
        _line(["---"] * 2 + ["---:"] * (len(_HEAD) - 2)),
        *(_line(_cells(row)) for row in rows),
        "",
        _NOTE.format(n=draws, vector=vector + layer, unit=unit),
    ]
    for row in rows:
        if row["problem"]:
            lines += ["", _escaped(f"{row['label']} on {row['corpus']}: {row['problem']}")]
    lines += ["", "| Measured with | |", "|---|---|", *dict.fromkeys(line for row in rows for line in _with(row))]
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[Hashable, Any]) -> list[str]:
    return [
        _escaped(row["corpus"]),
        _escaped(row["label"]),
        f"{row['n_sentences']:,}",
        _ranged(row["r_squared"], row["r_squared_low"], row["r_squared_high"], r_squared),
        _ranged(row["slope"], row["slope_low"], row["slope_high"], words.number),
        _ranged(row["curve_r_squared"], row["curve_low"], row["curve_high"], r_squared),
        *(_ranged(row[f"{at}_error"], row[f"random_{at}_low"], row[f"random_{at}_high"], _error) for at in _PROBED),
        _error(row["guess_error"]) if row["guess_error"] is not None else "–",
    ]


_PROBED = "first", "last"


def _ranged(value: float | None, low: float | None, high: float | None, name: Any) -> str:
    """A number, and in parentheses from where to where it may be; a dash where it is not known."""
    if value is None:
        return "–"
    if low is None or high is None:
        return str(name(value))
    ends = dict.fromkeys(name(end) for end in (low, high))
    return f"{name(value)} ({' to '.join(ends)})".replace("-", "−")


def _error(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _with(row: Mapping[Hashable, Any]) -> list[str]:
    """Lines of the second table: model, corpus, settings and versions."""
    commits = [f", revision {row[name]}" if row[name] else "" for name in ("model_commit", "corpus_commit")]
    rests = [row[name][:16] for name in ("model_fingerprint", "corpus_fingerprint")]
    near = "grouped" if row["near_duplicates"] == "grouped" else "not grouped"
    measured = f", measured on {row['measured_on']}" if row["measured_on"] else ""
    return [
        _line([_escaped(row["label"]), f"`{row['model']}`{commits[0]}, fingerprint {rests[0]}"]),
        _line([_escaped(row["corpus"]), f"{row['drawn']}{commits[1]}, fingerprint {rests[1]}"]),
        _line(
            [
                "Settings",
                f"under {row['length_cutoff']} tokens; at most {row['max_length']} tokens read; {row['numbers']}; "
                f"lengths in {row['unit']}; near-duplicates {near}; probes of the first {row['probe_size']:,}",
            ]
        ),
        _line(["Versions", ", ".join(f"{label} {row[name]}" for name, label in _VERSIONS.items()) + measured]),
    ]


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: object) -> str:
    """Text in a cell: names of files may hold anything."""
    return "".join(f"\\{letter}" if letter in "\\|*_`<>[]" else letter for letter in str(text).replace("\n", " "))
