import numpy as np

from clsviz.figures import Axes, Figure, Key, Palette, Points, colouring, labels_of, scatter

NAMES = [("<b>calm</b>", 1200, "#e69f00"), ("a name that is much longer than there is room for", 3, "#3f9fd8")]


def picture() -> Figure:
    points = Points(
        labels_of(["one", "two", "three"]), np.array([3, 4, 9], np.int32), np.array([7, 8, 7.5], np.float32)
    )
    return scatter(points, Axes(), Palette(), colours=colouring.by_code(np.array([0, 1, 1])))


def test_names_stand_with_their_colours_and_numbers_and_are_text() -> None:
    traces = colouring.traces(Key("Column “mood”", NAMES))
    assert [trace["marker"]["color"] for trace in traces] == ["#e69f00", "#3f9fd8"]
    assert [trace["name"] for trace in traces] == ["&lt;b&gt;calm&lt;/b&gt; (1,200)", "a name that is mu… (3)"]
    assert all(trace["x"] == [None] for trace in traces)  # nothing is drawn in the picture itself


def test_a_scale_has_its_ends_and_what_has_no_number_its_name() -> None:
    *named, scale = colouring.traces(Key("Column “score”", [("no value", 5, colouring.OTHERS)], (1.0, 4.5)))
    assert [trace["name"] for trace in named] == ["no value (5)"]
    marker = scale["marker"]
    assert (marker["cmin"], marker["cmax"]) == (1.0, 4.5)
    assert [colour for _, colour in marker["colorscale"]] == [*colouring.SCALE]
    assert marker["colorbar"]["title"]["text"] == "Column “score”"
    assert scale["showlegend"] is False
    (same,) = colouring.traces(Key("Column “score”", [], (2.0, 2.0)))
    assert same["marker"]["cmin"] < same["marker"]["cmax"]


def test_below_a_picture_it_names_nothing_else() -> None:
    figure = picture()
    before = figure.to_dict()
    colouring.add(figure, Key("Column “mood”", NAMES))
    after = figure.to_dict()
    n = len(before["data"])
    assert [trace.get("showlegend") for trace in after["data"]] == [False] * n + [True] * 2
    assert after["data"][0]["text"] == before["data"][0]["text"]
    assert after["layout"]["showlegend"] is True
    assert after["layout"]["legend"]["title"]["text"] == "Column “mood”"
    assert after["layout"]["margin"]["b"] == before["layout"]["margin"]["b"] + colouring.ROOM
