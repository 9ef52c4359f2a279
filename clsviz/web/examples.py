"""The examples that the main page offers: what came with clsviz, and what the showcase lists, where it is stored."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from clsviz import words
from clsviz.analysis import showcase
from clsviz.errors import SettingError
from clsviz.measurements import Kind
from clsviz.measuring import read_wanted
from clsviz.ui.norm_vs_length.examples import Example
from clsviz.web.links import PICTURE, query_of_picture
from clsviz.web.preview import Preview, Previews

SHOWCASE = Path(__file__).parents[2] / "deploy" / "showcase.toml"
"""Where it is in a checkout, and in the image; an installed package has none."""


def examples(listed: Path = SHOWCASE) -> list[Example]:
    """Those that are stored; listed: the file of the showcase."""
    previews = Previews()
    found = [(page, previews.of(page, query)) for page, query in dict.fromkeys(_all(listed))]
    return [_example(page, preview) for page, preview in found if preview.scatter is not None]


def _all(listed: Path) -> Iterator[tuple[str, "_Query"]]:
    for experiment in showcase.EXPERIMENTS:
        yield "", _Query(experiment.to_query())
    for page in ("where_length_lives", "length_and_search"):
        yield page, _Query(showcase.DEFAULT.to_query())
    try:
        wanted = read_wanted(listed) if listed.is_file() else []
    except SettingError:  # whoever measures what it lists is told
        wanted = []
    for one in wanted:
        page = "where_length_lives" if one.kind is Kind.VECTORS else ""
        yield page, _Query(one.experiment.to_query())


class _Query(dict[str, str]):
    """URL parameters, of which each set is taken once."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def _example(page: str, preview: Preview) -> Example:
    query = urlencode(preview.experiment.to_query())
    picture = urlencode(query_of_picture(preview.experiment, page))
    n = len(preview.scatter.lengths) if preview.scatter else 0
    return Example(
        link=f"./{page}" + (f"?{query}" if query else ""),
        picture=f".{PICTURE}" + (f"?{picture}" if picture else ""),
        alt=words.sharing.alt(preview.experiment, n),
        question=preview.question,
        answer=preview.answer,
    )
