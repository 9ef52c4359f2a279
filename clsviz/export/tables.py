"""Tables that the user takes along, as CSV or Parquet."""

import io
import json
from collections.abc import Mapping, Sequence

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from clsviz.measurements import Measurements


def table(sentences: Sequence[str], measurements: Measurements) -> pd.DataFrame:
    """One row per sentence: sentence, n_tokens, truncated, the norms cls_0 to cls_L, and pooler if there is one."""
    columns: dict[str, object] = {
        "sentence": list(sentences[: len(measurements)]),
        "n_tokens": measurements.n_tokens,
        "truncated": measurements.truncated,
    }
    columns |= {f"cls_{layer}": measurements.cls_norms[:, layer] for layer in range(measurements.n_layers + 1)}
    if measurements.has_pooler:
        columns["pooler"] = measurements.pooler_norms[:, 0]
    return pd.DataFrame(columns)


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
