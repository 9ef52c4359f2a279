from .arrays import Array, cut_short, open_npy, open_npz, open_safetensors
from .columns import BATCH_SIZE, LONGEST_VALUE, Table, is_text, rank, short_values, usable_fields
from .csv import open_csv, open_tsv
from .encoding import PIECE_BYTES
from .files import Limits, TextFile
from .json_lines import open_json_lines
from .lines import open_lines
from .parquet import as_text, check_decoded, class_names, is_plain, n_bytes_of, open_parquet, plain_values_of, values_of
from .table import FORMATS, SUFFIXES, VECTOR_SUFFIXES, check, check_size, check_whole, open_table, suffix
from .vector_columns import Columns, column_batches, columns_of
from .wrapping import Wrapped

__all__ = [
    "BATCH_SIZE",
    "FORMATS",
    "LONGEST_VALUE",
    "PIECE_BYTES",
    "SUFFIXES",
    "VECTOR_SUFFIXES",
    "Array",
    "Columns",
    "Limits",
    "Table",
    "TextFile",
    "Wrapped",
    "as_text",
    "check",
    "check_decoded",
    "check_size",
    "check_whole",
    "class_names",
    "column_batches",
    "columns_of",
    "cut_short",
    "is_plain",
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
    "plain_values_of",
    "rank",
    "short_values",
    "suffix",
    "usable_fields",
    "values_of",
]
