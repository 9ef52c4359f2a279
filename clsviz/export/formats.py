"""Tables as files."""

import io
import json
from collections.abc import Mapping

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


def to_csv(table: pd.DataFrame) -> bytes:
    """As CSV in UTF-8."""
    return table.to_csv(index=False).encode()


def to_parquet(table: pd.DataFrame, about: Mapping[str, object]) -> bytes:
    """As Parquet, with `about` as JSON in the metadata of its schema, under the key “clsviz”."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), b"clsviz": json.dumps(about).encode()})
    buffer = io.BytesIO()
    pq.write_table(arrow, buffer)
    return buffer.getvalue()
