"""What a visitor takes along says nothing of where files lie on the machine."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from support.app import BOXES, finish, linked, settle

from clsviz.ui.parts import share

pytestmark = pytest.mark.usefixtures("measured_before")

PAGES = ("", "where_length_lives", "length_and_search", "try_a_sentence", "compare_models")


@pytest.mark.parametrize("page", PAGES)
def test_neither_names_nor_contents_of_downloads_have_a_path(
    page: str, tiny_folder: Path, text_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, str] = {}

    def take(label: str, name: str, table: Callable[[], object], about: Callable[[], Mapping[str, object]]) -> None:
        columns = getattr(table(), "columns", ())
        models = list(table()["model"]) if "model" in columns else []  # type: ignore[index]
        taken[label] = json.dumps([name, models, about()], default=str)

    monkeypatch.setattr(share, "table_downloads", take)
    query = {"corpus": str(text_file), "sample_size": "150", "probe_size": "150"}
    query |= {"models": str(tiny_folder)} if page == "compare_models" else {"model": str(tiny_folder)}
    opened = linked(query, page, BOXES)
    opened.session_state["export"] = True  # which the main page has closed at first
    settle(opened.run())
    assert taken
    for label, text in taken.items():
        assert "tiny-bert" in text, label
        for folder in (tiny_folder.parent, text_file.parent):
            assert str(folder) not in text, label
            assert folder.name not in text, label


def test_the_main_page_makes_what_it_offers_once_it_is_opened(open_page: Callable[..., AppTest]) -> None:
    page = finish(open_page())
    assert not page.get("download_button")
    page.session_state["export"] = True
    page = settle(page.run())
    labels = [button.proto.label for button in page.get("download_button")]
    assert labels == ["Picture (HTML)", "Table (CSV)", "Table (Parquet)"]
    caption, entry = (code.value for code in page.code)
    assert caption.startswith("Norm of ")
    assert entry.startswith("@software{clsviz-")


def test_the_downloads_of_an_uploaded_file_go_by_its_name(
    open_page: Callable[..., AppTest], corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr(share, "table_downloads", lambda label, name, *_: names.append(name))
    page = finish(open_page())
    page.session_state["export"] = True
    settle(page.run())
    assert {*names} == {f"clsviz-tiny-bert-sentences-txt-{corpus[7:11]}"}  # as the list of corpora has it
