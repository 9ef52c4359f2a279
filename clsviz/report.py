"""All answers on a model and a corpus, as one page that needs no network."""

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from clsviz.errors import ClsvizError
from clsviz.figures import image
from clsviz.figures.style import shorten
from clsviz.results import provenance
from clsviz.results.result import Result

MOST_POINTS: Final = 3000
"""Rows of a table that a picture draws: a page of 100,000 sentences would have 20 MB."""

MOST_ROWS: Final = 100

LONGEST_CELL: Final = 120

STYLE: Final = """
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 sans-serif; }
body { color: #27313f; background: #fff; }
h1, h2 { font-weight: 500; line-height: 1.25; }
section { margin-top: 3rem; border-top: 1px solid #e3e7ec; }
.verdict { font-size: 1.3rem; font-weight: 600; margin: 0.5rem 0; }
.quiet, li, td, th, dd { color: #3d4451; font-size: 0.875rem; }
.figure { height: 27rem; }
pre { white-space: pre-wrap; background: #f5f7f9; padding: 0.75rem; }
summary { cursor: pointer; }
dd, li, p, pre { overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid #e3e7ec; }
dt { font-weight: 600; }
"""


def page(
    title: str, answers: Sequence[Result | tuple[str, ClsvizError]], about: dict[str, str]
) -> str:
    """The page of answers; one that failed is a question and its error. about: the method."""
    sections = [_section(one) if isinstance(one, Result) else _failure(*one) for one in answers]
    rows = [f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in about.items()]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_safe(title)}</title>\n<style>{STYLE}</style>\n{image.script()}\n<main>",
            f"<h1>{_safe(title)}</h1>",
            *sections,
            f"<section><h2>How it was measured</h2><dl>{''.join(rows)}</dl>",
            f"<h2>How to cite</h2><pre>{_safe(provenance.CITATION)}</pre></section>",
            "</main>\n</html>\n",
        ]
    )


def _section(result: Result) -> str:
    """An answer, its picture, its caveats, its table folded, and the command that repeats it."""
    lines = [f"<section><h2>{_safe(result.question)}</h2>"]
    lines.append(f'<p class="verdict">{_safe(result.verdict)}</p>')
    lines += [f"<p>→ {_safe(result.advice)}</p>"] * bool(result.advice)
    lines.append(f'<p class="quiet">{_safe(result.numbers)}</p>')
    few = replace(result, table=result.table.head(MOST_POINTS))
    lines.append(image.element(few.plot(), f"{result.question} {result.verdict}"))
    n = len(result.table)
    caveats = list(result.caveats)
    if n > MOST_POINTS:
        caveats.append(f"The picture here draws the first {MOST_POINTS:,} of {n:,} rows.")
    lines.append(f"<ul>{''.join(f'<li>{_safe(text)}</li>' for text in caveats)}</ul>")
    first = f"the first {MOST_ROWS} of {n:,} rows" if n > MOST_ROWS else f"{n:,} rows"
    lines.append(f"<details><summary>Table ({first})</summary>{_table(result)}</details>")
    lines += [f"<pre>{_safe(result.command)}</pre>"] * bool(result.command)
    return "\n".join([*lines, "</section>"])


def _failure(question: str, error: ClsvizError) -> str:
    return f'<section><h2>{_safe(question)}</h2><p class="verdict">{_safe(error)}</p></section>'


def _table(result: Result) -> str:
    """The first rows; long texts are cut."""
    rows = result.table.head(MOST_ROWS)
    rows = rows.map(lambda cell: shorten(cell, LONGEST_CELL) if isinstance(cell, str) else cell)
    text: str = rows.to_html(index=False, border=0, na_rep="–", float_format="{:.4g}".format)
    return f'<div class="table" tabindex="0">{text}</div>'


def _safe(text: object) -> str:
    return html.escape(str(text))
