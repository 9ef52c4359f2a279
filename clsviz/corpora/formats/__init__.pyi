from .arrays import Array, cut_short, open_npy, open_npz, open_safetensors
from .columns import BATCH_SIZE, Table, is_text, rank
from .csv import open_csv, open_tsv
from .encoding import PIECE_BYTES
from .files import Limits, TextFile
from .json_lines import open_json_lines
from .lines import open_lines
from .parquet import check_decoded, n_bytes_of, open_parquet, values_of
from .table import FORMATS, SUFFIXES, VECTOR_SUFFIXES, check, check_size, check_whole, open_table, suffix
from .vector_columns import Columns, column_batches, columns_of
from .wrapping import Wrapped

__all__ = [
    "BATCH_SIZE",
    "FORMATS",
    "PIECE_BYTES",
    "SUFFIXES",
    "VECTOR_SUFFIXES",
    "Array",
    "Columns",
    "Limits",
    "Table",
    "TextFile",
    "Wrapped",
    "check",
    "check_decoded",
    "check_size",
    "check_whole",
    "column_batches",
    "columns_of",
    "cut_short",
    "is_text",
    "n_bytes_of",
    "open_csv",
    "open_json_lines",
    "open_lines",
    "open_npy",
    "open_npz",
    "open_parquet",
    "open_safetensors",
    "open_table",
    "open_tsv",
    "rank",
    "suffix",
    "values_of",
]
