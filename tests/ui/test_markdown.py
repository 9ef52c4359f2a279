import pytest
from support.app import plain

from clsviz.ui.markdown import escape


@pytest.mark.parametrize(
    "text",
    [
        "**bold**",
        ":red[x]",
        "$x$",
        "<b>",
        "[a](b)",
        "`c`",
        "# title",
        "a -- b -> c",
        "x@y.org",
        "www.example.org",
        "1 < 2 & 3",
        ":material/check: :streamlit:",
        "https://example.org",
    ],
)
def test_escaped_text_keeps_its_words_and_loses_its_markup(text: str) -> None:
    escaped = escape(text)
    assert plain(escaped) == text
    assert escaped != text
