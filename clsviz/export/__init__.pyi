from . import search, similarity, tables
from .formats import to_csv, to_parquet
from .groups import Groups, entries_of
from .paper import markdown
from .picture import Seen, cells, drawn, errors, errors_for_image, legend, picture
from .report import report
from .summary import about, link, shape, summary
from .tables import Table, table

__all__ = [
    "Groups",
    "Seen",
    "Table",
    "about",
    "cells",
    "drawn",
    "entries_of",
    "errors",
    "errors_for_image",
    "legend",
    "link",
    "markdown",
    "picture",
    "report",
    "search",
    "shape",
    "similarity",
    "summary",
    "table",
    "tables",
    "to_csv",
    "to_parquet",
]
