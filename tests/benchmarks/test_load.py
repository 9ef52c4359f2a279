import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from streamlit.proto.Element_pb2 import Element

from benchmarks import load_table
from benchmarks.visited import Held, Stored
from benchmarks.visitors import Met, Visit, Visitor, has_points
from clsviz import words
from clsviz.analysis import ViewData
from clsviz.experiment import Experiment
from clsviz.statistics.line import fit


def test_a_server_that_is_ended_loses_nothing_and_another_goes_on(tmp_path: Path) -> None:
    table = tmp_path / "table.json"
    command = [sys.executable, "-m", "benchmarks.load", "--quick", "--only", "ended", "--json", table]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    assert ran.returncode == 0, ran.stdout + ran.stderr  # it is 1 where anything is wrong
    told = json.loads(table.read_text(encoding="utf-8"))["rows"]
    assert not any(row["is_wrong"] for row in told)
    assert all(f"| {row['name']} | {row['value']} |" in ran.stdout for row in told)
    rows = {row["name"]: row["value"] for row in told}
    seen, kept = map(int, rows["sentences that the visitor saw measured, and those kept"].split(", "))
    assert 0 <= seen <= kept <= 500  # a page that looks once a second may not have looked yet
    assert kept > 0
    assert rows["measured once it was started again"] == f"{500 - kept} of 500"
    assert rows["its log"] == "has no error"


def test_a_slope_is_that_of_the_means_of_what_was_held() -> None:
    rng = np.random.default_rng(0)
    times = np.arange(200) * 3.0
    megabytes = 500 + 2.0 * times / 60 + rng.normal(0, 5, 200)
    readings = [(at, Held(value, 9, 30)) for at, value in zip(times.tolist(), megabytes.tolist(), strict=True)]
    row, threads, _ = load_table.slopes(readings)
    means = [part.mean(axis=0) for part in np.array_split(np.column_stack([times / 60, megabytes]), 10)[1:]]
    slope, _ = np.polyfit(*np.transpose(means), 1)
    assert f", {slope:+.2f} a minute (" in row.value
    low, high = map(float, row.value.rpartition("(")[2].rstrip(")").split(" to "))
    assert low < 2 < high
    assert threads.value.replace("-0.00", "+0.00") == "9 at first, 9 at last, +0.00 a minute (+0.00 to +0.00)"


def test_a_place_is_held_against_the_runs_that_ended_before_ones_own_began() -> None:
    met = [Met(number, 0.0) for number in range(3)]
    met[2].told = [(0.5, 2), (2.5, 1)]
    runs = [Stored(64, [1.0, 2.0]), Stored(64, [2.5, 3.0]), Stored(64, [4.0, 5.0])]
    assert load_table.places(met, runs) == [(2, 2), (1, 1)]


def test_a_visitor_who_saw_no_points_is_an_error() -> None:
    seen, unseen = Met(1, 10.0, points=12.0), Met(2, 10.0, errors=["It took longer than 300 s."])
    row = load_table.points("first points", [seen, unseen])
    assert row.is_wrong
    assert row.value == "p50 2.00 s, p95 2.00 s; 1 saw none; It took longer than 300 s."
    assert not load_table.points("first points", [seen]).is_wrong


def test_a_visitor_reads_how_many_are_measured_and_not_how_many_are_short_enough() -> None:
    lengths = np.random.default_rng(0).integers(3, 60, 512).astype(np.int32)
    norms = (7 - 0.01 * lengths).astype(np.float32)
    index = np.flatnonzero(lengths < 40)
    shown = ViewData(index, lengths[index], norms[index], fit(lengths[index], norms[index]), "")
    visitor, element = Visitor("http://127.0.0.1/", Visit(1)), Element()
    element.markdown.body = words.in_numbers(shown, Experiment(length_cutoff=40), 512)
    visitor._see(element)
    assert [count for _, count in visitor.met.counts] == [512]


def test_a_scatter_has_points_and_no_other_chart_has() -> None:
    for figure, route, has in (('{"data":[{"type":"scattergl"}]}', "", True), ("", "name", True), ("{}", "", False)):
        element = Element()
        element.bidi_component.component_name = "clsviz.chart"
        element.bidi_component.json = json.dumps({"figure": figure, "route": route})
        assert has_points(element) == has
    assert not has_points(Element())
