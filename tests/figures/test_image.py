"""Figures as files."""

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from clsviz.errors import SettingError
from clsviz.figures import image, scatter
from clsviz.figures.style import LINE
from clsviz.results.result import Result

Draw = Callable[..., Result]


def test_an_image_has_the_numbers_of_the_figure(result_of: Draw) -> None:
    result = result_of()
    plots = image.translate(scatter.norms(result)).axes
    used = result.table.query("is_used")
    (points,) = plots[0].collections
    np.testing.assert_array_equal(points.get_offsets(), used[["length", "norm"]].to_numpy())
    line = plots[0].lines[-1]
    np.testing.assert_allclose(line.get_ydata(), 8 - 0.01 * line.get_xdata(), rtol=1e-6)
    assert [sum(bar.get_height() for bar in plots[1].patches)] == [len(used)]
    assert [sum(bar.get_width() for bar in plots[2].patches)] == [len(used)]


def test_the_line_is_red_where_its_numbers_are(result_of: Draw) -> None:
    drawn = image.translate(scatter.norms(result_of(picture={})), 700, 500)
    canvas = FigureCanvasAgg(drawn)
    canvas.draw()
    x, y = drawn.axes[0].transData.transform((60, 8 - 0.01 * 60)).round().astype(int)
    pixels = np.asarray(canvas.buffer_rgba())
    assert pixels.shape[:2] == (500, 700)
    assert to_hex(pixels[len(pixels) - 1 - y, x] / 255) == LINE


@pytest.mark.parametrize("sides", ["minallowed maxallowed", "maxallowed minallowed"])
def test_axes_run_from_low_to_high(result_of: Draw, sides: str) -> None:
    figure = scatter.norms(result_of())
    span = figure.layout.xaxis.autorangeoptions.to_plotly_json()
    figure.layout.xaxis.autorangeoptions = {side: span[side] for side in sides.split()}
    assert image.translate(figure).axes[0].get_xlim() == (span["minallowed"], span["maxallowed"])


def test_a_histogram_in_two_dimensions_is_translated(result_of: Draw) -> None:
    cells, *_ = image.translate(scatter.norms(result_of(60_000))).axes[0].collections
    counts = 10 ** np.ma.asarray(cells.get_array()).astype(float)
    assert round(counts.sum()) == 54_000


def test_a_file_is_of_the_kind_of_its_ending(result_of: Draw, tmp_path: Path) -> None:
    figure = scatter.norms(result_of())
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "html": b"<!DOC"}
    for ending, start in starts.items():
        image.save(figure, tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").read_bytes().startswith(start)
    with pytest.raises(SettingError, match="gif"):
        image.save(figure, tmp_path / "figure.gif")
    assert len(list(tmp_path.iterdir())) == len(starts)


class Scripts(HTMLParser):
    """Counts the scripts of a page, and collects the addresses that it loads."""

    n, addresses = 0, ()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.n += tag == "script"
        self.addresses += tuple(value for name, value in attributes if name in ("src", "href"))


def test_a_page_loads_nothing_and_runs_no_sentence(result_of: Draw) -> None:
    evil = "</script><script>alert(1)</script><!--"
    table = result_of().table.assign(sentence=evil)
    typed = [{"sentence": evil, "length": 9, "norm": 8.0}]
    page = Scripts()
    page.feed(image.page(scatter.norms(result_of(table=table, picture={"typed": typed}))))
    assert (page.n, page.addresses) == (2, ())
