import base64
import hashlib
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from support.app import answer, browse_from, linked, plain, settle

from clsviz.ui.state import serving
from clsviz.web import still
from docs import stills

BROWSER = {"sec-fetch-mode": "navigate"}

FRAMES = json.loads(stills.FRAMES.read_text("utf-8"))


@pytest.mark.parametrize("path", serving.PATHS)
def test_a_still_is_what_its_page_sends(path: str) -> None:
    """Make it anew from what comes along; `make showcase` where this fails."""
    shipped = (still.STILLS / stills.name_of(path)).read_text("utf-8")
    made = stills.made(FRAMES[path], stills.figure_of(path))
    number = r"-?\d+(?:\.\d+)?"
    assert re.sub(number, "#", made) == re.sub(number, "#", shipped)
    numbers = [np.array(re.findall(number, text), float) for text in (made, shipped)]
    assert np.abs(numbers[0] - numbers[1]).max() < 1.5  # a processor may round otherwise
    assert len(made) < 45_000


@pytest.mark.parametrize("path", serving.PATHS)
def test_it_says_what_its_page_says(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    browse_from(monkeypatch, "localhost")
    page, words = settle(linked({}, path).run()), FRAMES[path]["words"]
    assert words["question"] == plain(page.title[0].value)
    assert words["answer"] == answer(page)
    assert {*(words["numbers"] or ())} <= {plain(caption.value) for caption in page.caption}


@pytest.mark.parametrize("path", serving.PATHS)
def test_a_browser_gets_it_with_the_page_as_it_opens(site: TestClient, path: str) -> None:
    page = site.get(f"/{path}", headers=BROWSER).text
    shipped = (still.STILLS / stills.name_of(path)).read_text("utf-8")
    assert page.index('<div id="root">') < page.index(shipped)
    assert page.count('<div id="still" aria-hidden="true">') == 1
    assert f'url(".{serving.address_of_font()[1:]}")' in page  # type: ignore[index]


@pytest.mark.parametrize("query", ["?layer=2", "?embed=true", "?x"])
def test_no_other_link_has_one(site: TestClient, query: str) -> None:
    assert 'id="still"' not in site.get(f"/{query}", headers=BROWSER).text


def test_programs_get_none(site: TestClient) -> None:
    assert 'id="still"' not in site.get("/").text


def test_its_script_may_run(site: TestClient) -> None:
    answered = site.get("/", headers=BROWSER)
    scripts = re.findall(r"<script>(.*?)</script>", answered.text, re.DOTALL)
    assert still.script() == f"<script>{scripts[-1]}</script>"
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in answered.headers["Content-Security-Policy"]


def test_where_the_page_opens_with_fewer_sentences_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLSVIZ_LIMIT_SAMPLE_SIZE", "1000")
    assert still.shells(serving.shell()) == {}


def test_its_colours_are_those_of_the_theme() -> None:
    theme = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    written = dict(re.findall(r"--(\w+): light-dark\((.+?)\);", serving.of_ui("still.css")))
    for at, role in enumerate(("points", "line", "summary", "own")):
        assert written[role].split(", ") == [theme[name]["chartCategoricalColors"][at] for name in ("light", "dark")]
