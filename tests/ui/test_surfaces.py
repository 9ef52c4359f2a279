"""The same words and numbers on the page, in the terminal, in a notebook and in a file."""

import html
import json
from pathlib import Path

import pytest
from ui.conftest import Runner, Visit, is_answered, redraw, words

import clsviz
from benchmarks.cards import answers_in
from clsviz import figures, web
from clsviz.report import page as report_page
from clsviz.results.result import ELSEWHERE, Result


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return answers_in(tmp_path_factory.mktemp("store"))


@pytest.mark.slow
@pytest.mark.parametrize("name", web.PAGES)
def test_every_surface_says_the_same(
    name: str, answers: dict[str, Result], visit: Visit, runner: Runner
) -> None:
    result = answers[name]
    page = redraw(visit(name, model="minilm", corpus="python-docs"), is_answered)
    assert not page.exception
    assert runner.n_loads == 0
    surfaces = {
        "page": words([*page.header, *page.subheader, *page.success, *page.caption]),
        "terminal": result.text(),
        "notebook": html.unescape(result._repr_html_()),
        "report": html.unescape(report_page("", {result.question: result}, {})),
    }
    for surface, text in surfaces.items():
        said = [result.question, result.verdict, result.advice, *result.caveats]
        said += [result.numbers] * (surface != "page")  # which has the first of them
        assert [part for part in said if part not in text] == [], surface
    values = json.loads(json.dumps(result.json()))
    for fact in result.facts:
        assert values[fact.key] == fact.value
    assert web.cards()[name] == {"question": result.question, "verdict": result.verdict}


@pytest.mark.slow
def test_numbers_say_where_they_were_measured(answers: dict[str, Result], tmp_path: Path) -> None:
    said = {name for name, result in answers.items() if ELSEWHERE in result.caveats}
    assert said == {"norm_vs_length", "where_length_lives", "search", "chunks", "compare"}
    assert {result.kind for result in answers.values()} == set(figures.DRAW)
    assert ELSEWHERE not in clsviz.measure(seed=1, sample_size=20, store=tmp_path).caveats
