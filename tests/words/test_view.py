import pytest

from clsviz import words

CELLS = "A cell’s colour is the number of sentences of that length and norm; "


@pytest.mark.parametrize(
    ("numbers", "is_zoomed", "expected"),
    [
        ((120_000, 120_000, 5_000, 0), False, f"{CELLS}the points are 5,000 of the 120,000, drawn at random."),
        (
            (120_000, 120_000, 5_000, 1),
            False,
            f"{CELLS}the points are 5,000 of the 120,000, drawn at random, and 1 more that is selected.",
        ),
        ((120_000, 9_000, 5_000, 0), True, f"{CELLS}the points are 5,000 of the 9,000 in this part, drawn at random."),
        ((120_000, 432, 432, 0), True, f"{CELLS}the points are all 432 in this part."),
        (
            (120_000, 432, 432, 12),
            True,
            f"{CELLS}the points are all 432 in this part, and 12 more that are selected.",
        ),
        ((120_000, 0, 0, 0), True, "No sentence lies in this part of the picture."),
    ],
)
def test_what_a_density_shows(numbers: tuple[int, int, int, int], is_zoomed: bool, expected: str) -> None:
    assert words.view.density(*numbers, is_zoomed=is_zoomed) == expected
