import html
import re
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish, texts

from clsviz.ui.norm_vs_length.examples import Example, markup
from clsviz.web.preview import examples


def shown(page: AppTest) -> str:
    return "".join(element.proto.body for element in page.get("html") if "<img" in element.proto.body)


def test_the_examples_take_nothing_until_they_are_opened(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr("clsviz.ui.state.session.examples", lambda: (asked.append(1), examples())[1])
    page = finish(open_page())
    assert shown(page) == ""
    assert not asked
    page.session_state["examples"] = True
    page.run()
    assert asked
    assert not page.exception
    offered = examples()
    assert [html.unescape(link) for link in re.findall('href="(.+?)"', shown(page))] == [one.link for one in offered]
    assert all(html.escape(one.answer) in shown(page) for one in offered)
    assert "each opens at once" in texts(page)


def test_whatever_a_name_holds_is_text() -> None:
    mark = '"><script>alert(1)</script>'
    drawn = markup([Example(f"./?model={mark}", f"./preview.png?model={mark}", mark, mark, mark)])
    assert "<script" not in drawn
    assert drawn.count(html.escape(mark)) == 5
    assert set(re.findall("<([a-z]+)", drawn)) == {"ul", "li", "a", "img", "span"}
    assert drawn.count("<") == 11  # of these, and of their ends
