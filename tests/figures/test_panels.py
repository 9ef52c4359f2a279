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
