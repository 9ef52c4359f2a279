from . import similarity, tables
from .picture import Seen, cells, drawn, legend, picture
from .report import report
from .summary import about, link, shape, summary
from .tables import Table, table, to_csv, to_parquet

__all__ = [
    "Seen",
    "Table",
    "about",
    "cells",
    "drawn",
    "legend",
    "link",
    "picture",
    "report",
    "shape",
    "similarity",
    "summary",
    "table",
    "tables",
    "to_csv",
    "to_parquet",
]
