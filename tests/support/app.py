"""Pages without a browser: Streamlit's AppTest, and what is read from it."""

import functools
import gzip
import re
import time
import types
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from clsviz import words
from clsviz.jobs import Job, State
from clsviz.ui.parts import plot, redrawn
from clsviz.ui.state import identity, server
from support.figures import places_of
from support.tiny import random_sentences

APP = str(Path(__file__).parents[2] / "app.py")


TEXT = "\n".join(random_sentences(400, seed=1)).encode()


def browse_from(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str | None = None, cookie: str = "", **headers: str
) -> None:
    """Let pages be asked for by this host name, from this address, with a cookie: AppTest has none."""
    cookies = {identity.COOKIE: cookie} if cookie else {}
    context = types.SimpleNamespace(
        ip_address=address, headers={"Host": host} | headers, cookies=cookies, is_embedded=False
    )
    monkeypatch.setattr("streamlit.context", context)


def jobs_of(page: AppTest) -> list[Job]:
    """The jobs that the page watches."""
    return list(page.session_state.watched.values())


def job_of(page: AppTest) -> Job:
    """The one that the main page watches."""
    (job,) = jobs_of(page)
    return job


def finish(page: AppTest) -> AppTest:
    """Wait until the job of the page has ended, and show it."""
    deadline = time.monotonic() + 180
    while job_of(page).state.is_active:
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    page.run()
    assert not page.exception
    return page


def unfold(page: AppTest, *keys: str) -> AppTest:
    """Open the boxes with these keys, whose content is drawn only then."""
    for key in keys:
        page.session_state[key] = True
    return page.run()


def settle(page: AppTest) -> AppTest:
    """Run the page until nothing that it asked for is still being computed, and all of it is shown."""
    deadline, before = time.monotonic() + 60, None
    while (now := _ended()) is None or now != before:  # a run may ask for what it shows only in the next
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
        if (before := _ended()) is not None:
            page.run()
    assert not page.exception
    return page


def _ended() -> dict[Hashable, State] | None:
    """How each job of the server ended; None while one of them goes on."""
    jobs = server.jobs()
    with jobs._changed:
        states = {key: job.state for key, job in (*jobs._measurements.items(), *jobs._analyses.items())}
    return None if any(state.is_active for state in states.values()) else states


def figures(page: AppTest) -> dict[str, str]:
    """What the line under the answer has: R² of the straight line in percent, and how many sentences are shown."""
    line = next((said for caption in page.caption if (said := plain(caption.value)).startswith("Straight line")), "")
    found = re.fullmatch(r"Straight line.*?: (\S+%).* · ([\d,]+) of [\d,]+ sentences.*", line)
    return dict(zip(("R²", "Sentences"), found.groups() if found else ("", ""), strict=True))


def answer(page: AppTest) -> str:
    """The large text under the title."""
    return plain(page.header[0].value)


def charts_by_key(page: Any) -> dict[str, Any]:
    """The figures of a page, or of a part of it, by their keys, as the browser draws them from what is sent to it."""
    found = {}
    for element in page.get("bidi_component"):
        if element.proto.component_name == "clsviz.chart":
            sent = orjson.loads(element.proto.json)
            figure = orjson.loads(_fetched(sent["route"]) if sent["route"] else sent["figure"])
            _fill_in(figure, sent)
            found[element.proto.id.split("-", 2)[2]] = figure
    return found


def dimmed(page: AppTest) -> set[str]:
    """The keys of the charts that are of the settings before."""
    sent = [one.proto for one in page.get("bidi_component") if one.proto.component_name == "clsviz.chart"]
    return {proto.id.split("-", 2)[2] for proto in sent if orjson.loads(proto.json)["dimmed"]}


def thumbnails(page: AppTest) -> list[dict[str, Any]]:
    """The small pictures of the main page, as they are sent."""
    (row,) = (one for one in page.get("bidi_component") if one.proto.component_name == "clsviz.thumbnails")
    sent: list[dict[str, Any]] = orjson.loads(row.proto.json)["pictures"]
    return sent


def chart(page: AppTest) -> Any:
    """The scatter."""
    return charts_by_key(page)["scatter"]


def charts(page: Any) -> list[Any]:
    """All of them, in the order of the page."""
    return [*charts_by_key(page).values()]


def _fetched(name: str) -> bytes:
    packed = plot.contents().get(name)
    assert packed is not None
    return gzip.decompress(packed)


def _fill_in(figure: dict[str, Any], sent: dict[str, Any]) -> None:
    """What the browser makes of what is sent apart; of a density the counts, in place of the logarithms."""
    of_cloud = figure.pop("sent", {"cloud": -1})
    figure["zoom"] = sent["zoom"]
    if of_cloud["cloud"] < 0:
        return
    cloud = figure["data"][of_cloud["cloud"]]
    cloud["text"] = of_cloud["labels"]
    if sent["labels"]:
        labels = orjson.loads(_fetched(sent["labels"]))
        cloud["text"] = [labels[number] for number in places_of(of_cloud["is_drawn"])]
    if selected := places_of(sent["selected"]):
        cloud["selectedpoints"] = selected
    if "density" in of_cloud:
        figure["data"][0]["z"] = of_cloud["density"]["counts"]


def drawn(page: AppTest) -> list[dict[str, Any]]:
    """What the chart draws beside the histograms at its sides."""
    return [trace for trace in chart(page)["data"] if trace["type"] == "scattergl"]


def plain(text: str) -> str:
    """Text that was escaped."""
    return re.sub(r"\\(.)", r"\1", text).replace("\u2060", "")


def texts(page: AppTest) -> str:
    elements = [*page.header, *page.markdown, *page.error, *page.warning, *page.caption, *page.text, *page.title]
    return "\n".join(plain(element.value) for element in elements)


def redraw(page: AppTest, monkeypatch: pytest.MonkeyPatch, module: str = redrawn.__name__) -> AppTest:
    """Run the part of a page that draws itself anew, as the browser has it run when one of its controls was moved.

    Afterwards the page knows the elements of this part alone. module: where what it draws is written; the first such.
    """
    fragments = page._fragment_storage._fragments
    part = next(name for name, draw in fragments.items() if module in _modules_of(draw))
    with monkeypatch.context() as patch:
        of_part = functools.partial(RerunData, fragment_id=part)
        patch.setattr("streamlit.testing.v1.local_script_runner.RerunData", of_part)
        return page.run()


def _modules_of(function: Any, depth: int = 3) -> set[str]:
    """Where a function is written, and those that it holds."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()] if depth else []
    held = [cell for cell in cells if isinstance(cell, types.FunctionType)]
    return {function.__module__}.union(*(_modules_of(one, depth - 1) for one in held))


BOXES = (
    "settings",
    "own_file",
    "downloads",
    *words.layer_cards.NAMES,
    "how_to_read",
    "how_it_was_measured",
)
"""The keys of those boxes whose content is drawn once they are opened, and ever after."""


def linked(query: Mapping[str, str], name: str = "", unfolded: Iterable[str] = ()) -> AppTest:
    """The page of that name, by default the main one, as a link with these parameters opens it; not yet run.

    unfolded: the keys of the boxes that were open before.
    """
    page = AppTest.from_file(APP, default_timeout=60)
    for key in unfolded:
        page.session_state[f"{key}_seen"] = True
    if name:
        go_to(page, name)
    for parameter, value in query.items():
        page.query_params[parameter] = value
    return page


def go_to(page: AppTest, name: str) -> AppTest:
    """Go to the page of that name, which is drawn by the next run."""
    page._page_hash = calc_hash(name)  # switch_page knows pages that are files alone
    return page
