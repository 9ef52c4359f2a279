from . import search, similarity, tables
from .picture import Seen, cells, drawn, legend, picture, report
from .summary import about, link, markdown, shape, summary
from .tables import Groups, Table, entries_of, table, to_csv, to_parquet

__all__ = [
    "Groups",
    "Seen",
    "Table",
    "about",
    "cells",
    "drawn",
    "entries_of",
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
