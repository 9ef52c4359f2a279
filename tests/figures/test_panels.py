import numpy as np
import pytest
from support.figures import PALETTE

from clsviz.figures import Points, labels_of, small_multiples
from clsviz.statistics.line import fit


def points(n: int, slope: float = 0.02, seed: int = 0) -> Points:
    random = np.random.default_rng(seed)
    lengths = random.integers(3, 60, n).astype(np.int32)
    norms = (7 + slope * lengths + random.normal(size=n)).astype(np.float32)
    return Points(labels_of([f"Sentence {index}." for index in range(n)]), lengths, norms)


def test_every_panel_has_its_points_its_line_and_its_name() -> None:
    clouds = [points(300, slope, seed) for seed, slope in enumerate((0, 0.02, 0.05))]
    line = fit(clouds[1].lengths, clouds[1].norms)
    panels = [("hub/<i>a-name", clouds[0], None), ("bert", clouds[1], line), ("roberta", clouds[2], None)]
    figure = small_multiples(panels, PALETTE, shared_y=False)
    shown = [trace for trace in figure.data if trace.mode == "markers"]
    (straight,) = [trace for trace in figure.data if trace.mode == "lines"]
    for trace, cloud in zip(shown, clouds, strict=True):
        assert trace.type == "scatter"  # no WebGL
        np.testing.assert_array_equal(trace.x, cloud.lengths)
        np.testing.assert_array_equal(trace.y, cloud.norms)
    assert len({trace.xaxis for trace in shown}) == 3
    assert straight.xaxis == shown[1].xaxis
    slope = np.polyfit(clouds[1].lengths, clouds[1].norms, 1)[0]
    assert np.diff(straight.y)[0] / np.diff(straight.x)[0] == pytest.approx(slope, rel=1e-4)
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert texts[:3] == ["hub/&lt;i&gt;a-name", "bert", "roberta"]
    squared = np.corrcoef(clouds[1].lengths, clouds[1].norms)[0, 1] ** 2
    assert texts[3:] == ["Length (in tokens)", f"R² {squared:.3f}"]


@pytest.mark.parametrize("n", [1, 2, 4, 5, 6])
def test_axes_are_shared_where_asked_for(n: int) -> None:
    panels = [(f"model {at}", points(20, seed=at), None) for at in range(n)]
    shared = small_multiples(panels, PALETTE, shared_y=True)
    free = small_multiples(panels, PALETTE, shared_y=False)
    assert sum(axis.matches is not None for axis in shared.select_yaxes()) == n - 1
    assert not any(axis.matches for axis in free.select_yaxes())
    assert len({tuple(axis.range) for axis in free.select_xaxes()}) == 1


def test_numbers_of_free_axes_stand_outside_where_a_phone_has_room_for_them() -> None:
    panels = [(f"model {at}", points(20, seed=at), None) for at in range(5)]
    free = list(small_multiples(panels, PALETTE, shared_y=False).select_yaxes())
    assert [axis.side or "left" for axis in free] == ["left", "right", "left", "right", "left"]
    assert [axis.title.text for axis in free] == ["Norm", None, "Norm", None, "Norm"]
    shared = list(small_multiples(panels, PALETTE, shared_y=True).select_yaxes())
    assert [axis.side for axis in shared] == [None] * 5


def test_rounding_is_not_magnified_and_no_points_add_nothing_to_an_axis() -> None:
    lengths = np.arange(3, 53, dtype=np.int32)
    norms = (19.5959 + 1e-6 * np.sin(lengths)).astype(np.float32)
    constant = Points(labels_of(["Same."] * 50), lengths, norms)
    for shared_y in (True, False):
        panels = [("nothing", points(0), None), ("constant", constant, None)]
        none, same = small_multiples(panels, PALETTE, shared_y=shared_y).select_yaxes()
        low, high = same.autorangeoptions.include
        assert (high - low) / norms.mean() == pytest.approx(2e-5, rel=1e-3)
        assert low < norms.min() < norms.max() < high
        assert none.autorangeoptions.include is None
        assert none.showticklabels is (None if shared_y else False)


@pytest.mark.parametrize(
    ("label", "lines"),
    [
        ("MiniLM-L6", "MiniLM-L6"),
        ("untrained MiniLM-L6", "untrained<br>MiniLM-L6"),
        ("DistilBERT base, uncased", "DistilBERT base,<br>uncased"),
        ("google-bert/bert-base-uncased", "google-bert/<br>bert-base-uncased"),
        ("untrained BERT base, multilingual @ 1a2b3c4", "untrained BERT<br>…lingual @ 1a2b3c4"),
        ("a" * 30 + "<z", "a" * 18 + "<br>" + "a" * 12 + "&lt;z"),
    ],
)
def test_a_long_name_takes_two_lines_of_which_the_second_tells_it_apart(label: str, lines: str) -> None:
    title, _ = small_multiples([(label, points(5), None)], PALETTE, shared_y=True).layout.annotations
    assert title.text == lines


def test_scaled_norms_are_distances_in_standard_deviations_and_a_constant_is_said_to_be_one() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 40, 50).astype(np.int32)
    varied = (40 + 3 * rng.normal(size=50)).astype(np.float32)
    names = labels_of(["x"] * 50)
    line = fit(lengths, varied)
    constant = Points(names, lengths, np.full(50, 16, "f4"))
    panels = [("one", Points(names, lengths, varied), line), ("flat", constant, None)]
    figure = small_multiples(panels, PALETTE, shared_y=True, is_scaled=True)
    cloud, straight, flat = figure.data
    np.testing.assert_allclose(cloud.y, (varied - varied.mean()) / varied.std(ddof=1), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(cloud.customdata, varied)
    np.testing.assert_allclose(straight.y, (line.predict(np.asarray(straight.x)) - line.norm_mean) / line.norm_sd)
    assert not np.any(flat.y)
    assert "constant: every norm is 16" in [annotation.text for annotation in figure.layout.annotations]
    assert figure.layout.yaxis.title.text == "Norm (standard deviations)"
