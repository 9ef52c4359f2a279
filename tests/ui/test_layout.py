"""Text that Markdown shows and does nothing else with; messages of charts."""

import html
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clsviz.ui import chart, layout


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("R² 1.8%: low, own.csv", r"R² 1\.8%\: low, own\.csv"),
        ("x :material/bug:", "x \\:\u2060material/bug\\:"),
        ("$x$ -> y", "\\$x\\$ \\-\u2060\\> y"),
        ("www.a.b", "www\u2060\\.a\\.b"),
        ("http://a.b", "http\\:\u2060//a\\.b"),
        ("me@a.b", "me@\u2060a\\.b"),
        ("# one\n- two", r"\# one \- two"),
    ],
)
def test_what_markdown_of_streamlit_adds_is_escaped_too(text: str, escaped: str) -> None:
    assert layout.escape(text) == escaped


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_no_markdown_survives(text: str) -> None:
    rendered = MarkdownIt("commonmark").render(layout.escape(text))
    expected = html.escape(" ".join(text.split()), quote=False).replace('"', "&quot;")
    rendered = rendered.replace("\N{WORD JOINER}", "")
    assert rendered == (f"<p>{expected}</p>\n" if expected else "")


@pytest.mark.parametrize(
    ("picked", "rows"),
    [
        ({"rows": [3, 1], "table": "t"}, [3, 1]),
        ({"rows": [3], "table": "another"}, []),
        ({"rows": [True, 1.5, -1, "2", None, [4], 5], "table": "t"}, [5]),
        ({"rows": {"0": 1}, "table": "t"}, []),
        ({"table": "t"}, []),
        ("forged", []),
        (None, []),
    ],
)
def test_only_rows_of_the_table_are_taken_from_a_browser(picked: Any, rows: list[int]) -> None:
    assert chart.rows_of(picked, "t") == rows
