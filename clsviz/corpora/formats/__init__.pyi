from .columns import BATCH_SIZE, Table, is_text, rank
from .csv import open_csv, open_tsv
from .encoding import PIECE_BYTES
from .files import Limits
from .json_lines import open_json_lines
from .lines import open_lines
from .parquet import check_decoded, n_bytes_of, open_parquet, values_of
from .table import FORMATS, SUFFIXES, check, check_size, check_whole, open_table, suffix
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
    "check_decoded",
    "check_size",
    "check_whole",
    "is_text",
    "n_bytes_of",
    "open_csv",
    "open_json_lines",
    "open_lines",
    "open_parquet",
    "open_table",
    "open_tsv",
    "rank",
    "suffix",
    "values_of",
]
