"""Colours."""

import tomllib
from pathlib import Path

from clsviz.figures import style

CONFIG = Path(__file__).parents[2] / ".streamlit" / "config.toml"


def test_figures_have_the_colours_of_the_light_theme() -> None:
    theme = tomllib.loads(CONFIG.read_text("utf-8"))["theme"]["light"]
    places = {role: colour for colour, role in style.THEME.items()}
    for name, colours in (
        ("categorical", theme["chartCategoricalColors"]),
        ("sequential", theme["chartSequentialColors"]),
    ):
        assert colours == [places[f"chart-{name}-colors {n}"] for n in range(len(colours))]
