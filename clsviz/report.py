"""All answers on a model and a corpus: one page that needs no network, or a card in Markdown."""

import html
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Final

from clsviz.errors import ClsvizError
from clsviz.figures import image
from clsviz.figures.style import shorten
from clsviz.results import provenance
from clsviz.results.result import Result

MOST_POINTS: Final = 3000
"""Rows of a table that a picture draws: a page of 100,000 sentences would have 20 MB."""

MOST_ROWS, LONGEST_CELL = 100, 120  # of a table, and letters of a text in it

STYLE: Final = """
@font-face { font-family: "Source Sans"; font-weight: 200 900;
  src: url(data:font/woff2;base64,{font}); }
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
body { font: 1rem/1.5 "Source Sans", sans-serif; }
body { color: light-dark(#27313f, #edebe8); background: light-dark(#fff, #141414); }
a { color: light-dark(#2f6690, #6ea8d6); }
h1, h2 { font-weight: 500; line-height: 1.25; }
section { margin-top: 3rem; border-top: 1px solid #8886; }
.verdict { font-size: 1.6rem; font-weight: 600; line-height: 1.25; margin: 0.5rem 0; }
.quiet, section li, td, th, dd { color: light-dark(#3d4451, #c8c6c3); font-size: 0.875rem; }
.figure { height: 27rem; }
@media (prefers-color-scheme: dark) { .figure { filter: invert(0.92) hue-rotate(180deg); } }
pre { white-space: pre-wrap; background: #8882; padding: 0.75rem; }
summary { cursor: pointer; }
dd, li, p, pre { overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.6rem; text-align: left; border-bottom: 1px solid #8886; }
dt { font-weight: 600; }
"""

FONT: Final = "static/static/media/SourceSansVF-Upright.*.woff2"  # in Streamlit, as of its pages


def page(title: str, answers: Mapping[str, Result | ClsvizError], about: Mapping[str, str]) -> str:
    """The page of answers by their questions, some of which failed. about: the method."""
    rows = [f"<dt>{_safe(name)}</dt><dd>{_safe(text)}</dd>" for name, text in about.items()]
    verdicts = [_safe(getattr(answer, "verdict", answer)) for answer in answers.values()]
    contents = [
        f'<li><a href="#answer-{n}">{_safe(question)}</a><br>{verdicts[n]}</li>'
        for n, question in enumerate(answers)
    ]
    font = next(Path(str(files("streamlit"))).glob(FONT)).read_bytes()
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_safe(title)}</title>",
            f"<style>{STYLE.replace('{font}', b64encode(font).decode())}</style>",
            f"<body>\n{image.script()}\n<main>\n<h1>{_safe(title)}</h1>",
            f'<p class="quiet">clsviz {provenance.VERSION}, {date.today():%d %B %Y}</p>\n<ol>',
            *contents,
            "</ol>",
            *(_section(f"answer-{n}", *pair) for n, pair in enumerate(answers.items())),
            f"<section><h2>How it was measured</h2><dl>{''.join(rows)}</dl>",
            f"<h2>How to cite</h2><pre>{_safe(provenance.CITATION)}</pre></section>",
            "</main>\n</html>\n",
        ]
    )


def card(title: str, answers: Mapping[str, Result | ClsvizError], command: str) -> str:
    """The verdicts in Markdown, for the page of a model; one that failed is named."""
    results = [one for one in answers.values() if isinstance(one, Result)]
    failed = [question for question, one in answers.items() if isinstance(one, ClsvizError)]
    rows = [(result.question, result.verdict, result.numbers) for result in results]
    lines = [f"## Length in the vectors: {_cell_of(title)}", "", "| question | answer | numbers |"]
    lines += ["|---|---|---|", *(f"| {' | '.join(map(_cell_of, row))} |" for row in rows), ""]
    lines += [f"Not answered: {_cell_of(question)}" for question in failed]
    lines.append(f"By clsviz {provenance.VERSION}; numbers are of these texts, with 95% intervals:")
    return "\n".join([*lines, "", f"    {command or 'clsviz.report(…)'}", ""])


def _cell_of(text: str) -> str:
    """A text in a cell of a table in Markdown, as it is."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _section(name: str, question: str, answer: Result | ClsvizError) -> str:
    """An answer, its picture, its caveats, its table folded, and the command that repeats it."""
    lines = [f'<section id="{name}"><h2>{_safe(question)}</h2>']
    if isinstance(answer, ClsvizError):
        return f'{lines[0]}<p class="verdict">{_safe(answer)}</p></section>'
    lines.append(f'<p class="verdict">{_safe(answer.verdict)}</p>')
    lines += [f"<p>→ {_safe(answer.advice)}</p>"] * bool(answer.advice)
    lines.append(f'<p class="quiet">{_safe(answer.numbers)}</p>')
    few, n_rows = replace(answer, table=answer.table.head(MOST_POINTS)), len(answer.table)
    lines.append(image.element(few.plot(), f"{question} {answer.verdict}"))
    caveats = list(answer.caveats)
    if n_rows > MOST_POINTS:
        caveats.append(f"The picture here draws the first {MOST_POINTS:,} of {n_rows:,} rows.")
    lines.append(f"<ul>{''.join(f'<li>{_safe(text)}</li>' for text in caveats)}</ul>")
    first = f"the first {MOST_ROWS} of {n_rows:,}" if n_rows > MOST_ROWS else f"{n_rows:,}"
    lines.append(f"<details><summary>Table ({first} rows)</summary>{_table(answer)}</details>")
    lines += [f"<pre>{_safe(answer.command)}</pre>"] * bool(answer.command)
    return "\n".join([*lines, "</section>"])


def _table(result: Result) -> str:
    """The first rows; long texts are cut."""
    rows = result.table.head(MOST_ROWS)
    rows = rows.map(lambda cell: shorten(cell, LONGEST_CELL) if isinstance(cell, str) else cell)
    text: str = rows.to_html(index=False, border=0, na_rep="–", float_format="{:.4g}".format)
    return f'<div class="table" tabindex="0">{text}</div>'


def _safe(text: object) -> str:
    return html.escape(str(text))
