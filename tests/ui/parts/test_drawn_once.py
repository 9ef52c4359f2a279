"""Figures that are made once for all who look at the same."""

from dataclasses import dataclass

import pytest

from clsviz import figures
from clsviz.ui.parts import chart, drawn_once
from clsviz.ui.state import server


@dataclass(frozen=True, eq=False)
class Result:
    """What a figure is made of, told apart by what it is."""


def test_a_figure_is_made_once_of_the_same_and_anew_of_other_things_and_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []

    def make() -> object:
        made.append(chart.palette())
        return figures.empty(figures.Axes())

    result = Result()
    first = drawn_once.figure(("lines", result), make)
    assert drawn_once.figure(("lines", result), make) is first
    assert drawn_once.figure(("lines", Result()), make) is not first
    assert len(made) == 2
    monkeypatch.setattr(chart.assist, "n_changes_of_theme", lambda: 1)
    assert drawn_once.figure(("lines", result), make) is not first
    assert made[-1] != made[0]


def test_figures_take_room_among_what_is_shared() -> None:
    before = server.shared().n_bytes
    figure = drawn_once.figure("lines", lambda: figures.empty(figures.Axes()))
    assert server.shared().n_bytes - before > len(figure.to_json())
