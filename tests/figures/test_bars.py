"""Bars of weights; those of dimensions are beside the lines that they share their axes with."""

import pandas as pd
from support.figures import PALETTE, PLACEHOLDERS, colours_of

from clsviz import figures

GROUPS = pd.DataFrame(
    {
        "group": ["Embeddings", "Layer 1", "Pooler"],
        "weights": [50, 40, 10],
        "share": [0.5, 0.4, 0.1],
        "attention": [0, 15, 0],
        "feed_forward": [0, 25, 0],
    }
)


def test_every_weight_is_in_one_bar_of_its_group() -> None:
    figure = figures.weights_by_group(GROUPS, PALETTE)
    attention, feed_forward, other, labels = figure.data
    assert [bar.name for bar in (attention, feed_forward, other)] == ["Attention", "Feed-forward", "Other"]
    assert [sum(parts) for parts in zip(attention.x, feed_forward.x, other.x, strict=True)] == [50, 40, 10]
    assert list(other.x) == [50, 0, 10]
    assert list(labels.text) == ["50.0%", "40.0%", "10.0%"]
    assert all(list(bar.y) == GROUPS["group"].tolist() for bar in figure.data)
    assert figure.layout.yaxis.autorange == "reversed"  # the first group above


def test_weights_have_the_colours_of_the_palette() -> None:
    assert colours_of(figures.weights_by_group(GROUPS, PLACEHOLDERS)) == {PLACEHOLDERS.points, PLACEHOLDERS.summary}
