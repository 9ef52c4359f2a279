"""Pages open with what came with clsviz, and load no more than it takes to show that."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

ROOT = Path(__file__).parents[2]

HEAVY = ("torch", "transformers", "sklearn", "statsmodels", "scipy", "datasets")

VISIT = """
import json, sys, time, types
import streamlit
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from clsviz.ui.state import server

server.soon = lambda action: None  # what is loaded once the page is drawn
streamlit.context = types.SimpleNamespace(ip_address=None, headers={{"Host": "localhost"}}, is_embedded=False)
for name, query in {visits!r}:
    page = AppTest.from_file({app!r}, default_timeout=60)
    if name:
        page._page_hash = calc_hash(name)
    for parameter, value in query.items():
        page.query_params[parameter] = value
    page.run()
    for _ in range(3):
        while not server.jobs().is_idle:
            time.sleep(0.01)
        page.run()
    assert not page.exception
    print(json.dumps({{
        "loaded": [library for library in {heavy!r} if library in sys.modules],
        "charts": [one.proto.json for one in page.get("bidi_component") if one.proto.component_name == "clsviz.chart"],
        "texts": [element.value for element in [*page.title, *page.header, *page.markdown, *page.caption]]
        + [box.label for box in page.expander],
        "errors": [error.value for error in page.error],
        "found": [job.work.found.is_outline for job in page.session_state.watched.values()],
        "n_shipped": [job.work.found.n_shipped for job in page.session_state.watched.values()],
    }}))
server.jobs().close()
"""


def visited(store: Path, *visits: tuple[str, dict[str, str]]) -> list[dict]:
    """What pages, each with the parameters of its link, show and have loaded, in turn in a process of their own."""
    program = VISIT.format(app=str(ROOT / "app.py"), visits=visits, heavy=HEAVY)
    environment = {**os.environ, "CLSVIZ_STORE": str(store), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


SHOWN = {
    "": ("Hardly: a smooth curve in length accounts for 3.6%", "Straight line, falling: 1.8%"),
    "where_length_lives": (
        "Yes, but it fades: after layer 1, a linear probe misses length by only 0.6 tokens",
        "Random weights give length away too: they miss by 1.3–1.4 tokens",
        "tells length better than that of [CLS]: a line on it misses by 3.6 tokens, on that of [CLS] by 6.5",
        "Once erased, probes hardly find length",
    ),
    "length_and_search": (
        "At most a little: by cosine, the shortest fifth takes 1.3 times its share.",
        "Recall of the right text among ten: 64%",
    ),
    "try_a_sentence": ("An example; type your own", "tops 84% of"),
    "try_a_sentence?pooling=mean": ("An example; type your own", "tops 50% of"),
    "compare_models": ("finds the right text more often than untrained MiniLM-L6: 64%", "2,000 of 4,993 sentences"),
    "inside_the_model": ("22,713,216 weights", "An example, since you have not typed a sentence"),
}
"""What stands on a page only once all of it is there."""

CONTROLS = {
    "a layer": {"layer": "2"},
    "another vector": {"pooling": "mean"},
    "shuffled lengths": {"lengths": "shuffled"},
    "words": {"unit": "words"},
    "the length erased": {"erase": "yes"},
    "without training": {"model": "untrained:minilm"},
    "means without training": {"model": "untrained:minilm", "pooling": "mean"},
    "the pooler without training": {"model": "untrained:minilm", "pooling": "pooler"},
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("visited") / "store"


@pytest.fixture(scope="module")
def shown(store: Path) -> dict[str, dict]:
    """What the pages show, and after them the controls of one, in a process that begins with nothing stored."""
    pages = [(name, dict(parse_qsl(query))) for name, _, query in (link.partition("?") for link in SHOWN)]
    visits = [*pages, *(("where_length_lives", query) for query in CONTROLS.values())]
    return dict(zip([*SHOWN, *CONTROLS], visited(store, *visits), strict=True))


def test_pages_open_with_results_and_without_the_libraries_that_computed_them(
    shown: dict[str, dict], store: Path
) -> None:
    for name, said in SHOWN.items():
        seen = shown[name]
        assert seen["loaded"] == [], name
        assert seen["errors"] == [], name
        assert seen["charts"], name
        text = "\n".join(seen["texts"]).replace("\\", "")
        assert all(part in text for part in said), text
        assert all(n_shipped == 5000 for n_shipped in seen["n_shipped"]), name
    assert not list(store.rglob("*.safetensors"))


def test_the_controls_of_the_layers_need_no_vectors_either(shown: dict[str, dict]) -> None:
    for name in CONTROLS:
        seen = shown[name]
        assert (seen["loaded"], seen["errors"], seen["found"]) == ([], [], [True]), name
        assert len(seen["charts"]) == (2 if name == "the length erased" else 1), name
        assert "being computed" not in "".join(seen["texts"])


def test_what_did_not_come_along_is_measured_here(tmp_path: Path) -> None:
    """Of fewer sentences the norms came along, but nothing that was read from their vectors."""
    page = "where_length_lives", {"sample_size": "100"}
    (seen,) = visited(tmp_path / "store", page)
    assert (seen["found"], seen["n_shipped"], seen["errors"]) == ([False], [0], [])
    assert "sklearn" in seen["loaded"]
    assert not {"torch", "transformers"} & set(seen["loaded"])  # the model is in a process of its own
    assert len(seen["charts"]) == 1
