"""Texts as people keep them: wrapped at some width, or with one of something on each line."""

import random
import textwrap
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from clsviz.sources import catalogue, local_files

LICENCE = """\
This eBook is for the use of anyone anywhere at no cost and with
almost no restrictions whatsoever. You may copy it, give it away or
re-use it under the terms of the licence that is included with it."""


@cache
def sentences(n: int = 1500) -> list[str]:
    """Real sentences: the first of the corpus that comes with the package."""
    return local_files.read_column(catalogue.CORPORA["python-docs"].file, np.arange(n), "sentence")


def paragraphs(n: int = 200) -> list[str]:
    """Of one to seven sentences each."""
    choose, rest = random.Random(0), iter(sentences())
    return [" ".join(next(rest) for _ in range(choose.randint(1, 7))) for _ in range(n)]


def wrap(text: str, width: int = 70, **indents: str) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False, **indents)


def _ragged(text: str) -> str:
    """As editors leave it who wrap by hand."""
    choose, lines = random.Random(len(text)), [""]
    width = 70
    for word in text.split():
        if len(lines[-1]) + 1 + len(word) > width:
            lines, width = [*lines, word], choose.randint(60, 74)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return "\n".join(lines)


def book() -> str:
    """A book as Project Gutenberg has it: its frame, a table of contents, headings, verse, a picture, and prose."""
    contents = "\n".join(f" CHAPTER {number}. A longer name of the chapter     {7 * number}" for number in range(1, 9))
    verse = "\n".join(
        ["    The lines of this are short,", "    And each begins a new one", "    With a capital letter"]
    )
    prose = [wrap(text) for text in paragraphs()]
    for place in range(0, len(prose), 25):
        prose[place:place] = [f"CHAPTER {place // 25 + 1}.", "A Longer Name of the Chapter", verse, "[Illustration]"]
    frame = "*** {} OF THE PROJECT GUTENBERG EBOOK A BOOK ***"
    licence = "\n\n".join([LICENCE] * 60)
    parts = [LICENCE, frame.format("START"), "A BOOK", "by Somebody", "Contents", contents, *prose, "THE END"]
    return "\n\n\n".join([*parts, frame.format("END"), licence])


WRAPPED: dict[str, Callable[[Sequence[str]], str]] = {
    "at 70": lambda texts: "\n\n".join(map(wrap, texts)),
    "at 45": lambda texts: "\n\n".join(wrap(text, 45) for text in texts),
    "at 110": lambda texts: "\n\n".join(wrap(text, 110) for text in texts),
    "ragged": lambda texts: "\n\n".join(map(_ragged, texts)),
    "with Windows line ends": lambda texts: "\r\n\r\n".join(wrap(text).replace("\n", "\r\n") for text in texts),
    "quoted, indented": lambda texts: "\n\n".join(
        wrap(text, initial_indent="    ", subsequent_indent="    ") for text in texts
    ),
    "paragraphs indented, none apart": lambda texts: "\n".join(wrap(text, initial_indent="   ") for text in texts),
    "paragraphs not even indented": lambda texts: "\n".join(map(wrap, texts)),
    "with page numbers": lambda texts: "\n\n".join(
        part for number, text in enumerate(texts) for part in (wrap(text), str(number))
    ),
}
"""What should be joined, by its kind."""


def _lower(text: str) -> str:
    return " ".join(word.strip(".,;:()'\"") for word in text.lower().split())


def _log(text: str, number: int) -> str:
    return f"2024-01-{number % 28 + 1:02} 12:{number % 60:02}:07,{number % 1000:03} INFO [main] {text[:60]}"


def not_wrapped() -> dict[str, str]:
    """What has one text a line, or is no prose at all, by its kind."""
    texts, choose = sentences(), random.Random(0)
    alike = [text for text in texts if 60 <= len(text) < 70]
    words = _lower(" ".join(texts)).split()
    return {
        "sentences": "\n".join(texts),
        "sentences, with blank lines": "\n\n".join(texts),
        "sentences of about a length": "\n".join(alike),
        "the same in lower case": "\n".join(text.lower() for text in alike),
        "the same without punctuation": "\n".join(map(_lower, alike)),
        "short sentences": "\n".join(text for text in texts if len(text) < 50),
        "tokenized, in lower case": "\n".join(text.lower().replace(".", " .").replace(",", " ,") for text in texts),
        "two sentences in each": "\n".join(f"{a} {b}".lower() for a, b in zip(texts[::2], texts[1::2], strict=True)),
        "posts": "\n".join(f"{choose.choice(['lol ', '@bob ', 'so '])}{text.lower()} #python"[:140] for text in texts),
        "paragraphs": "\n".join(paragraphs()),
        "paragraphs, with blank lines": "\n\n".join(paragraphs()),
        "twelve words each": "\n".join(" ".join(words[start : start + 12]) for start in range(0, 6000, 12)),
        "verse": "\n\n".join("\n".join(line.capitalize() for line in wrap(text, 44).split("\n")) for text in alike * 3),
        "free verse": "\n\n".join(
            "\n".join(" ".join(words[start : start + choose.randint(2, 8)]) for start in range(at, at + 40, 8))
            for at in range(0, 4000, 40)
        ),
        "a log": "\n".join(_log(text, number) for number, text in enumerate(texts)),
        "a log in lower case": "\n".join(f"error: {text.lower()[:64]} (exit. Again)" for text in texts),
        "a list": "\n".join(f"- {text[:50]}" for text in texts),
        "a table with commas": "\n".join(f'{n},{t.split()[0].lower()},"{t}",0.{n}' for n, t in enumerate(texts)),
        "a table with spaces": "\n".join(f"{text.split()[0].lower():20}{text.split()[-1]:30}{7:9}" for text in texts),
        "files": "\n".join(
            f"drwxr-xr-x  2 user group 40{n:04} Jan 10 12:00 {t.split()[0]}" for n, t in enumerate(texts)
        ),
        "words": "\n".join(words),
        "a chat": "\n".join(f"{choose.choice(['ann', 'bob'])}: {text.lower()}" for text in texts),
        "subtitles": "\n\n".join(
            f"{n}\n00:00:01,000 --> 00:00:04,000\n{wrap(t[:84], 42)}" for n, t in enumerate(texts)
        ),
        "dialogue": "\n".join(
            choose.choice(["“Yes,” said he.", "“No; why should I?”", "She left."]) for _ in range(900)
        ),
        "code": "\n".join(["def f(x):", "    return x.y(1, 2)", "", "class A:", "    z = {1: 2}"] * 60),
    }
