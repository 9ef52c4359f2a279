"""What is around every page."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest
from support.app import finish


def test_the_links_come_first_and_stand_whatever_the_page_does(
    open_page: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr("clsviz.ui.state.watching.begin", fail)
        page = open_page(length_cutoff="30")
    links = page.sidebar.get("page_link")
    assert [link.proto.label for link in links][:3] == ["Norm vs length", "Where length lives", "Try a sentence"]
    assert all("length_cutoff=30" in link.proto.query_string for link in links)
    first = page.sidebar.children[0]
    assert len(first.get("page_link")) == len(links)

    page = finish(open_page(length_cutoff="30", no_such_setting="1"))
    page.select_slider(key="length_cutoff").set_value(20).run()
    links = page.sidebar.get("page_link")
    assert len(page.sidebar.children[0].get("page_link")) == len(links)
    assert all("length_cutoff=20" in link.proto.query_string for link in links)
    assert not any("no_such_setting" in link.proto.query_string for link in links)
