from .columns import BATCH_SIZE, Table, is_text, rank
from .encoding import PIECE_BYTES
from .files import Limits
from .parquet import n_bytes_of, values_of
from .table import FORMATS, SUFFIXES, check, open_table, suffix
from .wrapping import Wrapped

__all__ = [
    "BATCH_SIZE",
    "FORMATS",
    "PIECE_BYTES",
    "SUFFIXES",
    "Limits",
    "Table",
    "Wrapped",
    "check",
    "is_text",
    "n_bytes_of",
    "open_table",
    "rank",
    "suffix",
    "values_of",
]
